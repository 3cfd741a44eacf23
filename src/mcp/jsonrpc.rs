//! JSON-RPC 2.0 as a strict server reads it: each request is answered or refused under its id, batches are answered
//! whole.
//!
//! Pure. In: the JSON of a line, or of one element of a batch. Out: a message, or the refusal. An id is a string or
//! a whole number, as MCP requires. Responses of a client parse as messages and are ignored later, since no
//! requests are sent.

use std::collections::HashMap;

use serde_json::Value;

use crate::rpc::{RpcError, RpcId, RpcMessage};

/// The error response to a message that is no valid request: its id and the error.
pub(super) type Refusal = Box<(RpcId, RpcError)>;

pub(super) fn not_json() -> Refusal {
    let message = "this line is not JSON: one message a line is expected";
    Box::new((RpcId::Null, RpcError::new(-32700, message)))
}

pub(super) fn invalid_request(id: RpcId, why: &str) -> Refusal {
    Box::new((id, RpcError::new(-32600, why)))
}

/// # Errors
/// The refusal of a value that is no message.
pub(super) fn parse(value: Value) -> Result<RpcMessage, Refusal> {
    let Value::Object(fields) = &value else {
        return Err(invalid_request(RpcId::Null, "a request is a JSON object"));
    };
    let id = fields.get("id").and_then(RpcId::from_value);
    let refused = |why| invalid_request(id.clone().unwrap_or(RpcId::Null), why);
    let why = if fields
        .get("jsonrpc")
        .is_some_and(|version| version != "2.0")
    {
        "`jsonrpc` is not \"2.0\""
    } else if fields
        .get("method")
        .is_some_and(|method| !method.is_string())
    {
        "`method` is not text"
    } else if !["method", "result", "error"]
        .iter()
        .any(|it| fields.contains_key(*it))
    {
        "`method` is missing"
    } else if fields.contains_key("id") && id.is_none() {
        "`id` is neither text nor a whole number"
    } else if fields
        .get("params")
        .is_some_and(|params| !(params.is_object() || params.is_array() || params.is_null()))
    {
        "`params` is neither an object nor a list"
    } else {
        return RpcMessage::from_value(value.clone())
            .ok_or_else(|| refused("an answer without an `id`"));
    };
    Err(refused(why))
}

/// Batches whose responses are sent as one message, once the last response is there. A batch of notifications alone
/// is not answered.
#[derive(Debug, Default)]
pub(super) struct Batches {
    last_id: u64,
    open: HashMap<u64, Batch>,
}

#[derive(Debug)]
struct Batch {
    /// Number of responses that are still missing.
    missing: usize,
    answers: Vec<RpcMessage>,
}

impl Batches {
    /// Begins a batch that expects this many responses, at least one.
    pub(super) fn begin(&mut self, expected: usize) -> u64 {
        self.last_id += 1;
        let batch = Batch {
            missing: expected,
            answers: Vec::new(),
        };
        self.open.insert(self.last_id, batch);
        self.last_id
    }

    /// Adds a response to a batch; `None`: that request gets none. Returns all responses once the last is there.
    pub(super) fn complete(&mut self, batch: u64, answer: Option<RpcMessage>) -> Vec<RpcMessage> {
        let Some(open) = self.open.get_mut(&batch) else {
            return Vec::new();
        };
        open.answers.extend(answer);
        open.missing = open.missing.saturating_sub(1);
        match open.missing {
            0 => self.open.remove(&batch).map(|it| it.answers),
            _ => None,
        }
        .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_invalid_request_is_refused_under_its_id() {
        let text = |id: &str| RpcId::Text(id.into());
        for (value, id) in [
            (json!(1), RpcId::Null),
            (json!("ping"), RpcId::Null),
            (json!(null), RpcId::Null),
            (json!([]), RpcId::Null),
            (json!({}), RpcId::Null),
            (json!({"id": 7}), RpcId::Number(7)),
            (json!({"id": "a", "params": {}}), text("a")),
            (json!({"id": 7, "method": 1}), RpcId::Number(7)),
            (json!({"method": null}), RpcId::Null),
            (
                json!({"id": 7, "method": "ping", "params": "x"}),
                RpcId::Number(7),
            ),
            (
                json!({"id": 7, "method": "ping", "jsonrpc": "1.0"}),
                RpcId::Number(7),
            ),
            (
                json!({"id": 7, "method": "ping", "jsonrpc": 2.0}),
                RpcId::Number(7),
            ),
            (json!({"id": null, "method": "ping"}), RpcId::Null),
            (json!({"id": 1.5, "method": "ping"}), RpcId::Null),
            (json!({"id": [1], "method": "ping"}), RpcId::Null),
            (json!({"result": {}}), RpcId::Null),
        ] {
            let (refused, error) = *parse(value.clone()).unwrap_err();
            assert_eq!((refused, error.code), (id, -32600), "{value}");
        }
        for value in [
            json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}),
            json!({"id": "", "method": "ping", "params": null}),
            json!({"method": "notifications/initialized", "params": []}),
            json!({"id": 7, "result": null}),
            json!({"id": 7, "error": {"code": 1}}),
        ] {
            assert!(parse(value.clone()).is_ok(), "{value}");
        }
    }
}
