//! Interrupts and kills of the embedded interpreter, and the requests that they end.
//!
//! Invariants: nothing here blocks; a signal goes only to a group that has not been reaped; an interrupt before the
//! interpreter is ready ends the waiting requests and never reaches a half-started interpreter; a kill ends what was
//! submitted before it and keeps what is submitted after it for the next interpreter.

use std::collections::VecDeque;

use rustix::process::Signal;

use super::super::control::{self, EventSender};
use super::super::terminal::EarlyInterrupt;
use super::super::{Death, Interrupter, RequestId, RuntimeEvent, RuntimeRequest};
use crate::process::Group;
use crate::request_kind::{RequestKind, dead, interrupted};

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
    /// The interpreter was killed: what waits is for the next one.
    killed: bool,
    /// The ends, still to be sent, of requests that were never given to an interpreter.
    ends: Vec<RuntimeEvent>,
}

impl Control {
    /// Takes all requests submitted since the last call; they count as running from here on. None once the
    /// interpreter was killed.
    pub(super) fn take_requests(&self) -> VecDeque<(RequestId, RuntimeRequest)> {
        let mut state = self.state();
        if state.own.killed {
            return VecDeque::new();
        }
        let code = state.queue.iter().filter(|(_, request)| runs_code(request));
        state.own.running += code.count();
        std::mem::take(&mut state.queue)
    }

    /// Sends the ends of the requests that were interrupted or killed while they waited.
    pub(super) fn send_ends(&self, events: &EventSender) {
        let ends = std::mem::take(&mut self.state().own.ends);
        events.send_all(ends);
    }

    /// Sets the process group that receives signals; the new interpreter is not ready yet.
    pub(super) fn set_group(&self, group: Option<Group>) {
        let own = &mut self.state().own;
        *own = Interrupts {
            group,
            ends: std::mem::take(&mut own.ends),
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

impl Interrupts {
    /// Ends the waiting requests that run code.
    fn end_waiting(
        &mut self,
        queue: &mut VecDeque<(RequestId, RuntimeRequest)>,
        end: impl Fn(RequestId, &RuntimeRequest) -> Option<RuntimeEvent>,
    ) {
        let (code, kept) = std::mem::take(queue)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, request)| runs_code(request));
        *queue = kept.into();
        let ends = code.iter().filter_map(|(id, request)| end(*id, request));
        self.ends.extend(ends);
    }
}

impl Interrupter for Control {
    fn interrupt(&self) {
        let state = &mut *self.state();
        let own = &mut state.own;
        match &own.group {
            Some(group) if own.ready && own.running > 0 && !own.killed => {
                group.signal(Signal::INT);
                own.early_interrupt = !own.started;
            }
            _ => own.end_waiting(&mut state.queue, interrupted),
        }
        self.wake();
    }

    fn kill(&self) {
        let state = &mut *self.state();
        let own = &mut state.own;
        match &own.group {
            // What waited for this one ended with the first kill.
            Some(_) if own.killed => {}
            Some(group) => {
                group.kill();
                own.killed = true;
                let killed = |id, request: &_| dead(id, request, &Death::Killed);
                own.end_waiting(&mut state.queue, killed);
            }
            // Between two interpreters only the requests that wait for the next one can be ended.
            None => own.end_waiting(&mut state.queue, interrupted),
        }
        self.wake();
    }
}

pub(super) fn runs_code(request: &RuntimeRequest) -> bool {
    RequestKind::from_request(request).is_some_and(RequestKind::runs_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Execute;

    fn submit(control: &Control, id: u32) {
        let cell = Execute::numbered(id.to_string(), id);
        control.submit(RequestId(id.into()), RuntimeRequest::Execute(cell));
    }

    fn taken(control: &Control) -> Vec<u64> {
        let taken = control.take_requests().into_iter();
        taken.map(|(id, _)| id.0).collect()
    }

    #[test]
    fn an_interrupt_ends_the_cells_that_wait_and_no_other_request() {
        let control = Control::new();
        let request = RuntimeRequest::Shutdown { stays: false };
        control.submit(RequestId(1), request);
        submit(&control, 2);
        control.interrupt();
        submit(&control, 3);
        let ends = std::mem::take(&mut control.state().own.ends);
        assert!(matches!(
            ends[..],
            [RuntimeEvent::Finished {
                id: RequestId(2),
                ..
            }]
        ));
        assert_eq!(taken(&control), [1, 3]);
    }
}
