//! Bytes of a cell as texts of `stream` messages: whole characters, pieces that follow each other as one.

use crate::output::{STDERR, STDOUT};
use crate::runtime::OutputStream;

/// A message is sent once it has so many bytes.
const ENOUGH: usize = 256 << 10;

/// What was printed and not sent yet.
#[derive(Debug, Default)]
pub(super) struct Printed {
    /// Bytes that are no whole character yet, of both streams.
    rest: [Vec<u8>; 2],
    /// 0 standard output, 1 standard error.
    stream: usize,
    text: String,
}

impl Printed {
    /// Takes bytes; what is to be sent before them, or already with them.
    pub(super) fn push(
        &mut self,
        stream: OutputStream,
        bytes: &[u8],
    ) -> Option<(&'static str, String)> {
        let stream = usize::from(stream == OutputStream::Stderr);
        let before = match stream == self.stream {
            true => None,
            false => self.take(),
        };
        self.stream = stream;
        let rest = &mut self.rest[stream];
        rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(rest) {
            // A character that goes on with the next bytes.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => rest.len(),
        };
        let next = rest.split_off(whole);
        self.text.push_str(&String::from_utf8_lossy(rest));
        *rest = next;
        match before {
            None if self.text.len() >= ENOUGH => self.take(),
            before => before,
        }
    }

    /// What is to be sent now: the name of its stream, and the text.
    pub(super) fn take(&mut self) -> Option<(&'static str, String)> {
        let text = std::mem::take(&mut self.text);
        let name = [STDOUT, STDERR][self.stream];
        (!text.is_empty()).then_some((name, text))
    }

    /// The same at the end: what is no whole character shall be sent, too.
    pub(super) fn end(&mut self) -> Option<(&'static str, String)> {
        let rest = std::mem::take(&mut self.rest[self.stream]);
        self.text.push_str(&String::from_utf8_lossy(&rest));
        self.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_whole_and_streams_apart() {
        let mut printed = Printed::default();
        assert_eq!(printed.push(OutputStream::Stdout, b"a\xc3"), None);
        assert_eq!(printed.push(OutputStream::Stdout, b"\xa9b"), None);
        let sent = printed.push(OutputStream::Stderr, b"e");
        assert_eq!(sent, Some(("stdout", "aéb".to_owned())));
        assert_eq!(
            printed.push(OutputStream::Stdout, b"\xc3"),
            Some(("stderr", "e".to_owned()))
        );
        assert_eq!(printed.take(), None);
        assert_eq!(printed.end(), Some(("stdout", "\u{fffd}".to_owned())));
        assert_eq!(printed.end(), None);
    }
}
