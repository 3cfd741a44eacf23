//! Signal handling: resize, continue, and the signals that end us; with a session ([`listen`]) and before there is
//! one.
//!
//! After a stop the terminal has the shell's mode until ours is set again. A Ctrl-C or Ctrl-\ typed in that moment
//! comes as a signal from the terminal (`SI_KERNEL`) and means what the key means; the same signals from another
//! sender end us.
//!
//! A hang-up is a save point: the turn stops, the record is committed, children end, the terminal is restored, and
//! then we die by the same signal, so that our parent sees it.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::signal::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use signal_hook::iterator::{Handle, Signals, SignalsInfo};

use crate::runtime::{CellTerminal, TerminalSize};
use crate::screen::Screen;
use crate::screen::guard::Restorer;
use crate::session::SessionHandle;
use crate::terminal::keyboard_reader::ReaderWaker;
use crate::terminal::keys::key_queue::{self, InputWaker};
use crate::text::report::Report;

/// Longest time for the session to commit and to end its children.
const SAVE: Duration = Duration::from_millis(1800);

/// The origin of a signal that the terminal sends for a key (`SI_KERNEL`).
const OF_A_KEY: i32 = 0x80;

/// The receivers of signals that do not end us.
pub(super) struct SignalTargets {
    pub(super) cells: CellTerminalSlot,
    pub(super) reader_waker: ReaderWaker,
    /// The reader of the keyboard between two runs.
    pub(super) waker: InputWaker,
    /// Called before a signal ends us, once the session has been saved.
    pub(super) dying: Box<dyn Fn() + Send>,
}

/// The cell's terminal, once there is one.
pub(super) type CellTerminalSlot = Arc<Mutex<Option<Arc<dyn CellTerminal>>>>;

/// Starts to listen; `ending` becomes true when a signal ends us.
///
/// # Errors
/// Fails when handlers or a thread cannot be installed.
pub(super) fn listen(
    session: SessionHandle,
    screen: Screen,
    restorer: Option<Restorer>,
    listeners: SignalTargets,
    ending: Arc<AtomicBool>,
) -> Result<(), Report> {
    let failed = |error| Report::failure("could not listen for signals").because(error);
    let heard = [SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH];
    let mut signals = SignalsInfo::<WithRawSiginfo>::new(heard).map_err(failed)?;
    let SignalTargets {
        cells,
        reader_waker,
        waker,
        dying,
    } = listeners;
    let listen = move || {
        let resize = |size| {
            if let Some(cells) = &*cells.lock().unwrap_or_else(PoisonError::into_inner) {
                cells.resize(size);
            }
        };
        for heard in signals.forever() {
            let signal = heard.si_signo;
            match signal {
                SIGWINCH => {
                    resize(screen.size());
                    waker.editor_waker.wake();
                    continue;
                }
                SIGCONT => {
                    if let Some(restorer) = &restorer
                        && restorer.reclaim()
                    {
                        reader_waker.resumed();
                        waker.resumed();
                        if restorer.is_lent() {
                            // A full-screen program draws again when the size has changed.
                            let size = screen.size();
                            let rows = size.rows.saturating_sub(1).max(1);
                            resize(TerminalSize { rows, ..size });
                            resize(size);
                        }
                    }
                    continue;
                }
                _ => {}
            }
            if let (SIGINT | SIGQUIT, OF_A_KEY, Some(restorer)) = (signal, heard.si_code, &restorer)
            {
                if signal == SIGINT && !reader_waker.interrupt() {
                    restorer.keep_interrupt();
                    // A reader that started since then may have missed it.
                    if reader_waker.has_reader() && restorer.take_interrupt() {
                        reader_waker.interrupt();
                    }
                    waker.wake();
                }
                continue;
            }
            // The running cell ends now; the editor must not take the terminal again.
            ending.store(true, Ordering::SeqCst);
            if let Some(restorer) = &restorer {
                restorer.restore();
            }
            session.close(SAVE);
            dying();
            if let Some(restorer) = &restorer {
                restorer.restore_finally();
            }
            // Returns only when the signal cannot be raised; then its number becomes the status.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(listen)
        .map_err(failed)?;
    notice_hang_up().map_err(failed)
}

/// Raises SIGHUP when the terminal is gone: the session leader may not pass the signal on, and a reader of keys
/// that gets no notification of a closed terminal would wait for ever.
///
/// # Errors
/// Fails when no thread can be started.
fn notice_hang_up() -> std::io::Result<()> {
    static NOTICED: Once = Once::new();
    let mut begun = Ok(());
    NOTICED.call_once(|| {
        let wait = || {
            let stdin = std::io::stdin();
            // Without requested events, only the hang-up is reported.
            let mut terminal = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty())];
            while poll(&mut terminal, None) == Err(rustix::io::Errno::INTR) {}
            // A process may always signal itself.
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::HUP,
            );
        };
        begun = std::thread::Builder::new()
            .name("hang-up".into())
            .spawn(wait)
            .map(drop);
    });
    begun
}

/// Until the drop, a signal that ends us restores the terminal first; for a time without a session.
pub(super) struct SignalWatch(Handle);

/// Starts to watch.
///
/// # Errors
/// Fails when handlers or a thread cannot be installed.
pub(super) fn restore_on_signal(restorer: Restorer) -> Result<SignalWatch, Report> {
    let failed = |error| Report::failure("could not listen for signals").because(error);
    let heard = [SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM];
    let mut signals = Signals::new(heard).map_err(failed)?;
    let handle = signals.handle();
    let listen = move || {
        for signal in signals.forever() {
            if signal == SIGCONT {
                if restorer.reclaim() {
                    key_queue::raise_resize();
                }
                continue;
            }
            restorer.restore_finally();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(listen)
        .map_err(failed)?;
    notice_hang_up().map_err(failed)?;
    Ok(SignalWatch(handle))
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        self.0.close();
    }
}
