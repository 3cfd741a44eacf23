//! An eventfd that wakes the editor: any thread writes it to request a paint.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::{Wake, Waker};

use rustix::event::{EventfdFlags, eventfd};

use crate::text::report::Report;

/// Wakes the editor, from any thread; clones share the descriptor.
#[derive(Clone)]
pub(super) struct EditorWaker(Arc<EventFd>);

struct EventFd(OwnedFd);

impl EditorWaker {
    /// # Errors
    /// Fails when the system has no descriptor left.
    pub(super) fn new() -> Result<Self, Report> {
        let ring = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let ring = ring.map_err(|error| {
            Report::failure("could not get ready to read the terminal").because(error)
        })?;
        Ok(EditorWaker(Arc::new(EventFd(ring))))
    }

    /// Wakes the editor, at once or at its next wait.
    pub(super) fn wake(&self) {
        self.0.wake_by_ref();
    }

    pub(super) fn task_waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.0))
    }

    pub(super) fn clear(&self) {
        let _ = rustix::io::read(&self.0.0, &mut [0; 8]);
    }
}

impl AsFd for EditorWaker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.0.as_fd()
    }
}

impl Wake for EventFd {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A full counter is set already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}
