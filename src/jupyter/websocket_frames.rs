//! Messages as frames of a gateway's websocket, in both formats.
//!
//! In: our messages, frames. Out: frames, messages. The newer format is `v1.kernel.websocket.jupyter.org`: a count
//! and offsets of eight bytes, little endian, then channel, header, parent, metadata, content, buffers. The older
//! one is a JSON text; with buffers, a count and offsets of four bytes, big endian, then JSON, then the buffers.
//! Invariant: offsets are checked, so nothing beyond the frame is read.

use serde_json::{Value, json};

use super::message::{Channel, IncomingMessage, OutgoingMessage};

/// Name of the newer format.
pub(super) const V1: &str = "v1.kernel.websocket.jupyter.org";

#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Text(String),
    Binary(Vec<u8>),
}

/// Encodes a message of the client session of this name, in the newer format.
pub(super) fn v1(message: &OutgoingMessage, session: &str) -> Frame {
    let texts = message.texts(session);
    let mut parts = vec![message.channel.name().as_bytes()];
    parts.extend(texts.iter().map(String::as_bytes));
    parts.extend(message.buffers.iter().map(Vec::as_slice));
    let count = parts.len() + 1;
    let mut at = 8 * (count + 1);
    let mut frame = (count as u64).to_le_bytes().to_vec();
    frame.extend((at as u64).to_le_bytes());
    for part in &parts {
        at += part.len();
        frame.extend((at as u64).to_le_bytes());
    }
    frame.extend(parts.concat());
    Frame::Binary(frame)
}

/// Encodes a message in the older format.
pub(super) fn legacy(message: &OutgoingMessage, session: &str) -> Frame {
    let [header, parent, metadata, content] = message.texts(session);
    let channel = message.channel.name();
    let text = format!(
        r#"{{"header":{header},"parent_header":{parent},"metadata":{metadata},"content":{content},"#
    ) + &format!(r#""channel":"{channel}","buffers":[]}}"#);
    if message.buffers.is_empty() {
        return Frame::Text(text);
    }
    let mut parts = vec![text.as_bytes()];
    parts.extend(message.buffers.iter().map(Vec::as_slice));
    let mut at = 4 * (parts.len() + 1);
    let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
    let mut frame = short(parts.len()).to_vec();
    for part in &parts {
        frame.extend(short(at));
        at += part.len();
    }
    frame.extend(parts.concat());
    Frame::Binary(frame)
}

/// Parses a binary frame of the newer format; `None` when it is no message.
pub(super) fn parse_v1(frame: &[u8]) -> Option<IncomingMessage> {
    let number = |at: usize| {
        let bytes = frame.get(8 * at..8 * (at + 1))?;
        usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let count = number(0).filter(|count| (6..frame.len() / 8).contains(count))?;
    let offsets: Option<Vec<usize>> = (1..=count).map(number).collect();
    let offsets = offsets?;
    let parts: Option<Vec<&[u8]>> = offsets
        .windows(2)
        .map(|ends| frame.get(ends[0]..ends[1]))
        .collect();
    let parts = parts?;
    let channel = Channel::from_name(std::str::from_utf8(parts.first()?).ok()?)?;
    IncomingMessage::from_parts(channel, parts[1..].iter().copied())
}

/// Parses a text frame of the older format; `None` when it is no message.
pub(super) fn parse_text(text: &str) -> Option<IncomingMessage> {
    parse_json(text.as_bytes(), Vec::new())
}

/// Parses a binary frame of the older format; `None` when it is no message.
pub(super) fn parse_legacy(frame: &[u8]) -> Option<IncomingMessage> {
    let number = |at: usize| {
        let bytes = frame.get(4 * at..4 * (at + 1))?;
        usize::try_from(u32::from_be_bytes(bytes.try_into().ok()?)).ok()
    };
    let count = number(0).filter(|count| (1..frame.len() / 4).contains(count))?;
    let offsets: Option<Vec<usize>> = (1..=count).map(number).collect();
    let mut offsets = offsets?;
    offsets.push(frame.len());
    let parts: Option<Vec<&[u8]>> = offsets
        .windows(2)
        .map(|ends| frame.get(ends[0]..ends[1]))
        .collect();
    let parts = parts?;
    parse_json(
        parts[0],
        parts[1..].iter().map(|part| part.to_vec()).collect(),
    )
}

fn parse_json(text: &[u8], buffers: Vec<Vec<u8>>) -> Option<IncomingMessage> {
    let Ok(Value::Object(mut message)) = crate::text::json::parse(text) else {
        return None;
    };
    let channel = Channel::from_name(message.get("channel")?.as_str()?)?;
    let mut part = |name: &str| message.remove(name).unwrap_or_else(|| json!({}));
    let parts = [
        part("header"),
        part("parent_header"),
        part("metadata"),
        part("content"),
    ];
    IncomingMessage::from_values(channel, parts, buffers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(buffers: &[&[u8]]) -> OutgoingMessage {
        let mut message =
            OutgoingMessage::new(Channel::Shell, "comm_msg", json!({"data": "\u{e9}"}));
        message.parent = Some(json!({"msg_id": "before"}));
        message.buffers = buffers.iter().map(|buffer| buffer.to_vec()).collect();
        message
    }

    fn checked(found: Option<IncomingMessage>, buffers: &[&[u8]]) {
        let found = found.unwrap();
        assert_eq!(
            (found.channel, found.msg_type.as_str()),
            (Channel::Shell, "comm_msg")
        );
        assert_eq!(
            (found.text("data"), found.parent.as_deref()),
            ("\u{e9}", Some("before"))
        );
        assert_eq!(found.buffers, buffers);
    }

    #[test]
    fn both_forms_carry_a_message_and_its_buffers() {
        for buffers in [&[] as &[&[u8]], &[b"\x00\xff", b"", b"abc"]] {
            let Frame::Binary(frame) = v1(&message(buffers), "s") else {
                panic!("a text");
            };
            checked(parse_v1(&frame), buffers);
            match legacy(&message(buffers), "s") {
                Frame::Text(text) => checked(parse_text(&text), buffers),
                Frame::Binary(frame) => checked(parse_legacy(&frame), buffers),
            }
        }
    }

    #[test]
    fn frames_that_lie_are_no_messages() {
        let Frame::Binary(good) = v1(&message(&[b"x"]), "s") else {
            panic!("a text");
        };
        for at in 0..good.len() {
            let _ = parse_v1(&good[..at]);
            let _ = parse_legacy(&good[..at]);
            let mut bent = good.clone();
            bent[at] ^= 0xff;
            let _ = parse_v1(&bent);
            let _ = parse_legacy(&bent);
        }
        assert!(parse_v1(&[0xff; 64]).is_none());
        assert!(parse_legacy(&[0xff; 64]).is_none());
        assert!(parse_text("[]").is_none() && parse_text("{\"channel\": 1}").is_none());
    }
}
