//! State that the thread that owns an interpreter shares with the handles of its runtime: the queue of requests,
//! the descriptor that wakes the thread, and the process group that receives signals.
//!
//! In: requests and the end of the runtime, from any thread. Out: the same, to the owner thread, woken through a
//! descriptor that it polls. Invariants: nothing here blocks but [`Control::wait`]; a signal goes only to a group
//! that has not been reaped. Each runtime defines what an interrupt means and adds the state for it (`Own`). Absent
//! on purpose: knowledge of any protocol.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::channel::CloseFlag;
use super::{RequestId, RuntimeRequest};
use crate::process::Group;

/// Interval at which the owner checks for requests when there is no wake descriptor.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Control<Own> {
    state: Mutex<Shared<Own>>,
    /// `None` where no descriptor could be created: the owner then polls every [`LOOK`].
    wake: Option<OwnedFd>,
}

#[derive(Debug, Default)]
pub(super) struct Shared<Own> {
    /// Submitted, not yet taken by the owner.
    pub(super) queue: VecDeque<(RequestId, RuntimeRequest)>,
    pub(super) group: Option<Group>,
    /// State that this runtime needs to interrupt what runs.
    pub(super) own: Own,
    closing: bool,
    owner: Option<Thread>,
}

impl<Own: Default> Control<Own> {
    pub(super) fn new() -> Self {
        Control {
            state: Mutex::default(),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok(),
        }
    }
}

impl<Own> Control<Own> {
    pub(super) fn state(&self) -> MutexGuard<'_, Shared<Own>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn submit(&self, id: RequestId, request: RuntimeRequest) {
        self.state().queue.push_back((id, request));
        self.wake();
    }

    pub(super) fn next(&self) -> Option<(RequestId, RuntimeRequest)> {
        self.state().queue.pop_front()
    }

    /// Ends the runtime; the owner stops waiting.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closing = true;
        if let Some(owner) = &state.owner {
            owner.unpark();
        }
        drop(state);
        self.wake();
    }

    /// Sets the thread that [`Control::close`] unparks.
    pub(super) fn set_owner(&self, owner: Thread) {
        self.state().owner = Some(owner);
    }

    /// Returns true when a submitted request satisfies `wanted`.
    pub(super) fn has_request(&self, wanted: impl Fn(&RuntimeRequest) -> bool) -> bool {
        let state = self.state();
        state.queue.iter().any(|(_, request)| wanted(request))
    }

    /// Waits until a watched descriptor is ready, the owner is woken, or `patience` has passed.
    pub(super) fn wait<'a>(&'a self, mut watched: Vec<PollFd<'a>>, patience: Option<Duration>) {
        if let Some(wake) = self.wake_fd() {
            watched.push(PollFd::from_borrowed_fd(wake, PollFlags::IN));
        }
        let blind = self.wake.is_none().then_some(LOOK);
        let timeout = patience.into_iter().chain(blind).min().map(timespec);
        // An interrupted wait found nothing; the next one will.
        let _ = poll(&mut watched, timeout.as_ref());
        self.clear_wake();
    }

    /// Returns the descriptor that becomes readable with every change.
    pub(super) fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_ref().map(AsFd::as_fd)
    }

    /// Makes the descriptor unreadable again.
    pub(super) fn clear_wake(&self) {
        if let Some(wake) = &self.wake {
            // Fails with `EAGAIN` when the descriptor is clear already.
            let _ = rustix::io::read(wake, &mut [0; 8]);
        }
    }

    pub(super) fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Fails with `EAGAIN` only when the counter is full, and the descriptor is then readable.
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
        }
    }
}

impl<Own: Send> CloseFlag for Control<Own> {
    fn is_closing(&self) -> bool {
        self.state().closing
    }
}

pub(super) fn timespec(wait: Duration) -> Timespec {
    Timespec {
        tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    }
}
