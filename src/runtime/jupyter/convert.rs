//! Converts messages of kernels into runtime events and replies, and requests into message contents.
//!
//! Invariant: a reply without its content is an empty one; kernels leave out what they like.

use serde_json::{Map, Value, json};

use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::text::offset::CodePoints;
use crate::{
    Completeness, Completion, DisplayData, OutputStream, RequestId, RuntimeEvent, RuntimeInfo,
    RuntimeReply,
};
use ipycodex_jupyter::{IncomingMessage, parse_comm};

const MOST: usize = 500;

/// Returns a string of an object; empty when it is absent.
pub(super) fn text_of<'a>(object: &'a Map<String, Value>, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn error(content: &Map<String, Value>) -> CellError {
    let lines = content.get("traceback").and_then(Value::as_array);
    let lines = lines.into_iter().flatten().filter_map(Value::as_str);
    CellError {
        name: text_of(content, "ename").to_owned(),
        value: text_of(content, "evalue").to_owned(),
        traceback: lines.map(str::to_owned).collect(),
        leaves: None,
    }
}

/// Returns the event for an output message on iopub.
pub(super) fn shown(
    message: &IncomingMessage,
    id: Option<RequestId>,
    number: Option<u32>,
) -> Option<RuntimeEvent> {
    Some(match message.msg_type.as_str() {
        "stream" => RuntimeEvent::Output {
            id,
            stream: match message.text("name") {
                "stderr" => OutputStream::Stderr,
                _ => OutputStream::Stdout,
            },
            bytes: message.text("text").as_bytes().to_vec(),
            foreign: false,
        },
        kind @ ("display_data" | "execute_result" | "update_display_data") => {
            let transient = message.object("transient");
            let bundle = MimeBundle::new(message.object("data").into_iter().collect());
            let counted = message
                .content
                .get("execution_count")
                .and_then(Value::as_u64);
            let counted = counted.and_then(|count| u32::try_from(count).ok());
            RuntimeEvent::Display {
                id,
                display: DisplayData {
                    bundle: bundle.with_metadata(message.object("metadata")),
                    execution_count: (kind == "execute_result")
                        .then(|| number.or(counted))
                        .flatten(),
                    display_id: transient
                        .get("display_id")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                    transient,
                    update: kind == "update_display_data",
                },
            }
        }
        "clear_output" => RuntimeEvent::Clear {
            id: id?,
            wait: message.content.get("wait") == Some(&Value::Bool(true)),
        },
        "comm_open" | "comm_msg" | "comm_close" => RuntimeEvent::Comm {
            id,
            message: parse_comm(message)?,
        },
        _ => return None,
    })
}

/// Returns the event for a payload of an `execute_reply`.
pub(super) fn payload(id: RequestId, payload: &Value) -> Option<RuntimeEvent> {
    match payload["source"].as_str()? {
        "page" => {
            let data = payload["data"].as_object()?.clone();
            let bundle = MimeBundle::new(data.into_iter().collect());
            Some(RuntimeEvent::Page { id, bundle })
        }
        "set_next_input" => {
            let text = payload["text"].as_str()?.to_owned();
            let replaces = payload["replace"] == true;
            Some(RuntimeEvent::NextInput { id, text, replaces })
        }
        "ask_exit" => Some(RuntimeEvent::ExitRequested {
            id,
            code: 0,
            stays: payload["keepkernel"] == true,
        }),
        _ => None,
    }
}

pub(super) fn completions(reply: &Map<String, Value>) -> RuntimeReply {
    let position = |name: &str| {
        let number = reply.get(name).and_then(Value::as_u64).unwrap_or(0);
        CodePoints(usize::try_from(number).unwrap_or(0))
    };
    let (start, end) = (position("cursor_start"), position("cursor_end"));
    let kinds = reply
        .get("metadata")
        .and_then(|metadata| metadata["_jupyter_types_experimental"].as_array());
    let about = |text: &str| {
        let same = |entry: &&Value| entry["text"].as_str() == Some(text);
        kinds.and_then(|kinds| kinds.iter().find(same))
    };
    let matches = reply.get("matches").and_then(Value::as_array);
    let words = matches.into_iter().flatten().filter_map(Value::as_str);
    let completion = |text: &str| {
        let said = |name: &str| {
            let word = about(text).and_then(|entry| entry[name].as_str());
            word.filter(|word| *word != "<unknown>")
                .unwrap_or_default()
                .to_owned()
        };
        Completion {
            start,
            end: end.max(start),
            text: text.to_owned(),
            kind: said("type"),
            signature: said("signature"),
            type_name: String::new(),
            everywhere: false,
        }
    };
    RuntimeReply::Completions(words.take(MOST).map(completion).collect())
}

pub(super) fn inspection(reply: &Map<String, Value>) -> RuntimeReply {
    let data = reply.get("data").and_then(Value::as_object);
    let data =
        data.filter(|data| reply.get("found") == Some(&Value::Bool(true)) && !data.is_empty());
    RuntimeReply::Inspection(data.map(|data| MimeBundle::new(data.clone().into_iter().collect())))
}

pub(super) fn completeness(reply: &Map<String, Value>) -> RuntimeReply {
    RuntimeReply::Completeness(match text_of(reply, "status") {
        "complete" => Completeness::Complete,
        "incomplete" => Completeness::Incomplete(text_of(reply, "indent").to_owned()),
        "invalid" => Completeness::Invalid,
        _ => Completeness::Unknown,
    })
}

/// Returns the content of a silent `execute_request` that evaluates expressions.
pub(super) fn expressing(expressions: &[String]) -> Value {
    let named = expressions.iter().enumerate();
    let named = named.map(|(number, text)| (number.to_string(), json!(text)));
    json!({
        "code": "",
        "silent": true,
        "store_history": false,
        "user_expressions": Value::Object(named.collect()),
        "allow_stdin": false,
        "stop_on_error": false,
    })
}

/// Returns the values of the expressions; their keys are their indices.
pub(super) fn expressed(reply: &Map<String, Value>) -> RuntimeReply {
    let Some(told) = reply.get("user_expressions").and_then(Value::as_object) else {
        return RuntimeReply::Failed("the kernel returned no expressions".to_owned());
    };
    let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let one = |value: &Value| match value["status"].as_str() {
        Some("error") => Err(error(&object(value))),
        _ => Ok(
            MimeBundle::new(object(&value["data"]).into_iter().collect())
                .with_metadata(object(&value["metadata"])),
        ),
    };
    let found = (0..).map_while(|number: usize| told.get(&number.to_string()));
    RuntimeReply::Expressed(found.map(one).collect())
}

/// Returns the text of a Python string literal of a plain path; `None` for literals with escapes or prefixes.
pub(super) fn unquoted(literal: &str) -> Option<String> {
    let quote = literal.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains('\\')).then(|| inner.to_owned())
}

/// Returns the facts of a `kernel_info_reply`. A banner is kept for IPython alone; the caller sets the location.
pub(super) fn who(answer: &Map<String, Value>) -> RuntimeInfo {
    let info = answer.get("language_info").cloned().unwrap_or_default();
    let text = |name: &str| info[name].as_str().unwrap_or_default().to_owned();
    let language = language(&text("name"));
    let banner = match language == "Python" && text_of(answer, "implementation") == "ipython" {
        true => format!("IPython {}", text_of(answer, "implementation_version")),
        false => String::new(),
    };
    RuntimeInfo {
        language,
        version: text("version"),
        banner,
        location: String::new(),
        process: None,
        unprotected: None,
        milliseconds: 0.0,
        restarted: false,
    }
}

pub(super) fn language(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "python" | "python3" | "ipython" => "Python".to_owned(),
        "javascript" => "JavaScript".to_owned(),
        "typescript" => "TypeScript".to_owned(),
        "sql" => "SQL".to_owned(),
        "c++" => "C++".to_owned(),
        _ => {
            let mut letters = name.chars();
            let first = letters.next().map(|first| first.to_uppercase().to_string());
            first.unwrap_or_default() + letters.as_str()
        }
    }
}
