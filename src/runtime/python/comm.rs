//! A message of a comm as a request to the runner has it; buffers in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::{CommMessage, CommOp};

/// The request of this number.
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
