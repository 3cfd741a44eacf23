//! One message, outgoing and incoming.
//!
//! In and out: the parts of a message on the wire. Invariants: an outgoing message has a unique id, which replies
//! name as their parent; an incoming one keeps its header, so that it can be answered. Absent on purpose: typed
//! contents; kernels omit and add fields freely.

use serde_json::{Map, Value, json};

/// Version of the messaging protocol that is spoken.
pub const PROTOCOL: &str = "5.5";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Requests, processed in order.
    Shell,
    /// Requests that do not wait for a cell.
    Control,
    /// Input requests of the kernel.
    Stdin,
    /// Messages to all clients.
    Iopub,
}

impl Channel {
    pub(super) fn name(self) -> &'static str {
        match self {
            Channel::Shell => "shell",
            Channel::Control => "control",
            Channel::Stdin => "stdin",
            Channel::Iopub => "iopub",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        let all = [
            Channel::Shell,
            Channel::Control,
            Channel::Stdin,
            Channel::Iopub,
        ];
        all.into_iter().find(|channel| channel.name() == name)
    }
}

#[derive(Debug, Clone)]
pub struct OutgoingMessage {
    pub channel: Channel,
    pub id: String,
    /// `execute_request`, for example.
    pub msg_type: String,
    pub content: Value,
    pub metadata: Value,
    /// Header of the message that this one answers.
    pub parent: Option<Value>,
    /// Binary attachments.
    pub buffers: Vec<Vec<u8>>,
}

impl OutgoingMessage {
    pub fn new(channel: Channel, kind: &str, content: Value) -> Self {
        OutgoingMessage {
            channel,
            id: super::connection::unique_id(),
            msg_type: kind.to_owned(),
            content,
            metadata: json!({}),
            parent: None,
            buffers: Vec::new(),
        }
    }

    /// Returns channel, type and id for the log, without the content.
    pub(super) fn label(&self) -> String {
        format!("{} {} {}", self.channel.name(), self.msg_type, self.id)
    }

    /// Returns header, parent header, metadata and content as JSON, as a session of this name sends them.
    pub(super) fn texts(&self, session: &str) -> [String; 4] {
        let header = json!({
            "msg_id": self.id,
            "session": session,
            "username": "ipycodex",
            "date": chrono::Utc::now().to_rfc3339(),
            "msg_type": self.msg_type,
            "version": PROTOCOL,
        });
        let parent = self.parent.as_ref().map(Value::to_string);
        [
            header.to_string(),
            parent.unwrap_or_else(|| "{}".to_owned()),
            self.metadata.to_string(),
            self.content.to_string(),
        ]
    }
}

#[derive(Debug, Clone)]
pub struct IncomingMessage {
    pub channel: Channel,
    /// `stream`, for example.
    pub msg_type: String,
    /// Id of the message that caused this one.
    pub parent: Option<String>,
    pub header: Value,
    pub content: Map<String, Value>,
    pub metadata: Value,
    /// Binary attachments.
    pub buffers: Vec<Vec<u8>>,
}

impl IncomingMessage {
    /// Parses the parts: header, parent header, metadata, content; then the buffers. `None` when they are no
    /// message.
    pub fn from_parts<'a>(
        channel: Channel,
        mut parts: impl Iterator<Item = &'a [u8]>,
    ) -> Option<Self> {
        let mut next = || crate::text::json::parse(parts.next()?).ok();
        let (header, parent, metadata, content) = (next()?, next()?, next()?, next()?);
        Self::from_values(
            channel,
            [header, parent, metadata, content],
            parts.map(<[u8]>::to_vec).collect(),
        )
    }

    /// As [`IncomingMessage::from_parts`], from parsed JSON.
    pub fn from_values(
        channel: Channel,
        [header, parent, metadata, content]: [Value; 4],
        buffers: Vec<Vec<u8>>,
    ) -> Option<Self> {
        let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
        let Value::Object(content) = content else {
            return None;
        };
        Some(IncomingMessage {
            channel,
            msg_type: text(&header, "msg_type")?,
            parent: text(&parent, "msg_id"),
            header,
            content,
            metadata,
            buffers,
        })
    }

    /// Returns channel, type and parent for the log, without the content.
    pub(super) fn label(&self) -> String {
        let parent = self.parent.as_deref().unwrap_or("nothing");
        format!("{} {} of {parent}", self.channel.name(), self.msg_type)
    }

    /// Returns a string of the content; empty when it is absent.
    pub fn text(&self, name: &str) -> &str {
        self.content
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Returns an object of the content; empty when it is absent.
    pub fn object(&self, name: &str) -> Map<String, Value> {
        let object = self.content.get(name).and_then(Value::as_object);
        object.cloned().unwrap_or_default()
    }
}
