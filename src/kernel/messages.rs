//! Errors, displays and comm messages as the contents of Jupyter messages; the open comms, which are the objects of
//! the interpreter and of front-ends that exchange messages.
//!
//! Pure. Invariant: a display has a `text/plain`, since some clients show nothing else; MIME types of our own are not
//! sent.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::jupyter::{Channel, OutgoingMessage, comm_to_wire};
use crate::output::{CellError, MimeBundle};
use crate::runtime::{
    CommMessage, CommOp, DisplayData, INSPECTION_MIME, PARTS_MIME, SOURCE_MIME, THIS_REQUEST,
};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    name: String,
    value: String,
    traceback: Vec<String>,
}

impl Failure {
    pub(super) fn new(name: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        Failure {
            traceback: vec![format!("{name}: {value}")],
            name: name.to_owned(),
            value,
        }
    }

    /// Adds lines below the traceback.
    pub(super) fn with_lines(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.traceback.extend(lines);
        self
    }

    /// Converts an error; one without a traceback gets its summary as traceback.
    pub(super) fn from_error(error: &CellError) -> Self {
        let empty = error.traceback.iter().all(|line| line.trim().is_empty());
        Failure {
            name: error.name.clone(),
            value: error.value.clone(),
            traceback: match empty {
                true => vec![error.summary()],
                false => error.traceback.clone(),
            },
        }
    }

    /// Content of `error`, and of a reply without its status.
    pub(super) fn content(&self) -> Value {
        json!({"ename": self.name, "evalue": self.value, "traceback": self.traceback})
    }
}

pub(super) fn mime_data(bundle: &MimeBundle) -> Map<String, Value> {
    let own = [INSPECTION_MIME, PARTS_MIME, SOURCE_MIME];
    let entries = bundle.iter().filter(|(mime, _)| !own.contains(mime));
    let entries = entries.map(|(mime, value)| (mime.to_owned(), value.clone()));
    let bundle = MimeBundle::new(entries.collect());
    let mut data: Map<String, Value> = bundle
        .iter()
        .map(|(mime, value)| (mime.to_owned(), value.clone()))
        .collect();
    if !data.contains_key("text/plain") && !data.is_empty() {
        data.insert("text/plain".to_owned(), bundle.for_model().into());
    }
    data
}

/// The type and the content of the message that shows a display.
pub(super) fn display_message(display: &DisplayData) -> (&'static str, Value) {
    let mut transient = display.transient.clone();
    transient.remove("ipycodex");
    if let Some(id) = &display.display_id {
        transient.insert("display_id".to_owned(), id.clone().into());
    }
    let mut content = json!({
        "data": mime_data(&display.bundle),
        "metadata": display.bundle.metadata(),
        "transient": transient,
    });
    let kind = match display.execution_count {
        _ if display.update => "update_display_data",
        Some(count) => {
            content["execution_count"] = count.into();
            "execute_result"
        }
        None => "display_data",
    };
    (kind, content)
}

/// The message of a comm of the interpreter. A widget that captures output sends [`THIS_REQUEST`] for the id of the
/// running request, which is known only here: the id in the header `parent`.
pub(super) fn comm_message(mut message: CommMessage, parent: Option<&Value>) -> OutgoingMessage {
    if let (Some(name), Some(parent)) = (message.data.pointer_mut("/state/msg_id"), parent)
        && *name == THIS_REQUEST
    {
        *name = parent["msg_id"].clone();
    }
    comm_to_wire(Channel::Iopub, message)
}

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
        let comms: Map<String, Value> = wanted
            .map(|(comm, target)| (comm.clone(), json!({ "target_name": target })))
            .collect();
        json!({"status": "ok", "comms": comms})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_have_a_text_and_keep_nothing_of_ours() {
        let bundle = MimeBundle::new(vec![
            ("image/png".into(), json!("iVBORw0KGgo=")),
            (INSPECTION_MIME.into(), json!({})),
        ]);
        let mut shown = DisplayData::new(bundle);
        shown.display_id = Some("d".into());
        shown.transient.insert("ipycodex".into(), json!({}));
        let (kind, content) = display_message(&shown);
        assert_eq!(kind, "display_data");
        assert_eq!(
            content,
            json!({"data": {"image/png": "iVBORw0KGgo=", "text/plain": "[image/png]"}, "metadata": {},
                   "transient": {"display_id": "d"}})
        );
        shown.execution_count = Some(4);
        assert_eq!(display_message(&shown).0, "execute_result");
        shown.update = true;
        assert_eq!(display_message(&shown).0, "update_display_data");
    }

    #[test]
    fn an_object_can_name_the_request() {
        let message = |msg_id: &str| CommMessage {
            comm_id: "c".into(),
            op: CommOp::Msg,
            data: json!({"method": "update", "state": {"msg_id": msg_id}}),
            metadata: Map::new(),
            buffers: Vec::new(),
        };
        let parent = json!({"msg_id": "m"});
        for (from, to) in [(THIS_REQUEST, "m"), ("", ""), ("other", "other")] {
            let content = comm_message(message(from), Some(&parent)).content;
            assert_eq!(content["data"]["state"]["msg_id"], to);
        }
    }

    #[test]
    fn an_error_without_lines_says_what_it_is() {
        let error = CellError {
            name: "E".into(),
            value: "v".into(),
            ..CellError::default()
        };
        assert_eq!(
            Failure::from_error(&error).content(),
            json!({"ename": "E", "evalue": "v", "traceback": ["E: v"]})
        );
    }
    #[test]
    fn open_comms_are_listed_by_target() {
        let mut comms = Comms::default();
        let message = |comm: &str, act: CommOp| CommMessage {
            comm_id: comm.into(),
            op: act,
            data: json!({}),
            metadata: Map::new(),
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
