//! The content of an `execute_request` as a value.

use serde_json::{Map, Value};

use super::messages::Failure;
use crate::jupyter::IncomingMessage;

/// An `execute_request`; missing fields have the protocol's defaults.
pub(super) struct ExecuteRequest {
    pub(super) code: String,
    pub(super) silent: bool,
    pub(super) store_history: bool,
    pub(super) expressions: Map<String, Value>,
    pub(super) allow_stdin: bool,
    pub(super) stop_on_error: bool,
}

impl ExecuteRequest {
    /// # Errors
    /// The message has no code.
    pub(super) fn parse(message: &IncomingMessage) -> Result<ExecuteRequest, Failure> {
        let silent = flag(message, "silent", false);
        let code = message.content.get("code").and_then(Value::as_str);
        let why = "an `execute_request` needs its `code` as a text";
        Ok(ExecuteRequest {
            code: code
                .ok_or_else(|| Failure::new("ValueError", why))?
                .to_owned(),
            silent,
            store_history: flag(message, "store_history", true) && !silent,
            expressions: message.object("user_expressions"),
            allow_stdin: flag(message, "allow_stdin", true),
            stop_on_error: flag(message, "stop_on_error", true),
        })
    }
}

/// A boolean member of the content, or `default`.
pub(super) fn flag(message: &IncomingMessage, name: &str, default: bool) -> bool {
    let value = message.content.get(name);
    value.and_then(Value::as_bool).unwrap_or(default)
}
