//! What the app-server asks of us: tool calls one at a time in order, everything else answered at once.
//!
//! Pure. Invariant: every request gets exactly one answer, or its turn ends first; an unanswered one would hang the
//! turn. Absent for now: asking the user for approval; what would need it is declined and said.

use std::collections::{HashSet, VecDeque};

use serde_json::{Value, from_value, json};

use super::failure::one_line;
use super::link::plain;
use super::wire::request::{
    CommandExecutionRequestApprovalParams, DynamicToolCallOutputContentItem, DynamicToolCallParams,
    DynamicToolCallResponse,
};
use crate::agent::{InputPart, ToolCall};
use crate::rpc::{Id, RpcError};

/// Calls that wait; the first is with the session.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: VecDeque<(Id, ToolCall)>,
    /// Ids of all calls of the turn.
    seen: HashSet<Id>,
}

impl Calls {
    /// Takes a call; returns what the session is to be told now, if it is free.
    pub(super) fn push(&mut self, id: Id, params: DynamicToolCallParams) -> Option<ToolCall> {
        if !self.seen.insert(id.clone()) {
            // An answer to a second request under the same id could not be told from that to the first.
            return None;
        }
        let arguments = match params.arguments {
            Value::Null => json!({}),
            arguments => arguments,
        };
        let call = ToolCall {
            id: params.call_id,
            name: params.tool,
            arguments,
        };
        self.waiting.push_back((id, call));
        match self.waiting.len() {
            1 => self.waiting.front().map(|(_, call)| call.clone()),
            _ => None,
        }
    }

    /// Takes the session's answer; returns whom to answer and the call that is next. `None` for a call that does not
    /// wait.
    pub(super) fn settle(&mut self, call: &str) -> Option<(Id, Option<ToolCall>)> {
        let (_, first) = self.waiting.front()?;
        if first.id != call {
            return None;
        }
        let (id, _) = self.waiting.pop_front()?;
        Some((id, self.waiting.front().map(|(_, call)| call.clone())))
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

/// The answer to a request that is no tool call, and a line for the user.
pub(super) fn decline(method: &str, params: Value) -> (Result<Value, RpcError>, Option<String>) {
    match method {
        "item/commandExecution/requestApproval" => {
            let command = from_value::<CommandExecutionRequestApprovalParams>(params)
                .unwrap_or_default()
                .command;
            (
                Ok(json!({"decision": "decline"})),
                Some(format!("declined to run: {}", one_line(&command))),
            )
        }
        "item/fileChange/requestApproval" => (
            Ok(json!({"decision": "decline"})),
            Some("declined an edit of files".into()),
        ),
        "item/permissions/requestApproval" => (
            Ok(json!({"permissions": {}, "scope": "turn"})),
            Some("declined further permissions".into()),
        ),
        "item/tool/requestUserInput" => (
            Ok(json!({"answers": {}})),
            Some("left the agent's question open".into()),
        ),
        "mcpServer/elicitation/request" => (
            Ok(json!({"action": "decline", "content": null, "_meta": null})),
            Some("declined the question of an MCP server".into()),
        ),
        _ => (Err(RpcError::unknown_method(method)), None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Calls, decline, result};
    use crate::agent::InputPart;
    use crate::agent::codex::wire::request::DynamicToolCallParams;
    use crate::rpc::Id;
    use serde_json::{Value, json};

    fn params(call: &str) -> DynamicToolCallParams {
        DynamicToolCallParams {
            call_id: call.into(),
            tool: "f".into(),
            arguments: Value::Null,
        }
    }

    #[test]
    fn calls_are_told_one_at_a_time_and_answered_once() {
        let mut calls = Calls::default();
        let told = calls.push(Id::Number(0), params("a")).expect("free");
        assert_eq!(
            (told.id.as_str(), told.arguments),
            ("a", json!({})),
            "null arguments are none"
        );
        assert_eq!(calls.push(Id::Number(1), params("b")), None);
        assert_eq!(calls.push(Id::Number(1), params("c")), None);
        assert_eq!(calls.settle("b"), None, "not its turn");
        let (id, next) = calls.settle("a").expect("waits");
        assert_eq!(
            (id, next.map(|call| call.id)),
            (Id::Number(0), Some("b".into()))
        );
        assert_eq!(calls.settle("a"), None);
        assert_eq!(calls.settle("b"), Some((Id::Number(1), None)));
    }

    #[test]
    fn every_request_has_an_answer() {
        for (method, answer) in [
            (
                "item/commandExecution/requestApproval",
                Some(json!({"decision": "decline"})),
            ),
            (
                "item/fileChange/requestApproval",
                Some(json!({"decision": "decline"})),
            ),
            (
                "item/permissions/requestApproval",
                Some(json!({"permissions": {}, "scope": "turn"})),
            ),
            ("item/tool/requestUserInput", Some(json!({"answers": {}}))),
            ("something/new", None),
        ] {
            assert_eq!(decline(method, Value::Null).0.ok(), answer, "{method}");
        }
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
