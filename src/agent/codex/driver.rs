//! The thread that owns the app-server process and turns commands and messages into each other.
//!
//! In: [`Command`]s of the handle (unbounded, so that callers never wait), messages of the process, the clock. Out:
//! events, in order, waiting for room. Commands go first: a cancel overtakes a flood of deltas. Invariant: a turn
//! leaves [`Driver::current`] exactly when its `Finished` or `Failed` is sent. `thread_setup` leads to a running
//! turn, `server_requests` handles requests of the process.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, from_value, json};

use super::active_turn::ActiveTurn;
use super::completion::Completions;
use super::lookups::Lookups;
use super::process::{AgentProcess, Purpose};
use super::program::Program;
use super::server_requests::ReplyEffect;
use super::thread_setup::{Step, ThreadSetup};
use super::turn::TurnEnd;
use super::wire::account::GetAccountResponse;
use super::{failure, server_requests, thread_setup, turn_end};
use crate::handle::{Command, DriverChannels};
use crate::process_config::ProcessConfig;
use crate::process_failure;
use crate::rpc::{RpcError, RpcMessage};
use crate::{AgentEvent, AgentFailure, AgentReply, TurnId, TurnRequest};

pub(super) struct Driver {
    program: Program,
    plan: ProcessConfig,
    channels: DriverChannels,
    process: Option<AgentProcess>,
    current: Option<ActiveTurn>,
    queue: VecDeque<(TurnId, Box<TurnRequest>)>,
    thread_setup: ThreadSetup,
    lookups: Lookups,
    completions: Completions,
}

impl Driver {
    pub(super) fn new(program: Program, plan: ProcessConfig, channels: DriverChannels) -> Self {
        Driver {
            program,
            plan,
            channels,
            process: None,
            current: None,
            queue: VecDeque::new(),
            thread_setup: ThreadSetup::default(),
            lookups: Lookups::default(),
            completions: Completions::default(),
        }
    }

    /// Runs until the handle is dropped, then ends the process.
    pub(super) fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a current-thread runtime with a timer needs no operating system resource");
        runtime.block_on(self.serve());
        if let Some(process) = self.process.take() {
            // The handle is gone: the exit status has no reader.
            let _ = process.peer.end(self.plan.patience.end);
        }
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
            let process = &mut self.process;
            let message = async move {
                match process {
                    Some(process) => process.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                command = self.channels.next() => match command {
                    Some(command) => self.on_command(command).await,
                    None => return,
                },
                key = self.completions.abandoned() => {
                    self.completions.abandon(key, self.process.as_mut());
                }
                message = message => match message {
                    Some(message) => self.on_message(message).await,
                    None => self.on_exit().await,
                },
                () = due => self.on_deadline().await,
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let request = self
            .process
            .as_ref()
            .and_then(|process| process.pending.deadline());
        let cancel = self.current.as_ref().and_then(|current| current.cancelled);
        let completion = self.completions.deadline();
        [request, cancel, completion].into_iter().flatten().min()
    }

    async fn on_command(&mut self, command: Command) {
        match command {
            Command::WarmUp => {
                if self.process.is_none() {
                    // A failure is reported by the first turn, which starts the process again.
                    self.process = AgentProcess::open(&self.program, &self.plan).ok();
                }
            }
            Command::Start(turn, request) => {
                self.queue.push_back((turn, request));
                self.begin_next().await;
            }
            Command::Reply(turn, reply) => self.on_reply(turn, reply).await,
            Command::LookUp(lookup, tell) => {
                self.lookups.add(lookup, tell);
                self.send_waiting().await;
            }
            asked @ (Command::Suggest(..) | Command::Consult(..)) => {
                self.completions.add(asked);
                self.send_waiting().await;
            }
            // Codex logs in by a command line and has no options to set: the handle sends neither command.
            Command::LogIn(..) | Command::Choose(..) => {}
            Command::Cancel(turn) => self.cancel(turn).await,
        }
    }

    async fn emit(&mut self, events: impl IntoIterator<Item = AgentEvent>) {
        for event in events {
            self.channels.emit(event).await;
        }
    }

    /// Sends look-ups and completions when the process is ready; a process that cannot start fails them.
    async fn send_waiting(&mut self) {
        match (self.ensure_started(), &mut self.process) {
            (Ok(true), Some(process)) => {
                self.lookups.send_all(process);
                self.completions.send_all(process);
            }
            (Ok(_), _) => {}
            (Err(failure), _) => self.fail(failure).await,
        }
    }

    /// Starts the process if none runs; true when it is ready for threads.
    fn ensure_started(&mut self) -> Result<bool, AgentFailure> {
        if self.process.is_none() {
            let opened = AgentProcess::open(&self.program, &self.plan);
            let failed = |error| failure::not_started(self.program.name, &error);
            self.process = Some(opened.map_err(failed)?);
        }
        Ok(self.process.as_ref().is_some_and(|process| process.ready))
    }

    async fn begin_next(&mut self) {
        while self.current.is_none()
            && let Some((turn, request)) = self.queue.pop_front()
        {
            self.current = Some(ActiveTurn::new(turn, request));
            match self.ensure_started() {
                Ok(true) => self.choose_thread().await,
                Ok(false) => {}
                Err(failure) => self.take_failed(failure).await,
            }
        }
    }

    async fn choose_thread(&mut self) {
        if let (Some(process), Some(current)) = (&mut self.process, &mut self.current) {
            let step = self.thread_setup.choose(process, current);
            self.step(step).await;
        }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Wait => self.interrupt(),
            Step::Sent => {
                if let Some(turn) = self.current.as_ref().map(|it| it.turn) {
                    self.channels.emit(AgentEvent::Sent { turn }).await;
                }
            }
            Step::Fail(failure) => self.take_failed(failure).await,
            Step::Broken(failure) => {
                self.kill_process();
                self.take_failed(failure).await;
            }
        }
    }

    /// Takes the response to a request of ours; ignored for a turn that is not current.
    async fn on_response(&mut self, purpose: Purpose, outcome: Result<Value, RpcError>) {
        let name = self.program.name;
        let Some(process) = &mut self.process else {
            return;
        };
        let is_current = |turn: TurnId| move |it: &&mut ActiveTurn| it.turn == turn;
        match (purpose, outcome) {
            (Purpose::Courtesy, _) => {}
            (Purpose::Models(_) | Purpose::Limits(_), outcome) => {
                self.lookups.on_response(name, purpose, outcome, process);
            }
            (Purpose::OpenCompletion(key), outcome) => {
                self.completions
                    .on_thread_started(name, key, outcome, process);
            }
            (Purpose::BeginCompletion(key), outcome) => {
                self.completions
                    .on_turn_started(name, key, outcome, process);
            }
            (Purpose::Initialize, Ok(_)) => {
                process.notify("initialized");
                process.send_request(Purpose::Account, "account/read", &json!({}));
            }
            (Purpose::Initialize, Err(error)) => {
                self.kill_process();
                self.fail(failure::refused(name, "initialize", &error))
                    .await;
            }
            (Purpose::Account, outcome) => self.on_account(outcome).await,
            (Purpose::Explain(turn, number), outcome) => {
                let current = self.current.as_mut().filter(is_current(turn));
                let event = current
                    .and_then(|it| server_requests::on_reason_sent(process, it, number, outcome));
                self.emit(event).await;
            }
            (
                Purpose::Resume(turn)
                | Purpose::Open(turn)
                | Purpose::Seed(turn)
                | Purpose::Begin(turn),
                outcome,
            ) => match self.current.as_mut().filter(is_current(turn)) {
                Some(current) => {
                    let step = self
                        .thread_setup
                        .on_response(name, purpose, outcome, process, current);
                    self.step(step).await;
                    self.begin_next().await;
                }
                None if matches!(purpose, Purpose::Open(_)) => {
                    thread_setup::leave_unused(process, outcome);
                }
                None => {}
            },
        }
    }

    async fn on_account(&mut self, outcome: Result<Value, RpcError>) {
        // If the app-server cannot report its login, the turn shows any problem.
        let account: GetAccountResponse = outcome
            .ok()
            .and_then(|value| from_value(value).ok())
            .unwrap_or_default();
        if account.logged_out() {
            // The app-server reads the login once, at its start; after `codex login` another process is needed.
            let process = self.process.take();
            self.fail(failure::logged_out()).await;
            if let Some(process) = process {
                let _ = process.peer.end(self.plan.patience.end);
            }
            return;
        }
        if let Some(process) = &mut self.process {
            process.ready = true;
            process.chatgpt = account.chatgpt();
            self.send_waiting().await;
            self.choose_thread().await;
            self.begin_next().await;
        }
    }

    /// Takes a reply of the session; late ones are ignored.
    async fn on_reply(&mut self, turn: TurnId, reply: AgentReply) {
        let current = self.current.as_mut().filter(|it| it.turn == turn);
        let (Some(process), Some(current)) = (&mut self.process, current) else {
            return;
        };
        match server_requests::on_reply(process, current, reply) {
            ReplyEffect::Done => {}
            ReplyEffect::AskAgain(event) => self.channels.emit(event).await,
            ReplyEffect::StopTurn => self.cancel(turn).await,
        }
    }

    async fn on_message(&mut self, message: RpcMessage) {
        match message {
            RpcMessage::Response { id, outcome } => {
                let purpose = self
                    .process
                    .as_mut()
                    .and_then(|process| process.pending.complete(&id));
                if let Some(purpose) = purpose {
                    self.on_response(purpose, outcome).await;
                }
            }
            RpcMessage::Request { id, method, params } => {
                let runs = |it: &&mut ActiveTurn| {
                    let running = it.running.as_ref();
                    running.is_some_and(|running| running.concerns(&params))
                };
                let current = self.current.as_mut().filter(runs);
                let process = self.process.as_ref();
                let event = process
                    .and_then(|it| server_requests::on_request(it, current, id, &method, params));
                self.emit(event).await;
            }
            RpcMessage::Notification { method, params } => {
                match (method.as_str(), &mut self.process) {
                    ("serverRequest/resolved", _) => {
                        let current = self.current.as_mut();
                        let event =
                            current.and_then(|it| server_requests::on_resolved(it, &params));
                        return self.emit(event).await;
                    }
                    ("account/rateLimits/updated", Some(process)) => {
                        return process.limits.update(params);
                    }
                    _ => {}
                }
                if self
                    .completions
                    .on_notification(&method, &params, self.process.as_mut())
                {
                    return;
                }
                let mut events = Vec::new();
                let running = self.current.as_mut().and_then(|it| it.running.as_mut());
                let end = running.and_then(|it| it.on_notification(&method, params, &mut events));
                self.emit(events).await;
                match end {
                    Some(end) => self.on_turn_end(end).await,
                    None => self.interrupt(),
                }
            }
        }
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
        if current.running.is_none() {
            // Nothing has reached the model yet.
            self.current = None;
            self.channels.emit(turn_end::interrupted(turn)).await;
            return self.begin_next().await;
        }
        current
            .cancelled
            .get_or_insert_with(|| Instant::now() + patience);
        self.interrupt();
    }

    /// Interrupts a cancelled turn, once its id is known.
    fn interrupt(&mut self) {
        if let (Some(process), Some(current)) = (&mut self.process, &mut self.current) {
            turn_end::interrupt(process, current);
        }
    }

    async fn on_turn_end(&mut self, end: TurnEnd) {
        if let Some(current) = self.current.take_if(|it| it.running.is_some()) {
            let (event, diverged) = turn_end::ended(self.process.as_mut(), current, end);
            diverged
                .into_iter()
                .for_each(|it| self.thread_setup.mark_diverged(it));
            self.channels.emit(event).await;
            self.begin_next().await;
        }
    }

    async fn fail(&mut self, failure: AgentFailure) {
        self.take_failed(failure).await;
        self.begin_next().await;
    }

    async fn take_failed(&mut self, failure: AgentFailure) {
        if self.process.is_none() {
            self.lookups.fail(&failure);
            self.completions.fail(&failure);
        }
        if let Some(current) = self.current.take() {
            let (event, diverged) = turn_end::failed(current, failure);
            diverged
                .into_iter()
                .for_each(|it| self.thread_setup.mark_diverged(it));
            self.channels.emit(event).await;
        }
    }

    /// The process has closed its output: an open turn has failed, whatever the exit code.
    async fn on_exit(&mut self) {
        if let Some(process) = self.process.take() {
            let junk = process.peer.junk();
            let grace = self.plan.patience.end.min(Duration::from_millis(200));
            let outcome = process.peer.end(grace);
            self.fail(process_failure::exited(self.program.name, outcome, junk))
                .await;
        }
    }

    async fn on_deadline(&mut self) {
        let now = Instant::now();
        let name = self.program.name;
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        if cancel.is_some_and(|deadline| deadline <= now) {
            self.kill_process();
            // The user cancelled, so the turn is reported as interrupted.
            let patience = self.plan.patience.cancel;
            let failure = process_failure::timed_out(name, "turn/interrupt", patience, 0);
            return self.fail(failure).await;
        }
        self.completions
            .expire_overdue(name, now, self.process.as_mut());
        let purpose = self
            .process
            .as_mut()
            .and_then(|process| process.pending.expire(now));
        let patience = match purpose {
            None | Some(Purpose::Courtesy) => return,
            Some(purpose @ (Purpose::Models(_) | Purpose::Limits(_))) => {
                let patience = self.plan.patience.request;
                let failure = process_failure::request_timed_out(name, purpose.method(), patience);
                return self.lookups.expired(purpose, failure);
            }
            Some(Purpose::OpenCompletion(key) | Purpose::BeginCompletion(key)) => {
                let method = Purpose::OpenCompletion(key).method();
                let failure =
                    process_failure::request_timed_out(name, method, self.plan.patience.request);
                return self
                    .completions
                    .fail_one(key, failure, self.process.as_mut());
            }
            Some(Purpose::Initialize) => self.plan.patience.initialize,
            Some(_) => self.plan.patience.request,
        };
        let method = purpose.map_or("", Purpose::method);
        let junk = self
            .process
            .as_ref()
            .map_or(0, |process| process.peer.junk());
        self.kill_process();
        self.fail(process_failure::timed_out(name, method, patience, junk))
            .await;
    }

    /// Kills a process that has broken the protocol.
    fn kill_process(&mut self) {
        if let Some(process) = self.process.take() {
            process.peer.kill();
        }
    }
}
