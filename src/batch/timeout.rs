//! The time a cell may take, from its beginning: over it, the cell is interrupted, and its interpreter is ended when
//! that does not help. How long its interpreter takes to start counts for nothing.

use std::cell::Cell;
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
    begun: Cell<bool>,
}

impl Watch {
    /// The cell is on its way; its time begins with [`Watch::begin`].
    pub(super) fn over(session: &SessionHandle, timeout: Option<Duration>) -> Self {
        let Some(timeout) = timeout else {
            return Watch {
                watching: None,
                begun: Cell::default(),
            };
        };
        let (sender, ended) = channel::<()>();
        let session = session.clone();
        let thread = std::thread::Builder::new().name("timeout".into());
        let spawned = thread.spawn(move || {
            // Nobody begins twice, and what else comes is the end.
            if ended.recv().is_err()
                || ended.recv_timeout(timeout) != Err(RecvTimeoutError::Timeout)
            {
                return false;
            }
            session.interrupt();
            if ended.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                session.kill_over_time();
            }
            true
        });
        let watching = spawned.ok().map(|thread| (sender, thread, timeout));
        Watch {
            watching,
            begun: Cell::default(),
        }
    }

    /// The cell begins.
    pub(super) fn begin(&self) {
        if let Some((sender, ..)) = &self.watching
            && !self.begun.replace(true)
        {
            // A watch that is over has ended the cell.
            let _ = sender.send(());
        }
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
