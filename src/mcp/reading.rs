//! What a client says, read by the letter of JSON-RPC 2.0: each request gets its answer or is refused under its id.
//!
//! Pure. In: the JSON of a line, or of one element of a batch. Out: a message, or the refusal. An id is a string or a
//! whole number, as MCP wants it. Answers of a client are messages: we ask nothing, and they mean nothing here.

use serde_json::Value;

use super::wire;
use crate::rpc::{RpcError, RpcId, RpcMessage};

/// What cannot be answered as it is: under which id that is said, and why.
pub(super) type Refusal = Box<(RpcId, RpcError)>;

/// A line that is no JSON.
pub(super) fn no_json() -> Refusal {
    let message = "this line is not JSON: one message a line is expected";
    Box::new((RpcId::Null, wire::error(-32700, message)))
}

/// Something that is no request.
pub(super) fn no_request(id: RpcId, why: &str) -> Refusal {
    Box::new((id, wire::error(-32600, why)))
}

/// Reads a message.
///
/// # Errors
/// The refusal of what is none.
pub(super) fn read(value: Value) -> Result<RpcMessage, Refusal> {
    let Value::Object(fields) = &value else {
        return Err(no_request(RpcId::Null, "a request is a JSON object"));
    };
    let id = fields.get("id").and_then(RpcId::from_value);
    let refused = |why| no_request(id.clone().unwrap_or(RpcId::Null), why);
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_request_is_refused_under_its_id() {
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
            let (refused, error) = *read(value.clone()).unwrap_err();
            assert_eq!((refused, error.code), (id, -32600), "{value}");
        }
        for value in [
            json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}),
            json!({"id": "", "method": "ping", "params": null}),
            json!({"method": "notifications/initialized", "params": []}),
            json!({"id": 7, "result": null}),
            json!({"id": 7, "error": {"code": 1}}),
        ] {
            assert!(read(value.clone()).is_ok(), "{value}");
        }
    }
}
