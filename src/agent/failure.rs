//! Failures of turns and of requests outside of turns, as a user reads them: one line, and hints.
//!
//! Texts of the peer are shown, never interpreted.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::Value;

use super::stderr_cause;
use crate::output::filter::{Filter, Policy};
use crate::rpc::RpcError;
use crate::text::{cut_characters, joined_words};

/// Cause of a failed turn or request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFailure {
    /// The kind, by which a session decides what to do.
    pub kind: FailureKind,
    /// One line for the user.
    pub message: String,
    /// Advice for the user; may be empty.
    pub hints: Vec<String>,
}

impl AgentFailure {
    pub(crate) fn new(kind: FailureKind, message: String, hints: &[&str]) -> Self {
        AgentFailure {
            kind,
            message,
            hints: hints.iter().map(|&hint| hint.to_owned()).collect(),
        }
    }

    /// The same for a request outside of turns.
    pub(crate) fn of_request(mut self) -> Self {
        self.hints = vec![LATER.to_owned()];
        self
    }

    /// A refusal without advice.
    pub(crate) fn refused(message: String) -> Self {
        AgentFailure::new(FailureKind::Refused, message, &[])
    }
}

/// Kinds of failure that a session treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The program does not exist.
    Missing,
    /// No user is logged in.
    LoggedOut,
    /// The process ended.
    Died,
    /// No answer came in time.
    Silent,
    /// The peer refused or reported an error.
    Refused,
    /// The model's service failed.
    Upstream,
}

/// Advice where nothing better is known.
pub(super) const AGAIN: &str =
    "send the prompt again, or choose another agent with `%ipycodex agent NAME`";

/// Advice on a request outside of turns.
const LATER: &str = "try again later";

/// The longest foreign text in a message, in characters.
const MAX_CHARS: usize = 300;

/// The process ended during a turn. `stderr` is the end of its standard error.
pub(super) fn exited(
    name: &str,
    outcome: io::Result<(ExitStatus, String)>,
    junk: u64,
) -> AgentFailure {
    let (how, stderr) = match outcome {
        Ok((status, stderr)) => (status.to_string(), stderr),
        Err(error) => (error.to_string(), String::new()),
    };
    let mut message = format!("`{name}` ended before its answer was complete ({how})");
    if let Some(cause) = stderr_cause::cause(&stderr) {
        message.push_str(": ");
        message.push_str(&one_line(&cause));
    }
    message.push_str(&not_protocol(junk));
    AgentFailure::new(
        FailureKind::Died,
        message,
        &["the next prompt starts it again"],
    )
}

/// The process did not answer. `junk` counts its lines that were no messages.
pub(super) fn timed_out(name: &str, method: &str, patience: Duration, junk: u64) -> AgentFailure {
    let message = unanswered(name, method, patience) + &not_protocol(junk);
    let hint = "it was stopped; the next prompt starts it again";
    AgentFailure::new(FailureKind::Silent, message, &[hint])
}

/// A look-up got no answer; the process goes on.
pub(super) fn request_timed_out(name: &str, method: &str, patience: Duration) -> AgentFailure {
    let message = unanswered(name, method, patience);
    AgentFailure::new(FailureKind::Silent, message, &[LATER])
}

fn unanswered(name: &str, method: &str, patience: Duration) -> String {
    let seconds = patience.as_secs_f32();
    format!("`{name}` did not answer `{method}` within {seconds} s")
}

/// Foreign text on one line, cut to [`MAX_CHARS`] characters, without sequences and control characters.
pub(super) fn one_line(text: &str) -> String {
    // Ends a line as a newline does; the filter would drop it.
    let text = text.replace('\r', "\n");
    let mut filter = Filter::new(Policy::Text);
    let mut shown = Vec::with_capacity(text.len());
    filter.push(text.as_bytes(), &mut shown);
    filter.finish(&mut shown);
    let words = joined_words(&String::from_utf8_lossy(&shown));
    cut_characters(&words, MAX_CHARS).into_owned()
}

/// The message of a JSON-RPC error with the details of its `data`, on one line.
pub(super) fn rpc_error_text(error: &RpcError) -> String {
    let message = one_line(&error.message);
    let mut more = Vec::new();
    details(&error.data, &mut more);
    let mut more: Vec<String> = more.iter().map(|text| one_line(text)).collect();
    more.retain(|text| !text.is_empty() && !message.contains(text.as_str()));
    let more = one_line(&more.join("; "));
    match (message.is_empty(), more.is_empty()) {
        (_, true) => message,
        (true, false) => more,
        (false, false) => format!("{message} ({more})"),
    }
}

/// Keys whose values in `data` explain an error.
const DETAIL_KEYS: [&str; 9] = [
    "message",
    "details",
    "detail",
    "reason",
    "description",
    "error",
    "errors",
    "cause",
    "stderr",
];

/// Collects the texts of `data`, each once; an object without a known key is shown as JSON.
fn details(data: &Value, out: &mut Vec<String>) {
    let mut tell = |text: String| {
        if !out.contains(&text) {
            out.push(text);
        }
    };
    match data {
        Value::Null => {}
        Value::String(text) => tell(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| details(item, out)),
        Value::Object(fields) if fields.is_empty() => {}
        Value::Object(fields) => {
            let known: Vec<&Value> = DETAIL_KEYS
                .iter()
                .filter_map(|word| fields.get(*word))
                .filter(|value| !value.is_null())
                .collect();
            match known.as_slice() {
                [] => tell(data.to_string()),
                known => known.iter().for_each(|value| details(value, out)),
            }
        }
        other => tell(other.to_string()),
    }
}

fn not_protocol(junk: u64) -> String {
    match junk {
        0 => String::new(),
        1 => " (it also printed a line that is not part of the protocol)".into(),
        _ => format!(" (it also printed {junk} lines that are not part of the protocol)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn foreign_text_is_one_line_without_sequences() {
        for (text, expected) in [
            ("a\nb\r\nc\td\re", "a b c d e"),
            ("\x1b[31mno key\x1b[0m", "no key"),
            ("\x1b]0;title\x07a\x1b]8;;u\x1b\\b\x07\u{9b}2J", "ab2J"),
            ("a\x1b[31\nb", "a^[[31 b"),
        ] {
            assert_eq!(one_line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn whatever_an_error_says_in_its_data_is_told_in_one_line() {
        let check = |message: &str, data: Value, expected: &str| {
            let error = RpcError {
                code: -32603,
                message: message.into(),
                data,
            };
            assert_eq!(rpc_error_text(&error), expected);
        };
        let internal = "Internal error";
        check(internal, Value::Null, internal);
        check(internal, json!("no key"), "Internal error (no key)");
        check(internal, json!("  "), internal);
        check("", json!("no key"), "no key");
        check(
            "no key: set KEY",
            json!({"message": "no key"}),
            "no key: set KEY",
        );
        for key in [
            "message",
            "details",
            "detail",
            "reason",
            "description",
            "error",
            "cause",
        ] {
            check(
                internal,
                json!({"x": 1, key: "no key"}),
                "Internal error (no key)",
            );
            check(
                internal,
                json!({key: {"message": "no key"}}),
                "Internal error (no key)",
            );
        }
        check(
            internal,
            json!({"details": "set KEY", "message": "no\nkey", "stack": "at f"}),
            "Internal error (no key; set KEY)",
        );
        check(
            internal,
            json!(["one", {"message": "two"}, "one"]),
            "Internal error (one; two)",
        );
        check(
            internal,
            json!({"errors": [{"message": "one"}]}),
            "Internal error (one)",
        );
        check(
            internal,
            json!({"uri": "x"}),
            "Internal error ({\"uri\":\"x\"})",
        );
        check(internal, json!({}), internal);
        check(internal, json!(7), "Internal error (7)");
        check(
            internal,
            json!("x".repeat(10_000)),
            &format!("Internal error ({}…)", "x".repeat(300)),
        );
    }
}
