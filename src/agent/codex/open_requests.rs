//! Requests that wait for the session: calls of our tools and questions to the user.
//!
//! Pure. Invariant: every request gets exactly one answer, or its turn ends first. Absent on purpose: an order; the
//! session decides it.

use std::collections::HashSet;

use serde_json::Value;

use super::questions::AnswerFormat;
use super::wire::request::{DynamicToolCallOutputContentItem, DynamicToolCallResponse};
use crate::agent_process::to_wire;
use crate::rpc::RpcId;
use crate::{AgentEvent, AgentQuestion, InputPart, ToolCall, TurnId};

#[derive(Debug, Clone)]
pub(super) enum ServerRequest {
    Call(ToolCall),
    /// A question, the form of its answer, and the id of the item it concerns (may be empty).
    Question(AgentQuestion, AnswerFormat, String),
}

impl ServerRequest {
    pub(super) fn event(&self, turn: TurnId) -> AgentEvent {
        match self {
            ServerRequest::Call(call) => AgentEvent::ToolCalled {
                turn,
                call: call.clone(),
            },
            ServerRequest::Question(question, ..) => AgentEvent::QuestionAsked {
                turn,
                question: question.clone(),
            },
        }
    }

    /// The answer of a request that stays without a reply.
    pub(super) fn refusal(&self) -> Value {
        match self {
            ServerRequest::Call(_) => result(false, Vec::new()),
            ServerRequest::Question(_, answer_format, _) => answer_format.refusal(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct OpenRequests {
    open: Vec<Open>,
    /// Ids of all requests of the turn; their count is the last number given.
    seen: HashSet<RpcId>,
}

#[derive(Debug)]
struct Open {
    /// Our number of the request, unique within the turn.
    number: usize,
    /// The app-server's id of the request.
    id: RpcId,
    wanted: ServerRequest,
}

impl OpenRequests {
    /// Registers a request. `None` for an id that was used before in this turn.
    pub(super) fn open(&mut self, id: RpcId, wanted: ServerRequest) -> Option<&ServerRequest> {
        if !self.seen.insert(id.clone()) {
            // A reply could not be matched to one of two requests with the same id.
            return None;
        }
        let number = self.seen.len();
        self.open.push(Open { number, id, wanted });
        self.open.last().map(|open| &open.wanted)
    }

    /// Removes a call that has its result and returns the request's id; `None` for a call that is not open.
    pub(super) fn settle_call(&mut self, call: &str) -> Option<RpcId> {
        let at = self
            .open
            .iter()
            .position(|open| matches!(&open.wanted, ServerRequest::Call(it) if it.id == call));
        at.map(|at| self.open.remove(at).id)
    }

    /// Finds a question by its id; its number stays the same when the question is asked again.
    pub(super) fn question(&mut self, id: &str) -> Option<OpenQuestion<'_>> {
        self.open
            .iter_mut()
            .find_map(|open| match &mut open.wanted {
                ServerRequest::Question(question, answer_format, item) if question.id == id => {
                    Some(OpenQuestion {
                        number: open.number,
                        question,
                        answer_format,
                        item,
                    })
                }
                _ => None,
            })
    }

    /// Removes a request; returns its id, and the answer in case there is no reply.
    pub(super) fn settle(&mut self, number: usize) -> Option<(RpcId, Value)> {
        let at = self.open.iter().position(|open| open.number == number)?;
        let open = self.open.remove(at);
        Some((open.id, open.wanted.refusal()))
    }

    /// Removes a request that the app-server has resolved; returns the id that the session knows.
    pub(super) fn withdraw(&mut self, id: &RpcId) -> Option<String> {
        let at = self.open.iter().position(|open| open.id == *id)?;
        Some(match self.open.remove(at).wanted {
            ServerRequest::Call(call) => call.id,
            ServerRequest::Question(question, ..) => question.id,
        })
    }
}

pub(super) struct OpenQuestion<'a> {
    pub(super) number: usize,
    pub(super) question: &'a mut AgentQuestion,
    pub(super) answer_format: &'a mut AnswerFormat,
    /// Id of the item that the question concerns; may be empty.
    pub(super) item: &'a str,
}

/// A tool's result as the app-server takes it.
pub(super) fn result(success: bool, content: Vec<InputPart>) -> Value {
    let content_items = content
        .into_iter()
        .map(|part| match part.without_file() {
            InputPart::Image(image_url) => {
                DynamicToolCallOutputContentItem::InputImage { image_url }
            }
            part => DynamicToolCallOutputContentItem::InputText {
                text: part.as_text().unwrap_or_default().to_owned(),
            },
        })
        .collect();
    to_wire(&DynamicToolCallResponse {
        success,
        content_items,
    })
}

#[cfg(test)]
mod tests {
    use super::{OpenRequests, ServerRequest, result};
    use crate::codex::questions::AnswerFormat;
    use crate::rpc::RpcId;
    use crate::{AgentQuestion, InputPart, Subject, ToolCall};
    use serde_json::json;

    fn call(id: &str) -> ServerRequest {
        ServerRequest::Call(ToolCall {
            id: id.into(),
            name: "f".into(),
            arguments: json!({}),
        })
    }

    fn question(id: &str) -> ServerRequest {
        let subject = Subject::Edit {
            changes: Vec::new(),
            reason: None,
        };
        ServerRequest::Question(
            AgentQuestion::with_default_options(id, subject),
            AnswerFormat::Edit,
            String::new(),
        )
    }

    #[test]
    fn requests_are_answered_once_in_any_order() {
        let mut requests = OpenRequests::default();
        assert!(requests.open(RpcId::Number(0), call("a")).is_some());
        assert!(requests.open(RpcId::Number(1), question("b")).is_some());
        assert!(
            requests.open(RpcId::Number(1), call("c")).is_none(),
            "in use"
        );
        assert_eq!(requests.settle_call("b"), None, "a question, no call");
        let number = requests.question("b").expect("open").number;
        assert_eq!(
            requests.settle(number).map(|it| it.0),
            Some(RpcId::Number(1))
        );
        assert!(requests.settle(number).is_none());
        assert!(requests.question("b").is_none());
        assert_eq!(requests.settle_call("a"), Some(RpcId::Number(0)));
        assert_eq!(requests.settle_call("a"), None);
        assert!(
            requests.open(RpcId::Number(0), call("a")).is_none(),
            "was used"
        );
    }

    #[test]
    fn what_is_withdrawn_is_named_as_the_session_knows_it() {
        let mut requests = OpenRequests::default();
        requests.open(RpcId::Number(0), question("a"));
        requests.open(RpcId::Number(1), call("b"));
        assert_eq!(requests.withdraw(&RpcId::Number(1)), Some("b".to_owned()));
        assert_eq!(requests.withdraw(&RpcId::Number(1)), None);
        assert_eq!(requests.withdraw(&RpcId::Number(0)), Some("a".to_owned()));
        assert!(requests.question("a").is_none());
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
