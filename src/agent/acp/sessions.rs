//! From a request to a session that takes its prompt: resumed, loaded, forked or new, with the chosen model.
//!
//! Pure. In: the request, the responses of the agent. Out: the next step. A session that cannot be continued, for
//! whatever reason, is replaced by a new one that is seeded with the conversation.

use std::collections::{HashSet, VecDeque};

use serde_json::{Value, json};

use super::active_turn::ActiveTurn;
use super::failure;
use super::initialize::InitializeResult;
use super::options::Options;
use super::program::Program;
use super::program::Purpose;
use crate::agent_process::Purpose as _;
use crate::failure::rpc_error_text;
use crate::rpc::RpcError;
use crate::{AgentEvent, AgentFailure, AgentUpdate, McpServer, PlanMode, ThreadMode};

/// The next step for the current turn.
pub(super) enum Step {
    Ask(Purpose, &'static str, Value),
    Prompt,
    Fail(AgentFailure),
}

impl Step {
    fn ask(purpose: Purpose, params: Value) -> Self {
        Step::Ask(purpose, purpose.method(), params)
    }
}

#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: HashSet<String>,
    /// The session that holds the conversation.
    conversation: Option<String>,
    pub(super) options: Options,
    /// The options that plan mode has set, with their values before that.
    before_plan: Vec<(String, String)>,
}

impl Sessions {
    pub(super) fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Continues the session that the request names, or opens a new one.
    pub(super) fn choose(
        &mut self,
        current: &mut ActiveTurn,
        initialized: &InitializeResult,
    ) -> Step {
        let turn = current.turn;
        let known = current.request.thread.clone();
        let known = known.filter(|_| current.request.settings.threads == ThreadMode::Session);
        let session = current.request.settings.threads == ThreadMode::Session;
        let fork = current
            .request
            .fork
            .as_ref()
            .filter(|from| session && initialized.fork && from.point.is_none());
        let params = |id: &str| {
            let mut params = new_session_params(current);
            params["sessionId"] = json!(id);
            params
        };
        let opens = current.only_opens();
        match known {
            Some(id) if self.open.contains(&id) && !opens => self.enter(current, id, false),
            // Codex keeps the MCP servers that a session began with while it is open, so the session is closed
            // first.
            Some(id) if initialized.resume && initialized.close && self.open.remove(&id) => {
                let params = json!({"sessionId": id});
                Step::ask(Purpose::Close(turn), params)
            }
            Some(id) if initialized.resume => Step::ask(Purpose::Resume(turn), params(&id)),
            Some(id) if initialized.load && !self.open.contains(&id) => {
                Step::ask(Purpose::Load(turn), params(&id))
            }
            Some(id) if opens => Step::Fail(AgentFailure::refused(format!(
                "the agent cannot continue the session `{id}`"
            ))),
            _ => match fork {
                Some(from) => Step::ask(Purpose::Fork(turn), params(&from.thread)),
                None => Step::ask(Purpose::New(turn), new_session_params(current)),
            },
        }
    }

    /// Takes the response to the request of [`Sessions::choose`]; `current` is the turn, if it is still current.
    pub(super) fn opened(
        &mut self,
        name: &str,
        purpose: Purpose,
        outcome: Result<Value, RpcError>,
        current: Option<&mut ActiveTurn>,
        initialized: &InitializeResult,
    ) -> (Vec<AgentUpdate>, Option<Step>) {
        let is_new = matches!(purpose, Purpose::New(_));
        let has_own_id = is_new || matches!(purpose, Purpose::Fork(_));
        let Some(current) = current else {
            let unused = outcome.ok().filter(|_| has_own_id && initialized.close);
            // The turn was cancelled meanwhile: its session has no use.
            let close = unused.map(|answer| {
                let params = json!({"sessionId": answer["sessionId"]});
                Step::Ask(Purpose::Courtesy, "session/close", params)
            });
            return (Vec::new(), close);
        };
        let answer = match outcome {
            Ok(answer) => answer,
            Err(error) if error.code == failure::LOGIN_NEEDED => {
                let failure = failure::logged_out(name, &error, &initialized.methods);
                return (Vec::new(), Some(Step::Fail(failure)));
            }
            Err(error) if is_new || current.only_opens() => {
                let failure = failure::refused(name, purpose.method(), &error);
                return (Vec::new(), Some(Step::Fail(failure)));
            }
            // The session is gone or not ours: the record, not the session, holds the truth.
            Err(_) => {
                let step = Step::ask(Purpose::New(current.turn), new_session_params(current));
                return (Vec::new(), Some(step));
            }
        };
        let told = answer["sessionId"].as_str().map(str::to_owned);
        let id = if has_own_id {
            told
        } else {
            current.request.thread.clone()
        };
        let Some(id) = id else {
            let failure = failure::not_understood(name, purpose.method());
            return (Vec::new(), Some(Step::Fail(failure)));
        };
        self.open.insert(id.clone());
        self.before_plan.clear();
        let news = self.options.open(&answer);
        let step = self.enter(current, id, is_new);
        (news, Some(step))
    }

    /// Takes the response to a request that sets an option; returns the next step of the turn.
    pub(super) fn option_set(
        &mut self,
        current: &mut ActiveTurn,
        outcome: Result<Value, RpcError>,
    ) -> (Vec<AgentEvent>, Step) {
        let turn = current.turn;
        let Some((option, value)) = current.state.to_set.pop_front() else {
            return (Vec::new(), Step::Prompt);
        };
        let events = match outcome {
            Ok(answer) => {
                let news = self.options.set(&option, &value, &answer);
                news.into_iter().map(AgentEvent::Update).collect()
            }
            Err(error) => {
                let why = rpc_error_text(&error);
                let message = format!("the agent did not change its {option}: {why}");
                vec![AgentEvent::Progress { turn, message }]
            }
        };
        (events, self.set_next(current))
    }

    /// Enters the open session: sets the options that differ, then sends the prompt.
    fn enter(&mut self, current: &mut ActiveTurn, session: String, fresh: bool) -> Step {
        self.conversation = Some(session.clone());
        (current.state.session, current.state.fresh) = (Some(session), fresh);
        let mut to_set: VecDeque<(String, String)> = VecDeque::new();
        let requested_model = current.request.settings.model.as_deref();
        to_set.extend(self.options.model().and_then(|model| {
            let requested_model = requested_model.filter(|it| *it != model.current)?;
            // The name of another agent's model is ignored.
            model.values.iter().find(|it| it.id == requested_model)?;
            Some((model.descriptor.id.clone(), requested_model.to_owned()))
        }));
        match current.request.settings.plan {
            PlanMode::On => {
                let planned = self.options.plan_values().into_iter();
                for (option, value) in planned.filter(|(it, value)| it.current != *value) {
                    let id = option.descriptor.id.clone();
                    if self.before_plan.iter().all(|(known, _)| *known != id) {
                        self.before_plan.push((id.clone(), option.current.clone()));
                    }
                    to_set.push_back((id, value.to_owned()));
                }
            }
            PlanMode::Left => {
                to_set.extend(self.options.values_without_plan(&self.before_plan));
                self.before_plan.clear();
            }
            PlanMode::Off => {}
        }
        current.state.to_set = to_set;
        self.set_next(current)
    }

    /// Sets the next option; without one, the prompt is next.
    fn set_next(&self, current: &mut ActiveTurn) -> Step {
        let session = current.state.session.clone().unwrap_or_default();
        while let Some((option, value)) = current.state.to_set.front() {
            if let Some((method, params)) = self.options.setter(&session, option, value) {
                return Step::Ask(Purpose::Set(current.turn), method, params);
            }
            current.state.to_set.pop_front();
        }
        Step::Prompt
    }
}

pub(super) fn parse_initialize(
    program: &Program,
    outcome: Result<Value, RpcError>,
) -> Result<InitializeResult, AgentFailure> {
    let name = &program.name;
    let answer = outcome.map_err(|error| failure::refused(name, "initialize", &error))?;
    InitializeResult::parse(&answer, program)
        .map_err(|speaks| failure::another_version(name, &speaks))
}

fn server(server: &McpServer) -> Value {
    let variables = server.variables.iter();
    let variables: Vec<Value> = variables
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    json!({"name": server.name, "command": server.command, "args": server.arguments, "env": variables})
}

fn new_session_params(current: &ActiveTurn) -> Value {
    let settings = &current.request.settings;
    let servers: Vec<Value> = settings.mcp_servers.iter().map(server).collect();
    json!({"cwd": settings.cwd.display().to_string(), "mcpServers": servers})
}
