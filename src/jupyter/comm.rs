//! Messages of comms, the objects that an interpreter and a front-end share: as both ends of the wire have them.
//!
//! Document: Jupyter's messaging protocol, "Custom Messages". Invariant: what came in and is sent on is the same.

use serde_json::{Value, json};

use super::message::{Channel, Incoming, Outgoing};
use crate::runtime::{CommAct, CommMessage};

/// The message of a comm in what a peer said; `None`: it is none, or names none.
pub fn comm_message(message: &Incoming) -> Option<CommMessage> {
    let act = match message.kind.as_str() {
        "comm_open" => CommAct::Open {
            target: message.text("target_name").to_owned(),
        },
        "comm_msg" => CommAct::Say,
        "comm_close" => CommAct::Close,
        _ => return None,
    };
    let comm = message.text("comm_id");
    (!comm.is_empty()).then(|| CommMessage {
        comm: comm.to_owned(),
        act,
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
pub fn comm_to_wire(channel: Channel, message: CommMessage) -> Outgoing {
    let mut content = json!({"comm_id": message.comm, "data": message.data});
    let kind = match message.act {
        CommAct::Open { target } => {
            content["target_name"] = target.into();
            "comm_open"
        }
        CommAct::Say => "comm_msg",
        CommAct::Close => "comm_close",
    };
    Outgoing {
        metadata: Value::Object(message.metadata),
        buffers: message.buffers,
        ..Outgoing::new(channel, kind, content)
    }
}
