//! The thread that owns an agent's process and turns commands and messages into each other.
//!
//! In: [`Command`]s of the handle (unbounded, so that callers never wait), messages of the process, events of the
//! client's own, the clock. Out: events, in order, waiting for room. Commands go first: a cancel overtakes a flood of
//! updates. The driver starts and ends the process and the turns; the protocol is that of its [`Client`]. Invariant:
//! a turn leaves [`Driver::current`] exactly when its `Finished` or `Failed` is emitted.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::oneshot;

use super::agent_process::{AgentProcess, ProcessConfig, Purpose, next_of};
use super::event::AgentEvents;
use super::failure;
use super::handle::{Command, DriverChannels, Handle, SharedCapabilities};
use super::{
    Agent, AgentCapabilities, AgentEvent, AgentFailure, AgentReply, ConsultReply, ConsultRequest,
    Lookup, LookupReply, SuggestReply, SuggestRequest, TurnId, TurnRequest,
};
use crate::rpc::{RpcError, RpcId, RpcMessage};

/// The protocol of an agent, and what is known of the agent over its life.
pub(super) trait Client: Sized {
    type Purpose: Purpose;
    /// What is known of a process, and forgotten with it.
    type Knowledge: Default;
    type Turn;
    /// What happens beside commands and messages.
    type Event;

    /// Stops a turn, for messages to the user.
    const CANCEL: &'static str;

    fn name(&self) -> &str;

    /// Capabilities before the first start.
    fn capabilities(&self) -> AgentCapabilities;

    /// Starts a process and sends the first request.
    fn open(
        &self,
        config: &ProcessConfig,
    ) -> Result<AgentProcess<Self::Purpose, Self::Knowledge>, AgentFailure>;

    /// How long a process is waited for that is not needed any more.
    fn grace(_: &AgentProcess<Self::Purpose, Self::Knowledge>, end: Duration) -> Duration {
        end
    }

    fn turn(&mut self, turn: TurnId, request: &TurnRequest) -> Self::Turn;

    /// Opens a thread for the current turn, when the process is ready.
    fn begin(driver: &mut Driver<Self>);

    /// Stops the current turn, which has just been cancelled.
    fn interrupt(driver: &mut Driver<Self>);

    /// The turn leaves the driver, before its last event.
    fn leave(driver: &mut Driver<Self>, turn: &mut ActiveTurn<Self::Turn>);

    /// Takes a reply to the current turn.
    fn on_reply(driver: &mut Driver<Self>, reply: AgentReply);

    /// Takes a command beside turns; true when a request beside turns waits to be sent.
    fn on_command(driver: &mut Driver<Self>, command: Command) -> bool;

    /// Sends the requests beside turns that wait, when the process is ready.
    fn send_beside(
        &mut self,
        process: &mut AgentProcess<Self::Purpose, Self::Knowledge>,
        config: &ProcessConfig,
    );

    /// Fails all requests beside turns, when the process is gone.
    fn fail_beside(&mut self, failure: &AgentFailure);

    fn on_response(
        driver: &mut Driver<Self>,
        purpose: Self::Purpose,
        outcome: Result<Value, RpcError>,
    );

    fn on_request(driver: &mut Driver<Self>, id: RpcId, method: &str, params: Value);

    fn on_notification(driver: &mut Driver<Self>, method: &str, params: Value);

    /// The next event of the client's own; never returns while there is none.
    async fn next(&mut self) -> Self::Event;

    fn on_event(driver: &mut Driver<Self>, event: Self::Event);

    /// The earliest time limit of the client's own.
    fn deadline(driver: &Driver<Self>) -> Option<Instant>;

    /// Looks at the time limits of the client's own.
    fn on_deadline(driver: &mut Driver<Self>, now: Instant);

    /// A request got no response in time; false when the process has to end.
    fn on_expired(driver: &mut Driver<Self>, purpose: Self::Purpose) -> bool;

    /// The handle is gone.
    fn close(&mut self) {}
}

/// The current turn: its request and its state.
pub(super) struct ActiveTurn<T> {
    pub(super) turn: TurnId,
    pub(super) request: Box<TurnRequest>,
    /// The prompt has been sent.
    pub(super) sent: bool,
    /// When a cancelled turn that has not ended fails.
    pub(super) cancelled: Option<Instant>,
    pub(super) state: T,
}

pub(super) struct Driver<C: Client> {
    pub(super) client: C,
    pub(super) config: ProcessConfig,
    pub(super) capabilities: SharedCapabilities,
    pub(super) process: Option<AgentProcess<C::Purpose, C::Knowledge>>,
    /// A process that ends after the events.
    pub(super) retired: Option<AgentProcess<C::Purpose, C::Knowledge>>,
    pub(super) current: Option<ActiveTurn<C::Turn>>,
    queue: VecDeque<(TurnId, Box<TurnRequest>)>,
    channels: DriverChannels,
    events: Vec<AgentEvent>,
}

/// Creates an agent; starts nothing.
pub(super) fn connect<C: Client + Send + 'static>(
    client: C,
    config: ProcessConfig,
) -> (ProcessAgent, AgentEvents) {
    let name = client.name().to_owned();
    let capabilities = SharedCapabilities::new(client.capabilities());
    let shared = capabilities.clone();
    let (handle, events) = Handle::new(&name, move |channels| {
        let driver = Driver {
            client,
            config,
            capabilities: shared,
            process: None,
            retired: None,
            current: None,
            queue: VecDeque::new(),
            channels,
            events: Vec::new(),
        };
        driver.run();
    });
    let agent = ProcessAgent {
        handle,
        capabilities,
    };
    (agent, events)
}

impl<C: Client> Driver<C> {
    /// Runs until the handle is dropped, then ends the process.
    fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a current-thread runtime with a timer needs no operating system resource");
        runtime.block_on(self.serve());
        self.client.close();
        if let Some(process) = self.process.take() {
            let grace = C::grace(&process, self.config.patience.end);
            // The handle is gone: the exit status has no reader.
            let _ = process.end(grace);
        }
        // Does not wait for work that hangs.
        runtime.shutdown_background();
    }

    async fn serve(&mut self) {
        loop {
            let deadline = self.deadline();
            let due = async move {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                command = self.channels.next() => match command {
                    Some(command) => self.on_command(command),
                    None => return,
                },
                event = self.client.next() => C::on_event(self, event),
                message = next_of(&mut self.process) => match message {
                    Some(message) => self.on_message(message),
                    None => self.on_exit(),
                },
                () = due => self.on_deadline(),
            }
            self.begin_next();
            for event in self.events.drain(..) {
                self.channels.emit(event).await;
            }
            if let Some(process) = self.retired.take() {
                let _ = process.end(self.config.patience.end);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let request = self.process.as_ref().and_then(AgentProcess::deadline);
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        let deadlines = [request, cancel, C::deadline(self)];
        deadlines.into_iter().flatten().min()
    }

    fn on_command(&mut self, command: Command) {
        match command {
            // A failure is reported by the first turn, which starts the process again.
            Command::WarmUp => drop(self.ensure_started()),
            Command::Start(turn, request) => self.queue.push_back((turn, request)),
            // Late replies are ignored.
            Command::Reply(turn, reply) if self.is_current(turn) => C::on_reply(self, reply),
            Command::Reply(..) => {}
            Command::Cancel(turn) => self.cancel(turn),
            command => {
                if C::on_command(self, command) {
                    match self.ensure_started() {
                        Ok(true) => self.send_beside(),
                        Ok(false) => {}
                        Err(failure) => self.fail(failure),
                    }
                }
            }
        }
    }

    pub(super) fn emit(&mut self, events: impl IntoIterator<Item = AgentEvent>) {
        self.events.extend(events);
    }

    pub(super) fn is_current(&self, turn: TurnId) -> bool {
        self.current.as_ref().is_some_and(|it| it.turn == turn)
    }

    /// Starts the process if none runs; true when it is ready for threads.
    fn ensure_started(&mut self) -> Result<bool, AgentFailure> {
        if self.process.is_none() {
            self.process = Some(self.client.open(&self.config)?);
        }
        Ok(self.process.as_ref().is_some_and(|process| process.ready))
    }

    /// The handshake is done.
    pub(super) fn on_ready(&mut self) {
        if let Some(process) = &mut self.process {
            process.ready = true;
            self.send_beside();
            C::begin(self);
        }
    }

    fn send_beside(&mut self) {
        if let Some(process) = &mut self.process {
            self.client.send_beside(process, &self.config);
        }
    }

    fn begin_next(&mut self) {
        while self.current.is_none()
            && let Some((turn, request)) = self.queue.pop_front()
        {
            // One that has closed its input since the last turn is over: the turn is for the next.
            if (self.process.as_ref()).is_some_and(|it| it.ready && !it.listens()) {
                self.on_exit();
            }
            self.current = Some(ActiveTurn {
                turn,
                state: self.client.turn(turn, &request),
                request,
                sent: false,
                cancelled: None,
            });
            match self.ensure_started() {
                Ok(true) => C::begin(self),
                Ok(false) => {}
                Err(failure) => self.fail(failure),
            }
        }
    }

    /// The prompt of the current turn has been sent.
    pub(super) fn on_sent(&mut self) {
        if let Some(current) = &mut self.current {
            current.sent = true;
            let turn = current.turn;
            self.emit([AgentEvent::Sent { turn }]);
        }
    }

    pub(super) fn cancel(&mut self, turn: TurnId) {
        if let Some(at) = self.queue.iter().position(|(queued, _)| *queued == turn) {
            self.queue.remove(at);
            return self.emit([interrupted(turn)]);
        }
        let Some(current) = self.current.as_mut().filter(|it| it.turn == turn) else {
            return;
        };
        if !current.sent {
            // Nothing has reached the model yet.
            self.end_turn();
            self.emit([interrupted(turn)]);
        } else if current.cancelled.is_none() {
            current.cancelled = Some(Instant::now() + self.config.patience.cancel);
            C::interrupt(self);
        }
    }

    fn on_message(&mut self, message: RpcMessage) {
        match message {
            RpcMessage::Response { id, outcome } => {
                let process = self.process.as_mut();
                if let Some(purpose) = process.and_then(|process| process.complete(&id)) {
                    C::on_response(self, purpose, outcome);
                }
            }
            RpcMessage::Request { id, method, params } => C::on_request(self, id, &method, params),
            RpcMessage::Notification { method, params } => {
                C::on_notification(self, &method, params);
            }
        }
    }

    pub(super) fn respond(&self, id: RpcId, outcome: Result<Value, RpcError>) {
        if let Some(process) = &self.process {
            process.respond(id, outcome);
        }
    }

    /// Removes the current turn; its last event follows.
    pub(super) fn end_turn(&mut self) -> Option<ActiveTurn<C::Turn>> {
        let mut current = self.current.take()?;
        C::leave(self, &mut current);
        Some(current)
    }

    /// Fails the current turn, which is interrupted if the user had cancelled it, and, when the process is gone,
    /// every request beside it.
    pub(super) fn fail(&mut self, failure: AgentFailure) {
        if self.process.is_none() {
            self.client.fail_beside(&failure);
        }
        if let Some(ActiveTurn {
            turn, cancelled, ..
        }) = self.end_turn()
        {
            self.emit([match cancelled {
                Some(_) => interrupted(turn),
                None => AgentEvent::Failed { turn, failure },
            }]);
        }
    }

    /// Kills a process that has broken the protocol.
    pub(super) fn give_up(&mut self, failure: AgentFailure) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
        self.fail(failure);
    }

    /// The process has closed its output: an open turn has failed, whatever the exit code.
    fn on_exit(&mut self) {
        if let Some(process) = self.process.take() {
            let junk = process.junk();
            let outcome = process.end_soon();
            self.fail(failure::exited(self.client.name(), outcome, junk));
        }
    }

    /// The number of lines of the process that were no messages.
    pub(super) fn junk(&self) -> u64 {
        self.process.as_ref().map_or(0, AgentProcess::junk)
    }

    fn on_deadline(&mut self) {
        let now = Instant::now();
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        let patience = self.config.patience;
        if cancel.is_some_and(|deadline| deadline <= now) {
            // The user cancelled, so the turn is reported as interrupted.
            let name = self.client.name();
            return self.give_up(failure::timed_out(name, C::CANCEL, patience.cancel, 0));
        }
        C::on_deadline(self, now);
        let expired = self.process.as_mut().and_then(|it| it.expire(now));
        if let Some(purpose) = expired
            && !C::on_expired(self, purpose)
        {
            let (name, limit) = (self.client.name(), purpose.limit(&patience));
            let failure = failure::timed_out(name, purpose.method(), limit, self.junk());
            self.give_up(failure);
        }
    }
}

pub(super) fn interrupted(turn: TurnId) -> AgentEvent {
    AgentEvent::Finished {
        turn,
        interrupted: true,
        thread: None,
        point: None,
    }
}

/// An agent that is a process. Dropping it ends the process.
pub(super) struct ProcessAgent {
    handle: Handle,
    capabilities: SharedCapabilities,
}

impl Agent for ProcessAgent {
    fn capabilities(&self) -> AgentCapabilities {
        self.capabilities.get()
    }

    fn start(&mut self, request: TurnRequest) -> TurnId {
        self.handle.start(request)
    }

    fn reply(&mut self, turn: TurnId, reply: AgentReply) {
        self.handle.send(Command::Reply(turn, reply));
    }

    fn cancel(&mut self, turn: TurnId) {
        self.handle.send(Command::Cancel(turn));
    }

    fn look_up(&mut self, lookup: Lookup) -> oneshot::Receiver<Result<LookupReply, AgentFailure>> {
        self.handle.request(|tell| Command::LookUp(lookup, tell))
    }

    fn suggest(&mut self, request: SuggestRequest) -> oneshot::Receiver<SuggestReply> {
        let request = Box::new(request);
        self.handle.request(|tell| Command::Suggest(request, tell))
    }

    fn consult(&mut self, request: ConsultRequest) -> oneshot::Receiver<ConsultReply> {
        let request = Box::new(request);
        self.handle.request(|tell| Command::Consult(request, tell))
    }

    fn log_in(&mut self, method: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        let method = method.to_owned();
        self.handle.request(|tell| Command::LogIn(method, tell))
    }

    fn choose(&mut self, option: &str, value: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        let (option, value) = (option.to_owned(), value.to_owned());
        self.handle
            .request(|tell| Command::Choose(option, value, tell))
    }

    fn warm_up(&mut self) {
        self.handle.send(Command::WarmUp);
    }
}
