//! The branches of an interpreter: made from its copies, each with a thread of its own, and taken back.
//!
//! In: requests for one, what the interpreter answers. Out: a [`Branch`], or why there is none. Invariant: each request
//! to a branch has an end, also once its interpreter has ended.

use std::sync::{Arc, Mutex};

use super::super::branch::{FIRST_ID, PendingHandoff, branch_terminal};
use super::super::capabilities;
use super::super::claim::Claim;
use super::super::control::Control;
use super::super::deferred_finish::DeferredFinish;
use super::super::ends::BranchWish;
use super::super::interpreter::Interpreter;
use super::super::map::InFlightRequests;
use super::super::startup::Startup;
use super::{AfterExit, PythonSupervisor};
use crate::request_kind::{RequestKind, dead};
use crate::supervisor::{BranchParts, EVENTS_IN_FLIGHT, LastDeath, SupervisedRuntime, Supervisor};
use crate::{Branch, Death, RequestId, RuntimeEvent, RuntimeReply};

/// Owns the interpreter of a branch, on a thread of its own, and starts no other.
struct BranchSupervisor {
    supervisor: PythonSupervisor,
    interpreter: Interpreter,
}

impl Supervisor for BranchSupervisor {
    const THREAD: &'static str = "branch";
    const OWNED: &'static str = "a cell in the background";

    fn run(mut self) {
        let next = self.supervisor.attend(self.interpreter);
        if let Some(terminal) = &self.supervisor.terminal {
            terminal.close();
        }
        if let AfterExit::Wait = next {
            self.supervisor.refuse_all();
        }
    }
}

impl PythonSupervisor {
    pub(super) fn begin_branch(
        &mut self,
        id: RequestId,
        wish: BranchWish,
        interpreter: &mut Interpreter,
    ) {
        let (terminal, current) = (self.terminal.as_deref(), self.in_flight.current);
        let begun = self.handoff.begin(id, wish, current, terminal, interpreter);
        if let Err(why) = begun {
            self.events.send(RequestKind::HandOff.failed(id, &why));
        }
    }

    /// Ends a request for a branch that was answered.
    pub(super) fn finish_handoff(&mut self, interpreter: &mut Interpreter) {
        let Some((id, wish, branch)) = self.handoff.finish(interpreter) else {
            return;
        };
        let answer = match (branch, wish) {
            (Ok(branch), BranchWish::Cell { cell, .. }) => {
                RuntimeReply::Branch(self.separate(cell, branch, interpreter))
            }
            (Ok(branch), BranchWish::Aside { .. }) => {
                let none = (InFlightRequests::default(), DeferredFinish::default());
                RuntimeReply::Branch(self.start_branch(branch, none))
            }
            (Err(why), _) => RuntimeReply::Failed(why),
        };
        self.events.send(RuntimeEvent::Replied { id, answer });
        if let Some((id, wish)) = self.handoff.next() {
            self.begin_branch(id, wish, interpreter);
        }
    }

    /// Starts the runtime of a branch, which gets the cell; all else is the interpreter's that has the prompt.
    fn separate(&mut self, cell: RequestId, branch: Interpreter, front: &Interpreter) -> Branch {
        self.attach(front);
        let (in_flight, others) = self.in_flight.split(cell);
        for (id, kind) in others {
            let why = "the cell that it waited for goes on in the background; ask again";
            self.events.send(kind.failed(id, why));
        }
        self.update_running();
        let deferred = std::mem::take(&mut self.deferred_finish);
        self.start_branch(branch, (in_flight, deferred))
    }

    /// Starts the runtime of a branch, with the requests that it has.
    fn start_branch(
        &self,
        branch: Interpreter,
        (in_flight, deferred_finish): (InFlightRequests, DeferredFinish),
    ) -> Branch {
        let control = Arc::new(Control::new());
        control.set_group(Some(branch.group()));
        control.set_ready();
        let running = in_flight.running();
        control.set_running(running, running > 0);
        let (sender, events) = tokio::sync::mpsc::channel(EVENTS_IN_FLIGHT);
        let terminal = self
            .terminal
            .as_ref()
            .map(|terminal| branch_terminal(terminal, &branch, &control, running > 0));
        let claim = Arc::new(Claim::new(Arc::clone(&control)));
        let supervisor = BranchSupervisor {
            supervisor: PythonSupervisor {
                plan: self.plan.clone(),
                control: Arc::clone(&control),
                terminal: terminal.clone(),
                events: control.sender(sender.clone()),
                in_flight,
                handoff: PendingHandoff::default(),
                claim: Some(Arc::clone(&claim)),
                deferred_finish,
                startup: Startup::default(),
                last_death: LastDeath::default(),
                restarted: true,
                leaves_since: None,
            },
            interpreter: branch,
        };
        let able = Arc::new(Mutex::new(capabilities(terminal.is_some())));
        let runtime = SupervisedRuntime::start(supervisor, control, able, terminal, sender)
            .counting_from(FIRST_ID);
        let parts: BranchParts = Mutex::new(Some((Box::new(runtime), events)));
        let parts = Arc::new(parts);
        Branch { parts, claim }
    }

    /// Types into the terminal of this interpreter, and signals it, from now on.
    fn attach(&self, interpreter: &Interpreter) {
        if let (Some(terminal), Some(master)) = (&self.terminal, interpreter.terminal()) {
            terminal.install(master, false);
        }
        self.control.set_group(Some(interpreter.group()));
        self.control.set_ready();
    }

    /// Lets a branch take the prompt again; the process that had it ends.
    pub(super) fn take_back(
        &mut self,
        branch: &Branch,
        interpreter: &mut Interpreter,
    ) -> RuntimeReply {
        if !self.in_flight.is_empty() {
            return RuntimeReply::Failed("the interpreter at the prompt works".into());
        }
        match branch.claim.downcast_ref().and_then(Claim::take) {
            None => RuntimeReply::Failed("the branch has ended".into()),
            Some(returned) => {
                interpreter.return_to(returned);
                self.attach(interpreter);
                RuntimeReply::Done
            }
        }
    }

    /// Of a branch whose interpreter has ended: ends each request, until the runtime closes.
    fn refuse_all(&self) {
        let death = Death::Reported("it has ended before".into());
        while !self.control.is_closing() {
            self.control.send_ends(&self.events);
            for (id, request) in self.control.take_requests() {
                self.events.send_all(dead(id, &request, &death));
                if RequestKind::is_cell(&request) {
                    // The end of a cell by death is followed by the news of that.
                    let (death, restarting) = (death.clone(), false);
                    self.events.send(RuntimeEvent::Died { death, restarting });
                }
            }
            self.control.set_running(0, false);
            self.control.wait(Vec::new(), None);
        }
    }
}
