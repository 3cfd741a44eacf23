//! Interrupts of the embedded interpreter, and the choice of requests that an interrupt cancels.
//!
//! Invariants: nothing here blocks; a signal goes only to a group that has not been reaped; an interrupt before the
//! interpreter is ready cancels the waiting requests and never reaches a half-started interpreter.

use std::collections::VecDeque;

use rustix::process::Signal;

use super::super::control::{self, EventSender};
use super::super::terminal::EarlyInterrupt;
use super::super::{Interrupter, RequestId, RuntimeRequest};
use crate::process::Group;
use crate::request_kind::{RequestKind, interrupted};

pub(super) type Control = control::Control<Interrupts>;

#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// Receives signals; `None` between two interpreters.
    group: Option<Group>,
    ready: bool,
    /// Number of unfinished requests that run code.
    running: usize,
    started: bool,
    /// An interrupt came after the request was sent and before it began; the interpreter ignores those.
    early_interrupt: bool,
    /// An interrupt came while cells waited for the interpreter.
    cancelled: bool,
}

impl Control {
    /// Takes all requests submitted since the last call; they count as running from here on. None while some wait to
    /// be cancelled.
    pub(super) fn take_requests(&self) -> VecDeque<(RequestId, RuntimeRequest)> {
        let mut state = self.state();
        if state.own.cancelled {
            return VecDeque::new();
        }
        let code = state.queue.iter().filter(|(_, request)| runs_code(request));
        state.own.running += code.count();
        std::mem::take(&mut state.queue)
    }

    /// Ends the requests that were interrupted while they waited for the interpreter.
    pub(super) fn end_cancelled(&self, events: &EventSender) {
        for (id, request) in self.take_cancelled() {
            events.send_all(interrupted(id, &request));
        }
    }

    /// Takes the requests that were interrupted while they waited for the interpreter.
    fn take_cancelled(&self) -> Vec<(RequestId, RuntimeRequest)> {
        let mut state = self.state();
        if !std::mem::take(&mut state.own.cancelled) {
            return Vec::new();
        }
        let (cancelled, kept) = std::mem::take(&mut state.queue)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, request)| runs_code(request));
        state.queue = kept.into();
        cancelled
    }

    /// Sets the process group that receives signals; the new interpreter is not ready yet.
    pub(super) fn set_group(&self, group: Option<Group>) {
        let own = &mut self.state().own;
        *own = Interrupts {
            group,
            cancelled: own.cancelled,
            ..Interrupts::default()
        };
    }

    pub(super) fn set_ready(&self) {
        self.state().own.ready = true;
    }

    /// Sets how many requests run code, and if the first of them has begun.
    pub(super) fn set_running(&self, running: usize, started: bool) {
        let own = &mut self.state().own;
        own.running = running;
        own.started = started;
        own.early_interrupt &= running > 0;
        if started
            && std::mem::take(&mut own.early_interrupt)
            && let Some(group) = &own.group
        {
            group.signal(Signal::INT);
        }
    }
}

impl EarlyInterrupt for Control {
    /// A signal would hit Python's own start-up, so the waiting requests are cancelled instead.
    fn interrupt_before_start(&self) -> bool {
        let starting = !self.state().own.ready;
        if starting {
            self.interrupt();
        }
        starting
    }
}

impl Interrupter for Control {
    fn interrupt(&self) {
        let mut state = self.state();
        if let (true, 1.., Some(group)) = (state.own.ready, state.own.running, &state.own.group) {
            group.signal(Signal::INT);
            state.own.early_interrupt = !state.own.started;
        } else if !state.queue.is_empty() {
            state.own.cancelled = true;
            drop(state);
            self.wake();
        }
    }

    fn kill(&self) {
        let mut state = self.state();
        match &state.own.group {
            Some(group) => group.kill(),
            // Between two interpreters only the requests that wait for the next one can be cancelled.
            None => {
                state.own.cancelled = !state.queue.is_empty();
                drop(state);
                self.wake();
            }
        }
    }
}

pub(super) fn runs_code(request: &RuntimeRequest) -> bool {
    RequestKind::from_request(request).is_some_and(RequestKind::runs_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Execute;

    #[test]
    fn an_interrupt_between_two_looks_at_the_queue_is_kept() {
        let control = Control::new();
        assert!(control.take_cancelled().is_empty());
        let request = RuntimeRequest::Shutdown { stays: false };
        control.submit(RequestId(1), request);
        let cell = Execute::numbered("1".into(), 1);
        control.submit(RequestId(2), RuntimeRequest::Execute(cell));
        control.interrupt();
        assert!(control.take_requests().is_empty());
        let ids = |taken: Vec<(RequestId, RuntimeRequest)>| {
            taken.into_iter().map(|(id, _)| id.0).collect::<Vec<_>>()
        };
        assert_eq!(ids(control.take_cancelled()), [2]);
        assert_eq!(ids(control.take_requests().into()), [1]);
    }
}
