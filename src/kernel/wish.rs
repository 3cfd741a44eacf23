//! What a client wants run, and how: an `execute_request` as a value.

use serde_json::{Map, Value};

use crate::jupyter::Incoming;

/// An `execute_request`.
pub(super) struct Wish {
    pub(super) code: String,
    pub(super) silent: bool,
    pub(super) store_history: bool,
    pub(super) expressions: Map<String, Value>,
    pub(super) allow_stdin: bool,
    pub(super) stop_on_error: bool,
}

impl Wish {
    /// Reads it; `None`: there is no code in it.
    pub(super) fn of(message: &Incoming) -> Option<Wish> {
        let flag = |name: &str, usual: bool| flag(message, name, usual);
        let silent = flag("silent", false);
        Some(Wish {
            code: message.content.get("code")?.as_str()?.to_owned(),
            silent,
            store_history: flag("store_history", true) && !silent,
            expressions: message.object("user_expressions"),
            allow_stdin: flag("allow_stdin", true),
            stop_on_error: flag("stop_on_error", true),
        })
    }
}

/// A field that is true or false, or `usual`.
pub(super) fn flag(message: &Incoming, name: &str, usual: bool) -> bool {
    let value = message.content.get(name);
    value.and_then(Value::as_bool).unwrap_or(usual)
}

/// Why a request without code fails.
pub(super) const NO_CODE: &str = "an `execute_request` needs its `code` as a text";
