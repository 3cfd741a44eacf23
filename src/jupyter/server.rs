//! The server side of the sockets of a kernel: it listens, and serves every client that has the key.
//!
//! In: requests of any number of clients, each with the identities to reply to. Out: replies, and iopub messages.
//! Invariants: a message that is not signed with the key, or cannot be parsed, is dropped and the next one read;
//! every request can be answered, since missing header fields are filled in. Absent on purpose: what requests mean.

use jupyter_protocol::ConnectionInfo;
use jupyter_zmq_client::{
    Connection, KernelHeartbeatConnection, RawMessage, RouterRecvConnection, RouterSendConnection,
    RuntimeError, create_kernel_control_connection, create_kernel_heartbeat_connection,
    create_kernel_shell_connection, create_kernel_stdin_connection,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use zeromq::{SocketRecv, SocketSend};

use super::connection::unique_id;
use super::iopub::{IopubSocket, Listener, Published, publish};
use super::message::{Channel, IncomingMessage, OutgoingMessage};

/// Maximum number of requests in a queue; further ones stay in the clients' sockets.
const WAITING: usize = 16_384;
const UNSENT: usize = 64;

#[derive(Debug)]
pub struct ClientRequest {
    pub message: IncomingMessage,
    /// ZeroMQ identities of the client, for the reply.
    identities: Vec<Vec<u8>>,
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
    identities: Vec<Vec<u8>>,
    message: OutgoingMessage,
}

/// Listens at the addresses of the connection file. Needs a Tokio runtime, whose tasks read and write from here on.
///
/// # Errors
/// An address is not available.
pub async fn listen(info: &ConnectionInfo) -> Result<(KernelServer, ClientRequests), RuntimeError> {
    let session = unique_id();
    let shell = create_kernel_shell_connection(info, &session).await?;
    let control = create_kernel_control_connection(info, &session).await?;
    let stdin = create_kernel_stdin_connection(info, &session).await?;
    let listener = Listener::open(info).await?;
    let iopub = Connection {
        socket: IopubSocket::default(),
        mac: shell.mac.clone(),
        session_id: session,
    };
    let heart = create_kernel_heartbeat_connection(info).await?;
    let (to_shell, from_shell) = shell.split();
    let (to_control, from_control) = control.split();
    let (to_stdin, from_stdin) = stdin.split();
    let (replies, unsent) = channel(UNSENT);
    let (published, unpublished) = channel(UNSENT);
    let requests = ClientRequests {
        shell: reader(from_shell, Channel::Shell),
        control: reader(from_control, Channel::Control),
        stdin: reader(from_stdin, Channel::Stdin),
    };
    tokio::spawn(write(to_shell, to_control, to_stdin, unsent));
    tokio::spawn(publish(listener, iopub, unpublished));
    tokio::spawn(beat(heart));
    Ok((KernelServer { replies, published }, requests))
}

fn reader(connection: RouterRecvConnection, channel_of: Channel) -> Receiver<ClientRequest> {
    let (sender, receiver) = channel(WAITING);
    tokio::spawn(read(connection, channel_of, sender));
    receiver
}

async fn read(mut connection: RouterRecvConnection, channel: Channel, to: Sender<ClientRequest>) {
    // The sockets themselves drop peers that break the protocol; an error is the end of the socket.
    while let Ok(message) = connection.socket.recv().await {
        let Ok(raw) = RawMessage::from_multipart(message, &connection.mac) else {
            continue;
        };
        let parts = raw.jparts.iter().map(AsRef::as_ref);
        let Some(message) = IncomingMessage::from_parts(channel, parts).and_then(answerable) else {
            continue;
        };
        let identities = raw.zmq_identities.iter().map(|part| part.to_vec());
        let request = ClientRequest {
            message,
            identities: identities.collect(),
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
    mut shell: RouterSendConnection,
    mut control: RouterSendConnection,
    mut stdin: RouterSendConnection,
    mut replies: Receiver<Reply>,
) {
    while let Some(Reply {
        identities,
        message,
    }) = replies.recv().await
    {
        let connection = match message.channel {
            Channel::Control => &mut control,
            Channel::Stdin => &mut stdin,
            Channel::Shell | Channel::Iopub => &mut shell,
        };
        let mut words = message.into_wire();
        words.zmq_identities = identities.into_iter().map(Into::into).collect();
        // The client may be gone.
        drop(connection.send(words).await);
    }
}

async fn beat(heart: KernelHeartbeatConnection) {
    let mut socket = heart.socket;
    loop {
        match socket.recv().await {
            // The client may be gone before its reply; that is no failure.
            Ok(message) => drop(socket.send(message).await),
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
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
