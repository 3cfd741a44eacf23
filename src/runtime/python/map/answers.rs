//! Decodes the runner's replies to requests other than cells.
//!
//! In: the fields of an `answer` frame and the kind of its request. Out: a [`RuntimeReply`]. Invariants: a reply
//! without its content, or with an exception where none is allowed, becomes a failure message and never a panic.
//! Absent on purpose: matching replies to requests.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::super::{
    CommMessage, CommOp, Completeness, Completion, LookBack, PARTS_MIME, ReferenceValue,
    RuntimeReply, Snapshot, ToolLookup,
};
use super::super::wire::{Comm, Raised};
use crate::output::mime::MimeBundle;
use crate::output::traceback::{CellError, Leaving};
use crate::request_kind::{INTERRUPTED, RequestKind};
use crate::text::offset::CodePoints;

/// Decodes the reply to a request of this kind.
pub(crate) fn answer_of(kind: RequestKind, mut answer: Map<String, Value>) -> RuntimeReply {
    if let Some(error) = raised(&answer) {
        return match kind {
            RequestKind::CallTool => RuntimeReply::ToolResult(Err(cell_error(error))),
            _ if error.ename == "KeyboardInterrupt" => RuntimeReply::Failed(INTERRUPTED.into()),
            _ => RuntimeReply::Failed(format!("{}: {}", error.ename, error.evalue)),
        };
    }
    let mut take = |name: &str| answer.remove(name).unwrap_or_default();
    match kind {
        RequestKind::Complete => RuntimeReply::Completions(list(take("completions"), completion)),
        RequestKind::Inspect => {
            let found = match take("inspection") {
                Value::Object(mut found) if found.get("found") != Some(&Value::Bool(false)) => {
                    found.remove("bundle")
                }
                _ => None,
            };
            match found {
                Some(Value::Object(bundle)) => RuntimeReply::Inspection(Some(bundle_of(bundle))),
                _ => RuntimeReply::Inspection(None),
            }
        }
        RequestKind::IsComplete => RuntimeReply::Completeness(completeness(&take("completeness"))),
        RequestKind::DescribeTools => RuntimeReply::Tools(list(take("tools"), tool)),
        RequestKind::CallTool => match take("tool") {
            Value::Object(result) => RuntimeReply::ToolResult(Ok(result_of(result))),
            _ => RuntimeReply::Failed("the tool's result did not arrive".into()),
        },
        RequestKind::Evaluate => RuntimeReply::Evaluated {
            variables: list(take("variables"), variable),
            shells: list(take("shells"), |output| output.as_str().map(str::to_owned)),
        },
        RequestKind::Express => RuntimeReply::Expressed(list(take("expressed"), expressed)),
        RequestKind::Missing => {
            let names = list(take("missing"), |name| name.as_str().map(str::to_owned));
            RuntimeReply::Missing(names)
        }
        RequestKind::Snapshot => match take("snapshot") {
            Value::Object(snapshot) => RuntimeReply::Snapshot(snapshot_of(snapshot)),
            _ => RuntimeReply::Failed("the snapshot's result did not arrive".into()),
        },
        RequestKind::Checkpoints => {
            if let Value::String(why) = take("failed") {
                return RuntimeReply::Failed(why);
            }
            match (take("stepped"), take("checkpoints")) {
                (stepped @ Value::Object(_), _) => serde_json::from_value(stepped)
                    .map(RuntimeReply::Stepped)
                    .unwrap_or_else(|error| RuntimeReply::Failed(error.to_string())),
                (_, there) => serde_json::from_value(there)
                    .map(RuntimeReply::Checkpoints)
                    .unwrap_or_else(|error| RuntimeReply::Failed(error.to_string())),
            }
        }
        RequestKind::LookBack => match take("look_back") {
            Value::Object(mut told) => look_back(&mut told)
                .map(RuntimeReply::LookedBack)
                .unwrap_or_else(|error| RuntimeReply::Failed(error.to_string())),
            _ => RuntimeReply::Failed("the values of the past did not arrive".into()),
        },
        RequestKind::Variables => serde_json::from_value(take("variables"))
            .map(RuntimeReply::Variables)
            .unwrap_or_else(|error| RuntimeReply::Failed(error.to_string())),
        RequestKind::Background => serde_json::from_value(take("background"))
            .map(RuntimeReply::Background)
            .unwrap_or_else(|error| RuntimeReply::Failed(error.to_string())),
        RequestKind::SetVariables
        | RequestKind::Comm
        | RequestKind::HandOff
        | RequestKind::Shutdown
        | RequestKind::Execute => RuntimeReply::Done,
    }
}

/// Decodes `{status, indent}`.
fn completeness(value: &Value) -> Completeness {
    match value["status"].as_str() {
        Some("complete") => Completeness::Complete,
        Some("incomplete") => {
            Completeness::Incomplete(value["indent"].as_str().unwrap_or_default().to_owned())
        }
        Some("invalid") => Completeness::Invalid,
        _ => Completeness::Unknown,
    }
}

fn list<T>(values: Value, read: impl Fn(Value) -> Option<T>) -> Vec<T> {
    match values {
        Value::Array(values) => values.into_iter().filter_map(read).collect(),
        _ => Vec::new(),
    }
}

/// Decodes `{expression, type, text, image?, failed?}` or `{expression, undefined: [names]}`.
fn variable(value: Value) -> Option<ReferenceValue> {
    #[derive(Deserialize)]
    struct Wire {
        expression: String,
        #[serde(default)]
        undefined: Option<Vec<String>>,
        #[serde(default, rename = "type")]
        type_name: String,
        #[serde(default)]
        text: String,
        #[serde(default)]
        image: Option<String>,
        #[serde(default)]
        failed: bool,
    }
    let wire: Wire = serde_json::from_value(value).ok()?;
    Some(match wire.undefined {
        Some(names) => ReferenceValue::Undefined {
            expression: wire.expression,
            names,
        },
        None => ReferenceValue::Value {
            expression: wire.expression,
            type_name: wire.type_name,
            text: wire.text,
            image: wire.image,
            failed: wire.failed,
        },
    })
}

/// Decodes `{bundle, metadata}`, or `{error}`.
fn expressed(value: Value) -> Option<Result<MimeBundle, CellError>> {
    let Value::Object(mut wire) = value else {
        return None;
    };
    if let Some(error) = raised(&wire) {
        return Some(Err(cell_error(error)));
    }
    let metadata = match wire.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    Some(Ok(result_of(wire).with_metadata(metadata)))
}

/// Decodes `{unprotected: why}`, or `{printed, bundle}`, or `{printed, error}`.
fn snapshot_of(mut wire: Map<String, Value>) -> Snapshot {
    let text = |value: Option<Value>| match value {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    if wire.contains_key("unprotected") {
        return Snapshot::Unprotected(text(wire.remove("unprotected")));
    }
    let result = match raised(&wire) {
        Some(error) => Err(cell_error(error)),
        None => Ok(Map::new()),
    };
    Snapshot::Ran {
        printed: text(wire.remove("printed")),
        result: result.map(|_| result_of(wire)),
    }
}

/// Decodes `{unprotected: why}`, or `{states}`.
fn look_back(wire: &mut Map<String, Value>) -> Result<LookBack, serde_json::Error> {
    match wire.remove("unprotected") {
        Some(why) => Ok(LookBack::Unprotected(
            why.as_str().unwrap_or_default().into(),
        )),
        None => {
            serde_json::from_value(wire.remove("states").unwrap_or_default()).map(LookBack::Looked)
        }
    }
}

/// Decodes `{bundle, parts?}`: one bundle, which carries the others under [`PARTS_MIME`].
fn result_of(mut wire: Map<String, Value>) -> MimeBundle {
    let Some(Value::Object(mut bundle)) = wire.remove("bundle") else {
        return MimeBundle::default();
    };
    if let Some(parts @ Value::Array(_)) = wire.remove("parts") {
        bundle.insert(PARTS_MIME.into(), parts);
    }
    bundle_of(bundle)
}

fn completion(value: Value) -> Option<Completion> {
    #[derive(Deserialize)]
    struct Wire {
        start: usize,
        end: usize,
        text: String,
        #[serde(default)]
        kind: Option<String>,
        #[serde(default)]
        signature: Option<String>,
        #[serde(default, rename = "type")]
        type_name: Option<String>,
        #[serde(default)]
        everywhere: bool,
    }
    let wire = Wire::deserialize(value).ok()?;
    Some(Completion {
        start: CodePoints(wire.start),
        end: CodePoints(wire.end),
        text: wire.text,
        kind: wire.kind.unwrap_or_default(),
        signature: wire.signature.unwrap_or_default(),
        type_name: wire.type_name.unwrap_or_default(),
        everywhere: wire.everywhere,
    })
}

fn tool(value: Value) -> Option<ToolLookup> {
    #[derive(Deserialize)]
    struct Wire {
        name: String,
        #[serde(default)]
        found: Option<bool>,
        #[serde(default)]
        callable: Option<bool>,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        schema: Value,
    }
    let wire = Wire::deserialize(value).ok()?;
    Some(match (wire.found, wire.callable) {
        (_, Some(false)) => ToolLookup::NotCallable(wire.name),
        (Some(false), _) => ToolLookup::Missing(wire.name),
        _ => ToolLookup::Found {
            name: wire.name,
            description: wire.description.unwrap_or_default(),
            schema: wire.schema,
        },
    })
}

pub(super) fn raised(answer: &Map<String, Value>) -> Option<Raised> {
    Raised::deserialize(answer.get("error")?).ok()
}

pub(super) fn cell_error(error: Raised) -> CellError {
    CellError {
        leaves: (error.ename == "SystemExit").then(|| leaving(&error.evalue)),
        name: error.ename,
        value: error.evalue,
        traceback: error.traceback,
    }
}

/// Decodes `sys.exit(value)` from the exception's text: a number is the status, any other text is a message.
fn leaving(value: &str) -> Leaving {
    let value = value.trim();
    let (status, words) = match (value, value.parse::<i64>()) {
        ("" | "None", _) => (0, None),
        (_, Ok(number)) => (i32::from(number.to_le_bytes()[0]), None),
        (words, Err(_)) => (1, Some(words.to_owned())),
    };
    Leaving { status, words }
}

fn bytes(base64: &String) -> Vec<u8> {
    STANDARD.decode(base64).unwrap_or_default()
}

pub(super) fn comm_message(wire: Comm) -> CommMessage {
    CommMessage {
        comm_id: wire.comm,
        op: match wire.op.as_str() {
            "open" => CommOp::Open {
                target: wire.target.unwrap_or_default(),
            },
            "close" => CommOp::Close,
            _ => CommOp::Msg,
        },
        data: wire.data,
        metadata: wire.metadata,
        buffers: wire.buffers.iter().map(bytes).collect(),
    }
}

pub(super) fn bundle_of(entries: Map<String, Value>) -> MimeBundle {
    MimeBundle::new(entries.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_statuses_are_pythons() {
        for (value, status, words) in [
            ("", 0, None),
            ("None", 0, None),
            ("0", 0, None),
            ("3", 3, None),
            ("256", 0, None),
            ("-1", 255, None),
            ("no", 1, Some("no")),
        ] {
            let words = words.map(str::to_owned);
            assert_eq!(leaving(value), Leaving { status, words }, "{value}");
        }
    }
}
