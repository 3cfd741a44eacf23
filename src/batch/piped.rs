//! Standard input as pieces to run, each as soon as it is complete: another program can drive a session through a
//! pipe.
//!
//! In: bytes, read by a separate thread, a few chunks ahead. Out: an iterator, and the reason if it ended before
//! the end of the text. Invariants: the division into pieces does not depend on the arrival of the bytes; a long
//! statement is parsed again only when it has doubled, or when no more bytes are available yet. Absent on purpose:
//! running them.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use crate::input::PipedText;
use crate::text::report::Report;

const CHUNK: usize = 64 << 10;

const AHEAD: usize = 4;

#[derive(Debug)]
pub struct PipedInput {
    chunks: Receiver<std::io::Result<Vec<u8>>>,
    /// `None`: the input has ended.
    text: Option<PipedText>,
    /// Bytes of an incomplete character.
    bytes: Vec<u8>,
    /// Bytes and line ends of the text so far.
    taken: (usize, usize),
    ready: VecDeque<String>,
    failure: Option<Report>,
}

impl PipedInput {
    /// Starts reading.
    ///
    /// # Errors
    /// A thread is not available.
    pub fn standard_input() -> Result<Self, Report> {
        let (sender, chunks) = sync_channel(AHEAD);
        let read = move || {
            let mut input = std::io::stdin().lock();
            loop {
                let mut chunk = vec![0; CHUNK];
                let read = match input.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(length) => {
                        chunk.truncate(length);
                        Ok(chunk)
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = read.is_err();
                if sender.send(read).is_err() || failed {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("piped text".into())
            .spawn(read)
            .map_err(|error| Report::no_thread("that reads standard input", &error))?;
        Ok(PipedInput::of(chunks))
    }

    fn of(chunks: Receiver<std::io::Result<Vec<u8>>>) -> Self {
        PipedInput {
            chunks,
            text: Some(PipedText::default()),
            bytes: Vec::new(),
            taken: (0, 0),
            ready: VecDeque::new(),
            failure: None,
        }
    }

    pub fn failure(self) -> Option<Report> {
        self.failure
    }

    fn take(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
        let (valid, broken) = match std::str::from_utf8(&self.bytes) {
            Ok(text) => (text.len(), false),
            Err(error) => (error.valid_up_to(), error.error_len().is_some()),
        };
        let bytes: Vec<u8> = self.bytes.drain(..valid).collect();
        let text = String::from_utf8(bytes).unwrap_or_default();
        if let Some(pieces) = &mut self.text {
            let mark = if self.taken.0 == 0 { "\u{feff}" } else { "" };
            pieces.push(text.strip_prefix(mark).unwrap_or(&text));
        }
        self.taken.0 += valid;
        self.taken.1 += text.bytes().filter(|byte| *byte == b'\n').count();
        if broken {
            self.fail(self.no_text());
        }
    }

    /// Queues the complete pieces; `coming`: more bytes may follow.
    fn look(&mut self, coming: bool) {
        let text = self.text.as_mut();
        self.ready
            .extend(text.map(|text| text.whole(coming)).unwrap_or_default());
    }

    fn fail(&mut self, failure: Report) {
        self.look(false);
        self.text = None;
        self.failure = Some(failure);
    }

    fn no_text(&self) -> Report {
        let (at, line) = (self.taken.0, self.taken.1 + 1);
        Report::failure(format!(
            "standard input is not valid UTF-8: byte {at}, line {line}; the complete cells before it were run"
        ))
        .hint("convert it, for example with `iconv -f latin1 -t utf-8`")
    }

    fn end(&mut self) {
        if self.bytes.is_empty() {
            let rest = self.text.take().map(PipedText::rest);
            self.ready.extend(rest.unwrap_or_default());
        } else {
            self.fail(self.no_text());
        }
    }
}

impl Iterator for PipedInput {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            self.text.as_ref()?;
            let chunk = match self.chunks.try_recv() {
                Ok(chunk) => chunk,
                Err(TryRecvError::Disconnected) => {
                    self.end();
                    continue;
                }
                Err(TryRecvError::Empty) => {
                    self.look(false);
                    if !self.ready.is_empty() {
                        continue;
                    }
                    match self.chunks.recv() {
                        Ok(chunk) => chunk,
                        Err(_) => {
                            self.end();
                            continue;
                        }
                    }
                }
            };
            match chunk {
                Ok(chunk) => {
                    self.take(&chunk);
                    self.look(true);
                }
                Err(error) => {
                    self.fail(Report::failure("cannot read standard input").because(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pieces of a text that comes in these chunks, and the reason of an early end.
    fn pieces(chunks: &[&[u8]]) -> (Vec<String>, Option<String>) {
        let (sender, receiver) = sync_channel(chunks.len());
        for chunk in chunks {
            sender.send(Ok(chunk.to_vec())).unwrap();
        }
        drop(sender);
        let mut piped = PipedInput::of(receiver);
        let pieces = piped.by_ref().collect();
        (pieces, piped.failure().map(|report| report.message))
    }

    #[test]
    fn chunks_may_end_anywhere() {
        let text = "\u{feff}x = 'é'\nif x:\n    y = 1\n\n    z = 2\nx\n".as_bytes();
        let whole = pieces(&[text]);
        assert_eq!(
            whole.0,
            ["x = 'é'\n", "if x:\n    y = 1\n\n    z = 2\n", "x\n"]
        );
        for cut in 0..text.len() {
            assert_eq!(pieces(&[&text[..cut], &text[cut..]]), whole, "{cut}");
        }
    }

    #[test]
    fn what_is_no_text_is_named_with_its_place_after_what_came_before() {
        let said = "standard input is not valid UTF-8: byte 11, line 2; the complete cells before it were run";
        for end in [&b"a = 1\nb = '\xff'\n"[..], b"a = 1\nb = '\xc3"] {
            let expected = (vec!["a = 1\n".to_owned()], Some(said.to_owned()));
            assert_eq!(pieces(&[end]), expected);
        }
    }
}
