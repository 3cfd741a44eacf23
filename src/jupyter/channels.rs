//! The client side of one kernel's sockets: one task per socket that reads, and one that writes.
//!
//! In: our messages. Out: the kernel's messages, in the order of each channel, and the loss of the connection.
//! Invariant: a message that is not signed with the key is dropped. Absent on purpose: the heartbeat; the process
//! that started a kernel sees its end, and a broken connection is reported.

use futures::StreamExt;
use jupyter_protocol::ConnectionInfo;
use jupyter_zmq_client::{
    Connection, RawMessage, RuntimeError, create_client_control_connection,
    create_client_iopub_connection, create_client_shell_connection_with_identity,
    create_client_stdin_connection_with_identity, peer_identity_for_session,
};
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};
use zeromq::{DealerSendHalf, Socket, SocketEvent, SocketRecv};

use super::connection::unique_id;
use super::message::{Channel, IncomingMessage, OutgoingMessage};
use crate::text::trace::WIRE;

#[derive(Debug)]
pub enum ChannelEvent {
    Message(Box<IncomingMessage>),
    /// The connection broke; the reason.
    Lost(String),
}

/// Sends messages to a kernel. Dropping it closes the sockets.
#[derive(Debug)]
pub struct ClientChannels {
    out: UnboundedSender<OutgoingMessage>,
}

impl ClientChannels {
    /// Sends a message. A message that cannot be sent is lost, and [`ChannelEvent::Lost`] reports that.
    pub fn send(&self, message: OutgoingMessage) {
        // Closed: `ChannelEvent::Lost` has been sent.
        let _ = self.out.send(message);
    }
}

/// Opens the sockets of a kernel, waiting until it listens. Needs a Tokio runtime, whose tasks read and write from
/// here on.
///
/// # Errors
/// The kernel refuses the connections.
pub async fn open_channels(
    info: &ConnectionInfo,
    heard: Sender<ChannelEvent>,
) -> Result<ClientChannels, RuntimeError> {
    let session = unique_id();
    let identity = peer_identity_for_session(&session)?;
    let mut shell =
        create_client_shell_connection_with_identity(info, &session, identity.clone()).await?;
    let control = create_client_control_connection(info, &session).await?;
    let stdin = create_client_stdin_connection_with_identity(info, &session, identity).await?;
    let iopub = create_client_iopub_connection(info, "", &session).await?;
    let mut news = shell.socket.monitor();
    let gone = heard.clone();
    tokio::spawn(async move {
        while let Some(event) = news.next().await {
            if matches!(event, SocketEvent::Disconnected(_)) {
                // The receiver may be gone.
                let _ = gone
                    .send(ChannelEvent::Lost("the kernel closed it".to_owned()))
                    .await;
                return;
            }
        }
    });
    let (shell, shell_in) = shell.split();
    let (control, control_in) = control.split();
    let (stdin, stdin_in) = stdin.split();
    tokio::spawn(read(shell_in, Channel::Shell, heard.clone()));
    tokio::spawn(read(control_in, Channel::Control, heard.clone()));
    tokio::spawn(read(stdin_in, Channel::Stdin, heard.clone()));
    tokio::spawn(read(iopub, Channel::Iopub, heard.clone()));
    let (out, orders) = unbounded_channel();
    tokio::spawn(write(shell, control, stdin, orders, heard));
    Ok(ClientChannels { out })
}

async fn read<S: SocketRecv>(
    mut connection: Connection<S>,
    channel: Channel,
    heard: Sender<ChannelEvent>,
) {
    loop {
        let message = match connection.socket.recv().await {
            Ok(message) => message,
            Err(error) => {
                // After a broken message the stream's framing is unknown, so the channel is closed as at its end.
                let _ = heard.send(ChannelEvent::Lost(error.to_string())).await;
                return;
            }
        };
        let Ok(raw) = RawMessage::from_multipart(message, &connection.mac) else {
            continue;
        };
        let parts = raw.jparts.iter().map(AsRef::as_ref);
        let Some(message) = IncomingMessage::from_parts(channel, parts) else {
            continue;
        };
        log::trace!(target: WIRE, "from the kernel: {}", message.label());
        if heard
            .send(ChannelEvent::Message(Box::new(message)))
            .await
            .is_err()
        {
            return;
        }
    }
}

async fn write(
    mut shell: Connection<DealerSendHalf>,
    mut control: Connection<DealerSendHalf>,
    mut stdin: Connection<DealerSendHalf>,
    mut orders: UnboundedReceiver<OutgoingMessage>,
    heard: Sender<ChannelEvent>,
) {
    while let Some(message) = orders.recv().await {
        log::trace!(target: WIRE, "to the kernel: {}", message.label());
        let connection = match message.channel {
            Channel::Control => &mut control,
            Channel::Stdin => &mut stdin,
            Channel::Shell | Channel::Iopub => &mut shell,
        };
        if let Err(error) = connection.send(message.into_wire()).await {
            let _ = heard.send(ChannelEvent::Lost(error.to_string())).await;
            return;
        }
    }
}
