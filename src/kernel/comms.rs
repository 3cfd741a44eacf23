//! The open comms: the objects of the interpreter and of front-ends that exchange messages.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::runtime::{CommMessage, CommOp};

/// The target of each open comm, by its id.
#[derive(Debug, Default)]
pub(super) struct Comms(BTreeMap<String, String>);

impl Comms {
    pub(super) fn on_message(&mut self, message: &CommMessage) {
        match &message.op {
            CommOp::Open { target } => {
                self.0.insert(message.comm_id.clone(), target.clone());
            }
            CommOp::Close => drop(self.0.remove(&message.comm_id)),
            CommOp::Msg => {}
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Content of `comm_info_reply`, for one target or for all.
    pub(super) fn comm_info(&self, target: Option<&str>) -> Value {
        let wanted = self
            .0
            .iter()
            .filter(|(_, own)| target.is_none_or(|target| target == own.as_str()));
        let comms: serde_json::Map<String, Value> = wanted
            .map(|(comm, target)| (comm.clone(), json!({ "target_name": target })))
            .collect();
        json!({"status": "ok", "comms": comms})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_comms_are_listed_by_target() {
        let mut comms = Comms::default();
        let message = |comm: &str, act: CommOp| CommMessage {
            comm_id: comm.into(),
            op: act,
            data: json!({}),
            metadata: serde_json::Map::new(),
            buffers: Vec::new(),
        };
        for (name, target) in [("a", "x"), ("b", "y")] {
            comms.on_message(&message(
                name,
                CommOp::Open {
                    target: target.into(),
                },
            ));
        }
        comms.on_message(&message("a", CommOp::Msg));
        assert_eq!(
            comms.comm_info(Some("x"))["comms"],
            json!({"a": {"target_name": "x"}})
        );
        comms.on_message(&message("a", CommOp::Close));
        assert_eq!(
            comms.comm_info(None)["comms"],
            json!({"b": {"target_name": "y"}})
        );
    }
}
