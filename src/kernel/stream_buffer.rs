//! The buffer of printed output: bytes in, texts of `stream` messages out, in whole characters and few messages.
//!
//! Clients drop messages when their queues are full, so a loop that prints is sent as a few messages a second, as
//! ipykernel does. Invariants: output after a pause is due at once; the order of the two streams stays, unless they
//! alternate so often that each piece would be a message (then each stream is one text).

use std::time::Duration;

use tokio::time::Instant;

use crate::output::{STDERR, STDOUT};
use crate::runtime::OutputStream;

/// Time between two messages, that of ipykernel.
const INTERVAL: Duration = Duration::from_millis(200);
/// Bytes that are sent without waiting for the interval.
const MAX_BYTES: usize = 256 << 10;
/// Pieces of alternating streams that are sent as messages of their own.
const MAX_SEGMENTS: usize = 20;

#[derive(Debug, Default)]
pub(super) struct StreamBuffer {
    /// Bytes of an incomplete character, per stream.
    incomplete: [Vec<u8>; 2],
    /// The stream (0 standard output, 1 standard error), and its text up to the next text of the other one.
    segments: Vec<(usize, String)>,
    bytes: usize,
    last_sent: Option<Instant>,
}

impl StreamBuffer {
    pub(super) fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        let stream = usize::from(stream == OutputStream::Stderr);
        let incomplete = &mut self.incomplete[stream];
        incomplete.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(incomplete) {
            // The last character continues with the next bytes.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => incomplete.len(),
        };
        let next = incomplete.split_off(whole);
        let text = String::from_utf8_lossy(incomplete).into_owned();
        *incomplete = next;
        self.append(stream, text);
    }

    fn append(&mut self, stream: usize, text: String) {
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        match self.segments.last_mut() {
            Some((last, before)) if *last == stream => before.push_str(&text),
            _ => self.segments.push((stream, text)),
        }
    }

    /// When the buffer is to be sent; `None`: it is empty.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let at = match self.last_sent {
            Some(last_sent) if !self.is_full() => last_sent + INTERVAL,
            _ => now,
        };
        (!self.segments.is_empty()).then_some(at)
    }

    /// True when the buffer must be sent before its time.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MAX_BYTES
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due(now).is_some_and(|due| due <= now)
    }

    /// Empties the buffer: the names of the streams, and the texts.
    pub(super) fn take(&mut self, now: Instant) -> Vec<(&'static str, String)> {
        let mut segments = std::mem::take(&mut self.segments);
        self.bytes = 0;
        if segments.len() > MAX_SEGMENTS {
            let whole = |wanted: usize| {
                let own = segments.iter().filter(|(stream, _)| *stream == wanted);
                (wanted, own.map(|(_, text)| text.as_str()).collect())
            };
            segments = vec![whole(0), whole(1)];
        }
        if !segments.is_empty() {
            self.last_sent = Some(now);
        }
        let named = segments
            .into_iter()
            .map(|(stream, text)| ([STDOUT, STDERR][stream], text));
        named.collect()
    }

    /// Empties the buffer at the end of a run, incomplete characters included.
    pub(super) fn end(&mut self, now: Instant) -> Vec<(&'static str, String)> {
        for stream in [0, 1] {
            let incomplete = std::mem::take(&mut self.incomplete[stream]);
            self.append(stream, String::from_utf8_lossy(&incomplete).into_owned());
        }
        self.take(now)
    }
}

/// Waits until `due`; forever where that is `None`.
pub(super) async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(buffer: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        let owned = buffer
            .iter()
            .map(|(name, text)| (*name, (*text).to_owned()));
        owned.collect()
    }

    #[test]
    fn characters_are_whole_and_streams_apart() {
        let (mut buffer, now) = (StreamBuffer::default(), Instant::now());
        buffer.push(OutputStream::Stdout, b"a\xc3");
        buffer.push(OutputStream::Stdout, b"\xa9b");
        buffer.push(OutputStream::Stderr, b"e");
        buffer.push(OutputStream::Stdout, b"\xc3");
        assert_eq!(
            buffer.take(now),
            owned(&[("stdout", "aéb"), ("stderr", "e")])
        );
        assert_eq!(buffer.take(now), owned(&[]));
        assert_eq!(buffer.end(now), owned(&[("stdout", "\u{fffd}")]));
        assert_eq!(buffer.end(now), owned(&[]));
    }

    #[test]
    fn output_after_a_pause_is_sent_at_once_and_the_rest_at_intervals() {
        let mut buffer = StreamBuffer::default();
        let began = Instant::now();
        assert_eq!(buffer.due(began), None);
        let (mut messages, mut text) = (0, String::new());
        for number in 0..1000 {
            let now = began + Duration::from_millis(number);
            let line = format!("{number}\n");
            buffer.push(OutputStream::Stdout, line.as_bytes());
            assert!(number > 0 || buffer.is_due(now));
            if buffer.is_due(now) {
                messages += 1;
                text.extend(buffer.take(now).into_iter().map(|(_, text)| text));
            }
        }
        let end = began + Duration::from_secs(1);
        text.extend(buffer.end(end).into_iter().map(|(_, text)| text));
        assert_eq!((messages, text.lines().count()), (5, 1000));
        buffer.push(OutputStream::Stdout, &[b'x'; MAX_BYTES]);
        assert!(buffer.is_due(end), "what is much does not wait");
    }

    #[test]
    fn streams_that_alternate_are_a_few_messages() {
        let mut buffer = StreamBuffer::default();
        for _ in 0..1000 {
            buffer.push(OutputStream::Stdout, b"o");
            buffer.push(OutputStream::Stderr, b"e");
        }
        let all = [("stdout", "o".repeat(1000)), ("stderr", "e".repeat(1000))];
        assert_eq!(buffer.take(Instant::now()), all);
    }
}
