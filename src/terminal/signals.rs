//! Signals: a new size, and the ones that end us; before there is a session, and once there is one.
//!
//! A hang-up is a save point: the turn stops, what is there is committed, children end, the terminal is given back, and
//! then we die by the same signal, so that whoever waits sees it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::{Handle, Signals};

use crate::report::Report;
use crate::runtime::CellTerminal;
use crate::screen::Screen;
use crate::screen::guard::Restorer;
use crate::session::SessionHandle;

/// How long the session may take to commit and to end its children.
const SAVE: Duration = Duration::from_millis(1800);

/// The cell's terminal, once there is one.
pub(super) type Attached = Arc<Mutex<Option<Arc<dyn CellTerminal>>>>;

/// Begins to listen; `ending` becomes true when a signal ends us. While the terminal is `lent` to another program,
/// keys that interrupt are that program's.
///
/// # Errors
/// When handlers or a thread cannot be had.
pub(super) fn listen(
    session: SessionHandle,
    screen: Screen,
    restorer: Option<Restorer>,
    cells: Attached,
    ending: Arc<AtomicBool>,
    lent: Arc<AtomicBool>,
) -> Result<(), Report> {
    let failed = |error| Report::failure("could not listen for signals").because(error);
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH]).map_err(failed)?;
    let listen = move || {
        for signal in signals.forever() {
            if signal == SIGWINCH {
                if let Some(cells) = &*cells.lock().unwrap_or_else(PoisonError::into_inner) {
                    cells.resize(screen.size());
                }
                continue;
            }
            if matches!(signal, SIGINT | SIGQUIT) && lent.load(Ordering::SeqCst) {
                continue;
            }
            // What ran ends now; the editor must not take the terminal again.
            ending.store(true, Ordering::SeqCst);
            if let Some(restorer) = &restorer {
                restorer.restore();
            }
            session.close(SAVE);
            if let Some(restorer) = &restorer {
                restorer.restore_for_good();
            }
            // Returns only when the signal cannot be raised; then its number has to do as the status.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(listen)
        .map_err(failed)?;
    Ok(())
}

/// While it lives, a signal that ends us gives the terminal back first; for a time without a session.
pub(super) struct Watch(Handle);

/// Begins to watch.
///
/// # Errors
/// When handlers or a thread cannot be had.
pub(super) fn watch(restorer: Restorer) -> Result<Watch, Report> {
    let failed = |error| Report::failure("could not listen for signals").because(error);
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]).map_err(failed)?;
    let handle = signals.handle();
    let listen = move || {
        if let Some(signal) = signals.forever().next() {
            restorer.restore_for_good();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(listen)
        .map_err(failed)?;
    Ok(Watch(handle))
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.close();
    }
}
