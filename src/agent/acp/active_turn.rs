//! The current turn: its state, its open questions, its end.
//!
//! Every question is answered once, or its turn ends first. A command that the user allowed by a permission may
//! then run in a terminal of ours without a second question; any other command asks, unless the `sandbox` setting
//! allows everything.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::elicitation::{self, Elicitation};
use super::event_mapper::{self, EventMapper};
use super::files::WritePolicy;
use super::terminals::TerminalCommand;
use super::tool_calls::TerminalOutput;
use super::{failure, permission};
use crate::rpc::{RpcError, RpcId};
use crate::{
    AgentEvent, AgentFailure, AgentQuestion, Decision, FailureKind, LoginMethod, PlanMode,
    QuestionAnswer, Sandbox, Subject, ThreadMode, TurnId, driver,
};

/// The most terminal output that is kept for a call not announced yet, in bytes.
const MAX_EARLY_OUTPUT: usize = 64 << 10;

/// After this time the session is notified that the agent is still starting.
const START_NOTICE_DELAY: Duration = Duration::from_secs(2);

pub(super) type ActiveTurn = driver::ActiveTurn<TurnState>;

/// What the client keeps of a turn.
pub(crate) struct TurnState {
    /// The agent's id of the session, once it is open.
    pub(super) session: Option<String>,
    /// The session does not hold the conversation yet.
    pub(super) fresh: bool,
    /// Options to set before the prompt, with their values.
    pub(super) to_set: VecDeque<(String, String)>,
    pub(super) mapper: EventMapper,
    /// When the session is notified that the agent is still starting; `None`: done.
    pub(super) start_notice_at: Option<Instant>,
    questions: HashMap<String, OpenQuestion>,
    questions_asked: u64,
    allowed: HashSet<String>,
    /// Output of terminals that no announced call shows yet, by terminal.
    early: HashMap<String, String>,
}

struct OpenQuestion {
    id: RpcId,
    question: AgentQuestion,
    origin: QuestionOrigin,
}

enum QuestionOrigin {
    /// A permission for this call, and the command it would run.
    Permission(String, Option<String>),
    Terminal(Box<TerminalCommand>),
    /// A form, or a page to open.
    Elicitation(Elicitation),
}

pub(super) enum AnswerEffect {
    Respond(RpcId, Result<Value, RpcError>),
    RunCommand(RpcId, Box<TerminalCommand>),
    /// The input does not fit the form: ask again.
    AskAgain(AgentQuestion),
}

impl TurnState {
    pub(super) fn new(turn: TurnId) -> Self {
        TurnState {
            session: None,
            fresh: true,
            to_set: VecDeque::new(),
            mapper: EventMapper::new(turn),
            start_notice_at: Some(Instant::now() + START_NOTICE_DELAY),
            questions: HashMap::new(),
            questions_asked: 0,
            allowed: HashSet::new(),
            early: HashMap::new(),
        }
    }
}

impl ActiveTurn {
    /// True while the prompt runs in this session.
    pub(super) fn runs_in(&self, session: &str) -> bool {
        self.sent && self.state.session.as_deref() == Some(session)
    }

    /// True for a turn without an input, which only opens the session.
    pub(super) fn only_opens(&self) -> bool {
        self.request.input.is_empty()
    }

    pub(super) fn write_policy(&self) -> WritePolicy {
        WritePolicy {
            sandbox: self.request.settings.sandbox,
            cwd: self.request.settings.cwd.clone(),
            plans: self.request.settings.plan == PlanMode::On,
        }
    }

    /// Registers a permission request and returns the question for the user.
    ///
    /// # Errors
    /// The response to a request without options.
    pub(super) fn permission(
        &mut self,
        id: &RpcId,
        params: &Value,
    ) -> Result<AgentQuestion, RpcError> {
        let told = &params["toolCall"];
        let Some(call) = told["toolCallId"].as_str().map(str::to_owned) else {
            return Err(RpcError::invalid_params(
                "a permission request without a tool call",
            ));
        };
        let number = self.next_question_id();
        let cwd = self.request.settings.cwd.display().to_string();
        let known = self.state.mapper.tool_calls.merge(told);
        let command = known.command();
        let question = permission::question(number, params, known, &cwd)?;
        Ok(self.open(id, question, QuestionOrigin::Permission(call, command)))
    }

    /// Registers a command for a terminal and returns the question for the user.
    ///
    /// # Errors
    /// The command, when it may run without a question.
    pub(super) fn command(
        &mut self,
        id: &RpcId,
        command_request: Box<TerminalCommand>,
    ) -> Result<AgentQuestion, Box<TerminalCommand>> {
        let free = self.request.settings.sandbox == Sandbox::FullAccess;
        if free || self.state.allowed.contains(&command_request.line) {
            return Err(command_request);
        }
        let subject = Subject::Command {
            command: command_request.line.clone(),
            cwd: command_request.cwd().display().to_string(),
            reason: None,
        };
        let mut question = AgentQuestion::with_default_options(self.next_question_id(), subject);
        question.accepts_reason = false;
        Ok(self.open(id, question, QuestionOrigin::Terminal(command_request)))
    }

    /// Registers a form or a page and returns the question for the user.
    ///
    /// # Errors
    /// The response to a request that cannot be shown.
    pub(super) fn elicit(&mut self, id: &RpcId, params: &Value) -> Result<AgentQuestion, RpcError> {
        let (subject, elicitation) = Elicitation::parse(params)?;
        let mut question = AgentQuestion::with_default_options(self.next_question_id(), subject);
        question.accepts_reason = false;
        Ok(self.open(id, question, QuestionOrigin::Elicitation(elicitation)))
    }

    fn next_question_id(&mut self) -> String {
        self.state.questions_asked += 1;
        format!("question-{}", self.state.questions_asked)
    }

    fn open(
        &mut self,
        id: &RpcId,
        question: AgentQuestion,
        origin: QuestionOrigin,
    ) -> AgentQuestion {
        let open = OpenQuestion {
            id: id.clone(),
            question: question.clone(),
            origin,
        };
        self.state.questions.insert(question.id.clone(), open);
        question
    }

    /// Takes an answer of the user; `None` for a question that is no longer open.
    pub(super) fn answer(
        &mut self,
        question: &str,
        answer: &QuestionAnswer,
    ) -> Option<AnswerEffect> {
        let open = self.state.questions.remove(question)?;
        Some(match open.origin {
            QuestionOrigin::Permission(call, command) => {
                let (value, yes) = permission::answer(&open.question, answer);
                match yes {
                    true => self.state.allowed.extend(command),
                    false => self.state.mapper.tool_calls.deny(&call),
                }
                AnswerEffect::Respond(open.id, Ok(value))
            }
            QuestionOrigin::Terminal(command_request) => {
                match answer.decision().is_some_and(Decision::allows) {
                    true => AnswerEffect::RunCommand(open.id, command_request),
                    false => AnswerEffect::Respond(open.id, Err(denied())),
                }
            }
            QuestionOrigin::Elicitation(elicitation) => match elicitation.answer(answer) {
                Ok(value) => AnswerEffect::Respond(open.id, Ok(value)),
                Err(why) => {
                    let mut question = open.question;
                    question.id = self.next_question_id();
                    elicitation.ask_again(&mut question.subject, &why);
                    AnswerEffect::AskAgain(self.open(
                        &open.id,
                        question,
                        QuestionOrigin::Elicitation(elicitation),
                    ))
                }
            },
        })
    }

    /// Withdraws the question of a request that the agent has cancelled: the request's id, and the event for the
    /// session.
    pub(super) fn withdraw(&mut self, request: &Value) -> Option<(RpcId, AgentEvent)> {
        let id = match request {
            Value::String(id) => RpcId::Text(id.clone()),
            number => RpcId::Number(number.as_i64()?),
        };
        let mut open = self.state.questions.iter();
        let name = open.find(|(_, open)| open.id == id)?.0.clone();
        self.state.questions.remove(&name);
        let turn = self.turn;
        Some((id, AgentEvent::RequestWithdrawn { turn, id: name }))
    }

    /// Output of a terminal, as output of the command whose call shows the terminal; kept until there is one.
    pub(super) fn output(&mut self, terminal: &str, delta: String) -> Option<AgentEvent> {
        let turn = self.turn;
        let id = self
            .state
            .mapper
            .tool_calls
            .command_of_terminal(terminal)
            .map(str::to_owned);
        if id.is_none() {
            let early = self.state.early.entry(terminal.to_owned()).or_default();
            if early.len() < MAX_EARLY_OUTPUT {
                early.push_str(&delta);
            }
        }
        id.map(|id| AgentEvent::CommandOutput { turn, id, delta })
    }

    /// Maps a session update to events. A call that begins is followed by the earlier output of its terminals.
    pub(super) fn update(
        &mut self,
        update: &Value,
        terminal: &dyn Fn(&str) -> Option<TerminalOutput>,
    ) -> Vec<AgentEvent> {
        let mut events = self.state.mapper.update(update, terminal);
        let (turn, tool_calls) = (self.turn, &self.state.mapper.tool_calls);
        self.state.early.retain(|terminal, early| {
            let id = tool_calls.command_of_terminal(terminal).map(str::to_owned);
            let delta = std::mem::take(early);
            match id {
                Some(id) => events.push(AgentEvent::CommandOutput { turn, id, delta }),
                None => *early = delta,
            }
            !early.is_empty()
        });
        events
    }

    /// Removes all open questions and returns the response to each of their requests.
    pub(super) fn refuse_all(&mut self) -> Vec<(RpcId, Result<Value, RpcError>)> {
        let open = std::mem::take(&mut self.state.questions).into_values();
        let refused = open.map(|open| match open.origin {
            QuestionOrigin::Permission(..) => (open.id, Ok(permission::refusal())),
            QuestionOrigin::Terminal(_) => (open.id, Err(denied())),
            QuestionOrigin::Elicitation(_) => (open.id, Ok(elicitation::cancelled())),
        });
        refused.collect()
    }
}

fn denied() -> RpcError {
    RpcError::new(-32603, "the user did not allow this command")
}

/// The last events of a turn, for the response to its prompt. Exactly one of them ends the turn, as the last.
pub(super) fn prompt_events(
    name: &str,
    mut current: ActiveTurn,
    outcome: Result<Value, RpcError>,
    methods: &[LoginMethod],
) -> Vec<AgentEvent> {
    let turn = current.turn;
    let mut events = current.state.mapper.close();
    let answer = match outcome {
        Ok(answer) => answer,
        Err(_) if current.cancelled.is_some() => json!({"stopReason": "cancelled"}),
        Err(error) => {
            let failure = match error.code {
                failure::LOGIN_NEEDED => failure::logged_out(name, &error, methods),
                _ => AgentFailure {
                    kind: FailureKind::Upstream,
                    ..failure::refused(name, "session/prompt", &error)
                },
            };
            events.push(AgentEvent::Failed { turn, failure });
            return events;
        }
    };
    let usage = current.state.mapper.complete(event_mapper::usage(&answer));
    events.extend(usage.map(|usage| AgentEvent::Usage { turn, usage }));
    let reason = answer["stopReason"].as_str().unwrap_or_default();
    let notice = match reason {
        "max_tokens" => Some("the answer was cut off at the model's token limit"),
        "max_turn_requests" => Some("the agent stopped at its request limit for one turn"),
        "refusal" => Some("the agent declined to answer"),
        _ => None,
    };
    events.extend(notice.map(|notice| AgentEvent::Progress {
        turn,
        message: notice.to_owned(),
    }));
    let interrupted = reason == "cancelled";
    // A refused exchange is no part of the agent's conversation.
    let kept = current.request.settings.threads == ThreadMode::Session && reason != "refusal";
    events.push(AgentEvent::Finished {
        turn,
        interrupted,
        thread: current.state.session.filter(|_| kept && !interrupted),
        // A session is forked at its end only.
        point: None,
    });
    events
}

#[cfg(test)]
mod tests;
