//! Terminal bytes split into text, control characters and escape sequences (ECMA-48, as xterm and the VT series read
//! it).
//!
//! In: bytes in chunks of any size. Out: `SequencePiece`s. The state between chunks is kept, so a sequence or a
//! character may be split anywhere. Invariants: the text of a piece is valid UTF-8 without control characters other
//! than `\n` and `\t` (invalid bytes become U+FFFD, U+0080-U+009F are removed, DEC line drawing becomes the
//! character of the same look); a sequence that does not end before a newline or within 4 KiB is
//! `SequencePiece::Broken` and its text is returned; time is linear in the bytes.
//!
//! Absent on purpose: the meaning of sequences. By hand, since `vte` loses the text behind a sequence that never ends,
//! clamps parameters and hands out single characters.

/// Bytes of a sequence that are kept before it counts as broken.
const LONGEST: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SequencePiece<'a> {
    /// Printable text, newlines and tabs.
    Text(&'a str),
    /// A C0 control character other than newline, tab and escape; or delete.
    Control(u8),
    /// `ESC [ parameters final`; private markers and intermediates are part of `parameters`.
    Csi {
        /// Bytes 0x20-0x3F as received.
        parameters: &'a [u8],
        /// 0x40-0x7E.
        last: u8,
    },
    Other,
    /// A sequence that broke off: the byte after ESC, if any, and the text that followed.
    Broken(Option<u8>, &'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    Intermediate,
    Csi,
    /// Inside an OSC, DCS, APC, PM or SOS string, opened by this byte.
    Text(u8),
    /// After `ESC` inside such a string.
    TextEscape(u8),
}

#[derive(Debug, Default)]
pub struct Sequences {
    state: State,
    body: Vec<u8>,
    /// First bytes of an incomplete character.
    partial: Vec<u8>,
    /// True for those of G0 and G1 that are the line drawing set, and the index of the set in use.
    drawn: [bool; 2],
    in_use: usize,
}

/// The characters of the line drawing set from `_` on ("DEC Special Graphics", VT220 Programmer Reference). Its
/// pictures of control characters (`b` to `e`, `h`, `i`), which programs do not draw with, stay letters.
const LINE_DRAWING: [char; 32] = [
    '\u{a0}', '◆', '▒', 'b', 'c', 'd', 'e', '°', '±', 'h', 'i', '┘', '┐', '┌', '└', '┼', '⎺', '⎻',
    '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

impl Sequences {
    /// Calls `sink` with each piece that the next bytes complete.
    pub(crate) fn push(&mut self, bytes: &[u8], mut sink: impl FnMut(SequencePiece<'_>)) {
        let mut at = 0;
        while at < bytes.len() {
            if self.state == State::Ground {
                at += if self.partial.is_empty() {
                    self.ground(&bytes[at..], &mut sink)
                } else {
                    self.complete(bytes[at], &mut sink)
                };
            } else if self.in_sequence(bytes[at], &mut sink) {
                at += 1;
            }
        }
    }

    /// Ends the stream: an incomplete sequence or character is passed to `sink` as broken.
    pub(crate) fn finish(&mut self, mut sink: impl FnMut(SequencePiece<'_>)) {
        self.break_off(&mut sink);
        self.end_partial(&mut sink);
        (self.drawn, self.in_use) = ([false; 2], 0);
    }

    /// Consumes text up to the next control character, or that character. Returns the bytes used, at least one.
    fn ground(&mut self, bytes: &[u8], sink: &mut impl FnMut(SequencePiece<'_>)) -> usize {
        let run = text_run(bytes);
        if run == 0 {
            match bytes[0] {
                0x1b => self.state = State::Escape,
                control => {
                    if let 0x0e | 0x0f = control {
                        self.in_use = usize::from(control == 0x0e);
                    }
                    sink(SequencePiece::Control(control));
                }
            }
            return 1;
        }
        let mut rest = &bytes[..run];
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.emit(text, sink);
                    break;
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    if let Ok(text) = std::str::from_utf8(good) {
                        self.emit(text, sink);
                    }
                    match error.error_len() {
                        Some(length) => {
                            sink(SequencePiece::Text("\u{fffd}"));
                            rest = &bad[length..];
                        }
                        None => {
                            self.partial.extend_from_slice(bad);
                            break;
                        }
                    }
                }
            }
        }
        run
    }

    /// Adds one byte to a split character. Returns the bytes used: 0 when the byte does not continue the character.
    fn complete(&mut self, byte: u8, sink: &mut impl FnMut(SequencePiece<'_>)) -> usize {
        self.partial.push(byte);
        match std::str::from_utf8(&self.partial) {
            Ok(text) => emit_text(text, sink),
            Err(error) if error.error_len().is_none() => return 1,
            Err(_) => {
                self.partial.clear();
                sink(SequencePiece::Text("\u{fffd}"));
                return 0;
            }
        }
        self.partial.clear();
        1
    }

    fn end_partial(&mut self, sink: &mut impl FnMut(SequencePiece<'_>)) {
        if !self.partial.is_empty() {
            self.partial.clear();
            sink(SequencePiece::Text("\u{fffd}"));
        }
    }

    /// Consumes one byte inside a sequence. Returns false when the sequence broke off before the byte, which has to
    /// be read again.
    fn in_sequence(&mut self, byte: u8, sink: &mut impl FnMut(SequencePiece<'_>)) -> bool {
        if self.body.len() >= LONGEST {
            self.break_off(sink);
            return false;
        }
        match (self.state, byte) {
            (State::Escape, b'[') => self.state = State::Csi,
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => self.state = State::Text(byte),
            (State::Escape, 0x20..=0x2f) => {
                self.body.push(byte);
                self.state = State::Intermediate;
            }
            (State::Intermediate, 0x20..=0x2f) => self.body.push(byte),
            (State::Escape | State::Intermediate, 0x30..=0x7e) => {
                match self.body.as_slice() {
                    b"(" => self.drawn[0] = byte == b'0',
                    b")" => self.drawn[1] = byte == b'0',
                    b"" if byte == b'c' => (self.drawn, self.in_use) = ([false; 2], 0),
                    _ => {}
                }
                self.end(sink, SequencePiece::Other)
            }
            (State::Csi, 0x20..=0x3f) => self.body.push(byte),
            (State::Csi, 0x40..=0x7e) => {
                self.state = State::Ground;
                sink(SequencePiece::Csi {
                    parameters: &self.body,
                    last: byte,
                });
                self.body.clear();
            }
            (State::Text(b']'), 0x07) => self.end(sink, SequencePiece::Other),
            (State::Text(opener), 0x1b) => self.state = State::TextEscape(opener),
            (State::Text(_), byte) if byte != b'\n' => self.body.push(byte),
            (State::TextEscape(_), b'\\') => self.end(sink, SequencePiece::Other),
            (State::TextEscape(_), _) => {
                self.break_off(sink);
                self.state = State::Escape;
                return false;
            }
            _ => {
                self.break_off(sink);
                return false;
            }
        }
        true
    }

    fn emit(&self, text: &str, sink: &mut impl FnMut(SequencePiece<'_>)) {
        if !self.drawn[self.in_use] {
            return emit_text(text, sink);
        }
        let drawn = |c: char| match c {
            '_'..='~' => LINE_DRAWING[c as usize - '_' as usize],
            c => c,
        };
        emit_text(&text.chars().map(drawn).collect::<String>(), sink);
    }

    fn end(&mut self, sink: &mut impl FnMut(SequencePiece<'_>), piece: SequencePiece<'_>) {
        self.state = State::Ground;
        self.body.clear();
        sink(piece);
    }

    fn break_off(&mut self, sink: &mut impl FnMut(SequencePiece<'_>)) {
        let opener = match self.state {
            State::Ground => return,
            State::Escape | State::Intermediate => None,
            State::Csi => Some(b'['),
            State::Text(opener) | State::TextEscape(opener) => Some(opener),
        };
        self.state = State::Ground;
        let whole = match std::str::from_utf8(&self.body) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.body.len(),
        };
        self.partial.extend_from_slice(&self.body[whole..]);
        let text: String = String::from_utf8_lossy(&self.body[..whole])
            .chars()
            .filter(|&c| !c.is_control() || c == '\t')
            .collect();
        self.body.clear();
        sink(SequencePiece::Broken(opener, &text));
    }
}

/// Length in bytes up to the first control character other than newline and tab.
fn text_run(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let control = |byte: u8| (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f;
    // Without an early exit inside a block the compiler turns the fold into vector instructions.
    let clean = bytes
        .chunks_exact(BLOCK)
        .take_while(|block| {
            block
                .iter()
                .fold(0, |found, &byte| found | u8::from(control(byte)))
                == 0
        })
        .count()
        * BLOCK;
    bytes[clean..]
        .iter()
        .position(|&byte| control(byte))
        .map_or(bytes.len(), |at| clean + at)
}

fn emit_text(text: &str, sink: &mut impl FnMut(SequencePiece<'_>)) {
    let bytes = text.as_bytes();
    let mut from = 0;
    for at in memchr::memchr_iter(0xc2, bytes) {
        if bytes.get(at + 1).is_some_and(|&next| next < 0xa0) {
            if from < at {
                sink(SequencePiece::Text(&text[from..at]));
            }
            from = at + 2;
        }
    }
    if from < text.len() {
        sink(SequencePiece::Text(&text[from..]));
    }
}
