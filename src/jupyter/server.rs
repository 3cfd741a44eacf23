//! The server side of the sockets of a kernel: it listens, and serves every client that has the key.
//!
//! In: requests of any number of clients, each with the identities to reply to. Out: replies, and iopub messages.
//! Invariants: a message that is not signed with the key, or cannot be parsed, is dropped and the next one read;
//! every request can be answered, since missing header fields are filled in. Absent on purpose: what requests mean.

use std::io;

use jupyter_protocol::ConnectionInfo;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::connection::unique_id;
use super::iopub::{IopubSocket, Published, publish};
use super::listener::Listener;
use super::message::{Channel, IncomingMessage, OutgoingMessage};
use super::router::{self, Router};
use super::signing::{Parts, Signing};

/// Maximum number of requests in a queue; further ones stay in the clients' sockets.
const WAITING: usize = 16_384;
const UNSENT: usize = 64;
/// Maximum number of messages on their way to the subscribers' queues; printed text comes in messages of up to 256 KiB.
const UNPUBLISHED: usize = 4;

#[derive(Debug)]
pub struct ClientRequest {
    pub message: IncomingMessage,
    /// ZeroMQ identities of the client, for the reply.
    identities: Parts,
}

/// Requests by channel, each in its own order.
#[derive(Debug)]
pub struct ClientRequests {
    /// Requests processed in order.
    pub shell: Receiver<ClientRequest>,
    /// Requests processed beside a running cell.
    pub control: Receiver<ClientRequest>,
    /// Input replies.
    pub stdin: Receiver<ClientRequest>,
}

/// Sends the kernel's messages; clones send for the same kernel.
#[derive(Debug, Clone)]
pub struct KernelServer {
    replies: Sender<Reply>,
    published: Sender<Published>,
}

#[derive(Debug)]
struct Reply {
    identities: Parts,
    message: OutgoingMessage,
}

/// Listens at the addresses of the connection file. Needs a Tokio runtime, whose tasks read and write from here on.
///
/// # Errors
/// An address is not available.
pub async fn listen(info: &ConnectionInfo) -> io::Result<(KernelServer, ClientRequests)> {
    let signing = Signing::new(&info.key, unique_id());
    let (shell, from_shell) = router::serve(Listener::open(&info.shell_url()).await?);
    let (control, from_control) = router::serve(Listener::open(&info.control_url()).await?);
    let (stdin, from_stdin) = router::serve(Listener::open(&info.stdin_url()).await?);
    let (heart, beats) = router::serve(Listener::open(&info.hb_url()).await?);
    let listener = Listener::open(&info.iopub_url()).await?;
    let requests = ClientRequests {
        shell: reader(from_shell, &signing, Channel::Shell),
        control: reader(from_control, &signing, Channel::Control),
        stdin: reader(from_stdin, &signing, Channel::Stdin),
    };
    let (replies, unsent) = channel(UNSENT);
    let (published, unpublished) = channel(UNPUBLISHED);
    tokio::spawn(write([shell, control, stdin], signing.clone(), unsent));
    let iopub = IopubSocket::default();
    tokio::spawn(publish(listener, iopub, signing, unpublished));
    tokio::spawn(beat(heart, beats));
    Ok((KernelServer { replies, published }, requests))
}

fn reader(from: Receiver<Parts>, signing: &Signing, of: Channel) -> Receiver<ClientRequest> {
    let (sender, receiver) = channel(WAITING);
    tokio::spawn(read(from, signing.clone(), of, sender));
    receiver
}

async fn read(
    mut from: Receiver<Parts>,
    signing: Signing,
    channel: Channel,
    to: Sender<ClientRequest>,
) {
    while let Some(parts) = from.recv().await {
        let Some((identities, message)) = signing.open(channel, parts) else {
            continue;
        };
        let Some(message) = answerable(message) else {
            continue;
        };
        let request = ClientRequest {
            message,
            identities,
        };
        if to.send(request).await.is_err() {
            return;
        }
    }
}

/// Returns the message if it can be answered: it needs an id, and a header that clients accept back.
fn answerable(mut message: IncomingMessage) -> Option<IncomingMessage> {
    message.header.get("msg_id")?.as_str()?;
    let header = message.header.as_object_mut()?;
    for name in ["username", "session", "version"] {
        if !header.get(name).is_some_and(Value::is_string) {
            header.insert(name.to_owned(), json!(""));
        }
    }
    Some(message)
}

async fn write(
    [shell, control, stdin]: [Router; 3],
    signing: Signing,
    mut replies: Receiver<Reply>,
) {
    while let Some(Reply {
        identities,
        message,
    }) = replies.recv().await
    {
        let to = match message.channel {
            Channel::Control => &control,
            Channel::Stdin => &stdin,
            Channel::Shell | Channel::Iopub => &shell,
        };
        to.send(&signing.seal(identities, &message)).await;
    }
}

/// Sends back what comes.
async fn beat(heart: Router, mut beats: Receiver<Parts>) {
    while let Some(beat) = beats.recv().await {
        heart.send(&beat).await;
    }
}

impl ClientRequest {
    pub fn header(&self) -> &Value {
        &self.message.header
    }

    /// Returns the id of the client's session.
    pub fn session(&self) -> &str {
        self.message.header["session"].as_str().unwrap_or_default()
    }
}

impl KernelServer {
    /// Publishes to all clients, with this header as the parent.
    pub async fn publish(&self, parent: Option<&Value>, kind: &str, content: Value) {
        let message = OutgoingMessage::new(Channel::Iopub, kind, content);
        self.publish_message(parent, message).await;
    }

    /// Publishes a message with its metadata and buffers.
    pub async fn publish_message(&self, parent: Option<&Value>, message: OutgoingMessage) {
        let message = OutgoingMessage {
            parent: parent.cloned(),
            ..message
        };
        // The task that sends lives as long as the runtime.
        let _ = self.published.send(Published(message)).await;
    }

    /// Publishes the execution state `busy` or `idle` for a request.
    pub async fn publish_status(&self, request: &ClientRequest, state: &str) {
        let content = json!({ "execution_state": state });
        self.publish(Some(request.header()), "status", content)
            .await;
    }

    /// Answers a request on its channel.
    pub async fn reply(&self, request: &ClientRequest, content: Value) {
        let kind = request.message.msg_type.replace("_request", "_reply");
        self.send(request, request.message.channel, &kind, content)
            .await;
    }

    /// Sends an `input_request` to the sender of `request`; returns the id of the message.
    pub async fn request_input(
        &self,
        request: &ClientRequest,
        prompt: &str,
        password: bool,
    ) -> String {
        let content = json!({ "prompt": prompt, "password": password });
        self.send(request, Channel::Stdin, "input_request", content)
            .await
    }

    /// Sends a message to the sender of `request`; returns its id.
    async fn send(
        &self,
        request: &ClientRequest,
        channel: Channel,
        kind: &str,
        content: Value,
    ) -> String {
        let mut message = OutgoingMessage::new(channel, kind, content);
        message.parent = Some(request.message.header.clone());
        let id = message.id.clone();
        let identities = request.identities.clone();
        let reply = Reply {
            identities,
            message,
        };
        // The task that sends lives as long as the runtime.
        let _ = self.replies.send(reply).await;
        id
    }
}
