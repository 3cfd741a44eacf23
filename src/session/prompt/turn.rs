//! One exchange with the agent as a pure machine: events in, actions out.
//!
//! Owns the answer so far and the one queue of what the agent wants: calls of our tools and questions to the user, one
//! at a time in the order they came, so that no question comes up while a tool has the terminal. It knows no channel,
//! no clock and no peer, so every path (tool rounds, an interrupt at any moment, late events of a dead turn, a lost
//! interpreter) is a table of events in `turn/tests.rs`.
//!
//! Invariants: exactly one [`TurnAction::End`] comes out and nothing after it; every tool call the agent made is
//! answered once or the turn has ended; an interrupt ends the turn for the user at once, while the agent may still be
//! finishing ([`Turn::on`] then says so by returning nothing).

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::agent::{
    AgentEvent, AgentFailure, AgentQuestion, AgentReply, Aside, Decision, FileChange, InputPart,
    QuestionAnswer, ToolCall, Usage,
};
use crate::dialog::{GatheredAnswer, ToolRecord, call_line, interrupted, tool_line};
use crate::session::answered::answer_event;
use crate::session::events::{AnswerEvent, TurnOutcome};
use crate::session::tool_return::ToolReturn;
use crate::session::toolbox::shows_itself;

/// What can happen to a turn.
#[derive(Debug, Clone)]
pub(super) enum TurnEvent {
    /// The agent said something.
    Agent(AgentEvent),
    /// The tool that was called returned.
    ToolReturned(ToolReturn),
    /// The user answered what the agent asked.
    Answered {
        /// The agent's id of the question.
        question: String,
        /// The answer.
        answer: QuestionAnswer,
    },
    /// Something was asked beside it, which has used this.
    UsedBeside(Usage),
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::session) enum TurnAction {
    /// Show this.
    Show(AnswerEvent),
    /// Call this tool; [`TurnEvent::ToolReturned`] is owed.
    CallTool(ToolCall),
    /// Ask the user; [`TurnEvent::Answered`] is owed.
    Ask(AgentQuestion),
    /// The question of this id needs no answer any more.
    Withdraw(String),
    /// Interrupt the tool that is running; its return is no longer waited for.
    InterruptTool,
    /// Tell the agent.
    Reply(AgentReply),
    /// Stop the agent's turn.
    CancelAgent,
    /// The turn is over for the user.
    End(Box<TurnEnd>),
}

/// How a turn ended and what is left of it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::session) struct TurnEnd {
    /// How.
    pub outcome: TurnOutcome,
    /// The answer in its stored form.
    pub stored: String,
    /// The texts of the answer, in order.
    pub said: Vec<String>,
    /// Tokens, when the agent told.
    pub usage: Option<Usage>,
    /// The agent's thread, when it can be gone on with.
    pub thread: Option<String>,
}

/// One exchange.
#[derive(Debug, Default)]
pub(super) struct Turn {
    answer: GatheredAnswer,
    usage: Option<Usage>,
    /// What was used beside it.
    beside: Option<Usage>,
    /// What is worked off for the agent.
    at: Option<Wanted>,
    waiting: VecDeque<Wanted>,
    /// The user has stopped the turn with an answer: nothing more is worked off for it.
    stopped: bool,
    /// It was told that the agent is still starting.
    starts: bool,
    ended: bool,
    received: usize,
}

/// Something the agent waits for.
#[derive(Debug)]
enum Wanted {
    Call(ToolCall),
    Question(AgentQuestion),
}

impl Wanted {
    fn id(&self) -> &str {
        match self {
            Wanted::Call(call) => &call.id,
            Wanted::Question(question) => &question.id,
        }
    }
}

impl Turn {
    /// Bytes of answer received so far: grows with every change of [`Turn::stored`].
    pub(super) fn size(&self) -> usize {
        self.received
    }

    /// The answer so far, in its stored form.
    pub(super) fn stored(&self) -> String {
        self.answer.stored()
    }

    /// Takes an event; returns what is to be done, in order.
    pub(super) fn on(&mut self, event: TurnEvent) -> Vec<TurnAction> {
        if self.ended {
            return Vec::new();
        }
        match event {
            TurnEvent::Agent(event) => self.on_agent(event),
            TurnEvent::ToolReturned(returned) => self.on_tool_returned(returned),
            TurnEvent::Answered { question, answer } => self.on_answer(&question, answer),
            TurnEvent::UsedBeside(usage) => {
                self.beside = Usage::both(self.beside, Some(usage));
                Vec::new()
            }
            TurnEvent::Interrupted => {
                let mut actions = vec![TurnAction::CancelAgent];
                if self.calls() {
                    actions.push(TurnAction::InterruptTool);
                }
                actions.push(self.end(TurnOutcome::Interrupted, None));
                actions
            }
        }
    }

    fn on_agent(&mut self, event: AgentEvent) -> Vec<TurnAction> {
        match event {
            AgentEvent::ToolCalled { call, .. } => {
                self.waiting.push_back(Wanted::Call(call));
                self.next_wanted()
            }
            AgentEvent::Asked { question, .. } => {
                self.waiting.push_back(Wanted::Question(question));
                self.next_wanted()
            }
            AgentEvent::Withdrawn { id, .. } => self.withdraw(&id),
            AgentEvent::Finished {
                interrupted,
                thread,
                ..
            } => {
                // An agent that stops by itself leaves a thread without the partial answer: not to be gone on with.
                let (outcome, thread) = if interrupted {
                    (TurnOutcome::Interrupted, None)
                } else {
                    (TurnOutcome::Complete, thread)
                };
                self.end_with_tool(outcome, thread)
            }
            AgentEvent::Failed { failure, .. } => self.fail(failure),
            AgentEvent::Sent { .. } => match std::mem::take(&mut self.starts) {
                true => vec![TurnAction::Show(AnswerEvent::AgentStarts(None))],
                false => Vec::new(),
            },
            event => {
                self.starts |= matches!(event, AgentEvent::Starting { .. });
                self.gather(&event);
                let shown = answer_event(event);
                shown.map(TurnAction::Show).into_iter().collect()
            }
        }
    }

    /// Keeps what of an event belongs to the answer.
    fn gather(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { message, delta, .. } => {
                self.received += delta.len();
                self.answer.text(*message, delta);
            }
            AgentEvent::Restarted { message, .. } => self.answer.restarted(*message),
            AgentEvent::Thought { part, delta, .. } => {
                self.received += delta.len();
                self.answer.thought(*part, delta);
            }
            AgentEvent::CommandRan { command, .. } | AgentEvent::CommandDenied { command, .. } => {
                self.received += command.output.len() + 1;
                self.answer.command(command);
            }
            AgentEvent::Planned { steps, .. } => {
                let plan = steps
                    .iter()
                    .map(|step| (step.text.as_str(), step.status.word()));
                self.answer.plan(&plan.collect::<Vec<_>>());
                self.received += 1;
            }
            AgentEvent::Worked { activity, .. } => {
                if let Some(work) = activity.record() {
                    self.received += work.title.len() + work.result.len();
                    self.answer.work(&work);
                }
            }
            AgentEvent::FilesChanged { changes, .. } => {
                let work = FileChange::record(changes);
                self.received += work.title.len();
                self.answer.work(&work);
            }
            AgentEvent::Aside {
                aside: Aside::Wrote(written),
                ..
            } => {
                let work = written.record();
                self.received += work.title.len();
                self.answer.work(&work);
            }
            AgentEvent::Usage { usage, .. } => self.usage = Some(*usage),
            _ => {}
        }
    }

    /// A tool is being called.
    fn calls(&self) -> bool {
        matches!(self.at, Some(Wanted::Call(_)))
    }

    /// Begins the next of what the agent wants, when nothing of it is being worked off.
    fn next_wanted(&mut self) -> Vec<TurnAction> {
        if self.at.is_some() || self.stopped {
            return Vec::new();
        }
        let Some(wanted) = self.waiting.pop_front() else {
            return Vec::new();
        };
        let actions = match &wanted {
            Wanted::Call(call) => vec![
                TurnAction::Show(AnswerEvent::ToolStarted {
                    call: call_line(&call.name, &call.arguments),
                }),
                TurnAction::CallTool(call.clone()),
            ],
            Wanted::Question(question) => vec![TurnAction::Ask(question.clone())],
        };
        self.at = Some(wanted);
        actions
    }

    fn on_answer(&mut self, id: &str, answer: QuestionAnswer) -> Vec<TurnAction> {
        let asked = self
            .at
            .take_if(|at| matches!(at, Wanted::Question(question) if question.id == id));
        let Some(Wanted::Question(question)) = asked else {
            return Vec::new();
        };
        self.stopped = question.options.iter().any(|option| {
            option.kind == Decision::Stop && answer == QuestionAnswer::Chosen(option.id.clone())
        });
        let reply = AgentReply::Answered {
            question: question.id,
            answer,
        };
        let mut actions = vec![TurnAction::Reply(reply)];
        actions.extend(self.next_wanted());
        actions
    }

    /// The agent no longer waits for this. A tool that runs goes on to its end.
    fn withdraw(&mut self, id: &str) -> Vec<TurnAction> {
        self.waiting.retain(|wanted| wanted.id() != id);
        let asked = |at: &mut Wanted| matches!(at, Wanted::Question(_)) && at.id() == id;
        if self.at.take_if(asked).is_none() {
            return Vec::new();
        }
        let mut actions = vec![TurnAction::Withdraw(id.to_owned())];
        actions.extend(self.next_wanted());
        actions
    }

    fn on_tool_returned(&mut self, returned: ToolReturn) -> Vec<TurnAction> {
        let called = self.at.take_if(|at| matches!(at, Wanted::Call(_)));
        let Some(Wanted::Call(call)) = called else {
            return Vec::new();
        };
        let shown = shows_itself(&call.name);
        let line = tool_line(&call.name, &call.arguments, &returned.text);
        self.received += returned.text.len() + 1;
        self.answer.tool(&ToolRecord {
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
        let mut actions = vec![TurnAction::Show(ended)];
        if !shown {
            let pictures = returned.content.iter().filter_map(|part| match part {
                InputPart::Image(url) => Some(AnswerEvent::Picture(url.clone())),
                InputPart::Text(_) | InputPart::File { .. } => None,
            });
            actions.extend(pictures.map(TurnAction::Show));
        }
        actions.push(TurnAction::Reply(AgentReply::ToolResult {
            call: call.id,
            success: returned.success,
            content: returned.content,
        }));
        actions.extend(self.next_wanted());
        actions
    }

    fn fail(&mut self, failure: AgentFailure) -> Vec<TurnAction> {
        self.end_with_tool(TurnOutcome::Failed(failure), None)
    }

    /// Ends the turn; a tool that still runs is interrupted, since nobody waits for it any more.
    fn end_with_tool(&mut self, outcome: TurnOutcome, thread: Option<String>) -> Vec<TurnAction> {
        let mut actions = Vec::new();
        if self.calls() {
            actions.push(TurnAction::InterruptTool);
        }
        actions.push(self.end(outcome, thread));
        actions
    }

    fn end(&mut self, outcome: TurnOutcome, thread: Option<String>) -> TurnAction {
        self.ended = true;
        let stored = match outcome {
            TurnOutcome::Interrupted => interrupted(&self.answer.stored()),
            TurnOutcome::Complete | TurnOutcome::Failed(_) => self.answer.stored(),
        };
        TurnAction::End(Box::new(TurnEnd {
            outcome,
            stored,
            said: self.answer.texts(),
            usage: Usage::both(self.usage, self.beside),
            thread,
        }))
    }
}
