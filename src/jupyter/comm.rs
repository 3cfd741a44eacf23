//! Comm messages, exchanged by objects of an interpreter and of a front-end, on the wire.
//!
//! Document: Jupyter's messaging protocol, "Custom Messages". Invariant: a message that is received and sent on is
//! unchanged.

use serde_json::{Map, Value, json};

use super::message::{Channel, IncomingMessage, OutgoingMessage};

/// A comm message between an object of the interpreter and one of a front-end.
#[derive(Debug, Clone, PartialEq)]
pub struct CommMessage {
    /// Id of the comm, common to both sides.
    pub comm_id: String,
    /// Kind of message.
    pub op: CommOp,
    /// JSON payload.
    pub data: Value,
    /// Metadata of the message.
    pub metadata: Map<String, Value>,
    /// Binary attachments.
    pub buffers: Vec<Vec<u8>>,
}

/// Kinds of comm messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommOp {
    /// Opens the comm.
    Open {
        /// Name under which the other side registered its handler.
        target: String,
    },
    /// Carries data.
    Msg,
    /// Closes the comm.
    Close,
}

/// Returns the comm message in a peer's message; `None` for other messages, and for one without a comm id.
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
