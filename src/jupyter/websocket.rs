//! The websocket of one kernel behind a gateway.
//!
//! In: a gateway, the id of a kernel, our messages. Out: the kernel's messages. Invariants: the newer frame format
//! is used where the gateway agrees to it; a connection that stays silent despite our ping is broken.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use rustix::net::sockopt::set_tcp_quickack;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Response};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::channels::ChannelEvent;
use super::gateway::{Gateway, GatewayError};
use super::message::{IncomingMessage, OutgoingMessage};
use super::tls_transport::server_name;
use super::websocket_frames::{self as frames, Frame, V1};
use crate::text::trace::WIRE;

const OPENS: Duration = Duration::from_secs(10);
/// Interval between pings.
const ASKS: Duration = Duration::from_secs(15);
/// A connection silent for this long is broken.
const SILENT: Duration = Duration::from_secs(50);
/// Maximum size of a message in bytes.
const MOST: usize = 512 << 20;

trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin + std::fmt::Debug {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + std::fmt::Debug> ByteStream for T {}

#[derive(Debug)]
pub struct Socket {
    stream: WebSocketStream<Box<dyn ByteStream>>,
    /// Descriptor of the same connection, below TLS.
    line: OwnedFd,
    session: String,
    newer: bool,
}

/// Opens the connection to a kernel, for the client session of this name: a later connection with the same name
/// receives the messages sent in between.
///
/// # Errors
/// The connection cannot be opened.
pub async fn open(gateway: &Gateway, kernel: &str, session: &str) -> Result<Socket, GatewayError> {
    let unreachable = |why: String| gateway.unreachable(&why);
    let opening = async {
        match connect(gateway, kernel, session, true).await {
            // The gateway knows only the older format.
            Err(Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(_))) => {
                connect(gateway, kernel, session, false).await
            }
            opened => opened,
        }
    };
    match timeout(OPENS, opening).await {
        Ok(Ok(socket)) => Ok(socket),
        Ok(Err(Error::Http(answer))) => Err(refusal(gateway, kernel, &answer)),
        Ok(Err(error)) => Err(unreachable(error.to_string())),
        Err(_) => Err(unreachable(format!(
            "no websocket within {} s",
            OPENS.as_secs()
        ))),
    }
}

fn refusal(gateway: &Gateway, kernel: &str, answer: &Response<Option<Vec<u8>>>) -> GatewayError {
    let url = gateway.url().to_owned();
    match answer.status().as_u16() {
        status @ (401 | 403) => GatewayError::Refused {
            url,
            status,
            said: String::new(),
        },
        404 => GatewayError::Missing {
            url,
            what: kernel.to_owned(),
        },
        status => GatewayError::Failed {
            url,
            status,
            said: "it did not open a websocket".to_owned(),
        },
    }
}

async fn connect(
    gateway: &Gateway,
    kernel: &str,
    session: &str,
    newer: bool,
) -> Result<Socket, Error> {
    let (scheme, address) = gateway.url().split_once("://").unwrap_or_default();
    let secure = scheme == "https";
    let place = address.split('/').next().unwrap_or_default();
    let port = place.rsplit_once(':');
    let port = port.filter(|(_, port)| port.parse::<u16>().is_ok());
    let (host, place) = match (port, secure) {
        (Some((host, _)), _) => (host, place.to_owned()),
        (None, true) => (place, format!("{place}:443")),
        (None, false) => (place, format!("{place}:80")),
    };
    let stream = TcpStream::connect(place).await?;
    stream.set_nodelay(true)?;
    let line = stream.as_fd().try_clone_to_owned()?;
    let stream: Box<dyn ByteStream> = match secure {
        false => Box::new(stream),
        true => {
            let failed = std::io::Error::other::<String>;
            let connector = TlsConnector::from(gateway.trust().config().map_err(failed)?);
            let name = server_name(host).map_err(failed)?;
            Box::new(connector.connect(name, stream).await?)
        }
    };
    let scheme = if secure { "wss" } else { "ws" };
    let url = format!("{scheme}://{address}/api/kernels/{kernel}/channels?session_id={session}");
    let mut request = url.into_client_request()?;
    let headers = request.headers_mut();
    if newer {
        headers.insert("Sec-WebSocket-Protocol", HeaderValue::from_static(V1));
    }
    if let Some(value) = gateway.authorization() {
        headers.insert("Authorization", HeaderValue::from_str(&value)?);
    }
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MOST))
        .max_frame_size(Some(MOST));
    let (stream, _) = client_async_with_config(request, stream, Some(limits)).await?;
    Ok(Socket {
        stream,
        line,
        session: session.to_owned(),
        newer,
    })
}

impl Socket {
    /// Carries messages both ways until the connection breaks, and returns the reason; `None`: our side closed it.
    pub async fn carry(
        mut self,
        orders: &mut UnboundedReceiver<OutgoingMessage>,
        heard: &Sender<ChannelEvent>,
    ) -> Option<String> {
        let mut clock = interval(ASKS);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = Instant::now();
        loop {
            let out = tokio::select! {
                order = orders.recv() => self.framed(&order?),
                _ = clock.tick() => {
                    if last.elapsed() > SILENT {
                        return Some(format!("it was silent for {} s", SILENT.as_secs()));
                    }
                    Message::Ping(Bytes::new())
                }
                frame = self.stream.next() => {
                    last = Instant::now();
                    // Gateways hold the next small message back until this one is acknowledged, which the system
                    // delays by 40 ms. The option does not last, so it is set for every frame; where it fails,
                    // messages still arrive.
                    let _ = set_tcp_quickack(&self.line, true);
                    match frame {
                        None | Some(Ok(Message::Close(_))) => return Some("the gateway closed it".to_owned()),
                        Some(Err(error)) => return Some(error.to_string()),
                        Some(Ok(frame)) => if let Some(message) = self.read(&frame) {
                            log::trace!(target: WIRE, "from the gateway: {}", message.label());
                            heard.send(ChannelEvent::Message(Box::new(message))).await.ok()?;
                        },
                    }
                    continue;
                }
            };
            match timeout(SILENT, self.stream.send(out)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Some(error.to_string()),
                Err(_) => return Some("the gateway has stopped reading".to_owned()),
            }
        }
    }

    fn framed(&self, message: &OutgoingMessage) -> Message {
        log::trace!(target: WIRE, "to the gateway: {}", message.label());
        let frame = match self.newer {
            true => frames::v1(message, &self.session),
            false => frames::legacy(message, &self.session),
        };
        match frame {
            Frame::Text(text) => Message::Text(text.into()),
            Frame::Binary(bytes) => Message::Binary(bytes.into()),
        }
    }

    /// Frames that are no message are dropped, as on the sockets of a kernel.
    fn read(&self, frame: &Message) -> Option<IncomingMessage> {
        match frame {
            Message::Text(text) => frames::parse_text(text),
            Message::Binary(bytes) if self.newer => frames::parse_v1(bytes),
            Message::Binary(bytes) => frames::parse_legacy(bytes),
            _ => None,
        }
    }
}
