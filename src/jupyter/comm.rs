//! Messages of comms, the objects that an interpreter and a front-end share: as both ends of the wire have them.
//!
//! Document: Jupyter's messaging protocol, "Custom Messages". Invariant: what came in and is sent on is the same.

use serde_json::{Value, json};

use super::message::{Channel, IncomingMessage, OutgoingMessage};
use crate::runtime::{CommMessage, CommOp};

/// The message of a comm in what a peer said; `None`: it is none, or names none.
pub fn parse_comm(message: &IncomingMessage) -> Option<CommMessage> {
    let act = match message.msg_type.as_str() {
        "comm_open" => CommOp::Open {
            target: message.text("target_name").to_owned(),
        },
        "comm_msg" => CommOp::Msg,
        "comm_close" => CommOp::Close,
        _ => return None,
    };
    let comm = message.text("comm_id");
    (!comm.is_empty()).then(|| CommMessage {
        comm_id: comm.to_owned(),
        op: act,
        data: message
            .content
            .get("data")
            .cloned()
            .unwrap_or_else(|| json!({})),
        metadata: message.metadata.as_object().cloned().unwrap_or_default(),
        buffers: message.buffers.clone(),
    })
}

/// The same, to be sent.
pub fn comm_to_wire(channel: Channel, message: CommMessage) -> OutgoingMessage {
    let mut content = json!({"comm_id": message.comm_id, "data": message.data});
    let kind = match message.op {
        CommOp::Open { target } => {
            content["target_name"] = target.into();
            "comm_open"
        }
        CommOp::Msg => "comm_msg",
        CommOp::Close => "comm_close",
    };
    OutgoingMessage {
        metadata: Value::Object(message.metadata),
        buffers: message.buffers,
        ..OutgoingMessage::new(channel, kind, content)
    }
}
