//! Encodes a comm message as a request line of the runner.
//!
//! In: a [`CommMessage`] of the contract. Out: JSON, with buffers in base64. The opposite direction is in `wire.rs`
//! and `map/answers.rs`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::{CommMessage, CommOp};

pub(super) fn comm_line(id: u64, message: &CommMessage) -> Value {
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
