//! What the owner thread shares with the handles of a runtime: the request queue and the means to stop what runs.
//!
//! In: requests, interrupts, the end of the runtime, each from any thread. Out: the same, to the owner thread, woken
//! through a descriptor it can poll. Invariants: nothing here blocks; a signal goes only to a group that has not been
//! reaped; an interrupt before the interpreter is ready cancels what waits, it never reaches a half-started
//! interpreter. Absent on purpose: knowledge of the protocol.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::Signal;

use super::super::channel::Closing;
use super::super::terminal::EarlyKeys;
use super::super::{Interrupter, RequestId, RuntimeRequest};
use super::map::RequestKind;
use crate::process::Group;

/// Shared by the owner thread and all handles.
#[derive(Debug)]
pub(super) struct Control {
    state: Mutex<State>,
    /// `None` where the system has no descriptor to spare: the owner then looks now and then.
    wake: Option<OwnedFd>,
}

#[derive(Debug, Default)]
struct State {
    /// Submitted, not yet taken by the owner.
    queue: VecDeque<(RequestId, RuntimeRequest)>,
    /// The interpreter's, while there is one.
    group: Option<Group>,
    /// The interpreter takes requests.
    ready: bool,
    /// Requests that run code and are not over.
    running: usize,
    /// The first of them has begun.
    started: bool,
    /// An interrupt came after it was sent and before it began; the interpreter ignores those.
    early_interrupt: bool,
    /// An interrupt came while cells waited for the interpreter.
    cancelled: bool,
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

    /// Queues a request.
    pub(super) fn submit(&self, id: RequestId, request: RuntimeRequest) {
        self.state().queue.push_back((id, request));
        self.wake();
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

    /// Everything submitted since the last call; counts as running from here.
    pub(super) fn take_requests(&self) -> VecDeque<(RequestId, RuntimeRequest)> {
        let mut state = self.state();
        let code = state.queue.iter().filter(|(_, request)| runs_code(request));
        state.running += code.count();
        std::mem::take(&mut state.queue)
    }

    /// True when a submitted request satisfies `wanted`.
    pub(super) fn has_request(&self, wanted: impl Fn(&RuntimeRequest) -> bool) -> bool {
        self.state()
            .queue
            .iter()
            .any(|(_, request)| wanted(request))
    }

    /// The requests that were interrupted while they waited for the interpreter.
    pub(super) fn take_cancelled(&self) -> Vec<(RequestId, RuntimeRequest)> {
        let mut state = self.state();
        if !std::mem::take(&mut state.cancelled) {
            return Vec::new();
        }
        let (cancelled, kept) = std::mem::take(&mut state.queue)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, request)| runs_code(request));
        state.queue = kept.into();
        cancelled
    }

    /// Which interpreter signals go to.
    pub(super) fn set_group(&self, group: Option<Group>) {
        let mut state = self.state();
        state.group = group;
        state.ready = false;
        state.running = 0;
        state.started = false;
        state.early_interrupt = false;
    }

    /// The interpreter takes requests now.
    pub(super) fn set_ready(&self) {
        self.state().ready = true;
    }

    /// How many requests run code, and whether the first of them has begun.
    pub(super) fn set_running(&self, running: usize, started: bool) {
        let mut state = self.state();
        state.running = running;
        state.started = started;
        if running == 0 {
            state.early_interrupt = false;
        }
        if started
            && std::mem::take(&mut state.early_interrupt)
            && let Some(group) = &state.group
        {
            group.signal(Signal::INT);
        }
    }

    /// True while an interpreter is being started or looked for.
    pub(super) fn is_starting(&self) -> bool {
        !self.state().ready
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
    /// A signal would hit Python's own start-up: what waits for it is cancelled instead.
    fn interrupts_early(&self) -> bool {
        let starting = self.is_starting();
        if starting {
            self.interrupt();
        }
        starting
    }
}

impl Interrupter for Control {
    fn interrupt(&self) {
        let mut state = self.state();
        if let (true, 1.., Some(group)) = (state.ready, state.running, &state.group) {
            group.signal(Signal::INT);
            state.early_interrupt = !state.started;
        } else if !state.queue.is_empty() {
            state.cancelled = true;
            drop(state);
            self.wake();
        }
    }

    fn kill(&self) {
        let mut state = self.state();
        match &state.group {
            Some(group) => group.kill(),
            // Between two interpreters there is nothing to kill but what waits for the next one.
            None => {
                state.cancelled = !state.queue.is_empty();
                drop(state);
                self.wake();
            }
        }
    }
}

fn runs_code(request: &RuntimeRequest) -> bool {
    RequestKind::of(request).is_some_and(RequestKind::runs_code)
}
