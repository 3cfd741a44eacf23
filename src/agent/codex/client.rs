//! The client of the app-server: what the driver does not share with other agents.
//!
//! `thread_setup` leads to a running turn, `server_requests` handles requests of the process, `lookups` and
//! `completions` are requests beside turns.

use std::time::Instant;

use serde_json::{Value, from_value, json};

use super::active_turn::{ActiveTurn, TurnState};
use super::completion::Completions;
use super::lookups::Lookups;
use super::process::{AgentProcess, Knowledge, Program, Purpose};
use super::server_requests::ReplyEffect;
use super::thread_setup::{Step, ThreadSetup};
use super::turn::TurnEnd;
use super::wire::account::GetAccountResponse;
use super::{active_turn, failure, images, process, server_requests, thread_setup};
use crate::agent_process::{ProcessConfig, Purpose as _};
use crate::driver::{Client, Driver};
use crate::failure::request_timed_out;
use crate::handle::Command;
use crate::rpc::{RpcError, RpcId};
use crate::{AgentCapabilities, AgentEvent, AgentFailure, AgentReply, TurnId, TurnRequest};

pub(crate) struct Codex {
    program: Program,
    thread_setup: ThreadSetup,
    lookups: Lookups,
    completions: Completions,
}

impl Codex {
    pub(crate) fn new(program: Program) -> Self {
        Codex {
            program,
            thread_setup: ThreadSetup::default(),
            lookups: Lookups::default(),
            completions: Completions::default(),
        }
    }
}

impl Client for Codex {
    type Purpose = Purpose;
    type Knowledge = Knowledge;
    type Turn = TurnState;
    /// The key of a completion whose receiver was dropped.
    type Event = u64;

    const CANCEL: &'static str = "turn/interrupt";

    fn name(&self) -> &str {
        self.program.name
    }

    fn capabilities(&self) -> AgentCapabilities {
        // The offline agent speaks the same protocol but has fewer features.
        let real = self.program.name == "codex";
        AgentCapabilities {
            images: real,
            resumes_threads: real,
            compacts: real,
            // Measured with 0.169.0: what the user allows under `untrusted` is run again without a sandbox, and without
            // a question, when the sandbox has stopped it; and a request to run a command without a sandbox that gives
            // no reason looks like any other.
            confines_allowed_commands: !real,
            tool_instructions: images::TOOL_INSTRUCTIONS,
            login: self.program.login.clone(),
            ..AgentCapabilities::full(self.program.name)
        }
    }

    fn open(&self, config: &ProcessConfig) -> Result<AgentProcess, AgentFailure> {
        process::open(&self.program, config)
    }

    fn turn(&mut self, _: TurnId, request: &TurnRequest) -> TurnState {
        TurnState::new(request)
    }

    fn begin(driver: &mut Driver<Self>) {
        if let (Some(process), Some(current)) = (&mut driver.process, &mut driver.current) {
            let step = driver.client.thread_setup.choose(process, current);
            Self::run_step(driver, step);
        }
    }

    fn interrupt(driver: &mut Driver<Self>) {
        if let (Some(process), Some(current)) = (&mut driver.process, &mut driver.current) {
            active_turn::interrupt(process, current);
        }
    }

    fn leave(driver: &mut Driver<Self>, turn: &mut ActiveTurn) {
        if let Some(running) = turn.state.running.take() {
            driver.client.thread_setup.mark_diverged(running.thread);
        }
    }

    fn on_reply(driver: &mut Driver<Self>, reply: AgentReply) {
        let (Some(process), Some(current)) = (&mut driver.process, &mut driver.current) else {
            return;
        };
        match server_requests::on_reply(process, current, reply) {
            ReplyEffect::Done => {}
            ReplyEffect::Tell(event) => driver.emit([event]),
            ReplyEffect::StopTurn => {
                let turn = current.turn;
                driver.cancel(turn);
            }
        }
    }

    fn on_command(driver: &mut Driver<Self>, command: Command) -> bool {
        match command {
            Command::LookUp(lookup, tell) => driver.client.lookups.add(lookup, tell),
            Command::Suggest(..) | Command::Consult(..) => driver.client.completions.add(command),
            // Codex logs in by a command line and has no options to set.
            command => {
                command.refuse();
                return false;
            }
        }
        true
    }

    fn send_beside(&mut self, process: &mut AgentProcess, _: &ProcessConfig) {
        self.lookups.send_all(process);
        self.completions.send_all(process);
    }

    fn fail_beside(&mut self, failure: &AgentFailure) {
        self.lookups.fail(failure);
        self.completions.fail(failure);
    }

    fn on_response(driver: &mut Driver<Self>, purpose: Purpose, outcome: Result<Value, RpcError>) {
        let (client, current) = (&mut driver.client, &mut driver.current);
        let (name, completions) = (client.program.name, &mut client.completions);
        let Some(process) = &mut driver.process else {
            return;
        };
        match purpose {
            Purpose::Courtesy => {}
            Purpose::Models(_) | Purpose::Limits(_) => {
                client.lookups.on_response(name, purpose, outcome, process);
            }
            Purpose::OpenCompletion(key) => {
                completions.on_thread_started(name, key, outcome, process);
            }
            Purpose::BeginCompletion(key) => {
                completions.on_turn_started(name, key, outcome, process);
            }
            Purpose::Initialize => match outcome {
                Ok(_) => {
                    process.notify("initialized", Value::Null);
                    process.send(Purpose::Account, &json!({}));
                }
                Err(error) => driver.give_up(failure::refused(name, purpose.method(), &error)),
            },
            Purpose::Account => Self::on_account(driver, outcome),
            Purpose::Explain(turn, number) => {
                let current = current.as_mut().filter(|it| it.turn == turn);
                let event = current
                    .and_then(|it| server_requests::on_reason_sent(process, it, number, outcome));
                driver.emit(event);
            }
            Purpose::Steer(turn) => {
                if driver.is_current(turn) {
                    let taken = outcome.is_ok();
                    driver.emit([AgentEvent::Steered { turn, taken }]);
                }
            }
            Purpose::Resume(turn)
            | Purpose::Fork(turn)
            | Purpose::Open(turn)
            | Purpose::Seed(turn)
            | Purpose::Begin(turn)
            | Purpose::Compact(turn) => match current.as_mut().filter(|it| it.turn == turn) {
                Some(current) => {
                    let setup = &mut client.thread_setup;
                    let step = setup.on_response(name, purpose, outcome, process, current);
                    Self::run_step(driver, step);
                }
                None if matches!(purpose, Purpose::Open(_) | Purpose::Fork(_)) => {
                    thread_setup::leave_unused(process, outcome);
                }
                None => {}
            },
        }
    }

    fn on_request(driver: &mut Driver<Self>, id: RpcId, method: &str, params: Value) {
        let runs = |it: &&mut ActiveTurn| {
            let running = it.state.running.as_ref();
            running.is_some_and(|running| running.concerns(&params))
        };
        let current = driver.current.as_mut().filter(runs);
        let process = driver.process.as_ref();
        let event =
            process.and_then(|it| server_requests::on_request(it, current, id, method, params));
        driver.emit(event);
    }

    fn on_notification(driver: &mut Driver<Self>, method: &str, params: Value) {
        match (method, &mut driver.process) {
            ("serverRequest/resolved", _) => {
                let current = driver.current.as_mut();
                let event = current.and_then(|it| server_requests::on_resolved(it, &params));
                return driver.emit(event);
            }
            ("account/rateLimits/updated", Some(process)) => {
                return process.known.limits.update(params);
            }
            _ => {}
        }
        let completions = &mut driver.client.completions;
        if completions.on_notification(method, &params, driver.process.as_mut()) {
            return;
        }
        let mut events = Vec::new();
        let current = driver.current.as_mut();
        let running = current.and_then(|it| it.state.running.as_mut());
        let end = running.and_then(|it| it.on_notification(method, params, &mut events));
        driver.emit(events);
        match end {
            Some(end) => Self::on_turn_end(driver, end),
            None => Self::interrupt(driver),
        }
    }

    async fn next(&mut self) -> u64 {
        self.completions.abandoned().await
    }

    fn on_event(driver: &mut Driver<Self>, key: u64) {
        let completions = &mut driver.client.completions;
        completions.abandon(key, driver.process.as_mut());
    }

    fn deadline(driver: &Driver<Self>) -> Option<Instant> {
        driver.client.completions.deadline()
    }

    fn on_deadline(driver: &mut Driver<Self>, now: Instant) {
        let (client, process) = (&mut driver.client, driver.process.as_mut());
        let name = client.program.name;
        client.completions.expire_overdue(name, now, process);
    }

    fn on_expired(driver: &mut Driver<Self>, purpose: Purpose) -> bool {
        let (client, process) = (&mut driver.client, driver.process.as_mut());
        let patience = driver.config.patience.request;
        let timed_out =
            |purpose: Purpose| request_timed_out(client.program.name, purpose.method(), patience);
        match purpose {
            Purpose::Courtesy => {}
            Purpose::Steer(turn) => driver.emit([AgentEvent::Steered { turn, taken: false }]),
            Purpose::Models(key) | Purpose::Limits(key) => {
                client.lookups.fail_one(key, timed_out(purpose));
            }
            Purpose::OpenCompletion(key) | Purpose::BeginCompletion(key) => {
                let failure = timed_out(Purpose::OpenCompletion(key));
                client.completions.end(key, Err(failure), process);
            }
            _ => return false,
        }
        true
    }
}

impl Codex {
    fn run_step(driver: &mut Driver<Self>, step: Step) {
        match step {
            Step::Wait => Self::interrupt(driver),
            Step::Sent => driver.on_sent(),
            Step::Fail(failure) => driver.fail(failure),
            Step::Broken(failure) => driver.give_up(failure),
        }
    }

    fn on_account(driver: &mut Driver<Self>, outcome: Result<Value, RpcError>) {
        // If the app-server cannot report its login, the turn shows any problem.
        let account: GetAccountResponse = outcome
            .ok()
            .and_then(|value| from_value(value).ok())
            .unwrap_or_default();
        if account.logged_out() {
            // The app-server reads the login once, at its start; after `codex login` another process is needed.
            driver.retired = driver.process.take();
            driver.fail(failure::logged_out());
        } else if let Some(process) = &mut driver.process {
            process.known.chatgpt = account.chatgpt();
            driver.on_ready();
        }
    }

    fn on_turn_end(driver: &mut Driver<Self>, end: TurnEnd) {
        if let Some(current) = driver.current.take_if(|it| it.state.running.is_some()) {
            let (event, diverged) = active_turn::ended(driver.process.as_mut(), current, end);
            let setup = &mut driver.client.thread_setup;
            diverged.into_iter().for_each(|it| setup.mark_diverged(it));
            driver.emit([event]);
        }
    }
}
