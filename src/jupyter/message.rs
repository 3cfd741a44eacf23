//! One message, as it is sent and as it came.
//!
//! Invariants: what goes out has a name of its own that what answers it carries; what came in keeps its header, so that
//! it can be answered. Absent on purpose: contents with types; kernels leave out and add what they like.

use jupyter_protocol::messaging::UnknownMessage;
use jupyter_protocol::{Header, JupyterMessage};
use serde_json::{Map, Value, json};

/// The version of the messaging protocol that is spoken.
pub const PROTOCOL: &str = "5.5";

/// What a message travels on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Requests, one after the other.
    Shell,
    /// Requests that do not wait for a cell.
    Control,
    /// Questions of the kernel.
    Stdin,
    /// What everybody sees.
    Iopub,
}

impl Channel {
    /// As gateways call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Channel::Shell => "shell",
            Channel::Control => "control",
            Channel::Stdin => "stdin",
            Channel::Iopub => "iopub",
        }
    }

    /// The one that gateways call so.
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

/// A message of ours.
#[derive(Debug, Clone)]
pub struct OutgoingMessage {
    /// Where it goes.
    pub channel: Channel,
    /// Its name.
    pub id: String,
    /// `execute_request` and its like.
    pub msg_type: String,
    /// What it says.
    pub content: Value,
    /// What is said of it.
    pub metadata: Value,
    /// The header of what it answers.
    pub parent: Option<Value>,
    /// What is too binary for JSON.
    pub buffers: Vec<Vec<u8>>,
}

impl OutgoingMessage {
    /// A message with a name that no other has.
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

    /// What it is, without what it says.
    pub(super) fn label(&self) -> String {
        format!("{} {} {}", self.channel.name(), self.msg_type, self.id)
    }

    /// Header, header of what it answers, metadata, content: of a client with this name.
    pub(super) fn values(&self, session: &str) -> [Value; 4] {
        let header = json!({
            "msg_id": self.id,
            "session": session,
            "username": "ipycodex",
            "date": chrono::Utc::now().to_rfc3339(),
            "msg_type": self.msg_type,
            "version": PROTOCOL,
        });
        let parent = self.parent.clone().unwrap_or_else(|| json!({}));
        [header, parent, self.metadata.clone(), self.content.clone()]
    }

    /// The same, in the words of the crate; its contents with types would lose what they do not know.
    pub(super) fn into_wire(self) -> JupyterMessage {
        let content = UnknownMessage {
            msg_type: self.msg_type,
            content: self.content,
        };
        let mut message = JupyterMessage::new(content, None);
        message.header.msg_id = self.id;
        message.header.username = "ipycodex".into();
        message.header.version = PROTOCOL.into();
        let parent = self.parent.map(serde_json::from_value::<Header>);
        message.parent_header = parent.and_then(Result::ok);
        let buffers = self.buffers.into_iter().map(Into::into).collect();
        message.with_metadata(self.metadata).with_buffers(buffers)
    }
}

/// A message of a kernel.
#[derive(Debug, Clone)]
pub struct IncomingMessage {
    /// Where it came from.
    pub channel: Channel,
    /// `stream` and its like.
    pub msg_type: String,
    /// The name of the message that led to it.
    pub parent: Option<String>,
    /// Its header.
    pub header: Value,
    /// What it says.
    pub content: Map<String, Value>,
    /// What is said of it.
    pub metadata: Value,
    /// What is too binary for JSON.
    pub buffers: Vec<Vec<u8>>,
}

impl IncomingMessage {
    /// Of its parts: header, header of the parent, metadata, content; then the buffers. `None`: they are no message.
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

    /// Of the same, read. `None`: they are no message.
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

    /// What it is, without what it says.
    pub(super) fn label(&self) -> String {
        let parent = self.parent.as_deref().unwrap_or("nothing");
        format!("{} {} of {parent}", self.channel.name(), self.msg_type)
    }

    /// A text of its content; empty where there is none.
    pub fn text(&self, name: &str) -> &str {
        self.content
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// An object of its content; empty where there is none.
    pub fn object(&self, name: &str) -> Map<String, Value> {
        let object = self.content.get(name).and_then(Value::as_object);
        object.cloned().unwrap_or_default()
    }
}
