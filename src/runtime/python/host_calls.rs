//! Host calls on the wire: `call` frames of the runner, and the replies it reads.
//!
//! In: a frame, or a reply of the contract. Out: a [`HostRequest`], or a line of JSON. Absent on purpose: which
//! cell a call belongs to (`map.rs`).

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::{HostReply, HostRequest, InputReply, RuntimeRequest};

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum HostCallFrame {
    Ask {
        prompt: String,
        #[serde(default)]
        schema: Option<Value>,
        #[serde(default)]
        tools: Vec<String>,
    },
    Tool {
        name: String,
        #[serde(default)]
        args: Map<String, Value>,
    },
}

impl From<HostCallFrame> for HostRequest {
    fn from(wish: HostCallFrame) -> Self {
        match wish {
            HostCallFrame::Ask {
                prompt,
                schema,
                tools,
            } => HostRequest::Ask {
                prompt,
                schema,
                tools,
            },
            HostCallFrame::Tool { name, args } => HostRequest::Tool {
                name,
                arguments: Value::Object(args),
            },
        }
    }
}

/// Returns the number of the call that `request` answers; `None` when it is no reply.
pub(super) fn answered_call(request: &RuntimeRequest) -> Option<u64> {
    match request {
        RuntimeRequest::ReplyInput { call, .. }
        | RuntimeRequest::ReplyRecord { call, .. }
        | RuntimeRequest::ReplyCall { call, .. } => Some(*call),
        _ => None,
    }
}

/// Returns the reply to the call that the runner names `call`; `None` when `request` is no reply.
pub(super) fn reply(call: &Value, request: &RuntimeRequest) -> Option<Value> {
    Some(match request {
        RuntimeRequest::ReplyInput { reply, .. } => match reply {
            InputReply::Line(line) => json!({"type": "input_reply", "id": call, "value": line}),
            InputReply::Eof => json!({"type": "input_reply", "id": call, "eof": true}),
        },
        RuntimeRequest::ReplyRecord { place, .. } => json!({
            "type": "record_reply",
            "id": call,
            "path": place.as_ref().map(|place| place.path.to_string_lossy()),
            "session": place.as_ref().map(|place| place.session),
        }),
        RuntimeRequest::ReplyCall { reply, .. } => {
            let (key, told) = match reply {
                HostReply::Value(value) => ("value", value.clone()),
                HostReply::Refused(why) => ("error", why.as_str().into()),
                HostReply::Interrupted => ("interrupted", true.into()),
            };
            json!({"type": "call_reply", "id": call, key: told})
        }
        _ => return None,
    })
}
