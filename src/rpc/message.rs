//! The three kinds of JSON-RPC message as values.
//!
//! In: any JSON value. Out: a [`RpcMessage`], or `None` for what is no message at all. Routed by the presence of
//! `method` and never by the id alone, since both sides count their own ids from the same small numbers. Read in either
//! [`Dialect`], whoever sent it.

use serde_json::{Map, Value, json};

use super::dialect::Dialect;

/// Names a request: a string or a whole number, given back as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RpcId {
    /// A number.
    Number(i64),
    /// A string.
    Text(String),
    /// None: stands only in the answer to a request whose id could not be read.
    Null,
}

impl RpcId {
    /// Reads an id; `None` when it is neither string nor whole number.
    pub fn from_value(value: &Value) -> Option<RpcId> {
        match value {
            Value::String(text) => Some(RpcId::Text(text.clone())),
            Value::Number(number) => number.as_i64().map(RpcId::Number),
            _ => None,
        }
    }

    /// As it stands in a message.
    pub fn to_value(&self) -> Value {
        match self {
            RpcId::Number(number) => json!(number),
            RpcId::Text(text) => json!(text),
            RpcId::Null => Value::Null,
        }
    }
}

/// What a peer answers instead of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// JSON-RPC's number; peers reuse the same one for different things.
    pub code: i64,
    /// For people.
    pub message: String,
    /// Anything more; `Null` when absent.
    pub data: Value,
}

impl RpcError {
    /// The answer to a request nobody here knows.
    pub fn unknown_method(method: &str) -> Self {
        RpcError {
            code: -32601,
            message: format!("unknown method: {method}"),
            data: Value::Null,
        }
    }
}

/// One line of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcMessage {
    /// Wants an answer.
    Request {
        /// To be repeated in the answer.
        id: RpcId,
        /// What is asked.
        method: String,
        /// `Null` when absent.
        params: Value,
    },
    /// Wants none.
    Notification {
        /// What happened.
        method: String,
        /// `Null` when absent.
        params: Value,
    },
    /// An answer.
    Response {
        /// The request's id.
        id: RpcId,
        /// What came of it.
        outcome: Result<Value, RpcError>,
    },
}

impl RpcMessage {
    /// Reads a message; `None` when the value is none (an array, no method and no id, an id that is neither string nor
    /// whole number on an answer).
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
            Some(error) if !error.is_null() => Err(error_from(error)),
            _ => Ok(fields.remove("result")?),
        };
        Some(RpcMessage::Response { id, outcome })
    }

    /// What it is, without what it says.
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

    /// The object that goes on the wire.
    pub fn into_value(self, dialect: Dialect) -> Value {
        let mut fields = Map::new();
        if dialect == Dialect::Versioned {
            fields.insert("jsonrpc".into(), json!("2.0"));
        }
        match self {
            RpcMessage::Request { id, method, params } => {
                fields.insert("id".into(), id.to_value());
                fields.insert("method".into(), Value::String(method));
                // JSON-RPC 2.0 knows objects and lists here, or nothing.
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

fn error_from(error: Value) -> RpcError {
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
    fn messages_are_told_apart_by_their_method() {
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
                outcome: Err(RpcError {
                    code: -32600,
                    message: "no".into(),
                    data: Value::Null,
                }),
            }),
        );
    }

    #[test]
    fn each_dialect_writes_what_its_speakers_expect() {
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
    fn what_is_no_message_is_refused() {
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
