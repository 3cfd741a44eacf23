//! The turn at hand: what it was asked with, where it stands, the questions it has open.
//!
//! Every question is answered once, or its turn ends first. A command that the user allowed by a permission may then
//! run in a terminal of ours without a second question; any other asks, unless the `sandbox` setting allows everything.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::asked;
use super::calls::Shown;
use super::elicited::{self, Elicited};
use super::files::Allowed;
use super::telling::Telling;
use super::terminals::Wanted;
use crate::agent::{
    AgentEvent, AgentQuestion, Decision, QuestionAnswer, Sandbox, Subject, TurnId, TurnRequest,
};
use crate::rpc::{RpcError, RpcId};

/// The most of what a terminal shows that waits for its call, in bytes.
const EARLY: usize = 64 << 10;

/// A start that takes longer is told.
const STARTS_SOON: Duration = Duration::from_secs(2);

/// See the module.
pub(super) struct Current {
    pub(super) turn: TurnId,
    pub(super) request: Box<TurnRequest>,
    /// The agent's session, once there is one.
    pub(super) session: Option<String>,
    /// The session does not hold the conversation yet.
    pub(super) fresh: bool,
    /// The prompt is on the wire.
    pub(super) sent: bool,
    pub(super) telling: Telling,
    /// When patience with a cancelled turn ends.
    pub(super) cancelled: Option<Instant>,
    /// When it is told that the agent is still starting; `None`: it was told.
    pub(super) tells_start: Option<Instant>,
    questions: HashMap<String, Open>,
    asked: u64,
    /// Commands the user has allowed.
    allowed: HashSet<String>,
    /// What terminals have shown before a call was told that shows them.
    early: HashMap<String, String>,
}

/// A question that is open, and whom to answer.
struct Open {
    id: RpcId,
    question: AgentQuestion,
    about: About,
}

enum About {
    /// A permission for this call; the command it would run.
    Call(String, Option<String>),
    /// A command for a terminal.
    Terminal(Box<Wanted>),
    /// Something to fill in, or a page to open.
    Elicited(Elicited),
}

/// What an answer of the user comes to.
pub(super) enum Answered {
    /// This goes to the agent.
    Answer(RpcId, Result<Value, RpcError>),
    /// The command runs; its terminal is the answer.
    Run(RpcId, Box<Wanted>),
    /// What was filled in does not fit: the user is asked again.
    Again(AgentQuestion),
}

impl Current {
    pub(super) fn new(turn: TurnId, request: Box<TurnRequest>) -> Self {
        Current {
            turn,
            request,
            session: None,
            fresh: true,
            sent: false,
            telling: Telling::new(turn),
            cancelled: None,
            tells_start: Some(Instant::now() + STARTS_SOON),
            questions: HashMap::new(),
            asked: 0,
            allowed: HashSet::new(),
            early: HashMap::new(),
        }
    }

    /// The agent is at it, in this session.
    pub(super) fn runs_in(&self, session: &str) -> bool {
        self.sent && self.session.as_deref() == Some(session)
    }

    /// There is no prompt: the session is all that is wanted.
    pub(super) fn only_opens(&self) -> bool {
        self.request.input.is_empty()
    }

    /// Where the agent may write.
    pub(super) fn writes(&self) -> Allowed {
        Allowed {
            sandbox: self.request.settings.sandbox,
            cwd: self.request.settings.cwd.clone(),
        }
    }

    /// Takes a permission request; the question for the user.
    ///
    /// # Errors
    /// The answer to a request that does not say what it wants.
    pub(super) fn permission(
        &mut self,
        id: &RpcId,
        params: &Value,
    ) -> Result<AgentQuestion, RpcError> {
        let told = &params["toolCall"];
        let Some(call) = told["toolCallId"].as_str().map(str::to_owned) else {
            return Err(asked::invalid("a permission request without a tool call"));
        };
        let number = self.number();
        let cwd = self.request.settings.cwd.display().to_string();
        let known = self.telling.calls.learn(told);
        let command = known.command();
        let question = asked::question(number, params, known, &cwd)?;
        Ok(self.open(id, question, About::Call(call, command)))
    }

    /// Takes a command for a terminal; the question for the user.
    ///
    /// # Errors
    /// The command, when it may run without one.
    pub(super) fn command(
        &mut self,
        id: &RpcId,
        wanted: Box<Wanted>,
    ) -> Result<AgentQuestion, Box<Wanted>> {
        let free = self.request.settings.sandbox == Sandbox::FullAccess;
        if free || self.allowed.contains(&wanted.line) {
            return Err(wanted);
        }
        let subject = Subject::Command {
            command: wanted.line.clone(),
            cwd: wanted.cwd().display().to_string(),
            reason: None,
        };
        let mut question = AgentQuestion::usual(self.number(), subject);
        question.reasons = false;
        Ok(self.open(id, question, About::Terminal(wanted)))
    }

    /// Takes something to fill in, or a page to open; the question for the user.
    ///
    /// # Errors
    /// The answer to a request that cannot be asked.
    pub(super) fn elicit(&mut self, id: &RpcId, params: &Value) -> Result<AgentQuestion, RpcError> {
        let (subject, elicited) = Elicited::read(params)?;
        let mut question = AgentQuestion::usual(self.number(), subject);
        question.reasons = false;
        Ok(self.open(id, question, About::Elicited(elicited)))
    }

    fn number(&mut self) -> String {
        self.asked += 1;
        format!("question-{}", self.asked)
    }

    fn open(&mut self, id: &RpcId, question: AgentQuestion, about: About) -> AgentQuestion {
        let open = Open {
            id: id.clone(),
            question: question.clone(),
            about,
        };
        self.questions.insert(question.id.clone(), open);
        question
    }

    /// Takes an answer of the user; nothing for one that nobody waits for.
    pub(super) fn answer(&mut self, question: &str, answer: &QuestionAnswer) -> Option<Answered> {
        let open = self.questions.remove(question)?;
        Some(match open.about {
            About::Call(call, command) => {
                let (value, yes) = asked::answer(&open.question, answer);
                match yes {
                    true => self.allowed.extend(command),
                    false => self.telling.calls.deny(&call),
                }
                Answered::Answer(open.id, Ok(value))
            }
            About::Terminal(wanted) => match answer.decision().is_some_and(Decision::allows) {
                true => Answered::Run(open.id, wanted),
                false => Answered::Answer(open.id, Err(denied())),
            },
            About::Elicited(elicited) => match elicited.answer(answer) {
                Ok(value) => Answered::Answer(open.id, Ok(value)),
                Err(why) => {
                    let mut question = open.question;
                    question.id = self.number();
                    elicited.ask_again(&mut question.subject, &why);
                    Answered::Again(self.open(&open.id, question, About::Elicited(elicited)))
                }
            },
        })
    }

    /// The agent no longer waits for the answer to this request: its id, and what the session is told.
    pub(super) fn withdraw(&mut self, request: &Value) -> Option<(RpcId, AgentEvent)> {
        let id = match request {
            Value::String(id) => RpcId::Text(id.clone()),
            number => RpcId::Number(number.as_i64()?),
        };
        let mut open = self.questions.iter();
        let name = open.find(|(_, open)| open.id == id)?.0.clone();
        self.questions.remove(&name);
        let turn = self.turn;
        Some((id, AgentEvent::Withdrawn { turn, id: name }))
    }

    /// A terminal shows more: told with the command that shows it.
    pub(super) fn output(&mut self, terminal: &str, delta: String) -> Option<AgentEvent> {
        let turn = self.turn;
        let id = self.telling.calls.of_terminal(terminal).map(str::to_owned);
        if id.is_none() {
            let early = self.early.entry(terminal.to_owned()).or_default();
            if early.len() < EARLY {
                early.push_str(&delta);
            }
        }
        id.map(|id| AgentEvent::CommandOutput { turn, id, delta })
    }

    /// Takes an update of the session; what is told, with what the terminals of a call that began have shown already.
    pub(super) fn update(
        &mut self,
        update: &Value,
        terminal: &dyn Fn(&str) -> Option<Shown>,
    ) -> Vec<AgentEvent> {
        let mut events = self.telling.update(update, terminal);
        let (turn, calls) = (self.turn, &self.telling.calls);
        self.early.retain(|terminal, early| {
            let id = calls.of_terminal(terminal).map(str::to_owned);
            let delta = std::mem::take(early);
            match id {
                Some(id) => events.push(AgentEvent::CommandOutput { turn, id, delta }),
                None => *early = delta,
            }
            !early.is_empty()
        });
        events
    }

    /// Nobody answers any more: what each request is told.
    pub(super) fn refuse_all(&mut self) -> Vec<(RpcId, Result<Value, RpcError>)> {
        let open = std::mem::take(&mut self.questions).into_values();
        let refused = open.map(|open| match open.about {
            About::Call(..) => (open.id, Ok(asked::refusal())),
            About::Terminal(_) => (open.id, Err(denied())),
            About::Elicited(_) => (open.id, Ok(elicited::cancelled())),
        });
        refused.collect()
    }
}

fn denied() -> RpcError {
    RpcError {
        code: -32603,
        message: "the user did not allow this command".into(),
        data: Value::Null,
    }
}
