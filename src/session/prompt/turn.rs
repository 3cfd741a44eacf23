//! The state machine of one exchange with the agent: events in, effects out.
//!
//! Owns the answer so far and one queue of the agent's requests: tool calls and questions to the user, handled one at a
//! time in order of arrival, so that no question comes up while a tool has the terminal. The machine knows no channel,
//! no clock and no peer, so every path (tool rounds, an interrupt at any moment, late events of a dead turn, a lost
//! interpreter) is a table of events in `turn/tests.rs`.
//!
//! Invariants: the end is returned once ([`TurnStep::end`]); every tool call is answered once, or
//! the turn has ended; an interrupt ends the turn for the user at once, while the agent may still be finishing
//! ([`Turn::on`] returns nothing for events after the end).

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::agent::{
    AgentEvent, AgentNotice, AgentQuestion, AgentReply, Decision, FileChange, InputPart,
    QuestionAnswer, ThreadPoint, ToolCall, TurnId, Usage,
};
use crate::answer_events::answer_event;
use crate::approvals::ApprovalRequester;
use crate::dialog::{
    AnswerBuilder, ToolRecord, WorkRecord, call_line, interrupted, tool_line, user_entry,
};
use crate::effect::{Effect, Event};
use crate::events::{AnswerEvent, TurnOutcome};
use crate::plan_mode::{SHOW_PLAN, reported_steps};
use crate::question::QuestionSubject;
use crate::tool_return::ToolReturn;
use crate::tools::shows_itself;

#[derive(Debug, Clone)]
pub(super) enum TurnEvent {
    Started(TurnId),
    Agent(AgentEvent),
    ToolReturned(ToolReturn),
    Answered {
        /// The agent's id of the question.
        question: String,
        answer: QuestionAnswer,
    },
    /// Tokens of a request that code of the turn made beside it.
    UsedBeside(Usage),
    /// The user has more input.
    Steer(String),
    Interrupted,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TurnEnd {
    pub outcome: TurnOutcome,
    /// The answer in its stored form.
    pub stored: String,
    /// The texts of the answer, in order.
    pub texts: Vec<String>,
    /// Tokens, when the agent reported them.
    pub usage: Option<Usage>,
    /// The agent's thread, when it can be continued.
    pub thread: Option<ThreadPoint>,
}

#[derive(Default)]
pub(super) struct TurnStep {
    pub(super) effects: Vec<Effect>,
    /// The turn is over for the user.
    pub(super) end: Option<Box<TurnEnd>>,
}

impl From<Vec<Effect>> for TurnStep {
    fn from(effects: Vec<Effect>) -> Self {
        TurnStep { effects, end: None }
    }
}

#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The agent's id of the turn, once the turn has started.
    id: Option<TurnId>,
    answer: AnswerBuilder,
    usage: Option<Usage>,
    /// Tokens of requests that code of the turn made beside it.
    side_usage: Option<Usage>,
    current: Option<AgentRequest>,
    queue: VecDeque<AgentRequest>,
    /// Input for this turn that the agent has not answered for yet.
    steering: VecDeque<String>,
    /// The user has stopped the turn with an answer: no further request is handled.
    stopped: bool,
    /// The user has been told that the agent is starting.
    agent_starting: bool,
    ended: bool,
    received_bytes: usize,
}

/// A request of the agent that waits for its reply.
#[derive(Debug)]
enum AgentRequest {
    Call(ToolCall),
    Question(AgentQuestion),
}

impl AgentRequest {
    fn id(&self) -> &str {
        match self {
            AgentRequest::Call(call) => &call.id,
            AgentRequest::Question(question) => &question.id,
        }
    }

    fn is_question(&self, id: &str) -> bool {
        matches!(self, AgentRequest::Question(question) if question.id == id)
    }
}

impl Turn {
    /// Grows with every change of [`Turn::stored`].
    pub(super) fn received_bytes(&self) -> usize {
        self.received_bytes
    }

    pub(super) fn stored(&self) -> String {
        self.answer.stored()
    }

    pub(super) fn on(&mut self, event: TurnEvent) -> TurnStep {
        if self.ended {
            return TurnStep::default();
        }
        match event {
            TurnEvent::Started(id) => {
                self.id = Some(id);
                TurnStep::default()
            }
            TurnEvent::Agent(event) => self.on_agent(event),
            TurnEvent::ToolReturned(returned) => self.on_tool_returned(returned).into(),
            TurnEvent::Answered { question, answer } => self.on_answer(&question, answer).into(),
            TurnEvent::UsedBeside(usage) => {
                self.side_usage = Usage::sum(self.side_usage, Some(usage));
                TurnStep::default()
            }
            TurnEvent::Steer(text) => self.steer(text).into(),
            TurnEvent::Interrupted => {
                let TurnStep { effects, end } = self.end(TurnOutcome::Interrupted, None);
                let cancel = self.id.map(Effect::CancelTurn);
                TurnStep {
                    effects: cancel.into_iter().chain(effects).collect(),
                    end,
                }
            }
        }
    }

    fn on_agent(&mut self, event: AgentEvent) -> TurnStep {
        match event {
            AgentEvent::ToolCalled { turn, call } if call.name == SHOW_PLAN => {
                self.on_plan_shown(turn, &call).into()
            }
            AgentEvent::ToolCalled { call, .. } => {
                self.queue.push_back(AgentRequest::Call(call));
                self.start_next().into()
            }
            AgentEvent::QuestionAsked { question, .. } => {
                self.queue.push_back(AgentRequest::Question(question));
                self.start_next().into()
            }
            AgentEvent::RequestWithdrawn { id, .. } => self.withdraw(&id).into(),
            AgentEvent::Finished {
                interrupted,
                thread,
                point,
                ..
            } => {
                let thread = thread.map(|thread| ThreadPoint { thread, point });
                // The thread of an agent that stops by itself lacks the partial answer, so it is not continued.
                let (outcome, thread) = if interrupted {
                    (TurnOutcome::Interrupted, None)
                } else {
                    (TurnOutcome::Complete, thread)
                };
                self.end(outcome, thread)
            }
            AgentEvent::Steered { taken, .. } => self.on_steered(taken).into(),
            AgentEvent::Failed { failure, .. } => self.end(TurnOutcome::Failed(failure), None),
            AgentEvent::Sent { .. } => match std::mem::take(&mut self.agent_starting) {
                true => vec![Effect::show(AnswerEvent::AgentStarts(None))].into(),
                false => TurnStep::default(),
            },
            event => {
                self.agent_starting |= matches!(event, AgentEvent::Starting { .. });
                self.record(&event);
                let shown = answer_event(event).map(Effect::show);
                shown.into_iter().collect::<Vec<_>>().into()
            }
        }
    }

    /// Takes a report of the plan: it is no tool call for the record, but the plan itself.
    fn on_plan_shown(&mut self, turn: TurnId, call: &ToolCall) -> Vec<Effect> {
        let (mut effects, result) = match reported_steps(&call.arguments) {
            Ok(steps) => {
                let event = AgentEvent::PlanUpdated { turn, steps };
                self.record(&event);
                let shown = answer_event(event).map(Effect::show);
                (
                    shown.into_iter().collect(),
                    ToolReturn::text("shown".into()),
                )
            }
            Err(why) => (Vec::new(), ToolReturn::failed(&why)),
        };
        effects.extend(self.reply(AgentReply::ToolResult {
            call: call.id.clone(),
            success: result.success,
            content: result.content,
        }));
        effects
    }

    fn steer(&mut self, text: String) -> Vec<Effect> {
        match self.id.filter(|_| !self.stopped) {
            Some(_) => {
                let reply = self.reply(AgentReply::Steer(user_entry("", "", &text)));
                self.steering.push_back(text);
                reply
            }
            None => vec![Effect::show(AnswerEvent::Steered { text, taken: false })],
        }
    }

    /// Puts what the agent has taken into the answer, at its place.
    fn on_steered(&mut self, taken: bool) -> Vec<Effect> {
        let Some(text) = self.steering.pop_front() else {
            return Vec::new();
        };
        if taken {
            let first = text.trim().lines().next().unwrap_or_default();
            let whole = first == text.trim();
            self.record_work(Some(WorkRecord {
                id: String::new(),
                kind: "steer",
                title: format!("the user: {first}"),
                result: if whole { String::new() } else { text.clone() },
                success: true,
            }));
        }
        vec![Effect::show(AnswerEvent::Steered { text, taken })]
    }

    /// Adds the part of an event that belongs to the answer.
    fn record(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { message, delta, .. } => {
                self.received_bytes += delta.len();
                self.answer.push_text(*message, delta);
            }
            AgentEvent::TextRestarted { message, .. } => self.answer.restart_message(*message),
            AgentEvent::Thought { part, delta, .. } => {
                self.received_bytes += delta.len();
                self.answer.push_thought(*part, delta);
            }
            AgentEvent::CommandEnded { command, .. }
            | AgentEvent::CommandDenied { command, .. } => {
                self.received_bytes += command.output.len() + 1;
                self.answer.push_command(command);
            }
            AgentEvent::PlanUpdated { steps, .. } => {
                let plan = steps
                    .iter()
                    .map(|step| (step.text.as_str(), step.status.as_str()));
                self.answer.set_plan(&plan.collect::<Vec<_>>());
                self.received_bytes += 1;
            }
            AgentEvent::ActivityUpdated { activity, .. } => self.record_work(activity.record()),
            AgentEvent::FilesChanged { changes, .. } => {
                self.record_work(Some(FileChange::record(changes)));
            }
            AgentEvent::Notice {
                notice: AgentNotice::FileWritten(written),
                ..
            } => self.record_work(Some(written.record())),
            AgentEvent::Usage { usage, .. } => self.usage = Some(*usage),
            _ => {}
        }
    }

    fn record_work(&mut self, work: Option<WorkRecord>) {
        if let Some(work) = work {
            self.received_bytes += work.title.len() + work.result.len();
            self.answer.push_work(&work);
        }
    }

    fn is_calling_tool(&self) -> bool {
        matches!(self.current, Some(AgentRequest::Call(_)))
    }

    fn start_next(&mut self) -> Vec<Effect> {
        if self.current.is_some() || self.stopped {
            return Vec::new();
        }
        let Some(request) = self.queue.pop_front() else {
            return Vec::new();
        };
        let actions = match &request {
            AgentRequest::Call(call) => vec![
                Effect::show(AnswerEvent::ToolStarted {
                    call: call_line(&call.name, &call.arguments),
                }),
                Effect::Raise(Event::ToolCalled(call.clone())),
            ],
            AgentRequest::Question(question) => vec![ask(question.clone())],
        };
        self.current = Some(request);
        actions
    }

    fn on_answer(&mut self, id: &str, answer: QuestionAnswer) -> Vec<Effect> {
        let answered = |request: &mut AgentRequest| request.is_question(id);
        let Some(AgentRequest::Question(question)) = self.current.take_if(answered) else {
            return Vec::new();
        };
        self.stopped = question.options.iter().any(|option| {
            option.kind == Decision::Stop && answer == QuestionAnswer::Chosen(option.id.clone())
        });
        let reply = AgentReply::Answer {
            question: question.id,
            answer,
        };
        let mut actions = self.reply(reply);
        actions.extend(self.start_next());
        actions
    }

    /// Drops a request that the agent withdrew. A running tool goes on to its end.
    fn withdraw(&mut self, id: &str) -> Vec<Effect> {
        self.queue.retain(|request| request.id() != id);
        if self
            .current
            .take_if(|request| request.is_question(id))
            .is_none()
        {
            return Vec::new();
        }
        self.start_next()
    }

    fn on_tool_returned(&mut self, returned: ToolReturn) -> Vec<Effect> {
        let call = self
            .current
            .take_if(|request| matches!(request, AgentRequest::Call(_)));
        let Some(AgentRequest::Call(call)) = call else {
            return Vec::new();
        };
        let already_shown = shows_itself(&call.name);
        let line = tool_line(&call.name, &call.arguments, &returned.text);
        self.received_bytes += returned.text.len() + 1;
        self.answer.push_tool(&ToolRecord {
            id: call.id.clone(),
            name: call.name,
            arguments: call.arguments,
            result: returned.text,
            success: returned.success,
        });
        let ended = if returned.denied {
            AnswerEvent::Denied {
                id: String::new(),
                what: None,
            }
        } else {
            AnswerEvent::ToolRan {
                line,
                success: returned.success,
            }
        };
        let mut actions = vec![Effect::show(ended)];
        if !already_shown {
            let pictures = returned.content.iter().filter_map(|part| match part {
                InputPart::Image(url) => Some(AnswerEvent::Picture(url.clone())),
                InputPart::Text(_) | InputPart::File { .. } => None,
            });
            actions.extend(pictures.map(Effect::show));
        }
        actions.extend(self.reply(AgentReply::ToolResult {
            call: call.id,
            success: returned.success,
            content: returned.content,
        }));
        actions.extend(self.start_next());
        actions
    }

    fn reply(&self, reply: AgentReply) -> Vec<Effect> {
        let reply = self.id.map(|id| Effect::ReplyToAgent(id, reply));
        reply.into_iter().collect()
    }

    /// Ends the turn, and interrupts a tool that still runs.
    fn end(&mut self, outcome: TurnOutcome, thread: Option<ThreadPoint>) -> TurnStep {
        self.ended = true;
        let stored = match outcome {
            TurnOutcome::Interrupted => interrupted(&self.answer.stored()),
            TurnOutcome::Complete | TurnOutcome::Failed(_) => self.answer.stored(),
        };
        let texts = self.answer.texts().filter(|text| !text.is_empty());
        let end = Box::new(TurnEnd {
            outcome,
            stored,
            texts: texts.map(str::to_owned).collect(),
            usage: Usage::sum(self.usage, self.side_usage),
            thread,
        });
        let interrupt = Effect::Raise(Event::ToolInterrupted);
        let interrupt = self.is_calling_tool().then_some(interrupt);
        TurnStep {
            effects: interrupt.into_iter().collect(),
            end: Some(end),
        }
    }
}

fn ask(question: AgentQuestion) -> Effect {
    let asker = ApprovalRequester::Agent {
        question: question.id,
        options: question.options,
        reasons: question.accepts_reason,
        reads: question.reads,
    };
    Effect::Raise(Event::Ask(QuestionSubject::Agent(question.subject), asker))
}
