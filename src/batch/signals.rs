//! Signals without an editor: an interrupt stops the running input, other signals end the program once the record
//! is committed.
//!
//! In: signals, on a thread of their own. Out: interrupts of the session, or the end of the process by the same
//! signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::session::SessionHandle;
use crate::text::report::Report;

const SAVE: Duration = Duration::from_millis(1800);

/// A second interrupt within this time ends the program; the third one does at any time.
const SECOND_TRY: Duration = Duration::from_secs(2);

/// What signals have done so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard {
    /// A signal is ending the program: the signal's thread then sets the exit status.
    ending: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
}

impl Heard {
    /// Whether an interrupt has come since this was last asked.
    pub(super) fn take_interrupt(&self) -> bool {
        self.interrupted.swap(false, Ordering::SeqCst)
    }

    /// Returns if no signal is ending the program; else never.
    pub(super) fn leave_it_to_the_signal(&self) {
        while self.ending.load(Ordering::SeqCst) {
            std::thread::park();
        }
    }
}

/// Starts the thread that handles signals.
///
/// # Errors
/// A handler or a thread is not available.
pub(super) fn listen(session: SessionHandle) -> Result<Heard, Report> {
    let failed = |error| Report::failure("could not listen for signals").because(error);
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]).map_err(failed)?;
    let heard = Heard::default();
    let told = heard.clone();
    let listen = move || {
        let mut interrupted: Vec<Instant> = Vec::new();
        for signal in signals.forever() {
            let again = interrupted
                .last()
                .is_some_and(|last| last.elapsed() <= SECOND_TRY);
            if signal == SIGINT && !again && interrupted.len() < 2 {
                interrupted.push(Instant::now());
                told.interrupted.store(true, Ordering::SeqCst);
                session.interrupt();
                continue;
            }
            told.ending.store(true, Ordering::SeqCst);
            session.close(SAVE);
            // Returns only when the signal cannot be raised; the exit status then carries its number.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(listen)
        .map_err(failed)?;
    Ok(heard)
}
