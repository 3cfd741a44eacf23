//! Runs before the first input, while the prompt is usable: start-up files of the home directory, the startup
//! notebook.
//!
//! A thread takes their events and prints them above the input; the label follows the next input's number. When an
//! input is submitted before they are over, the rest is shown like any run, with Ctrl-C available, and the input
//! comes after. A notebook that has not begun counts as pending: only then is it known whether there is one. The
//! output shown is limited ([`SHOWN`]), because the user may be typing below.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::screen::Screen;
use crate::session::{
    BeginEvent, CellEvent, LoadRequest, NextEvent, QuestionEvent, Run, SessionEvent, SessionHandle,
};
use crate::terminal::background_output::{BackgroundOutput, EventRenderer};
use crate::terminal::editor::Repaint;

/// Longest delay until the thread hands the run over.
const SOON: Duration = Duration::from_millis(20);

/// Time that an input waits before the reason is shown.
const PATIENCE: Duration = Duration::from_millis(200);

/// Bytes of output that are shown above the input.
const SHOWN: usize = 64 << 10;

pub(super) struct Startup {
    wanted: Arc<AtomicBool>,
    thread: JoinHandle<Vec<StartupRun>>,
}

pub(super) struct StartupRun {
    pub(super) name: &'static str,
    pub(super) run: Run,
    /// The run may be empty, which is known when it begins.
    may_be_nothing: bool,
}

impl Startup {
    /// Starts with the start-up files, then `notebook`. Calls `renumbered` when the label may have changed, and
    /// `asks` when a question is open; the caller that takes the rest shows the question. `None` when no thread can
    /// be started: then the output of these runs is not shown.
    pub(super) fn start(
        session: &SessionHandle,
        notebook: Option<LoadRequest>,
        asks: impl Fn() + Send + 'static,
        background: BackgroundOutput,
        screen: Screen,
        renumbered: Repaint,
    ) -> Option<Self> {
        let home = StartupRun {
            name: "start-up files",
            run: session.run_startup(),
            may_be_nothing: false,
        };
        let notebook = notebook.map(|notebook| StartupRun {
            name: "startup.ipynb",
            run: session.load(notebook),
            may_be_nothing: true,
        });
        let mut runs = [home].into_iter().chain(notebook);
        let wanted = Arc::new(AtomicBool::new(false));
        let given = Arc::clone(&wanted);
        let take = move || {
            let mut renderer = EventRenderer::new(screen);
            let mut asked = None;
            while let Some(early) = runs.next() {
                let mut begun = !early.may_be_nothing;
                let mut shown = 0;
                loop {
                    let asked = given
                        .load(Ordering::SeqCst)
                        .then(|| *asked.get_or_insert_with(Instant::now));
                    if begun && asked.is_some_and(|asked| asked.elapsed() >= PATIENCE) {
                        // The next printer does not know how the line began.
                        let rest = renderer.finish_line().into_iter();
                        rest.for_each(|text| background.print(&text));
                        return std::iter::once(early).chain(runs).collect();
                    }
                    match early.run.next_blocking(Some(SOON)) {
                        NextEvent::Nothing => {}
                        NextEvent::Event(event)
                            if matches!(
                                *event,
                                SessionEvent::Question(QuestionEvent::Asked(_))
                            ) =>
                        {
                            early.run.unread(*event);
                            asks();
                            return std::iter::once(early).chain(runs).collect();
                        }
                        NextEvent::Event(event) => {
                            begun |= matches!(*event, SessionEvent::Begin(BeginEvent::Step { .. }));
                            let printed = match &*event {
                                SessionEvent::Cell(CellEvent::Output { bytes, .. }) => bytes.len(),
                                _ => 0,
                            };
                            shown += printed;
                            if printed == 0 || shown <= SHOWN {
                                let told = renderer.render(*event).into_iter();
                                told.for_each(|text| background.print(&text));
                            }
                            renumbered();
                        }
                        NextEvent::Ended => break,
                    }
                }
                if shown > SHOWN {
                    let name = early.name;
                    background.print(&format!(
                        "{name} printed {shown} bytes, not all of them shown"
                    ));
                }
                renumbered();
            }
            Vec::new()
        };
        let thread = std::thread::Builder::new().name("startup".into());
        let thread = thread.spawn(take).ok()?;
        Some(Startup { wanted, thread })
    }

    /// Takes the runs that have begun and do not end soon; waits for their beginning.
    pub(super) fn take(self) -> Vec<StartupRun> {
        self.wanted.store(true, Ordering::SeqCst);
        self.thread.join().unwrap_or_default()
    }
}
