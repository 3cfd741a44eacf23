//! The thread that owns the agent's process and turns commands and messages into each other.
//!
//! In: commands of the handle, messages of the process, output of terminals, results of file operations, the clock.
//! Out: events, in order. Commands go first: a cancel overtakes a flood of updates. Invariants: a turn leaves
//! `current` exactly when its end is sent; every request of the agent is answered; the replay of `session/load`
//! produces no events.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::active_turn::ActiveTurn;
use super::client_services::{ClientServices, ServiceEffect};
use super::initialize::InitializeResult;
use super::process::{AgentProcess, Purpose, next_of, until};
use super::program::{Program, SharedCapabilities};
use super::sessions::{Sessions, Step};
use super::side_requests::{Ready, SideRequests};
use super::{content, failure, permission, sessions, turn_end};
use crate::handle::{Command, DriverChannels};
use crate::process_config::ProcessConfig;
use crate::process_failure;
use crate::rpc::{RpcError, RpcId, RpcMessage};
use crate::text::trace::UPDATES;
use crate::{
    AgentEvent, AgentFailure, AgentReply, AgentUpdate, Decision, QuestionAnswer, TurnId,
    TurnRequest,
};

pub(super) struct Driver {
    program: Program,
    plan: ProcessConfig,
    channels: DriverChannels,
    known: SharedCapabilities,
    process: Option<AgentProcess>,
    start: Duration,
    /// The process's answer to `initialize`, once received.
    initialized: Option<InitializeResult>,
    sessions: Sessions,
    current: Option<ActiveTurn>,
    queue: VecDeque<(TurnId, Box<TurnRequest>)>,
    side_requests: SideRequests,
    services: ClientServices,
}

impl Driver {
    pub(super) fn new(
        program: Program,
        plan: ProcessConfig,
        channels: DriverChannels,
        known: SharedCapabilities,
    ) -> Self {
        Driver {
            services: ClientServices::new(plan.clone(), program.size_limit),
            program,
            channels,
            known,
            process: None,
            start: plan.patience.initialize,
            initialized: None,
            sessions: Sessions::default(),
            current: None,
            queue: VecDeque::new(),
            side_requests: SideRequests::default(),
            plan,
        }
    }

    /// Runs until the handle is dropped, then ends the process.
    pub(super) fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a current-thread runtime with a timer needs no operating system resource");
        runtime.block_on(self.serve());
        self.services.end_all();
        if let Some(process) = self.process.take() {
            // The handle is gone: the exit status has no reader.
            let _ = match self.initialized {
                Some(_) => process.end(self.plan.patience.end),
                // A process that is still starting has no state to save.
                None => process.end_soon(),
            };
        }
        // Does not wait for file operations that hang.
        runtime.shutdown_background();
    }

    async fn serve(&mut self) {
        loop {
            let deadline = self.deadline();
            let message = next_of(&mut self.process);
            tokio::select! {
                biased;
                command = self.channels.next() => match command {
                    Some(command) => self.on_command(command).await,
                    None => return,
                },
                effects = self.services.next() => self.run_effects(effects).await,
                message = message => match message {
                    Some(message) => self.on_message(message).await,
                    None => self.on_exit().await,
                },
                () = until(deadline) => self.on_deadline().await,
            }
        }
    }

    async fn on_command(&mut self, command: Command) {
        match command {
            Command::WarmUp => {
                // A failure is reported by the first turn, which starts the process again.
                let _ = self.ensure_started();
            }
            Command::Start(turn, request) => {
                self.queue.push_back((turn, request));
                self.begin_next().await;
            }
            Command::Reply(turn, AgentReply::Answer { question, answer }) => {
                self.on_reply(turn, &question, &answer).await;
            }
            Command::Reply(_, AgentReply::ToolResult { .. }) => {}
            Command::Cancel(turn) => self.cancel(turn).await,
            Command::LogIn(way, done)
                if self.current.is_none() && self.known.logs_in_externally(&way) =>
            {
                // A new process reads the new login.
                drop(self.forget_process().map(AgentProcess::end_soon));
                let _ = done.send(Ok(()));
            }
            other => {
                let options = &self.sessions.options;
                if self.side_requests.take(&self.program.name, other, options) {
                    match self.ensure_started() {
                        Ok(true) => self.send_asides(),
                        Ok(false) => {}
                        Err(failure) => self.side_requests.fail(&failure),
                    }
                }
            }
        }
    }

    fn send_asides(&mut self) {
        if let (Some(process), Some(initialized)) = (&mut self.process, &self.initialized) {
            self.side_requests.send(Ready {
                process,
                initialized,
                options: &self.sessions.options,
                session: self.sessions.conversation(),
                cwd: &self.plan.cwd,
            });
        }
    }

    /// Starts the process if none runs; true when it is ready for sessions.
    fn ensure_started(&mut self) -> Result<bool, AgentFailure> {
        if self.process.is_none() {
            let opened = AgentProcess::open(&self.program, &self.plan);
            let failed = |error| failure::not_started(&self.program.name, &error);
            self.process = Some(opened.map_err(failed)?);
        }
        Ok(self.initialized.is_some())
    }

    async fn begin_next(&mut self) {
        while self.current.is_none()
            && let Some((turn, request)) = self.queue.pop_front()
        {
            self.start = request.settings.start_timeout.unwrap_or(self.start);
            self.current = Some(ActiveTurn::new(turn, request));
            match self.ensure_started() {
                Ok(true) => self.open_session().await,
                Ok(false) => {}
                Err(failure) => self.end_failed(failure).await,
            }
        }
    }

    async fn open_session(&mut self) {
        if let (Some(initialized), Some(current)) = (&self.initialized, &mut self.current) {
            let step = self.sessions.choose(current, initialized);
            self.run_step(step).await;
        }
    }

    async fn run_step(&mut self, step: Step) {
        match (step, &mut self.process) {
            (Step::Ask(purpose, method, params), Some(process)) => {
                process.send_request_as(purpose, method, params);
            }
            (Step::Ask(..), None) => {}
            (Step::Prompt, _) => self.send_prompt().await,
            (Step::Fail(failure), _) => self.end_failed(failure).await,
        }
    }

    async fn on_response(&mut self, purpose: Purpose, outcome: Result<Value, RpcError>) {
        let name = self.program.name.clone();
        match purpose {
            Purpose::Initialize => match sessions::parse_initialize(&self.program, outcome) {
                Ok(initialized) => {
                    self.known.set(initialized.capabilities(&name));
                    self.initialized = Some(initialized);
                    self.send_asides();
                    self.open_session().await;
                    self.begin_next().await;
                }
                Err(failure) => self.give_up(failure).await,
            },
            Purpose::New(turn) | Purpose::Resume(turn) | Purpose::Load(turn) => {
                let Some(initialized) = &self.initialized else {
                    return;
                };
                let current = self.current.as_mut().filter(|it| it.turn == turn);
                let (news, step) =
                    self.sessions
                        .opened(&name, purpose, outcome, current, initialized);
                self.emit_news(news).await;
                if let Some(step) = step {
                    self.run_step(step).await;
                    self.begin_next().await;
                }
            }
            // A session that cannot be closed is reopened as it is.
            Purpose::Close(turn) if self.is_current(turn) => self.open_session().await,
            Purpose::Model(turn) if self.is_current(turn) => {
                let events = self.sessions.model_set(turn, outcome);
                self.emit(events).await;
                self.send_prompt().await;
                self.begin_next().await;
            }
            Purpose::Prompt(turn) if self.is_current(turn) => {
                self.on_prompt_response(outcome).await
            }
            Purpose::Close(_) | Purpose::Model(_) | Purpose::Prompt(_) | Purpose::Courtesy => {}
            Purpose::Authenticate(_) | Purpose::Choose(_) | Purpose::Sessions(_) => {
                let options = &mut self.sessions.options;
                let news = self
                    .side_requests
                    .answered(&name, purpose, outcome, options);
                self.emit_news(news).await;
            }
        }
    }

    fn is_current(&self, turn: TurnId) -> bool {
        self.current.as_ref().is_some_and(|it| it.turn == turn)
    }

    async fn send_prompt(&mut self) {
        let (Some(process), Some(initialized), Some(current)) =
            (&mut self.process, &self.initialized, &mut self.current)
        else {
            return;
        };
        let turn = current.turn;
        if current.only_opens() {
            let opened = turn_end::opened(current);
            self.settle();
            return self.channels.emit(opened).await;
        }
        let (blocks, left_out) = content::blocks(&current.request, current.fresh, initialized);
        let params = json!({"sessionId": current.session, "prompt": blocks});
        process.send_request(Purpose::Prompt(turn), params);
        current.sent = true;
        self.channels.emit(AgentEvent::Sent { turn }).await;
        let said = left_out.map(|message| AgentEvent::Progress { turn, message });
        self.emit(said).await;
    }

    async fn on_prompt_response(&mut self, outcome: Result<Value, RpcError>) {
        if let Some(current) = self.settle() {
            let methods = self.initialized.as_ref().map_or(&[][..], |it| &it.methods);
            let events = turn_end::prompt_events(&self.program.name, current, outcome, methods);
            self.emit(events).await;
            self.begin_next().await;
        }
    }

    /// Removes the current turn, refuses its open requests and ends its commands.
    fn settle(&mut self) -> Option<ActiveTurn> {
        let mut current = self.current.take()?;
        for (id, outcome) in current.refuse_all() {
            self.respond(id, outcome);
        }
        self.services.end_all();
        Some(current)
    }

    async fn cancel(&mut self, turn: TurnId) {
        if let Some(at) = self.queue.iter().position(|(queued, _)| *queued == turn) {
            self.queue.remove(at);
            return self.channels.emit(turn_end::interrupted(turn)).await;
        }
        let patience = self.plan.patience.cancel;
        let Some(current) = self.current.as_mut().filter(|it| it.turn == turn) else {
            return;
        };
        if !current.sent {
            // Nothing has reached the model yet.
            self.settle();
            self.channels.emit(turn_end::interrupted(turn)).await;
            return self.begin_next().await;
        }
        if current.cancelled.is_none()
            && let Some(process) = &self.process
        {
            current.cancelled = Some(Instant::now() + patience);
            process.notify("session/cancel", json!({"sessionId": current.session}));
            for (id, outcome) in current.refuse_all() {
                process.respond(id, outcome);
            }
            self.services.end_all();
        }
    }

    async fn on_message(&mut self, message: RpcMessage) {
        match message {
            RpcMessage::Response { id, outcome } => {
                let purpose = self.process.as_mut().and_then(|process| process.close(&id));
                if let Some(purpose) = purpose {
                    self.on_response(purpose, outcome).await;
                }
            }
            RpcMessage::Request { id, method, params } => {
                self.on_request(id, &method, params).await
            }
            RpcMessage::Notification { method, params } => match method.as_str() {
                "session/update" => self.on_update(&params).await,
                "$/cancel_request" => {
                    let current = self.current.as_mut();
                    let withdrawn = current.and_then(|it| it.withdraw(&params["requestId"]));
                    if let Some((id, event)) = withdrawn {
                        self.respond(id, Err(permission::cancelled()));
                        self.channels.emit(event).await;
                    }
                }
                _ => {}
            },
        }
    }

    async fn on_update(&mut self, params: &Value) {
        let update = &params["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let session = params["sessionId"].as_str().unwrap_or_default();
        log::debug!(target: UPDATES, "{kind} of {session}");
        let news = self.sessions.options.update(kind, update);
        self.emit_news(news).await;
        // Updates before the prompt are the replay of the conversation by `session/load`.
        let terminals = self.services.terminals();
        let current = self.current.as_mut().filter(|it| it.runs_in(session));
        let shown = |terminal: &str| terminals.shown(terminal);
        let events = current.map(|it| it.update(update, &shown));
        self.emit(events.into_iter().flatten()).await;
    }

    async fn emit_news(&mut self, news: Vec<AgentUpdate>) {
        self.emit(news.into_iter().map(AgentEvent::Update)).await;
    }

    async fn emit(&mut self, events: impl IntoIterator<Item = AgentEvent>) {
        for event in events {
            self.channels.emit(event).await;
        }
    }

    fn respond(&self, id: RpcId, outcome: Result<Value, RpcError>) {
        if let Some(process) = &self.process {
            process.respond(id, outcome);
        }
    }

    async fn on_request(&mut self, id: RpcId, method: &str, params: Value) {
        let session = params["sessionId"].as_str().unwrap_or_default();
        let current = self.current.as_mut();
        let current = current.filter(|it| it.runs_in(session) && it.cancelled.is_none());
        let effects = self.services.on_request(id, method, params, current);
        self.run_effects(effects).await;
    }

    async fn run_effects(&mut self, effects: Vec<ServiceEffect>) {
        for effect in effects {
            match (effect, &mut self.current) {
                (ServiceEffect::Respond(id, outcome), _) => self.respond(id, outcome),
                (effect, Some(current)) => {
                    let event = effect.into_event(current);
                    self.emit(event).await;
                }
                (_, None) => {}
            }
        }
    }

    async fn on_reply(&mut self, turn: TurnId, question: &str, answer: &QuestionAnswer) {
        let current = self.current.as_mut().filter(|it| it.turn == turn);
        if let Some(answered) = current.and_then(|it| it.answer(question, answer)) {
            let effects = self.services.on_answer(answered);
            self.run_effects(effects).await;
            if answer.decision() == Some(Decision::Stop) {
                self.cancel(turn).await;
            }
        }
    }

    async fn fail(&mut self, failure: AgentFailure) {
        self.end_failed(failure).await;
        self.begin_next().await;
    }

    async fn end_failed(&mut self, failure: AgentFailure) {
        if self.process.is_none() {
            self.side_requests.fail(&failure);
        }
        if let Some(current) = self.settle() {
            self.channels
                .emit(turn_end::failed(&current, failure))
                .await;
        }
    }

    /// Drops all state of the process, since another one does not share it.
    fn forget_process(&mut self) -> Option<AgentProcess> {
        self.initialized = None;
        self.sessions = Sessions::default();
        self.process.take()
    }

    /// Kills a process that has broken the protocol.
    async fn give_up(&mut self, failure: AgentFailure) {
        if let Some(process) = self.forget_process() {
            process.kill();
        }
        self.fail(failure).await;
    }

    /// The process has closed its output: an open turn has failed, whatever the exit code.
    async fn on_exit(&mut self) {
        if let Some(process) = self.forget_process() {
            let junk = process.junk();
            let failure = process_failure::exited(&self.program.name, process.end_soon(), junk);
            self.fail(failure).await;
        }
    }
}

impl Driver {
    /// The earliest time limit of turn and requests.
    fn deadline(&self) -> Option<Instant> {
        let request = self.process.as_ref().and_then(AgentProcess::deadline);
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        let start = self.starting().and_then(|(_, end)| end);
        let deadlines = [request, cancel, start, self.start_notice_at()];
        deadlines.into_iter().flatten().min()
    }

    /// The open request of the start, and its time limit; `None` as limit: none.
    fn starting(&self) -> Option<(Purpose, Option<Instant>)> {
        let (purpose, since) = self.process.as_ref()?.starting()?;
        Some((purpose, since.checked_add(self.start)))
    }

    fn start_notice_at(&self) -> Option<Instant> {
        let current = self.current.as_ref().filter(|it| !it.sent);
        current.and_then(|it| it.start_notice_at)
    }

    async fn on_deadline(&mut self) {
        let name = self.program.name.clone();
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        if cancel.is_some_and(|deadline| deadline <= Instant::now()) {
            // The user cancelled, so the turn is reported as interrupted.
            let patience = self.plan.patience.cancel;
            let failure = process_failure::timed_out(&name, "session/cancel", patience, 0);
            return self.give_up(failure).await;
        }
        let now = Instant::now();
        if self.start_notice_at().is_some_and(|due| due <= now)
            && let Some(current) = &mut self.current
        {
            current.start_notice_at = None;
            let starting = AgentEvent::Starting {
                turn: current.turn,
                agent: name,
                limit: now.checked_add(self.start).map(|_| self.start),
            };
            return self.channels.emit(starting).await;
        }
        if let Some((purpose, Some(end))) = self.starting()
            && end <= now
        {
            let junk = self.process.as_ref().map_or(0, AgentProcess::junk);
            let method = purpose.method();
            return self
                .give_up(failure::starts_too_slowly(&name, method, self.start, junk))
                .await;
        }
        let Some(purpose) = self.process.as_mut().and_then(AgentProcess::expire) else {
            return;
        };
        if purpose == Purpose::Courtesy {
            return;
        }
        let patience = self.plan.patience.request;
        let failure = process_failure::request_timed_out(&name, purpose.method(), patience);
        if self.side_requests.expired(purpose, failure) {
            return;
        }
        let junk = self.process.as_ref().map_or(0, AgentProcess::junk);
        let failure = process_failure::timed_out(&name, purpose.method(), patience, junk);
        self.give_up(failure).await;
    }
}
