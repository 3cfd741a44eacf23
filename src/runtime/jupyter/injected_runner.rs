//! Modules of our runner that are sent to a Python kernel as code, once, for tools, references and inspections.
//!
//! In: requests for which the messaging protocol has no message. Out: the code that carries them out, and its
//! replies, in the format of the runner. Invariants: the kernel's namespace gets no name of ours; nothing is sent
//! before it is needed.

use serde_json::{Map, Value, json};

use super::convert::text_of;
use crate::python::{answer_of, injectable_modules, request_line};
use crate::request_kind::RequestKind;
use crate::{Execute, RequestId, RuntimeReply, RuntimeRequest, Stdin};
use ipycodex_jupyter::{Channel, OutgoingMessage};

const ANSWER: &str = "application/vnd.ipycodex.answer+json";
/// Expression for the injected module.
const EMBEDDED: &str = "__import__('_ipycodex_runner.embedded', fromlist=['embedded'])";

/// Returns the message that injects the modules.
pub(super) fn bootstrap() -> OutgoingMessage {
    let mut parts: Map<String, Value> = injectable_modules()
        .map(|(name, text)| (name.to_owned(), json!(text)))
        .collect();
    let arrive = parts.remove("arrive").unwrap_or_default();
    let arrive = python_string(arrive.as_str().unwrap_or_default());
    let parts = python_string(&Value::Object(parts).to_string());
    // Executed in a namespace of its own, so that the user's gets no name of ours.
    silent_request(&format!(
        "exec({arrive}, {{'sources': __import__('json').loads({parts})}})"
    ))
}

/// Returns a message that runs code without output or history.
pub(super) fn silent_request(code: &str) -> OutgoingMessage {
    let content = json!({
        "code": code,
        "silent": true,
        "store_history": false,
        "user_expressions": {},
        "allow_stdin": false,
        "stop_on_error": false,
    });
    OutgoingMessage::new(Channel::Shell, "execute_request", content)
}

pub(super) fn setup_code(cell: &Execute) -> String {
    let mut code = String::new();
    if let Some(directory) = &cell.directory {
        let directory = python_string(&directory.to_string_lossy());
        code.push_str(&format!("__import__('os').chdir({directory})\n"));
    }
    for (name, value) in &cell.environment {
        let name = python_string(name);
        code.push_str(&match value {
            Some(value) => {
                let value = python_string(value);
                format!("__import__('os').environ[{name}] = {value}\n")
            }
            None => format!("__import__('os').environ.pop({name}, None)\n"),
        });
    }
    code
}

/// Returns the content to send for a request; `None` for requests that need no injected code.
pub(super) fn content(id: RequestId, request: &RuntimeRequest) -> Option<Value> {
    let asks = matches!(request, RuntimeRequest::CallTool { stdin, .. } if *stdin == Stdin::Ask);
    let known = matches!(
        request,
        RuntimeRequest::CallTool { .. }
            | RuntimeRequest::DescribeTools { .. }
            | RuntimeRequest::Evaluate { .. }
            | RuntimeRequest::FindMissingNames { .. }
            | RuntimeRequest::SetVariables { .. }
            | RuntimeRequest::Snapshot { .. }
    );
    let line = request_line(id, request).filter(|_| known)?;
    let line = python_string(String::from_utf8_lossy(&line).trim_end());
    Some(json!({
        "code": format!("{EMBEDDED}.take({line})"),
        "silent": true,
        "store_history": false,
        "user_expressions": {"ipycodex": format!("{EMBEDDED}.told()")},
        "allow_stdin": asks,
        "stop_on_error": false,
    }))
}

/// Decodes the reply to a request, from the `execute_reply` of its code.
pub(super) fn answer(
    kind: RequestKind,
    reply: &Map<String, Value>,
    interrupted: bool,
) -> RuntimeReply {
    let told = reply
        .get("user_expressions")
        .and_then(|told| told["ipycodex"]["data"][ANSWER].as_object());
    match told {
        Some(told) => answer_of(kind, told.clone()),
        None if interrupted => RuntimeReply::Failed("interrupted".to_owned()),
        None => {
            let (name, value) = (text_of(reply, "ename"), text_of(reply, "evalue"));
            RuntimeReply::Failed(format!("the kernel gave no answer: {name} {value}"))
        }
    }
}

fn python_string(text: &str) -> String {
    // ASCII JSON is valid Python, except characters beyond U+FFFF, which JSON writes as surrogate pairs.
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for letter in text.chars() {
        match letter {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            ' '..='~' => literal.push(letter),
            letter => literal.push_str(&format!("\\U{:08x}", u32::from(letter))),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_python() {
        assert_eq!(
            python_string("a\"\\\n\u{1F642}\r"),
            r#""a\"\\\n\U0001f642\U0000000d""#
        );
    }

    #[test]
    fn what_is_no_answer_says_why() {
        let reply = json!({"status": "error", "ename": "NameError", "evalue": "x"});
        let answer = answer(RequestKind::Evaluate, reply.as_object().unwrap(), false);
        assert!(
            matches!(&answer, RuntimeReply::Failed(why) if why.contains("NameError x")),
            "{answer:?}"
        );
    }
}
