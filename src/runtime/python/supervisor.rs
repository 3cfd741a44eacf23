//! The thread that owns the interpreter: starts it, sends requests, reads frames and output, restarts it.
//!
//! In: requests and signals through [`Control`], bytes from the interpreter. Out: events. Invariants: one thread,
//! so events have one order; however an interpreter ends, its output comes first, then the ends of its requests,
//! then its death. After two deaths within a minute the next start waits for a cell. Absent on purpose: async.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::mpsc::Sender;

use super::super::control::EventSender;
use super::super::supervisor::{
    BranchParts, EVENTS_IN_FLIGHT, LastDeath, SupervisedRuntime, Supervisor,
};
use super::super::terminal::CellPty;
use super::super::{
    Branch, Death, RequestId, RuntimeEvent, RuntimeInfo, RuntimeReply, RuntimeRequest, StartFailure,
};
use super::branch::{FIRST_ID, PendingHandoff, branch_terminal};
use super::capabilities;
use super::claim::Claim;
use super::control::Control;
use super::deferred_finish::DeferredFinish;
use super::ends::BranchWish;
use super::host_calls::answered_call;
use super::interpreter::{Interpreter, PollStep};
use super::map::{InFlightRequests, typed_bytes, wants_to_leave};
use super::plan::PythonPlan;
use super::requests::{reply_line, request_line, take_back_line};
use super::sequencer::SequenceItem;
use super::shutdown_phase::{GRACE, ShutdownPhase};
use super::start::{EarlyOutput, Start, Starter};
use super::startup::Startup;
use super::wire::RunnerFrame;
use crate::process::{BatchScheduling, SuspendKey};
use crate::request_kind::{RequestKind, dead};

/// Maximum wait of a frame for its mark, or of a stream for its frame, while nothing arrives.
const MARK_PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of chunks read from an ended interpreter; a surviving grandchild may print for ever.
const LAST_CHUNKS: usize = 2048;

struct PythonSupervisor {
    plan: PythonPlan,
    control: Arc<Control>,
    terminal: Option<Arc<CellPty>>,
    events: EventSender,
    in_flight: InFlightRequests,
    handoff: PendingHandoff,
    /// Of a branch: whoever takes the interpreter back.
    claim: Option<Arc<Claim>>,
    deferred_finish: DeferredFinish,
    startup: Startup,
    last_death: LastDeath,
    restarted: bool,
    /// Start of the interpreter's at-exit functions.
    leaves_since: Option<Instant>,
}

enum AfterExit {
    Start,
    /// Start another interpreter with the next cell.
    Wait,
    Close,
}

/// Starts the runtime. An interpreter that does not exit by itself once the runtime is dropped is killed within two
/// seconds.
pub(crate) fn start(plan: PythonPlan, events: Sender<RuntimeEvent>) -> SupervisedRuntime {
    let control = Arc::new(Control::new());
    let terminal = plan.terminal.map(|size| {
        let keys = Arc::clone(&control) as _;
        Arc::new(CellPty::new(size, SuspendKey::Disabled, keys))
    });
    let capabilities = Arc::new(Mutex::new(capabilities(terminal.is_some())));
    let supervisor = PythonSupervisor {
        plan,
        control: Arc::clone(&control),
        terminal: terminal.clone(),
        events: control.sender(events.clone()),
        in_flight: InFlightRequests::default(),
        handoff: PendingHandoff::default(),
        claim: None,
        deferred_finish: DeferredFinish::default(),
        startup: Startup::default(),
        last_death: LastDeath::default(),
        restarted: false,
        leaves_since: None,
    };
    SupervisedRuntime::start(supervisor, control, capabilities, terminal, events)
}

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

impl Supervisor for PythonSupervisor {
    const THREAD: &'static str = "python";
    const OWNED: &'static str = "the Python interpreter";

    fn run(mut self) {
        while !self.control.is_closing() {
            let starter = Starter {
                plan: &self.plan,
                control: &self.control,
                events: &self.events,
                terminal: self.terminal.as_deref(),
                restarted: self.restarted,
            };
            let next = match starter.start() {
                Start::Up(interpreter, info, early) => {
                    self.restarted = true;
                    self.serve(*interpreter, info, early)
                }
                Start::Failed(failure) => {
                    self.fail_start(failure);
                    AfterExit::Wait
                }
                Start::Killed | Start::Abandoned => AfterExit::Wait,
            };
            self.control.set_group(None);
            if let Some(terminal) = &self.terminal {
                terminal.close();
            }
            match next {
                AfterExit::Start => {}
                AfterExit::Wait => self.wait_for_cell(),
                AfterExit::Close => return,
            }
        }
    }
}

impl PythonSupervisor {
    fn fail_start(&self, failure: StartFailure) {
        self.events.send(RuntimeEvent::StartFailed(failure.clone()));
        let death = Death::NotStarted(failure);
        for (id, request) in self.control.take_requests() {
            if wants_to_leave(&request) {
                // Without an interpreter the user must still be able to exit.
                let (code, stays) = (0, false);
                self.events
                    .send(RuntimeEvent::ExitRequested { id, code, stays });
            }
            self.events.send_all(dead(id, &request, &death));
        }
        self.control.set_running(0, false);
    }

    /// Answers the requests that need no interpreter, until a cell arrives or the runtime closes.
    fn wait_for_cell(&mut self) {
        loop {
            self.control.send_ends(&self.events);
            if self.control.is_closing() || self.control.has_request(RequestKind::is_cell) {
                return;
            }
            for (id, request) in self.control.take_requests() {
                let answer = match RequestKind::from_request(&request) {
                    None => continue,
                    Some(RequestKind::Execute) => {
                        // Submitted between the two looks at the queue: runs with the next interpreter.
                        self.control.submit(id, request);
                        continue;
                    }
                    Some(RequestKind::Shutdown) => RuntimeReply::Done,
                    Some(_) => RuntimeReply::Failed("no Python interpreter is running".into()),
                };
                self.events.send(RuntimeEvent::Replied { id, answer });
            }
            self.control.set_running(0, false);
            self.control.wait(Vec::new(), None);
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

    fn serve(
        &mut self,
        mut interpreter: Interpreter,
        info: RuntimeInfo,
        early: Vec<EarlyOutput>,
    ) -> AfterExit {
        self.events.send(RuntimeEvent::Ready(info));
        for EarlyOutput { stream, bytes } in early {
            self.events.send(RuntimeEvent::Output {
                id: None,
                stream,
                bytes,
                foreign: false,
            });
        }
        self.control.set_ready();
        self.startup.again(&mut interpreter);
        self.attend(interpreter)
    }

    /// Exchanges requests and events with an interpreter until it ends, or is claimed back.
    fn attend(&mut self, mut interpreter: Interpreter) -> AfterExit {
        // A cell is several small writes of the interpreter.
        let _batch = BatchScheduling::begin();
        let mut leaving = ShutdownPhase::No;
        self.leaves_since = None;
        loop {
            self.send_requests(&mut interpreter, &mut leaving);
            // Its answer comes before the end of the cell, so it is looked for before what was read is passed on.
            self.finish_handoff(&mut interpreter);
            self.emit_certain(&mut interpreter);
            if let Some(claim) = self.claim.as_ref().filter(|claim| claim.is_wanted())
                && self.in_flight.is_empty()
            {
                claim.give(interpreter);
                return AfterExit::Close;
            }
            self.update_foreground(&interpreter);
            if self.deferred_finish.left() == Some(Duration::ZERO) {
                self.release_end();
            }
            if self.control.is_closing() {
                self.end(interpreter);
                return AfterExit::Close;
            }
            let deadlines = [
                leaving.enforce(
                    &interpreter.group(),
                    self.in_flight.running() > 0,
                    self.leaves_since,
                ),
                interpreter.sequencer.is_waiting().then_some(MARK_PATIENCE),
                self.deferred_finish.left(),
            ];
            match interpreter.step(&self.control, deadlines.into_iter().flatten().min()) {
                PollStep::Active => {}
                PollStep::Idle => {
                    if let Some(item) = interpreter.sequencer.force() {
                        self.emit(item, &mut interpreter);
                    }
                }
                PollStep::Ended => {
                    return self.on_exit(interpreter, !matches!(leaving, ShutdownPhase::No));
                }
            }
        }
    }

    fn send_requests(&mut self, interpreter: &mut Interpreter, leaving: &mut ShutdownPhase) {
        self.control.send_ends(&self.events);
        let requests = self.control.take_requests();
        if requests.is_empty() {
            return;
        }
        // An interrupt of what has ended must not reach what begins now.
        interpreter.group().await_signals();
        for (id, request) in requests {
            let question =
                answered_call(&request).and_then(|call| self.in_flight.take_question(call));
            if let Some(line) = question.and_then(|question| reply_line(&question, &request)) {
                interpreter.request(&line);
            }
            let Some(kind) = RequestKind::from_request(&request) else {
                continue;
            };
            match &request {
                RuntimeRequest::HandOff { cell, branch } => {
                    let (cell, branch) = (*cell, *branch);
                    self.begin_branch(id, BranchWish::Cell { cell, branch }, interpreter);
                }
                RuntimeRequest::Fork { branch, folder } => {
                    let (branch, folder) = (*branch, folder.clone());
                    self.begin_branch(id, BranchWish::Aside { branch, folder }, interpreter);
                }
                RuntimeRequest::TakeBack(branch) => {
                    let answer = self.take_back(branch, interpreter);
                    self.events.send(RuntimeEvent::Replied { id, answer });
                }
                _ => {}
            }
            if let Some(line) = request_line(id, &request) {
                self.in_flight.add(id, kind);
                self.startup.asked(id, &request);
                interpreter.request(&line);
            }
            if kind == RequestKind::Shutdown {
                interpreter.group().keep_sessions();
                *leaving = ShutdownPhase::Asked(None);
            }
        }
        self.update_running();
    }

    fn begin_branch(&mut self, id: RequestId, wish: BranchWish, interpreter: &mut Interpreter) {
        let (terminal, current) = (self.terminal.as_deref(), self.in_flight.current);
        let begun = self.handoff.begin(id, wish, current, terminal, interpreter);
        if let Err(why) = begun {
            self.events.send(RequestKind::HandOff.failed(id, &why));
        }
    }

    /// Ends a request for a branch that was answered.
    fn finish_handoff(&mut self, interpreter: &mut Interpreter) {
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
    fn take_back(&mut self, branch: &Branch, interpreter: &mut Interpreter) -> RuntimeReply {
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

    fn update_running(&self) {
        self.control
            .set_running(self.in_flight.running(), self.in_flight.current.is_some());
    }

    fn emit(&mut self, item: SequenceItem, interpreter: &mut Interpreter) {
        let event = match item {
            SequenceItem::Output {
                stream,
                bytes,
                foreign,
            } => RuntimeEvent::Output {
                id: self.in_flight.current.or(self.deferred_finish.id()),
                stream,
                bytes,
                foreign,
            },
            SequenceItem::Frame(frame) => match self.event(frame, interpreter) {
                Some(event) => event,
                None => {
                    // The chunk may be the silent start or end of a request.
                    self.update_running();
                    return;
                }
            },
        };
        let is_boundary = matches!(
            event,
            RuntimeEvent::Started { .. }
                | RuntimeEvent::Finished { .. }
                | RuntimeEvent::Replied { .. }
        );
        if is_boundary {
            interpreter.sequencer.reclaim_screen();
            self.update_running();
        }
        if let (RuntimeEvent::Started { .. }, Some(terminal)) = (&event, &self.terminal) {
            terminal.begin_cell();
        }
        // A reader of the event may ask for the mode at once.
        self.update_foreground(interpreter);
        self.events.send(event);
    }

    /// Translates a frame; `None` when it means nothing, or not yet.
    fn event(&mut self, frame: RunnerFrame, interpreter: &mut Interpreter) -> Option<RuntimeEvent> {
        if let RunnerFrame::Typed { id, typeahead } = frame {
            return self.deferred_finish.typed(id.0, typed_bytes(&typeahead));
        }
        if let RunnerFrame::Leaving {} = frame {
            self.leaves_since = Some(Instant::now());
            return None;
        }
        if let RunnerFrame::Moved { pid } = frame {
            // A branch makes no step; code in it that says so would get the signals for others.
            if self.claim.is_none() {
                // Before any other thread learns of the move: the old process may end from here on.
                interpreter.group().follow(pid);
                interpreter.is_process(pid);
            }
            return None;
        }
        if matches!(frame, RunnerFrame::Started { .. }) {
            // Bytes typed in between belong to the next cell by now.
            self.release_end();
        }
        self.startup.saw(&frame);
        match self.in_flight.event(frame)? {
            RuntimeEvent::Finished { id, finish } => {
                let is_coming = self.end_cell();
                if is_coming {
                    interpreter.request(&take_back_line(id));
                }
                self.deferred_finish.end(id, finish, is_coming)
            }
            event => Some(event),
        }
    }

    /// Marks the running cell as over; returns true when bytes were typed for it.
    fn end_cell(&self) -> bool {
        let terminal = self.terminal.as_ref();
        terminal.is_some_and(|terminal| terminal.end_cell())
    }

    /// Releases the end that waits for typed bytes, with those that have arrived.
    fn release_end(&mut self) {
        self.events.send_all(self.deferred_finish.release());
    }

    /// Sends the ends of all requests that the interpreter has not ended.
    fn end_open(&mut self, death: &Death) {
        self.release_end();
        let open = self.in_flight.abandon().into_iter();
        self.events
            .send_all(open.map(|(id, kind)| kind.end(id, death)));
    }

    fn update_foreground(&self, interpreter: &Interpreter) {
        if let Some(terminal) = &self.terminal {
            terminal.set_foreground_program(interpreter.sequencer.screen_is_owned());
        }
    }

    /// Ends the interpreter of a closed runtime. Its last output is read and dropped, so that it can exit.
    fn end(&mut self, mut interpreter: Interpreter) {
        if self.claim.is_some() {
            // A branch leaves nothing to those who come after it.
            return interpreter.group().kill();
        }
        interpreter.group().keep_sessions();
        interpreter.close_requests();
        for signal in [Signal::TERM, Signal::KILL] {
            let deadline = Instant::now() + GRACE;
            loop {
                while interpreter.sequencer.next().is_some() {}
                let left = deadline.saturating_duration_since(Instant::now());
                match interpreter.step(&self.control, Some(left)) {
                    PollStep::Ended => {
                        let _ = interpreter.reap(GRACE);
                        return;
                    }
                    _ if left.is_zero() => break,
                    PollStep::Idle => drop(interpreter.sequencer.force()),
                    PollStep::Active => {}
                }
            }
            interpreter.group().signal(signal);
        }
        let _ = interpreter.reap(GRACE);
    }

    /// Sends an interpreter's last output, the ends of its requests and its death.
    fn on_exit(&mut self, mut interpreter: Interpreter, expected: bool) -> AfterExit {
        let group = interpreter.group();
        if interpreter.confusion.is_some() {
            group.signal(Signal::KILL);
        }
        let status = interpreter.reap(GRACE);
        for _ in 0..LAST_CHUNKS {
            let more = interpreter.read_rest();
            let mut moved = self.emit_certain(&mut interpreter);
            if !more
                && !moved
                && interpreter.sequencer.is_waiting()
                && let Some(item) = interpreter.sequencer.force()
            {
                moved = true;
                self.emit(item, &mut interpreter);
            }
            if !more && !moved && !interpreter.sequencer.is_waiting() {
                break;
            }
        }
        interpreter.close_streams();
        self.emit_certain(&mut interpreter);
        let death = match interpreter.confusion.take() {
            _ if group.was_killed() => Death::Killed,
            Some(what) => Death::ProtocolError(what),
            None => match status.transpose() {
                Some(status) => Death::from(status),
                None => Death::Reported("it exited, crashed or was killed: out of memory?".into()),
            },
        };
        for id in self.handoff.take() {
            let answer = RuntimeReply::Failed(format!("the Python interpreter ended: {death}"));
            self.events.send(RuntimeEvent::Replied { id, answer });
        }
        self.end_cell();
        self.end_open(&death);
        self.control.set_group(None);
        if expected {
            return AfterExit::Wait;
        }
        if self.claim.is_some() {
            let restarting = false;
            self.events.send(RuntimeEvent::Died { death, restarting });
            return AfterExit::Wait;
        }
        let restarting = self.last_death.restarts(&death);
        self.events.send(RuntimeEvent::Died { death, restarting });
        self.startup.died(&self.events);
        match restarting {
            true => AfterExit::Start,
            false => AfterExit::Wait,
        }
    }

    /// Sends all items whose place is certain; returns true when there was one.
    fn emit_certain(&mut self, interpreter: &mut Interpreter) -> bool {
        let mut some = false;
        while let Some(item) = interpreter.sequencer.next() {
            some = true;
            self.emit(item, interpreter);
        }
        some
    }
}

impl Drop for PythonSupervisor {
    fn drop(&mut self) {
        // The contract's last promise: every request has an end, if the receiver still exists.
        self.end_open(&Death::Killed);
    }
}
