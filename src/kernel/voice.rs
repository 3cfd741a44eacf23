//! What the kernel says: replies, what everybody sees, questions; each with the header of what led to it.

use serde_json::{Value, json};

use crate::jupyter::{Channel, Host, Outgoing, Request};

/// Speaks for the kernel.
#[derive(Debug, Clone)]
pub(super) struct Voice(pub(super) Host);

impl Voice {
    /// Tells everybody.
    pub(super) async fn publish(&self, parent: Option<&Value>, kind: &str, content: Value) {
        let message = Outgoing::new(Channel::Iopub, kind, content);
        self.0.publish(parent, message).await;
    }

    /// Tells everybody, with what is said of it and what is too binary for JSON.
    pub(super) async fn publish_whole(&self, parent: Option<&Value>, message: Outgoing) {
        self.0.publish(parent, message).await;
    }

    /// The kernel works on this, or has done so: `busy`, `idle`.
    pub(super) async fn state(&self, request: &Request, state: &str) {
        let content = json!({ "execution_state": state });
        self.publish(Some(request.header()), "status", content)
            .await;
    }

    /// Answers a request on its channel.
    pub(super) async fn reply(&self, request: &Request, content: Value) {
        let kind = request.message.kind.replace("_request", "_reply");
        let message = Outgoing::new(request.message.channel, &kind, content);
        self.0.reply(request, message).await;
    }

    /// Asks whoever sent a request for a line; the name of the question.
    pub(super) async fn ask(&self, request: &Request, prompt: &str, password: bool) -> String {
        let content = json!({ "prompt": prompt, "password": password });
        let message = Outgoing::new(Channel::Stdin, "input_request", content);
        let id = message.id.clone();
        self.0.reply(request, message).await;
        id
    }
}
