//! Bytes of a cell as texts of `stream` messages: whole characters, what is printed within a short time as one.
//!
//! Clients have only so much room for messages, and what finds none is lost: a loop that prints is a few messages a
//! second, as it is with ipykernel. Invariants: what follows a pause may be sent at once; the order of the two streams
//! stays, unless they take turns so often that each turn would be a message (then each is whole in itself).

use std::time::Duration;

use tokio::time::Instant;

use crate::output::{STDERR, STDOUT};
use crate::runtime::OutputStream;

/// What is printed is sent so often, as by ipykernel.
const BETWEEN: Duration = Duration::from_millis(200);
/// Bytes that are sent without waiting for that.
const ENOUGH: usize = 256 << 10;
/// Turns of the streams that are messages of their own, of those that are sent together.
const MOST_TURNS: usize = 20;

/// What was printed and not sent yet.
#[derive(Debug, Default)]
pub(super) struct Printed {
    /// Bytes that are no whole character yet, of both streams.
    rest: [Vec<u8>; 2],
    /// The stream (0 standard output, 1 standard error) and what was printed on it before the other one had its turn.
    turns: Vec<(usize, String)>,
    bytes: usize,
    sent: Option<Instant>,
}

impl Printed {
    /// Takes bytes.
    pub(super) fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        let stream = usize::from(stream == OutputStream::Stderr);
        let rest = &mut self.rest[stream];
        rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(rest) {
            // A character that goes on with the next bytes.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => rest.len(),
        };
        let next = rest.split_off(whole);
        let text = String::from_utf8_lossy(rest).into_owned();
        *rest = next;
        self.put(stream, text);
    }

    fn put(&mut self, stream: usize, text: String) {
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        match self.turns.last_mut() {
            Some((last, before)) if *last == stream => before.push_str(&text),
            _ => self.turns.push((stream, text)),
        }
    }

    /// When it is to be sent; `None`: there is nothing to send.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let at = match self.sent {
            Some(sent) if !self.is_enough() => sent + BETWEEN,
            _ => now,
        };
        (!self.turns.is_empty()).then_some(at)
    }

    /// It is so much that it is to be sent.
    pub(super) fn is_enough(&self) -> bool {
        self.bytes >= ENOUGH
    }

    /// It is to be sent now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due(now).is_some_and(|due| due <= now)
    }

    /// What is to be sent now: the names of the streams, and the texts.
    pub(super) fn take(&mut self, now: Instant) -> Vec<(&'static str, String)> {
        let mut turns = std::mem::take(&mut self.turns);
        self.bytes = 0;
        if turns.len() > MOST_TURNS {
            let whole = |wanted: usize| {
                let own = turns.iter().filter(|(stream, _)| *stream == wanted);
                (wanted, own.map(|(_, text)| text.as_str()).collect())
            };
            turns = vec![whole(0), whole(1)];
        }
        if !turns.is_empty() {
            self.sent = Some(now);
        }
        let named = turns
            .into_iter()
            .map(|(stream, text)| ([STDOUT, STDERR][stream], text));
        named.collect()
    }

    /// The same at the end: what is no whole character shall be sent, too.
    pub(super) fn end(&mut self, now: Instant) -> Vec<(&'static str, String)> {
        for stream in [0, 1] {
            let rest = std::mem::take(&mut self.rest[stream]);
            self.put(stream, String::from_utf8_lossy(&rest).into_owned());
        }
        self.take(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(printed: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        let owned = printed
            .iter()
            .map(|(name, text)| (*name, (*text).to_owned()));
        owned.collect()
    }

    #[test]
    fn characters_are_whole_and_streams_apart() {
        let (mut printed, now) = (Printed::default(), Instant::now());
        printed.push(OutputStream::Stdout, b"a\xc3");
        printed.push(OutputStream::Stdout, b"\xa9b");
        printed.push(OutputStream::Stderr, b"e");
        printed.push(OutputStream::Stdout, b"\xc3");
        assert_eq!(printed.take(now), of(&[("stdout", "aéb"), ("stderr", "e")]));
        assert_eq!(printed.take(now), of(&[]));
        assert_eq!(printed.end(now), of(&[("stdout", "\u{fffd}")]));
        assert_eq!(printed.end(now), of(&[]));
    }

    #[test]
    fn what_is_printed_after_a_pause_is_sent_at_once_and_the_rest_now_and_then() {
        let mut printed = Printed::default();
        let began = Instant::now();
        assert_eq!(printed.due(began), None);
        let (mut messages, mut text) = (0, String::new());
        for number in 0..1000 {
            let now = began + Duration::from_millis(number);
            let line = format!("{number}\n");
            printed.push(OutputStream::Stdout, line.as_bytes());
            assert!(number > 0 || printed.is_due(now));
            if printed.is_due(now) {
                messages += 1;
                text.extend(printed.take(now).into_iter().map(|(_, text)| text));
            }
        }
        let end = began + Duration::from_secs(1);
        text.extend(printed.end(end).into_iter().map(|(_, text)| text));
        assert_eq!((messages, text.lines().count()), (5, 1000));
        printed.push(OutputStream::Stdout, &[b'x'; ENOUGH]);
        assert!(printed.is_due(end), "what is much does not wait");
    }

    #[test]
    fn streams_that_take_turns_are_a_few_messages() {
        let mut printed = Printed::default();
        for _ in 0..1000 {
            printed.push(OutputStream::Stdout, b"o");
            printed.push(OutputStream::Stderr, b"e");
        }
        let all = [("stdout", "o".repeat(1000)), ("stderr", "e".repeat(1000))];
        assert_eq!(printed.take(Instant::now()), all);
    }
}
