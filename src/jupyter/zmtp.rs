//! The publishing side of ZMTP 3.0, for one subscriber's connection: greeting, subscriptions, messages as bytes.
//!
//! `zeromq` has no publisher that treats subscribers separately: one waits for each of them in turn, the other
//! drops messages by their number, whatever their length. Absent on purpose: security other than `NULL`, which
//! connection files cannot request, and the commands of ZMTP 3.1, which peers do not send to a 3.0.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use zeromq::ZmqMessage;

/// Maximum size in bytes of a subscriber's frame: a topic, or the properties of its socket.
const LONGEST: u64 = 64 << 10;

/// Maximum size of a frame's header in bytes.
const HEAD: usize = 9;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

const READY: &[u8] = b"\x05READY\x0bSocket-Type\x00\x00\x00\x04XPUB";
const MECHANISM: &[u8; 20] = b"NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SubscriberMessage {
    /// Subscribes to messages that begin with these bytes.
    Subscribe(Vec<u8>),
    Unsubscribe(Vec<u8>),
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

/// Exchanges greetings and the properties of the sockets.
///
/// # Errors
/// The peer is no subscriber, or is gone.
pub(super) async fn greet(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Result<()> {
    let mut ours = [0; 64];
    (ours[0], ours[9], ours[10]) = (0xff, 0x7f, 3);
    ours[12..32].copy_from_slice(MECHANISM);
    stream.write_all(&ours).await?;
    let mut theirs = [0; 64];
    stream.read_exact(&mut theirs[..11]).await?;
    if theirs[0] != 0xff || theirs[9] & 1 != 1 || theirs[10] < 3 {
        return Err(wrong("not ZMTP 3"));
    }
    stream.read_exact(&mut theirs[11..]).await?;
    if theirs[12..32] != MECHANISM[..] {
        return Err(wrong("not without security"));
    }
    let mut ready = Vec::new();
    frame(COMMAND, READY, &mut ready);
    stream.write_all(&ready).await?;
    let (flags, ready) = read(stream).await?;
    let type_of = |kind: &[u8]| {
        let property = [
            b"Socket-Type\x00\x00\x00".as_slice(),
            &[kind.len() as u8],
            kind,
        ]
        .concat();
        ready.windows(property.len()).any(|part| part == property)
    };
    match flags & COMMAND != 0
        && ready.starts_with(b"\x05READY")
        && (type_of(b"SUB") || type_of(b"XSUB"))
    {
        true => Ok(()),
        false => Err(wrong("not a subscriber")),
    }
}

/// Reads the subscriber's next message.
///
/// # Errors
/// The peer is gone, or breaks the protocol.
pub(super) async fn read_message(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<SubscriberMessage> {
    loop {
        let (flags, body) = read(stream).await?;
        match body.split_first() {
            Some((1, topic)) if flags == 0 => {
                return Ok(SubscriberMessage::Subscribe(topic.to_vec()));
            }
            Some((0, topic)) if flags == 0 => {
                return Ok(SubscriberMessage::Unsubscribe(topic.to_vec()));
            }
            // A publisher ignores all other messages.
            _ => {}
        }
    }
}

pub(super) fn bytes(message: &ZmqMessage) -> Vec<u8> {
    let last = message.len().saturating_sub(1);
    let size = message.iter().map(|part| HEAD + part.len()).sum();
    let mut bytes = Vec::with_capacity(size);
    for (at, part) in message.iter().enumerate() {
        frame(if at < last { MORE } else { 0 }, part, &mut bytes);
    }
    bytes
}

fn frame(flags: u8, body: &[u8], bytes: &mut Vec<u8>) {
    match u8::try_from(body.len()) {
        Ok(length) => bytes.extend([flags, length]),
        Err(_) => {
            bytes.push(flags | LONG);
            bytes.extend((body.len() as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(body);
}

/// Reads a frame: its flags, and its content.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<(u8, Vec<u8>)> {
    let flags = stream.read_u8().await?;
    let length = match flags & LONG {
        0 => u64::from(stream.read_u8().await?),
        _ => stream.read_u64().await?,
    };
    if length > LONGEST {
        return Err(wrong("too long for a subscriber"));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await?;
    Ok((flags & !LONG, body))
}
