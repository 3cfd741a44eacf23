//! What the prompt stands aside for: what comes before the first input, and guests.
//!
//! Invariant: what is typed meanwhile waits for the editor.

use std::time::Duration;

use crate::display::say;
use crate::report::Report;
use crate::screen::Screen;
use crate::session::{Next, Notice, Run};
use crate::terminal::background_output::BackgroundOutput;
use crate::terminal::editor::Editor;
use crate::terminal::incoming_calls::PendingCalls;
use crate::terminal::keyboard_reader::KeyTarget;
use crate::terminal::run_view::RunView;
use crate::terminal::startup::Startup;

/// How long an input waits for a guest before that is shown.
const PATIENCE: Duration = Duration::from_millis(150);

/// See the module.
pub(super) struct Interruptions {
    /// What comes before the first input, until it has been shown.
    pub(super) startup: Option<Startup>,
    pub(super) guests: PendingCalls,
    pub(super) background: BackgroundOutput,
    pub(super) screen: Screen,
}

impl Interruptions {
    /// What is left of files at home and the startup notebook comes before anything else.
    pub(super) fn finish_startup(&mut self, showing: &mut RunView) -> Result<(), Report> {
        let left = self.startup.take().map(Startup::take).unwrap_or_default();
        let asks = self.guests.startup_asks();
        self.guests.let_startup_ask(false);
        for (at, rest) in left.into_iter().enumerate() {
            self.show_background()?;
            if at == 0 && !asks {
                let note = format!("waiting for {}; Ctrl-C stops it", rest.name);
                say(&self.screen, &Notice::note(note))?;
            }
            let target = KeyTarget::Replay(showing.cells());
            let (_, typed) = showing.show_from(&rest.run, Some(target))?;
            showing.early.extend(typed);
        }
        self.show_background()
    }

    /// Shows what asks before the first input, then what guests want.
    pub(super) fn let_all_in(
        &mut self,
        showing: &mut RunView,
        editor: &Editor,
    ) -> Result<(), Report> {
        if self.guests.startup_asks() {
            self.finish_startup(showing)?;
            editor.type_ahead(&std::mem::take(&mut showing.early));
        }
        self.let_in(showing, editor)
    }

    /// Shows what guests want, to its end.
    pub(super) fn let_in(&self, showing: &mut RunView, editor: &Editor) -> Result<(), Report> {
        while let Some(visit) = self.guests.let_in() {
            self.show_background()?;
            let (_, typed) = showing.show_from(&visit.run, Some(KeyTarget::Turn))?;
            editor.type_ahead(&typed);
            self.screen.trusted(b"\n")?;
        }
        Ok(self.screen.flush()?)
    }

    /// Returns when the run begins: a guest may have the floor, and whoever waits for that sees it at work.
    pub(super) fn wait_for_floor(
        &self,
        run: &Run,
        showing: &mut RunView,
        editor: &Editor,
    ) -> Result<(), Report> {
        loop {
            match run.next_blocking(Some(PATIENCE)) {
                Next::Event(event) => {
                    run.unread(*event);
                    return Ok(());
                }
                Next::Ended => return Ok(()),
                Next::Nothing => self.let_in(showing, editor)?,
            }
        }
    }

    /// Prints what waits above the prompt.
    pub(super) fn show_background(&self) -> Result<(), Report> {
        let text = self.background.drain();
        if !text.is_empty() {
            self.screen.trusted(text.as_bytes())?;
            self.screen.flush()?;
        }
        Ok(())
    }
}
