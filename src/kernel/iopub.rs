//! Outgoing messages: replies, messages to all clients, requests for input; each with the header of the request it
//! belongs to.

use serde_json::{Value, json};

use crate::jupyter::{Channel, ClientRequest, KernelServer, OutgoingMessage};

#[derive(Debug, Clone)]
pub(super) struct Publisher(pub(super) KernelServer);

impl Publisher {
    pub(super) async fn publish(&self, parent: Option<&Value>, kind: &str, content: Value) {
        let message = OutgoingMessage::new(Channel::Iopub, kind, content);
        self.publish_message(parent, message).await;
    }

    /// Sends a message to all clients, with its metadata and buffers.
    pub(super) async fn publish_message(&self, parent: Option<&Value>, message: OutgoingMessage) {
        self.0.publish(parent, message).await;
    }

    /// Publishes the execution state `busy` or `idle` for a request.
    pub(super) async fn publish_status(&self, request: &ClientRequest, state: &str) {
        let content = json!({ "execution_state": state });
        self.publish(Some(request.header()), "status", content)
            .await;
    }

    /// Answers a request on its channel.
    pub(super) async fn reply(&self, request: &ClientRequest, content: Value) {
        let kind = request.message.msg_type.replace("_request", "_reply");
        let message = OutgoingMessage::new(request.message.channel, &kind, content);
        self.0.reply(request, message).await;
    }

    /// Sends an `input_request` to the sender of `request`; returns the id of the message.
    pub(super) async fn request_input(
        &self,
        request: &ClientRequest,
        prompt: &str,
        password: bool,
    ) -> String {
        let content = json!({ "prompt": prompt, "password": password });
        let message = OutgoingMessage::new(Channel::Stdin, "input_request", content);
        let id = message.id.clone();
        self.0.reply(request, message).await;
        id
    }
}
