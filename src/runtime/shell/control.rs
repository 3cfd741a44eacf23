//! What the thread of a shell shares with its handles: requests, and the means to stop what runs.
//!
//! Invariants: nothing here blocks; an interrupt before the shell has begun with a command is kept until it has, or
//! ends a shell that is still reading its settings.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

use rustix::event::{EventfdFlags, eventfd};

use super::super::channel::Closing;
use super::super::terminal::EarlyKeys;
use super::super::{Interrupter, RequestId, RuntimeRequest};
use crate::process::Group;

/// Shared by the thread and all handles.
#[derive(Debug)]
pub(super) struct Control {
    state: Mutex<State>,
    wake: Option<OwnedFd>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<(RequestId, RuntimeRequest)>,
    group: Option<Group>,
    /// A command runs: keys reach it.
    running: bool,
    /// Somebody wants what runs, or is about to, to stop.
    interrupted: bool,
    closing: bool,
    owner: Option<Thread>,
}

impl Control {
    pub(super) fn new() -> Self {
        Control {
            state: Mutex::default(),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn submit(&self, id: RequestId, request: RuntimeRequest) {
        self.state().queue.push_back((id, request));
        self.wake();
    }

    /// The next request, in order.
    pub(super) fn next(&self) -> Option<(RequestId, RuntimeRequest)> {
        self.state().queue.pop_front()
    }

    /// Ends the runtime.
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

    /// The shell there is.
    pub(super) fn set_group(&self, group: Option<Group>) {
        self.state().group = group;
    }

    /// Whether a command runs. A wish to stop it is over when it is.
    pub(super) fn set_running(&self, running: bool) {
        let mut state = self.state();
        state.running = running;
        if !running {
            state.interrupted = false;
        }
    }

    /// Whether somebody wants a stop; nobody does afterwards.
    pub(super) fn take_interrupt(&self) -> bool {
        std::mem::take(&mut self.state().interrupted)
    }

    /// The descriptor that becomes readable with every change.
    pub(super) fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_ref().map(AsFd::as_fd)
    }

    /// Makes it unreadable again.
    pub(super) fn clear_wake(&self) {
        if let Some(wake) = &self.wake {
            // Would block when it is clear already.
            let _ = rustix::io::read(wake, &mut [0; 8]);
        }
    }

    fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Would block only when it is readable beyond doubt.
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
        }
    }
}

impl Closing for Control {
    fn is_closing(&self) -> bool {
        self.state().closing
    }
}

impl EarlyKeys for Control {
    fn interrupts_early(&self) -> bool {
        let early = !self.state().running;
        if early {
            self.interrupt();
        }
        early
    }
}

impl Interrupter for Control {
    fn interrupt(&self) {
        self.state().interrupted = true;
        self.wake();
    }

    fn kill(&self) {
        if let Some(group) = &self.state().group {
            group.kill();
        }
    }
}
