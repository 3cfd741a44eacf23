//! The client side of one kernel's sockets: one task per socket that reads, and one that writes.
//!
//! In: our messages. Out: the kernel's messages, in the order of each channel, and the loss of the connection.
//! Invariant: a message that is not signed with the key is dropped. Absent on purpose: the heartbeat; the process
//! that started a kernel sees its end, and a broken connection is reported.

use std::io;
use std::time::Duration;

use jupyter_protocol::ConnectionInfo;
use tokio::io::{AsyncWriteExt, BufReader, ReadHalf, WriteHalf, split};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};

use super::connection::unique_id;
use super::message::{Channel, IncomingMessage, OutgoingMessage};
use super::signing::Signing;
use super::zmtp::{self, Stream};
use crate::text::trace::WIRE;

/// Time for a kernel to listen and to greet.
const OPENS: Duration = Duration::from_secs(30);
/// Time between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(20);

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
) -> io::Result<ClientChannels> {
    let opening = async {
        let session = unique_id();
        let (mut shell, mut control) = (
            connect(&info.shell_url()).await,
            connect(&info.control_url()).await,
        );
        let (mut stdin, mut iopub) = (
            connect(&info.stdin_url()).await,
            connect(&info.iopub_url()).await,
        );
        // One name: a question on stdin goes to whoever sent the cell on shell.
        zmtp::greet_router(&mut shell, &session).await?;
        zmtp::greet_router(&mut stdin, &session).await?;
        zmtp::greet_router(&mut control, "").await?;
        zmtp::subscribe(&mut iopub).await?;
        Ok((session, shell, control, stdin, iopub))
    };
    let too_late = |_| {
        let why = format!("no connection within {} s", OPENS.as_secs());
        io::Error::new(io::ErrorKind::TimedOut, why)
    };
    let opened: io::Result<_> = timeout(OPENS, opening).await.map_err(too_late)?;
    let (session, shell, control, stdin, iopub) = opened?;
    let signing = Signing::new(&info.key, session);
    let of = |stream, channel| {
        let (reads, writes) = split(stream);
        tokio::spawn(read(reads, signing.clone(), channel, heard.clone()));
        writes
    };
    let shell = of(shell, Channel::Shell);
    let control = of(control, Channel::Control);
    let stdin = of(stdin, Channel::Stdin);
    drop(of(iopub, Channel::Iopub));
    let (out, orders) = unbounded_channel();
    tokio::spawn(write([shell, control, stdin], signing, orders, heard));
    Ok(ClientChannels { out })
}

/// Connects to an address once somebody listens there.
async fn connect(url: &str) -> Box<dyn Stream> {
    let (scheme, place) = url.split_once("://").unwrap_or_default();
    loop {
        let opened: io::Result<Box<dyn Stream>> = match scheme {
            "ipc" => UnixStream::connect(place).await.map(|it| Box::new(it) as _),
            _ => {
                async {
                    let stream = TcpStream::connect(place.replace("*", "127.0.0.1")).await?;
                    stream.set_nodelay(true)?;
                    Ok(Box::new(stream) as _)
                }
                .await
            }
        };
        match opened {
            Ok(stream) => return stream,
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn read(
    from: ReadHalf<Box<dyn Stream>>,
    signing: Signing,
    channel: Channel,
    heard: Sender<ChannelEvent>,
) {
    let mut from = BufReader::new(from);
    loop {
        let message = match zmtp::read_message(&mut from).await {
            Ok(message) => message,
            Err(error) => {
                // After a broken message the stream's framing is unknown, so the channel is closed as at its end.
                let why = match error.kind() {
                    io::ErrorKind::UnexpectedEof => "the kernel closed it".to_owned(),
                    _ => error.to_string(),
                };
                // The receiver may be gone.
                let _ = heard.send(ChannelEvent::Lost(why)).await;
                return;
            }
        };
        let Some((_, message)) = signing.open(channel, message) else {
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
    [mut shell, mut control, mut stdin]: [WriteHalf<Box<dyn Stream>>; 3],
    signing: Signing,
    mut orders: UnboundedReceiver<OutgoingMessage>,
    heard: Sender<ChannelEvent>,
) {
    while let Some(message) = orders.recv().await {
        log::trace!(target: WIRE, "to the kernel: {}", message.label());
        let to = match message.channel {
            Channel::Control => &mut control,
            Channel::Stdin => &mut stdin,
            Channel::Shell | Channel::Iopub => &mut shell,
        };
        let bytes = zmtp::bytes(&signing.seal(Vec::new(), &message));
        if let Err(error) = to.write_all(&bytes).await {
            let _ = heard.send(ChannelEvent::Lost(error.to_string())).await;
            return;
        }
    }
}
