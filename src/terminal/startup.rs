//! The startup notebook, replayed while the prompt can be used.
//!
//! A thread takes the events of its run and shows them above the input; the label follows the number the next input
//! takes. When an input is submitted before it is over, the rest of it is shown like any run, with Ctrl-C at hand, and
//! the input comes after. What has not begun is not over: whether there is a notebook at all is known then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::screen::Screen;
use crate::session::{BeginEvent, Next, Run, SessionEvent};
use crate::terminal::background::{Background, Teller};
use crate::terminal::editor::Repaint;

/// How soon the run is given away, at the latest.
const SOON: Duration = Duration::from_millis(20);

/// A startup notebook in progress.
pub(super) struct Startup {
    wanted: Arc<AtomicBool>,
    thread: JoinHandle<Option<Run>>,
}

impl Startup {
    /// Follows `run`; `renumbered` is called when the label may have changed. `None` when no thread can be had: then
    /// nothing of it is shown.
    pub(super) fn follow(
        run: Run,
        background: Background,
        screen: Screen,
        renumbered: Repaint,
    ) -> Option<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        let given = Arc::clone(&wanted);
        let take = move || {
            let mut teller = Teller::new(screen);
            let mut begun = false;
            while !(begun && given.load(Ordering::SeqCst)) {
                match run.next_blocking(Some(SOON)) {
                    Next::Nothing => {}
                    Next::Event(event) => {
                        begun |= matches!(*event, SessionEvent::Begin(BeginEvent::Step { .. }));
                        for text in teller.tell(*event) {
                            background.say(&text);
                        }
                        renumbered();
                    }
                    Next::Ended => {
                        renumbered();
                        return None;
                    }
                }
            }
            // Who shows the rest does not know how its line began.
            teller
                .rest()
                .into_iter()
                .for_each(|text| background.say(&text));
            Some(run)
        };
        let thread = std::thread::Builder::new().name("startup".into());
        let thread = thread.spawn(take).ok()?;
        Some(Startup { wanted, thread })
    }

    /// The rest of it, when it has begun and is not over; waits for its beginning.
    pub(super) fn take(self) -> Option<Run> {
        self.wanted.store(true, Ordering::SeqCst);
        self.thread.join().ok().flatten()
    }
}
