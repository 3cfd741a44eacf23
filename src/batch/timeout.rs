//! The time limit of a cell, counted from its start: an overdue cell is interrupted, and its interpreter killed if
//! that does not help. The start of the interpreter does not count.

use std::cell::Cell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::session::SessionHandle;

/// Time for an interrupted cell to end.
const GRACE: Duration = Duration::from_secs(5);

pub(super) struct Watch {
    /// `None`: there is no limit.
    watching: Option<(Sender<()>, JoinHandle<bool>, Duration)>,
    begun: Cell<bool>,
}

impl Watch {
    /// Starts a watch for a cell that was submitted; its time begins with [`Watch::begin`].
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
            // `begin` sends once; anything after it is the end.
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

    pub(super) fn begin(&self) {
        if let Some((sender, ..)) = &self.watching
            && !self.begun.replace(true)
        {
            // Fails when the time is over: the watch has ended the cell.
            let _ = sender.send(());
        }
    }

    /// Ends the watch; returns the limit if the cell exceeded it.
    pub(super) fn ended(self) -> Option<Duration> {
        let (sender, thread, timeout) = self.watching?;
        drop(sender);
        thread.join().is_ok_and(|late| late).then_some(timeout)
    }
}

pub(super) fn said(after: Duration) -> String {
    format!(
        "the cell took longer than {} s and was stopped",
        after.as_secs_f64()
    )
}
