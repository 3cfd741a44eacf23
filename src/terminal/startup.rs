//! What comes before the first input while the prompt can be used: files at home, then the startup notebook.
//!
//! A thread takes the events of their runs and shows them above the input; the label follows the number the next input
//! takes. When an input is submitted before they are over, the rest of them is shown like any run, with Ctrl-C at hand,
//! and the input comes after. A notebook that has not begun is not over: whether there is one at all is known then.
//! What files at home print is shown up to a limit: there is somebody typing below.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::screen::Screen;
use crate::session::{
    BeginEvent, CellEvent, Loading, Next, QuestionEvent, Run, SessionEvent, SessionHandle,
};
use crate::terminal::background_output::{BackgroundOutput, EventRenderer};
use crate::terminal::editor::Repaint;

/// How soon the run is given away, at the latest.
const SOON: Duration = Duration::from_millis(20);

/// How long an input waits before it is said what for.
const PATIENCE: Duration = Duration::from_millis(200);

/// Bytes of output that are shown above the input.
const SHOWN: usize = 64 << 10;

/// What comes before the first input, in progress.
pub(super) struct Startup {
    wanted: Arc<AtomicBool>,
    thread: JoinHandle<Vec<StartupRun>>,
}

/// A run that comes before the first input.
pub(super) struct StartupRun {
    /// As the user knows it.
    pub(super) name: &'static str,
    /// Its events.
    pub(super) run: Run,
    /// There may be nothing to run: that is known when it begins.
    may_be_nothing: bool,
}

impl Startup {
    /// Begins with it: files at home, then `notebook`. `renumbered` is called when the label may have changed, `asks`
    /// when something needs an answer: it is shown by whoever takes the rest. `None` when no thread can be had: then
    /// nothing of them is shown.
    pub(super) fn begin(
        session: &SessionHandle,
        notebook: Option<Loading>,
        asks: impl Fn() + Send + 'static,
        background: BackgroundOutput,
        screen: Screen,
        renumbered: Repaint,
    ) -> Option<Self> {
        let home = StartupRun {
            name: "start-up files",
            run: session.set_up(),
            may_be_nothing: false,
        };
        let notebook = notebook.map(|notebook| StartupRun {
            name: "startup.ipynb",
            run: session.load(notebook),
            may_be_nothing: true,
        });
        let runs = [home].into_iter().chain(notebook).collect();
        Startup::follow(runs, asks, background, screen, renumbered)
    }

    fn follow(
        runs: Vec<StartupRun>,
        asks: impl Fn() + Send + 'static,
        background: BackgroundOutput,
        screen: Screen,
        renumbered: Repaint,
    ) -> Option<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        let given = Arc::clone(&wanted);
        let take = move || {
            let mut teller = EventRenderer::new(screen);
            let mut runs = runs.into_iter();
            let mut asked = None;
            while let Some(early) = runs.next() {
                let mut begun = !early.may_be_nothing;
                let mut shown = 0;
                loop {
                    let asked = given
                        .load(Ordering::SeqCst)
                        .then(|| *asked.get_or_insert_with(Instant::now));
                    if begun && asked.is_some_and(|asked| asked.elapsed() >= PATIENCE) {
                        // Who shows the rest does not know how its line began.
                        let rest = teller.rest().into_iter();
                        rest.for_each(|text| background.say(&text));
                        return std::iter::once(early).chain(runs).collect();
                    }
                    match early.run.next_blocking(Some(SOON)) {
                        Next::Nothing => {}
                        Next::Event(event)
                            if matches!(
                                *event,
                                SessionEvent::Question(QuestionEvent::Asked(_))
                            ) =>
                        {
                            early.run.unread(*event);
                            asks();
                            return std::iter::once(early).chain(runs).collect();
                        }
                        Next::Event(event) => {
                            begun |= matches!(*event, SessionEvent::Begin(BeginEvent::Step { .. }));
                            let printed = match &*event {
                                SessionEvent::Cell(CellEvent::Output { bytes, .. }) => bytes.len(),
                                _ => 0,
                            };
                            shown += printed;
                            if printed == 0 || shown <= SHOWN {
                                let told = teller.tell(*event).into_iter();
                                told.for_each(|text| background.say(&text));
                            }
                            renumbered();
                        }
                        Next::Ended => break,
                    }
                }
                if shown > SHOWN {
                    let name = early.name;
                    background.say(&format!(
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

    /// What is left, when it has begun and is not over soon; waits for its beginning.
    pub(super) fn take(self) -> Vec<StartupRun> {
        self.wanted.store(true, Ordering::SeqCst);
        self.thread.join().unwrap_or_default()
    }
}
