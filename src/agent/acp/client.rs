//! The client of the protocol: what the driver does not share with other agents.
//!
//! Invariants: every request of the agent is answered; the replay of `session/load` produces no events.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::active_turn::{ActiveTurn, TurnState};
use super::client_services::{ClientServices, ServiceEffect};
use super::process::{AgentProcess, Knowledge};
use super::program::Program;
use super::program::Purpose;
use super::sessions::Step;
use super::side_requests::SideRequests;
use super::{active_turn, content, failure, initialize, permission, process, sessions};
use crate::agent_process::{ProcessConfig, Purpose as _, QUICK_END};
use crate::driver::{Client, Driver};
use crate::failure::request_timed_out;
use crate::handle::Command;
use crate::rpc::{RpcError, RpcId};
use crate::text::trace::UPDATES;
use crate::{
    AgentCapabilities, AgentEvent, AgentFailure, AgentReply, AgentUpdate, Decision, TurnId,
    TurnRequest,
};

pub(crate) struct Acp {
    program: Program,
    /// The time limit of the start.
    start: Duration,
    side_requests: SideRequests,
    services: ClientServices,
}

impl Acp {
    pub(crate) fn new(program: Program, config: &ProcessConfig) -> Self {
        Acp {
            services: ClientServices::new(config.clone(), program.size_limit),
            program,
            start: config.patience.initialize,
            side_requests: SideRequests::default(),
        }
    }
}

impl Client for Acp {
    type Purpose = Purpose;
    type Knowledge = Knowledge;
    type Turn = TurnState;
    type Event = Vec<ServiceEffect>;

    const CANCEL: &'static str = "session/cancel";

    fn name(&self) -> &str {
        &self.program.name
    }

    fn capabilities(&self) -> AgentCapabilities {
        initialize::assumed_capabilities(&self.program.name)
    }

    fn open(&self, config: &ProcessConfig) -> Result<AgentProcess, AgentFailure> {
        process::open(&self.program, config)
    }

    fn grace(process: &AgentProcess, end: Duration) -> Duration {
        match process.ready {
            true => end,
            // A process that is still starting has no state to save.
            false => end.min(QUICK_END),
        }
    }

    fn turn(&mut self, turn: TurnId, request: &TurnRequest) -> TurnState {
        self.start = request.settings.start_timeout.unwrap_or(self.start);
        TurnState::new(turn)
    }

    fn begin(driver: &mut Driver<Self>) {
        if let (Some(process), Some(current)) = (&mut driver.process, &mut driver.current) {
            let Knowledge {
                initialized,
                sessions,
            } = &mut process.known;
            let step = sessions.choose(current, initialized);
            Self::run_step(driver, step);
        }
    }

    fn interrupt(driver: &mut Driver<Self>) {
        if let (Some(process), Some(current)) = (&driver.process, &mut driver.current) {
            process.notify(Self::CANCEL, json!({"sessionId": current.state.session}));
            let refused = current.refuse_all();
            Self::end_requests(driver, refused);
        }
    }

    fn leave(driver: &mut Driver<Self>, turn: &mut ActiveTurn) {
        Self::end_requests(driver, turn.refuse_all());
    }

    fn on_reply(driver: &mut Driver<Self>, reply: AgentReply) {
        if let AgentReply::Steer(text) = reply {
            return Self::steer(driver, &text);
        }
        let (AgentReply::Answer { question, answer }, Some(current)) = (reply, &mut driver.current)
        else {
            return;
        };
        let turn = current.turn;
        if let Some(answered) = current.answer(&question, &answer) {
            let effects = driver.client.services.on_answer(answered);
            Self::on_event(driver, effects);
            if answer.decision() == Some(Decision::Stop) {
                driver.cancel(turn);
            }
        }
    }

    fn on_command(driver: &mut Driver<Self>, command: Command) -> bool {
        match command {
            Command::LogIn(way, done)
                if driver.current.is_none()
                    && driver.capabilities.get().logs_in_externally(&way) =>
            {
                // A new process reads the new login.
                drop(driver.process.take().map(AgentProcess::end_soon));
                let _ = done.send(Ok(()));
                false
            }
            command => {
                let known = driver.process.as_ref().map(|process| &process.known);
                let options = known.map(|known| &known.sessions.options);
                let Acp {
                    side_requests,
                    program,
                    ..
                } = &mut driver.client;
                side_requests.take(&program.name, command, options)
            }
        }
    }

    fn send_beside(&mut self, process: &mut AgentProcess, config: &ProcessConfig) {
        self.side_requests.send(process, &config.cwd);
    }

    fn fail_beside(&mut self, failure: &AgentFailure) {
        self.side_requests.fail(failure);
    }

    fn on_response(driver: &mut Driver<Self>, purpose: Purpose, outcome: Result<Value, RpcError>) {
        let name = driver.client.program.name.clone();
        let current_turn = driver.current.as_ref().map(|it| it.turn);
        let Some(process) = &mut driver.process else {
            return;
        };
        let Knowledge {
            initialized,
            sessions,
        } = &mut process.known;
        match purpose {
            Purpose::Initialize => {
                match sessions::parse_initialize(&driver.client.program, outcome) {
                    Ok(answer) => {
                        driver.capabilities.set(answer.capabilities(&name));
                        *initialized = answer;
                        driver.on_ready();
                    }
                    Err(failure) => driver.give_up(failure),
                }
            }
            Purpose::New(turn)
            | Purpose::Fork(turn)
            | Purpose::Resume(turn)
            | Purpose::Load(turn) => {
                let current = driver.current.as_mut().filter(|it| it.turn == turn);
                let (news, step) = sessions.opened(&name, purpose, outcome, current, initialized);
                Self::emit_news(driver, news);
                if let Some(step) = step {
                    Self::run_step(driver, step);
                }
            }
            // A session that cannot be closed is reopened as it is.
            Purpose::Close(turn) if current_turn == Some(turn) => Self::begin(driver),
            Purpose::Set(turn) if current_turn == Some(turn) => {
                if let Some(current) = &mut driver.current {
                    let (events, step) = sessions.option_set(current, outcome);
                    driver.emit(events);
                    Self::run_step(driver, step);
                }
            }
            Purpose::Prompt(turn) if current_turn == Some(turn) => {
                let methods = initialized.methods.clone();
                if let Some(current) = driver.end_turn() {
                    driver.emit(active_turn::prompt_events(
                        &name, current, outcome, &methods,
                    ));
                }
            }
            Purpose::Steer(turn) if current_turn == Some(turn) => {
                let taken = outcome.is_ok_and(|result| result["outcome"] == "injected");
                driver.emit([AgentEvent::Steered { turn, taken }]);
            }
            Purpose::Close(_)
            | Purpose::Set(_)
            | Purpose::Prompt(_)
            | Purpose::Steer(_)
            | Purpose::Courtesy => {}
            Purpose::Authenticate(_) | Purpose::Choose(_) | Purpose::Sessions(_) => {
                let side_requests = &mut driver.client.side_requests;
                let options = &mut sessions.options;
                let news = side_requests.answered(&name, purpose, outcome, options);
                Self::emit_news(driver, news);
            }
        }
    }

    fn on_request(driver: &mut Driver<Self>, id: RpcId, method: &str, params: Value) {
        let session = params["sessionId"].as_str().unwrap_or_default();
        let current = driver.current.as_mut();
        let current = current.filter(|it| it.runs_in(session) && it.cancelled.is_none());
        let services = &mut driver.client.services;
        let effects = services.on_request(id, method, params, current);
        Self::on_event(driver, effects);
    }

    fn on_notification(driver: &mut Driver<Self>, method: &str, params: Value) {
        match method {
            "session/update" => Self::on_update(driver, &params),
            "$/cancel_request" => {
                let current = driver.current.as_mut();
                let withdrawn = current.and_then(|it| it.withdraw(&params["requestId"]));
                if let Some((id, event)) = withdrawn {
                    driver.respond(id, Err(permission::cancelled()));
                    driver.emit([event]);
                }
            }
            _ => {}
        }
    }

    async fn next(&mut self) -> Vec<ServiceEffect> {
        self.services.next().await
    }

    fn on_event(driver: &mut Driver<Self>, effects: Vec<ServiceEffect>) {
        for effect in effects {
            match (effect, &mut driver.current) {
                (ServiceEffect::Respond(id, outcome), _) => driver.respond(id, outcome),
                (effect, Some(current)) => {
                    let event = effect.into_event(current);
                    driver.emit(event);
                }
                (_, None) => {}
            }
        }
    }

    fn deadline(driver: &Driver<Self>) -> Option<Instant> {
        let start = Self::starting(driver).and_then(|(_, end)| end);
        [start, Self::start_notice_at(driver)]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_deadline(driver: &mut Driver<Self>, now: Instant) {
        let (name, start) = (driver.client.program.name.clone(), driver.client.start);
        if Self::start_notice_at(driver).is_some_and(|due| due <= now)
            && let Some(current) = &mut driver.current
        {
            current.state.start_notice_at = None;
            let starting = AgentEvent::Starting {
                turn: current.turn,
                agent: name.clone(),
                limit: now.checked_add(start).map(|_| start),
            };
            driver.emit([starting]);
        }
        if let Some((purpose, Some(end))) = Self::starting(driver)
            && end <= now
        {
            let junk = driver.junk();
            let method = purpose.method();
            driver.give_up(failure::starts_too_slowly(&name, method, start, junk));
        }
    }

    fn on_expired(driver: &mut Driver<Self>, purpose: Purpose) -> bool {
        if let Purpose::Steer(turn) = purpose {
            driver.emit([AgentEvent::Steered { turn, taken: false }]);
            return true;
        }
        let patience = driver.config.patience.request;
        let Acp {
            program,
            side_requests,
            ..
        } = &mut driver.client;
        let failure = request_timed_out(&program.name, purpose.method(), patience);
        purpose == Purpose::Courtesy || side_requests.expired(purpose, failure)
    }

    fn close(&mut self) {
        self.services.end_all();
    }
}

impl Acp {
    /// Sends more input to the turn. The agent is told not to begin another turn with it, should this one have ended.
    fn steer(driver: &mut Driver<Self>, text: &str) {
        let (Some(process), Some(current)) = (&mut driver.process, &driver.current) else {
            return;
        };
        let turn = current.turn;
        if !process.known.initialized.steering || !current.sent || current.cancelled.is_some() {
            return driver.emit([AgentEvent::Steered { turn, taken: false }]);
        }
        let params = json!({
            "sessionId": current.state.session,
            "prompt": [{"type": "text", "text": text}],
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        });
        process.send(Purpose::Steer(turn), &params);
    }

    fn run_step(driver: &mut Driver<Self>, step: Step) {
        match (step, &mut driver.process) {
            (Step::Ask(purpose, method, params), Some(process)) => {
                process.send_as(purpose, method, &params);
            }
            (Step::Ask(..), None) => {}
            (Step::Prompt, _) => Self::send_prompt(driver),
            (Step::Fail(failure), _) => driver.fail(failure),
        }
    }

    fn send_prompt(driver: &mut Driver<Self>) {
        let (Some(process), Some(current)) = (&mut driver.process, &driver.current) else {
            return;
        };
        let turn = current.turn;
        let session = &current.state.session;
        if current.only_opens() {
            let opened = AgentEvent::Finished {
                turn,
                interrupted: false,
                thread: session.clone(),
                point: None,
            };
            driver.end_turn();
            return driver.emit([opened]);
        }
        let fresh = current.state.fresh;
        let (blocks, left_out) =
            content::blocks(&current.request, fresh, &process.known.initialized);
        let params = json!({"sessionId": session, "prompt": blocks});
        process.send(Purpose::Prompt(turn), &params);
        driver.on_sent();
        driver.emit(left_out.map(|message| AgentEvent::Progress { turn, message }));
    }

    /// Refuses the open requests of a turn and ends its commands.
    fn end_requests(driver: &mut Driver<Self>, refused: Vec<(RpcId, Result<Value, RpcError>)>) {
        for (id, outcome) in refused {
            driver.respond(id, outcome);
        }
        driver.client.services.end_all();
    }

    fn on_update(driver: &mut Driver<Self>, params: &Value) {
        let update = &params["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let session = params["sessionId"].as_str().unwrap_or_default();
        log::debug!(target: UPDATES, "{kind} of {session}");
        if let Some(process) = &mut driver.process {
            let news = process.known.sessions.options.update(kind, update);
            Self::emit_news(driver, news);
        }
        // Updates before the prompt are the replay of the conversation by `session/load`.
        let terminals = driver.client.services.terminals();
        let current = driver.current.as_mut().filter(|it| it.runs_in(session));
        let shown = |terminal: &str| terminals.shown(terminal);
        let events = current.map(|it| it.update(update, &shown));
        driver.emit(events.into_iter().flatten());
    }

    fn emit_news(driver: &mut Driver<Self>, news: Vec<AgentUpdate>) {
        driver.emit(news.into_iter().map(AgentEvent::Update));
    }

    /// The open request of the start, and its time limit; `None` as limit: none.
    fn starting(driver: &Driver<Self>) -> Option<(Purpose, Option<Instant>)> {
        let (purpose, since) = driver.process.as_ref()?.starting?;
        Some((purpose, since.checked_add(driver.client.start)))
    }

    fn start_notice_at(driver: &Driver<Self>) -> Option<Instant> {
        let current = driver.current.as_ref().filter(|it| !it.sent);
        current.and_then(|it| it.state.start_notice_at)
    }
}
