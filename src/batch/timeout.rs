//! The time a cell may take: over it, the cell is interrupted, and its interpreter is ended when that does not help.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::session::SessionHandle;

/// How long an interrupted cell has to end.
const GRACE: Duration = Duration::from_secs(5);

/// Watches over one cell.
pub(super) struct Watch {
    /// `None`: it may take as long as it takes.
    watching: Option<(Sender<()>, JoinHandle<bool>, Duration)>,
}

impl Watch {
    /// The cell begins.
    pub(super) fn over(session: &SessionHandle, timeout: Option<Duration>) -> Self {
        let Some(timeout) = timeout else {
            return Watch { watching: None };
        };
        let (sender, ended) = channel::<()>();
        let session = session.clone();
        let thread = std::thread::Builder::new().name("timeout".into());
        let spawned = thread.spawn(move || {
            if ended.recv_timeout(timeout) != Err(RecvTimeoutError::Timeout) {
                return false;
            }
            session.interrupt();
            if ended.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                session.kill_over_time();
            }
            true
        });
        let watching = spawned.ok().map(|thread| (sender, thread, timeout));
        Watch { watching }
    }

    /// It has ended: the time it had, if it took longer.
    pub(super) fn ended(self) -> Option<Duration> {
        let (sender, thread, timeout) = self.watching?;
        drop(sender);
        thread.join().is_ok_and(|late| late).then_some(timeout)
    }
}

/// What is said of it.
pub(super) fn said(after: Duration) -> String {
    format!(
        "the cell took longer than {} s and was stopped",
        after.as_secs_f64()
    )
}
