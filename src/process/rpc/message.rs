//! The three kinds of JSON-RPC message as values.
//!
//! In: any JSON value, in either [`Dialect`]. Out: an [`RpcMessage`], or `None` for any other value. Messages are
//! distinguished by the presence of `method`, never by the id alone: both sides count their ids from the same numbers.

use serde_json::{Map, Value, json};

/// Form in which messages are written. Both forms are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Without the `jsonrpc` field, as the Codex app-server 0.169.0 does.
    Bare,
    /// JSON-RPC 2.0 to the letter, as ACP and MCP require.
    Versioned,
}

/// The id of a request: a string or a whole number, returned unchanged in the response.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RpcId {
    Number(i64),
    Text(String),
    /// Only in the response to a request whose id could not be read.
    Null,
}

impl RpcId {
    /// `None` when the value is neither a string nor a whole number.
    pub fn from_value(value: &Value) -> Option<RpcId> {
        match value {
            Value::String(text) => Some(RpcId::Text(text.clone())),
            Value::Number(number) => number.as_i64().map(RpcId::Number),
            _ => None,
        }
    }

    pub fn to_value(&self) -> Value {
        match self {
            RpcId::Number(number) => json!(number),
            RpcId::Text(text) => json!(text),
            RpcId::Null => Value::Null,
        }
    }
}

/// The error object of a response.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// Peers use the same code for different errors.
    pub code: i64,
    pub message: String,
    /// `Null` when absent.
    pub data: Value,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        RpcError {
            code,
            message: message.into(),
            data: Value::Null,
        }
    }

    pub fn unknown_method(method: &str) -> Self {
        RpcError::new(-32601, format!("unknown method: {method}"))
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        RpcError::new(-32602, message)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum RpcMessage {
    Request {
        id: RpcId,
        method: String,
        /// `Null` when absent.
        params: Value,
    },
    Notification {
        method: String,
        /// `Null` when absent.
        params: Value,
    },
    Response {
        id: RpcId,
        outcome: Result<Value, RpcError>,
    },
}

impl RpcMessage {
    /// `None` when the value is not a message: an array, neither method nor id, or a response whose id is neither a
    /// string nor a whole number.
    pub fn from_value(value: Value) -> Option<RpcMessage> {
        let Value::Object(mut fields) = value else {
            return None;
        };
        let id = fields.get("id").and_then(RpcId::from_value);
        if let Some(method) = fields.remove("method") {
            let Value::String(method) = method else {
                return None;
            };
            let params = fields.remove("params").unwrap_or(Value::Null);
            return Some(match id {
                Some(id) => RpcMessage::Request { id, method, params },
                None => RpcMessage::Notification { method, params },
            });
        }
        let id = id?;
        let outcome = match fields.remove("error") {
            Some(error) if !error.is_null() => Err(parse_error(error)),
            _ => Ok(fields.remove("result")?),
        };
        Some(RpcMessage::Response { id, outcome })
    }

    /// Method or outcome with the id, for logs; no content.
    pub fn label(&self) -> String {
        match self {
            RpcMessage::Request { id, method, .. } => format!("{method} {}", id.to_value()),
            RpcMessage::Notification { method, .. } => method.clone(),
            RpcMessage::Response { id, outcome } => {
                let what = if outcome.is_ok() { "result" } else { "error" };
                format!("{what} {}", id.to_value())
            }
        }
    }

    /// The object to write.
    pub fn into_value(self, dialect: Dialect) -> Value {
        let mut fields = Map::new();
        if dialect == Dialect::Versioned {
            fields.insert("jsonrpc".into(), json!("2.0"));
        }
        match self {
            RpcMessage::Request { id, method, params } => {
                fields.insert("id".into(), id.to_value());
                fields.insert("method".into(), Value::String(method));
                // JSON-RPC 2.0 allows an object, a list, or no field at all.
                if dialect == Dialect::Bare || !params.is_null() {
                    fields.insert("params".into(), params);
                }
            }
            RpcMessage::Notification { method, params } => {
                fields.insert("method".into(), Value::String(method));
                if !params.is_null() {
                    fields.insert("params".into(), params);
                }
            }
            RpcMessage::Response { id, outcome } => {
                fields.insert("id".into(), id.to_value());
                match outcome {
                    Ok(result) => fields.insert("result".into(), result),
                    Err(error) => {
                        let mut object = json!({"code": error.code, "message": error.message});
                        if !error.data.is_null() {
                            object["data"] = error.data;
                        }
                        fields.insert("error".into(), object)
                    }
                };
            }
        }
        Value::Object(fields)
    }
}

fn parse_error(error: Value) -> RpcError {
    RpcError {
        code: error.get("code").and_then(Value::as_i64).unwrap_or(0),
        message: match error.get("message") {
            Some(Value::String(message)) => message.clone(),
            _ => error.to_string(),
        },
        data: error.get("data").cloned().unwrap_or(Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, RpcError, RpcId, RpcMessage};
    use serde_json::{Value, json};

    fn check(value: Value, expected: Option<RpcMessage>) {
        assert_eq!(RpcMessage::from_value(value.clone()), expected, "{value}");
        for dialect in [Dialect::Bare, Dialect::Versioned] {
            let wire = expected.clone().map(|message| message.into_value(dialect));
            assert_eq!(
                wire.and_then(RpcMessage::from_value),
                expected,
                "{dialect:?}"
            );
        }
    }

    #[test]
    fn the_method_decides_the_kind_of_message() {
        check(
            json!({"id": 0, "method": "item/tool/call", "params": {"a": 1}}),
            Some(RpcMessage::Request {
                id: RpcId::Number(0),
                method: "item/tool/call".into(),
                params: json!({"a": 1}),
            }),
        );
        check(
            json!({"method": "initialized"}),
            Some(RpcMessage::Notification {
                method: "initialized".into(),
                params: Value::Null,
            }),
        );
        check(
            json!({"id": "7", "result": null}),
            Some(RpcMessage::Response {
                id: RpcId::Text("7".into()),
                outcome: Ok(Value::Null),
            }),
        );
        check(
            json!({"id": 1, "error": {"code": -32600, "message": "no"}}),
            Some(RpcMessage::Response {
                id: RpcId::Number(1),
                outcome: Err(RpcError::new(-32600, "no")),
            }),
        );
    }

    #[test]
    fn each_dialect_writes_its_own_spelling() {
        let request = || RpcMessage::Request {
            id: RpcId::Number(1),
            method: "m".into(),
            params: Value::Null,
        };
        let response = || RpcMessage::Response {
            id: RpcId::Text("a".into()),
            outcome: Ok(json!({})),
        };
        for (message, dialect, expected) in [
            (
                request(),
                Dialect::Bare,
                json!({"id": 1, "method": "m", "params": null}),
            ),
            (
                request(),
                Dialect::Versioned,
                json!({"jsonrpc": "2.0", "id": 1, "method": "m"}),
            ),
            (response(), Dialect::Bare, json!({"id": "a", "result": {}})),
            (
                response(),
                Dialect::Versioned,
                json!({"jsonrpc": "2.0", "id": "a", "result": {}}),
            ),
        ] {
            assert_eq!(message.into_value(dialect), expected);
        }
    }

    #[test]
    fn other_values_are_not_messages() {
        for value in [
            json!([]),
            json!(1),
            json!({}),
            json!({"id": 1}),
            json!({"id": 1.5, "result": 1}),
            json!({"id": null, "result": 1}),
            json!({"method": 1}),
        ] {
            check(value, None);
        }
    }

    #[test]
    fn an_error_of_any_shape_has_a_message() {
        let Some(RpcMessage::Response {
            outcome: Err(error),
            ..
        }) = RpcMessage::from_value(json!({"id": 1, "error": "boom"}))
        else {
            panic!("an error response");
        };
        assert_eq!(error.message, "\"boom\"");
    }
}
