//! Bytes to messages and back: one JSON object per line.
//!
//! In: any byte stream, lines of any length (a peer sends whole command outputs and images). Out: messages; any
//! other line is reported as [`RpcFrame::Junk`], for the reader to count and skip. Invariant of the writing side:
//! valid UTF-8 and exactly one newline, at the end; serde_json escapes every other one. Invalid UTF-8 and lone
//! surrogate escapes of the other side become U+FFFD. A line without an end takes [`MAX_LINE_BYTES`] of memory and no
//! more; the parser's depth limit stays on.

use std::io::{self, BufRead, Read};

use serde_json::Value;

use super::message::{Dialect, RpcMessage};
use crate::text::json;

/// The rest of a longer line is dropped, so that it is no message.
const MAX_LINE_BYTES: u64 = 256 << 20;

#[derive(Debug, Clone, PartialEq)]
pub enum RpcFrame {
    Message(RpcMessage),
    /// Any other line: a log line, a login shell's escape sequence, half a message.
    Junk,
}

/// Reads the next line that is not blank into `line`; false at the end of input. A last line without a newline still
/// counts.
///
/// # Errors
/// The error of the reader.
pub fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    read_line_within(reader, line, MAX_LINE_BYTES)
}

fn read_line_within(reader: &mut impl BufRead, line: &mut Vec<u8>, most: u64) -> io::Result<bool> {
    loop {
        line.clear();
        let read = reader.by_ref().take(most).read_until(b'\n', line)?;
        if read == 0 {
            return Ok(false);
        }
        if read as u64 == most && !line.ends_with(b"\n") {
            reader.skip_until(b'\n')?;
        }
        if !without_bom(line).iter().all(u8::is_ascii_whitespace) {
            return Ok(true);
        }
    }
}

/// Reads and decodes the next line that is not blank; `None` at the end of input.
///
/// # Errors
/// The error of the reader.
pub fn read_frame(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<RpcFrame>> {
    Ok(read_line(reader, line)?.then(|| decode(line)))
}

/// Decodes one line, with or without its newline.
pub fn decode(line: &[u8]) -> RpcFrame {
    match parse_json(line).and_then(RpcMessage::from_value) {
        Some(message) => RpcFrame::Message(message),
        None => RpcFrame::Junk,
    }
}

/// The JSON of one line, with or without its newline; `None` when the line is not JSON.
pub(super) fn parse_json(line: &[u8]) -> Option<Value> {
    json::parse(without_bom(line)).ok()
}

/// `line` without a byte order mark, which some programs write first.
fn without_bom(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// The line for `message`, newline included.
pub fn encode(message: RpcMessage, dialect: Dialect) -> Vec<u8> {
    let value = message.into_value(dialect);
    let mut line = serde_json::to_vec(&value).expect("a JSON value with string keys is JSON");
    line.push(b'\n');
    line
}

/// The line for `messages` as one batch, newline included.
pub fn encode_batch(messages: Vec<RpcMessage>, dialect: Dialect) -> Vec<u8> {
    let values = messages.into_iter().map(|it| it.into_value(dialect));
    let mut line = Value::Array(values.collect()).to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{Dialect, RpcFrame, decode, encode, read_frame, read_line_within};
    use crate::properties;
    use crate::rpc::message::RpcMessage;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use serde_json::{Value, json};

    fn note(params: Value) -> RpcMessage {
        RpcMessage::Notification {
            method: "n".into(),
            params,
        }
    }

    fn text_of(line: &[u8]) -> Option<String> {
        match decode(line) {
            RpcFrame::Message(RpcMessage::Notification { params, .. }) => {
                params.as_str().map(str::to_owned)
            }
            _ => None,
        }
    }

    #[test]
    fn invalid_text_is_replaced() {
        for (escaped, expected) in [
            (&b"a\\ud83db"[..], Some("a\u{fffd}b")),
            (b"\\ude00", Some("\u{fffd}")),
            (b"\\ud83d\\ud83d\\ude00", Some("\u{fffd}\u{1f600}")),
            (b"\\ud83d\\ude00", Some("\u{1f600}")),
            (b"\\\\ud83d \\ud83d", Some("\\ud83d \u{fffd}")),
            (b"\xff\xfe", Some("\u{fffd}\u{fffd}")),
            (b"\\ud83", None),
            (b"\\ud83\xc3\xa9 \\ud800", None),
        ] {
            let mut line = b"{\"method\":\"n\",\"params\":\"".to_vec();
            line.extend_from_slice(escaped);
            line.extend_from_slice(b"\"}\r\n");
            assert_eq!(text_of(&line).as_deref(), expected, "{escaped:?}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_cut_and_the_next_one_read() {
        let mut line = Vec::new();
        for (bytes, expected) in [
            (&b"12345678\n12\n"[..], &["12345", "12\n"][..]),
            (b"12345\n12", &["12345", "12"]),
            (b"1234\n12345", &["1234\n", "12345"]),
            (b"     \n     1\n", &[]),
            (b"123456789", &["12345"]),
        ] {
            let mut reader = BufReader::with_capacity(3, bytes);
            let mut read = Vec::new();
            while read_line_within(&mut reader, &mut line, 5).unwrap() {
                read.push(String::from_utf8(line.clone()).unwrap());
            }
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn lines_that_are_no_messages_are_junk() {
        let deep = "[".repeat(100_000);
        for line in ["hello", "{", "[]", "\u{1b}[0m", "{\"id\":1}", &deep] {
            assert_eq!(decode(line.as_bytes()), RpcFrame::Junk);
        }
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_text_goes_out_as_one_line_and_comes_back(text in any::<String>()) {
            let line = encode(note(json!(text)), Dialect::Versioned);
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            prop_assert!(std::str::from_utf8(&line).is_ok());
            prop_assert_eq!(decode(&line), RpcFrame::Message(note(json!(text))));
        }

        #[test]
        fn any_split_of_the_bytes_yields_the_same_frames(
            texts in proptest::collection::vec(any::<String>(), 0..5),
            capacity in 1usize..40,
        ) {
            let mut bytes = Vec::new();
            for text in &texts {
                bytes.extend_from_slice(b"\n  \n");
                bytes.extend(encode(note(json!(text)), Dialect::Versioned));
            }
            let mut reader = BufReader::with_capacity(capacity, &bytes[..]);
            let mut line = Vec::new();
            let mut found = Vec::new();
            while let Some(frame) = read_frame(&mut reader, &mut line).expect("reading memory") {
                found.push(frame);
            }
            let expected: Vec<_> = texts.iter().map(|text| RpcFrame::Message(note(json!(text)))).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in any::<Vec<u8>>()) {
            decode(&bytes);
        }
    }
}
