//! What waits for the session: calls of our tools and questions to the user, one at a time in the order they came.
//!
//! Pure. Invariants: every request gets exactly one answer, or its turn ends first; the session has at most one of them
//! at a time, so a question never comes up while a tool has the terminal.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use super::link::plain;
use super::questions::Asking;
use super::wire::request::{DynamicToolCallOutputContentItem, DynamicToolCallResponse};
use crate::agent::{AgentEvent, InputPart, Question, ToolCall, TurnId};
use crate::rpc::Id;

/// Something the session answers.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// A call of one of our tools.
    Call(ToolCall),
    /// A question, how its answer is worded, and the item it is about (empty: none).
    Question(Question, Asking, String),
}

impl Wanted {
    /// What the session is told.
    pub(super) fn event(&self, turn: TurnId) -> AgentEvent {
        match self {
            Wanted::Call(call) => AgentEvent::ToolCalled {
                turn,
                call: call.clone(),
            },
            Wanted::Question(question, ..) => AgentEvent::Asked {
                turn,
                question: question.clone(),
            },
        }
    }

    /// The answer when nobody will give one.
    pub(super) fn refusal(&self) -> Value {
        match self {
            Wanted::Call(_) => result(false, Vec::new()),
            Wanted::Question(_, asking, _) => asking.refusal(),
        }
    }
}

/// Those that wait; the first is with the session.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    queue: VecDeque<(Id, Wanted)>,
    /// Ids of all requests of the turn.
    seen: HashSet<Id>,
}

impl Waiting {
    /// Takes a request; returns what the session is to be told now, if it is free.
    pub(super) fn push(&mut self, id: Id, wanted: Wanted) -> Option<&Wanted> {
        if !self.seen.insert(id.clone()) {
            // An answer to a second request under the same id could not be told from that to the first.
            return None;
        }
        self.queue.push_back((id, wanted));
        match self.queue.len() {
            1 => self.first(),
            _ => None,
        }
    }

    /// What the session has.
    pub(super) fn first(&self) -> Option<&Wanted> {
        self.queue.front().map(|(_, wanted)| wanted)
    }

    /// Takes the session's answer to a call; returns whom to answer. `None` for a call that it does not have.
    pub(super) fn settle_call(&mut self, call: &str) -> Option<Id> {
        match self.queue.front() {
            Some((_, Wanted::Call(first))) if first.id == call => self.pop(),
            _ => None,
        }
    }

    /// The question the session has, if this is it.
    pub(super) fn question(&mut self, id: &str) -> Option<(&mut Question, &mut Asking, &str)> {
        match self.queue.front_mut() {
            Some((_, Wanted::Question(question, asking, item))) if question.id == id => {
                Some((question, asking, item))
            }
            _ => None,
        }
    }

    /// Takes the first away; returns whom to answer.
    pub(super) fn pop(&mut self) -> Option<Id> {
        self.queue.pop_front().map(|(id, _)| id)
    }

    /// The other side no longer waits for this one. True when it was not with the session and is gone; what the
    /// session has stays until it answers.
    pub(super) fn withdraw(&mut self, id: &Id) -> bool {
        let at = self
            .queue
            .iter()
            .skip(1)
            .position(|(waiting, _)| waiting == id);
        at.and_then(|at| self.queue.remove(at + 1)).is_some()
    }
}

/// A tool's result as the app-server takes it.
pub(super) fn result(success: bool, content: Vec<InputPart>) -> Value {
    let content_items = content
        .into_iter()
        .map(|part| match part {
            InputPart::Text(text) => DynamicToolCallOutputContentItem::InputText { text },
            InputPart::Image(image_url) => {
                DynamicToolCallOutputContentItem::InputImage { image_url }
            }
        })
        .collect();
    plain(&DynamicToolCallResponse {
        success,
        content_items,
    })
}

#[cfg(test)]
mod tests {
    use super::{Waiting, Wanted, result};
    use crate::agent::codex::questions::Asking;
    use crate::agent::{InputPart, Question, Subject, ToolCall};
    use crate::rpc::Id;
    use serde_json::json;

    fn call(id: &str) -> Wanted {
        Wanted::Call(ToolCall {
            id: id.into(),
            name: "f".into(),
            arguments: json!({}),
        })
    }

    fn question(id: &str) -> Wanted {
        let subject = Subject::Edit {
            changes: Vec::new(),
            reason: None,
        };
        Wanted::Question(Question::usual(id, subject), Asking::Edit, String::new())
    }

    #[test]
    fn requests_are_told_one_at_a_time_and_answered_once() {
        let mut waiting = Waiting::default();
        assert!(waiting.push(Id::Number(0), call("a")).is_some(), "free");
        assert!(waiting.push(Id::Number(1), question("b")).is_none());
        assert!(waiting.push(Id::Number(1), call("c")).is_none(), "in use");
        assert!(waiting.question("b").is_none(), "not its turn");
        assert_eq!(waiting.settle_call("b"), None);
        assert_eq!(waiting.settle_call("a"), Some(Id::Number(0)));
        assert_eq!(waiting.settle_call("a"), None);
        assert_eq!(waiting.settle_call("b"), None, "a question, no call");
        assert!(waiting.question("b").is_some());
        assert_eq!(waiting.pop(), Some(Id::Number(1)));
        assert!(waiting.first().is_none());
    }

    #[test]
    fn what_is_withdrawn_is_not_told_any_more() {
        let mut waiting = Waiting::default();
        waiting.push(Id::Number(0), question("a"));
        waiting.push(Id::Number(1), question("b"));
        waiting.push(Id::Number(2), question("c"));
        assert!(!waiting.withdraw(&Id::Number(0)), "the session has it");
        assert!(waiting.withdraw(&Id::Number(1)));
        assert!(!waiting.withdraw(&Id::Number(1)));
        assert_eq!(waiting.pop(), Some(Id::Number(0)));
        assert!(waiting.question("c").is_some());
    }

    #[test]
    fn results_have_both_fields() {
        assert_eq!(
            result(
                false,
                vec![
                    InputPart::Text("t".into()),
                    InputPart::Image("data:,".into())
                ]
            ),
            json!({"success": false, "contentItems": [
                {"type": "inputText", "text": "t"},
                {"type": "inputImage", "imageUrl": "data:,"},
            ]})
        );
    }
}
