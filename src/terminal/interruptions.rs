//! Shows interruptions of the prompt: start-up runs that are not over, and incoming calls that need the screen.
//!
//! Invariant: keys typed meanwhile are queued for the editor.

use std::time::Duration;

use crate::display::print_notice;
use crate::screen::Screen;
use crate::session::{NextEvent, Notice, Run};
use crate::terminal::background_output::BackgroundOutput;
use crate::terminal::editor::Editor;
use crate::terminal::incoming_calls::PendingCalls;
use crate::terminal::keyboard_reader::KeyTarget;
use crate::terminal::run_view::RunView;
use crate::terminal::startup::Startup;
use crate::text::report::Report;

/// Time that an input waits for an incoming call before that call is shown.
const PATIENCE: Duration = Duration::from_millis(150);

pub(super) struct Interruptions {
    /// Runs before the first input, until they have been shown.
    pub(super) startup: Option<Startup>,
    pub(super) pending_calls: PendingCalls,
    pub(super) background: BackgroundOutput,
    pub(super) screen: Screen,
}

impl Interruptions {
    pub(super) fn finish_startup(&mut self, run_view: &mut RunView) -> Result<(), Report> {
        let left = self.startup.take().map(Startup::take).unwrap_or_default();
        let asks = self.pending_calls.startup_asks();
        self.pending_calls.set_startup_asks(false);
        for (at, rest) in left.into_iter().enumerate() {
            self.show_background()?;
            if at == 0 && !asks {
                let note = format!("waiting for {}; Ctrl-C stops it", rest.name);
                print_notice(&self.screen, &Notice::note(note))?;
            }
            let target = KeyTarget::Replay(run_view.cells());
            let (_, typed) = run_view.show_from(&rest.run, Some(target))?;
            run_view.early.extend(typed);
        }
        self.show_background()
    }

    pub(super) fn show_all(
        &mut self,
        run_view: &mut RunView,
        editor: &Editor,
    ) -> Result<(), Report> {
        if self.pending_calls.startup_asks() {
            self.finish_startup(run_view)?;
            editor.type_ahead(&std::mem::take(&mut run_view.early));
        }
        self.show_calls(run_view, editor)
    }

    /// Shows incoming calls that need the screen, to their end.
    pub(super) fn show_calls(&self, run_view: &mut RunView, editor: &Editor) -> Result<(), Report> {
        while let Some(call) = self.pending_calls.admit() {
            self.show_background()?;
            let (_, typed) = run_view.show_from(&call.run, Some(KeyTarget::Turn))?;
            editor.type_ahead(&typed);
            self.screen.write_trusted(b"\n")?;
        }
        Ok(self.screen.flush()?)
    }

    /// Returns when the run begins. An incoming call may occupy the scheduler; it is shown while the run waits for
    /// it.
    pub(super) fn wait_for_start(
        &self,
        run: &Run,
        run_view: &mut RunView,
        editor: &Editor,
    ) -> Result<(), Report> {
        loop {
            match run.next_blocking(Some(PATIENCE)) {
                NextEvent::Event(event) => {
                    run.unread(*event);
                    return Ok(());
                }
                NextEvent::Ended => return Ok(()),
                NextEvent::Nothing => self.show_calls(run_view, editor)?,
            }
        }
    }

    pub(super) fn show_background(&self) -> Result<(), Report> {
        let text = self.background.drain();
        if !text.is_empty() {
            self.screen.write_trusted(text.as_bytes())?;
            self.screen.flush()?;
        }
        Ok(())
    }
}
