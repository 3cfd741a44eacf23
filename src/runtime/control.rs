//! What the thread that owns an interpreter shares with the handles of its runtime: the queue of requests, the means to
//! wake that thread, and the group that signals go to.
//!
//! In: requests and the end of the runtime, from any thread. Out: the same, to the owner thread, woken through a
//! descriptor it can poll. Invariants: nothing here blocks but [`Control::wait`]; a signal goes only to a group that
//! has not been reaped. What an interrupt means is the runtime's, which adds what it has to know (`Own`). Absent on
//! purpose: knowledge of any protocol.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::channel::CloseFlag;
use super::{RequestId, RuntimeRequest};
use crate::process::Group;

/// How often the owner looks for requests where the system had no descriptor to wake it with.
const LOOK: Duration = Duration::from_millis(200);

/// Shared by the owner thread and all handles.
#[derive(Debug)]
pub(super) struct Control<Own> {
    state: Mutex<Shared<Own>>,
    /// `None` where the system has no descriptor to spare: the owner then looks now and then.
    wake: Option<OwnedFd>,
}

#[derive(Debug, Default)]
pub(super) struct Shared<Own> {
    /// Submitted, not yet taken by the owner.
    pub(super) queue: VecDeque<(RequestId, RuntimeRequest)>,
    /// The interpreter's, while there is one.
    pub(super) group: Option<Group>,
    /// What this runtime has to know to interrupt what runs.
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

    /// Queues a request.
    pub(super) fn submit(&self, id: RequestId, request: RuntimeRequest) {
        self.state().queue.push_back((id, request));
        self.wake();
    }

    /// The next request, in order.
    pub(super) fn next(&self) -> Option<(RequestId, RuntimeRequest)> {
        self.state().queue.pop_front()
    }

    /// Ends the runtime; the owner leaves whatever it waits for.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closing = true;
        if let Some(owner) = &state.owner {
            owner.unpark();
        }
        drop(state);
        self.wake();
    }

    /// Tells which thread to unpark.
    pub(super) fn set_owner(&self, owner: Thread) {
        self.state().owner = Some(owner);
    }

    /// True when a submitted request satisfies `wanted`.
    pub(super) fn has_request(&self, wanted: impl Fn(&RuntimeRequest) -> bool) -> bool {
        let state = self.state();
        state.queue.iter().any(|(_, request)| wanted(request))
    }

    /// Waits for one of these, or for a call, at most `patience`.
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

    /// The descriptor that becomes readable with every change.
    pub(super) fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_ref().map(AsFd::as_fd)
    }

    /// Makes the descriptor unreadable again.
    pub(super) fn clear_wake(&self) {
        if let Some(wake) = &self.wake {
            // Would block when it is clear already.
            let _ = rustix::io::read(wake, &mut [0; 8]);
        }
    }

    pub(super) fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Would block only when it is readable beyond doubt.
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
        }
    }
}

impl<Own: Send> CloseFlag for Control<Own> {
    fn is_closing(&self) -> bool {
        self.state().closing
    }
}

/// How long a poll is to wait.
pub(super) fn timespec(wait: Duration) -> Timespec {
    Timespec {
        tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    }
}
