//! ZMTP 3.0 over one connection, for a kernel and for a client: greeting, subscriptions, messages.
//!
//! The crate `zeromq` has no publisher that treats subscribers separately: one waits for each of them in turn, the
//! other drops messages by their number, whatever their length. All of its sockets take the length of a frame at
//! its word: nine bytes then ask for more memory than there is, which ends the process. Invariant: what has not
//! arrived takes no memory. Absent on purpose: security other than `NULL`, which connection files cannot request,
//! and the commands of ZMTP 3.1, which peers do not send to a 3.0.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::signing::Parts;

/// A connection of any kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Maximum size in bytes of a message, and number of its parts.
const MOST: u64 = 1 << 30;
const MOST_PARTS: usize = 1 << 20;

/// Maximum size in bytes of a subscriber's frame: a topic, or the properties of its socket.
const LONGEST: u64 = 64 << 10;

/// Maximum size of a frame's header in bytes.
const HEAD: usize = 9;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

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

/// The properties of a socket, which its peer reads.
fn ready(kind: &[u8], identity: &[u8]) -> Vec<u8> {
    let mut ready = b"\x05READY".to_vec();
    for (name, value) in [(b"Socket-Type".as_slice(), kind), (b"Identity", identity)] {
        if !value.is_empty() {
            ready.push(name.len() as u8);
            ready.extend(name);
            ready.extend((value.len() as u32).to_be_bytes());
            ready.extend(value);
        }
    }
    ready
}

/// A property that a peer told; the case of its name does not matter.
fn property<'a>(ready: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = ready.strip_prefix(b"\x05READY")?;
    loop {
        let (length, more) = rest.split_first()?;
        let (key, more) = more.split_at_checked(usize::from(*length))?;
        let (length, more) = more.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (value, more) = more.split_at_checked(length)?;
        if key.eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = more;
    }
}

/// Exchanges greetings and the properties of the sockets, with a peer of one of these kinds; returns its properties.
async fn greet(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    ours: &[u8],
    peers: &[&[u8]],
) -> Result<Vec<u8>> {
    let mut greeting = [0; 64];
    (greeting[0], greeting[9], greeting[10]) = (0xff, 0x7f, 3);
    greeting[12..32].copy_from_slice(MECHANISM);
    stream.write_all(&greeting).await?;
    let mut theirs = [0; 64];
    stream.read_exact(&mut theirs[..11]).await?;
    if theirs[0] != 0xff || theirs[9] & 1 != 1 || theirs[10] < 3 {
        return Err(wrong("it does not speak ZMTP 3"));
    }
    stream.read_exact(&mut theirs[11..]).await?;
    if theirs[12..32] != MECHANISM[..] {
        return Err(wrong("it asks for another security than none"));
    }
    let mut bytes = Vec::new();
    frame(COMMAND, ours, &mut bytes);
    stream.write_all(&bytes).await?;
    let (flags, theirs) = read(stream, LONGEST).await?;
    let kind = property(&theirs, b"Socket-Type");
    match flags & COMMAND != 0 && kind.is_some_and(|kind| peers.contains(&kind)) {
        true => Ok(theirs),
        false => Err(wrong("it is a socket of another kind")),
    }
}

/// Greets a subscriber, as a publisher.
///
/// # Errors
/// The peer is no subscriber, or is gone.
pub(super) async fn greet_subscriber(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> Result<()> {
    let peers = [b"SUB".as_slice(), b"XSUB"];
    greet(stream, &ready(b"XPUB", b""), &peers).await.map(drop)
}

/// Greets a client, as a kernel that takes requests; returns the name that the client gives itself, empty for none.
///
/// # Errors
/// The peer sends no requests, or is gone.
pub(super) async fn greet_client(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> Result<Vec<u8>> {
    let peers = [b"DEALER".as_slice(), b"REQ", b"ROUTER"];
    let theirs = greet(stream, &ready(b"ROUTER", b""), &peers).await?;
    let name = property(&theirs, b"Identity").unwrap_or_default();
    Ok(name.to_vec())
}

/// Greets a kernel, as the one who sends it requests under this name; empty: any.
///
/// # Errors
/// The peer takes no requests, or is gone.
pub(super) async fn greet_router(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    identity: &str,
) -> Result<()> {
    let ours = ready(b"DEALER", identity.as_bytes());
    let peers = [b"ROUTER".as_slice(), b"DEALER", b"REP"];
    greet(stream, &ours, &peers).await.map(drop)
}

/// Greets a publisher, and subscribes to all it says.
///
/// # Errors
/// The peer is no publisher, or is gone.
pub(super) async fn subscribe(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Result<()> {
    greet(stream, &ready(b"SUB", b""), &[b"PUB", b"XPUB"]).await?;
    let mut all = Vec::new();
    frame(0, &[1], &mut all);
    stream.write_all(&all).await
}

/// Reads the next message; commands are skipped.
///
/// # Errors
/// The peer is gone, or sends more than a message may have.
pub(super) async fn read_message(stream: &mut (impl AsyncRead + Unpin)) -> Result<Parts> {
    let (mut room, mut message) = (MOST, Parts::new());
    loop {
        let (flags, part) = read(stream, room).await?;
        if flags & COMMAND != 0 {
            continue;
        }
        room -= part.len() as u64;
        message.push(part);
        if flags & MORE == 0 {
            return Ok(message);
        }
        if message.len() >= MOST_PARTS {
            return Err(wrong("a message of too many parts"));
        }
    }
}

/// Reads the subscriber's next message.
///
/// # Errors
/// The peer is gone, or breaks the protocol.
pub(super) async fn read_subscription(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<SubscriberMessage> {
    loop {
        let (flags, body) = read(stream, LONGEST).await?;
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

pub(super) fn bytes(message: &[Vec<u8>]) -> Vec<u8> {
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

/// Reads a frame of at most so many bytes: its flags, and its content.
async fn read(stream: &mut (impl AsyncRead + Unpin), most: u64) -> Result<(u8, Vec<u8>)> {
    let flags = stream.read_u8().await?;
    let length = match flags & LONG {
        0 => u64::from(stream.read_u8().await?),
        _ => stream.read_u64().await?,
    };
    if length > most {
        return Err(wrong("a message that is too long"));
    }
    let mut body = Vec::with_capacity(length.min(1 << 16) as usize);
    let arrived = stream.take(length).read_to_end(&mut body).await?;
    match arrived as u64 == length {
        true => Ok((flags & !LONG, body)),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(bytes: &[u8]) -> (Vec<Parts>, ErrorKind) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.build().unwrap().block_on(async {
            let (mut found, mut rest) = (Vec::new(), bytes);
            loop {
                match read_message(&mut rest).await {
                    Ok(message) => found.push(message),
                    Err(error) => return (found, error.kind()),
                }
            }
        })
    }

    #[test]
    fn messages_are_read_and_commands_skipped() {
        let (found, end) = messages(b"\x04\x05\x04PING\x01\x01a\x02\0\0\0\0\0\0\0\x01b\0\0");
        let parts = |parts: &[&[u8]]| parts.iter().map(|part| part.to_vec()).collect::<Vec<_>>();
        assert_eq!(found, [parts(&[b"a", b"b"]), parts(&[b""])]);
        assert_eq!(end, ErrorKind::UnexpectedEof);
    }

    #[test]
    fn the_length_of_a_frame_is_not_taken_at_its_word() {
        for length in [1 << 20, 1 << 29, (1 << 30) + 1, 1 << 40, 1 << 62, u64::MAX] {
            let mut bytes = vec![LONG];
            bytes.extend(length.to_be_bytes());
            bytes.extend(b"a few");
            let expected = match length > MOST {
                true => ErrorKind::InvalidData,
                false => ErrorKind::UnexpectedEof,
            };
            assert_eq!(messages(&bytes), (Vec::new(), expected), "{length}");
        }
    }
}
