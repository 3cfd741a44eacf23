//! Encodes requests as lines of JSON for the request pipe; protocol version 1.
//!
//! In: a request of the contract. Out: one line, with its newline. Absent on purpose: order and meaning
//! (`sequencer.rs`, `map.rs`).

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::super::{
    BranchRequest, CheckpointRequest, CommMessage, CommOp, DarkRendering, RequestId,
    RuntimeRequest, StartupPlan, Stdin, VariablesRequest,
};
use super::host_calls;

/// Encodes a request; `None` for a reply to a question, which [`reply_line`] encodes.
pub(crate) fn request_line(id: RequestId, request: &RuntimeRequest) -> Option<Vec<u8>> {
    let id = id.0;
    let value = match request {
        RuntimeRequest::Execute(cell) => {
            let mut exec = json!({
                "type": "exec",
                "id": id,
                "code": cell.code,
                "silent": cell.silent,
                "storeHistory": cell.store_history && cell.execution_count.is_some(),
                "executionCount": cell.execution_count,
                "stdin": word(cell.stdin),
                "allowStdin": cell.stdin != Stdin::Refuse,
            });
            if let Some(directory) = &cell.directory {
                exec["cwd"] = directory.to_string_lossy().into();
            }
            if !cell.environment.is_empty() {
                let variables = cell.environment.iter().cloned();
                exec["env"] = variables
                    .map(|(name, value)| (name, json!(value)))
                    .collect();
            }
            if cell.session > 0 {
                exec["session"] = cell.session.into();
            }
            match cell.dark {
                DarkRendering::Off => {}
                DarkRendering::Text => exec["dark"] = "text".into(),
                DarkRendering::TextAndPictures => exec["dark"] = "pictures".into(),
            }
            if let Some(parent) = &cell.parent {
                exec["parent"] = Value::clone(parent);
            }
            if let Some(place) = &cell.location {
                exec["filename"] = place.file.to_string_lossy().into();
                exec["line"] = place.line.into();
                exec["last"] = place.last.into();
            }
            exec
        }
        RuntimeRequest::Startup(wanted) => return Some(set_up_line(RequestId(id), wanted)),
        RuntimeRequest::Complete {
            code,
            position,
            deep,
        } => json!({
            "type": "complete",
            "id": id,
            "code": code,
            "pos": position.0,
            "engine": if *deep { "jedi" } else { "plain" },
        }),
        RuntimeRequest::Inspect {
            code,
            position,
            detailed,
        } => json!({
            "type": "inspect",
            "id": id,
            "code": code,
            "pos": position.0,
            "level": u8::from(*detailed),
        }),
        RuntimeRequest::IsComplete { code } => {
            json!({"type": "is_complete", "id": id, "code": code})
        }
        RuntimeRequest::DescribeTools { names } => {
            json!({"type": "tool", "op": "describe", "id": id, "names": names})
        }
        RuntimeRequest::CallTool {
            name,
            arguments,
            stdin,
        } => json!({
            "type": "tool",
            "op": "call",
            "id": id,
            "name": name,
            "args": arguments,
            "stdin": word(*stdin),
        }),
        RuntimeRequest::Evaluate { variables, shells } => {
            json!({"type": "evaluate", "id": id, "variables": variables, "shells": shells})
        }
        RuntimeRequest::EvaluateExpressions { expressions } => {
            json!({"type": "express", "id": id, "expressions": expressions})
        }
        RuntimeRequest::FindMissingNames { sources } => {
            json!({"type": "missing", "id": id, "sources": sources})
        }
        RuntimeRequest::Snapshot { code, unprotected } => {
            json!({"type": "snapshot", "id": id, "code": code, "unprotected": unprotected})
        }
        RuntimeRequest::DryRun { cells } => {
            let cells = cells
                .iter()
                .map(|cell| json!({"code": cell.code, "reset": cell.reset}));
            json!({"type": "trial", "id": id, "cells": cells.collect::<Vec<_>>()})
        }
        RuntimeRequest::Branch(BranchRequest::Run {
            code,
            directory,
            anew,
            unprotected,
        }) => json!({
            "type": "branch",
            "op": "run",
            "id": id,
            "code": code,
            "cwd": directory,
            "fresh": anew,
            "unprotected": unprotected,
        }),
        RuntimeRequest::Branch(BranchRequest::End) => {
            json!({"type": "branch", "op": "end", "id": id})
        }
        RuntimeRequest::SetVariables { values } => {
            let values: Map<String, Value> = values
                .iter()
                .map(|(name, text)| (name.clone(), json!(text)))
                .collect();
            json!({"type": "set", "id": id, "values": values})
        }
        RuntimeRequest::Checkpoints(wish) => {
            let (op, number, session) = match wish {
                CheckpointRequest::Keep(most) => ("keep", Some(*most), 0),
                CheckpointRequest::List => ("list", None, 0),
                CheckpointRequest::Back { to, session } => ("back", *to, *session),
                CheckpointRequest::Forward => ("forward", None, 0),
            };
            json!({"type": "checkpoints", "id": id, "op": op, "number": number, "session": session})
        }
        RuntimeRequest::LookBack(look) => json!({
            "type": "look_back",
            "id": id,
            "code": look.code,
            "from": look.from,
            "to": look.to,
            "session": look.session,
            "shared": look.shared,
            "unprotected": look.unprotected,
        }),
        RuntimeRequest::Variables { wish, file } => {
            let op = match wish {
                VariablesRequest::Save => "keep",
                VariablesRequest::List => "list",
                VariablesRequest::Restore => "bring",
            };
            json!({"type": "variables", "id": id, "op": op, "file": file.to_string_lossy()})
        }
        RuntimeRequest::Background(wish) => {
            let mut value = serde_json::to_value(wish).unwrap_or_default();
            value["type"] = "background".into();
            value["id"] = id.into();
            value
        }
        RuntimeRequest::Comm(message) => comm_line(id, message),
        RuntimeRequest::ReplyInput { .. }
        | RuntimeRequest::ReplyRecord { .. }
        | RuntimeRequest::ReplyCall { .. }
        | RuntimeRequest::HandOff { .. }
        | RuntimeRequest::Fork { .. }
        | RuntimeRequest::TakeBack(_) => return None,
        RuntimeRequest::Shutdown { .. } => json!({"type": "exit", "id": id}),
    };
    Some(line_of(&value))
}

pub(super) fn set_up_line(id: RequestId, wanted: &StartupPlan) -> Vec<u8> {
    let path = |path: &PathBuf| path.to_string_lossy().into_owned();
    let texts = wanted.files.iter();
    let texts = texts.filter_map(|file| Some((path(&file.path), json!(file.text.as_ref()?))));
    let texts: Map<String, Value> = texts.collect();
    line_of(&json!({
        "type": "set_up",
        "id": id.0,
        "profile": wanted.profile,
        "pdb": wanted.flags.pdb,
        "matplotlib": wanted.flags.matplotlib,
        "extensions": wanted.flags.extensions,
        "options": wanted.flags.traits,
        "files": wanted.files.iter().map(|file| path(&file.path)).collect::<Vec<_>>(),
        "texts": Value::Object(texts),
        "told": path(&wanted.seen_notices),
    }))
}

/// Encodes a comm message, with its buffers in base64. The opposite direction is in `wire.rs` and `map/answers.rs`.
fn comm_line(id: u64, message: &CommMessage) -> Value {
    let (op, target) = match &message.op {
        CommOp::Open { target } => ("open", Some(target)),
        CommOp::Msg => ("msg", None),
        CommOp::Close => ("close", None),
    };
    let buffers = message.buffers.iter().map(|part| STANDARD.encode(part));
    json!({
        "type": "comm",
        "id": id,
        "op": op,
        "comm": message.comm_id,
        "target": target,
        "data": message.data,
        "metadata": message.metadata,
        "buffers": buffers.collect::<Vec<_>>(),
    })
}

fn word(stdin: Stdin) -> &'static str {
    match stdin {
        Stdin::Terminal => "terminal",
        Stdin::Ask => "ask",
        Stdin::Refuse => "refuse",
    }
}

/// Encodes the reply to the question that the runner named `call`; `None` when `request` is no reply.
pub(super) fn reply_line(call: &Value, request: &RuntimeRequest) -> Option<Vec<u8>> {
    Some(line_of(&host_calls::reply(call, request)?))
}

/// Encodes the request for bytes that were typed for cell `id` and are unread after its end; the answer is
/// `RunnerFrame::Typed`.
pub(super) fn take_back_line(id: RequestId) -> Vec<u8> {
    line_of(&json!({"type": "take_back", "id": id.0}))
}

fn line_of(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_one_line_each() {
        let line = request_line(
            RequestId(7),
            &RuntimeRequest::SetVariables {
                values: vec![("a".into(), Some("x\ny\u{2028}".into()))],
            },
        )
        .unwrap();
        assert_eq!(memchr::memchr(b'\n', &line), Some(line.len() - 1));
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["values"]["a"], "x\ny\u{2028}");
    }
}
