//! Terminal bytes to plain text, for the model, notebooks and the record: what a reader would have seen in the end.
//!
//! In: bytes of a cell in chunks of any size. Out: text. Carriage return, backspace, erase-line and movement inside
//! the cell's own last rows are applied, so a progress bar leaves its last state; other sequences are dropped; a
//! stretch on the alternate screen becomes `[full-screen program]`. Invariants: memory is bounded by the limit plus
//! a window of about 256 Ki columns, for any input; time is linear; the result does not depend on how the bytes are
//! split; totals count the whole text.
//!
//! Absent on purpose: the width of the terminal (long lines do not wrap), and cursor addressing (`CSI H`), which
//! would reach rows the cell has not written.

mod printed;
mod rows;
mod store;
mod style;

use std::ops::Range;

use crate::output::marker::{Rest, marker};
use crate::output::sequence::{SequencePiece, Sequences};
use rows::Rows;
use store::Store;

pub use printed::Printed;

/// Stands for everything that a program drew on the alternate screen.
pub const FULL_SCREEN: &str = "[full-screen program]";

#[derive(Debug)]
pub struct Transcript {
    sequences: Sequences,
    page: Page,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TranscriptText {
    /// The text, or its head and tail around a line that states the true sizes; no newline at the end.
    pub text: String,
    /// Bytes of the whole text, cut or not.
    pub total_bytes: u64,
    /// Code points of the whole text.
    pub total_characters: u64,
    /// Lines of the whole text; 0 for an empty text.
    pub total_lines: u64,
    /// True when the middle is missing.
    pub cut: bool,
}

impl Transcript {
    /// Creates a transcript that keeps at most about `limit_bytes` bytes of text.
    pub fn new(limit_bytes: usize) -> Self {
        Transcript {
            sequences: Sequences::default(),
            page: Page {
                rows: Rows::default(),
                store: Store::new(limit_bytes),
                full_screen: false,
                colours: false,
            },
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let page = &mut self.page;
        self.sequences.push(bytes, |piece| page.apply(piece));
    }

    /// Ends the stream: an unfinished character or sequence becomes text. More may be pushed afterwards.
    pub fn finish(&mut self) {
        let page = &mut self.page;
        self.sequences.finish(|piece| page.apply(piece));
    }

    /// Ends the stream and writes `text`, a value or a traceback, on lines of its own. Returns the range of these
    /// lines in the text so far, in bytes; later writing over earlier rows may shift them.
    pub fn own_lines(&mut self, text: &str) -> Range<u64> {
        self.finish();
        self.page.rows.fresh_line(&mut self.page.store);
        let start = self.length();
        self.push(text.as_bytes());
        self.push(b"\n");
        start..self.length()
    }

    /// Bytes of the text so far, including newlines at its end; costs one pass over the window.
    pub fn length(&self) -> u64 {
        self.page.store.pushed() + self.page.rows.length()
    }

    pub fn snapshot(&self) -> TranscriptText {
        TranscriptText::of(&self.page.rows, self.page.store.clone())
    }

    /// Ends the stream, and returns its text.
    pub fn into_text(mut self) -> TranscriptText {
        self.finish();
        TranscriptText::of(&self.page.rows, self.page.store)
    }
}

impl TranscriptText {
    fn of(rows: &Rows, mut store: Store) -> Self {
        rows.write_to(&mut store);
        let totals = store.totals();
        let cut = store.is_cut();
        let (mut text, tail) = store.into_ends();
        if cut {
            text.truncate(text.trim_end_matches('\n').len());
            let kept = (text.chars().count() + tail.chars().count()) as u64;
            let missing = totals.characters.saturating_sub(kept);
            let middle = marker(totals.characters, totals.lines, missing, 0, Rest::Gone);
            text.push_str(&format!("\n{middle}\n"));
        }
        text.push_str(&tail);
        TranscriptText {
            text,
            total_bytes: totals.bytes,
            total_characters: totals.characters,
            total_lines: totals.lines,
            cut,
        }
    }
}

#[derive(Debug)]
struct Page {
    rows: Rows,
    store: Store,
    full_screen: bool,
    /// True when colours are kept.
    colours: bool,
}

impl Page {
    fn apply(&mut self, piece: SequencePiece<'_>) {
        if let SequencePiece::Csi { parameters, last } = piece {
            self.csi(parameters, last);
        } else if !self.full_screen {
            match piece {
                SequencePiece::Text(text) => self.rows.write(text, &mut self.store),
                SequencePiece::Control(b'\r') => self.rows.carriage_return(),
                SequencePiece::Control(0x08) => {
                    self.rows.lay_out(&mut self.store);
                    self.rows.left(1);
                }
                SequencePiece::Broken(Some(opener), text) if opener != b'[' => {
                    self.rows.write(text, &mut self.store);
                }
                _ => {}
            }
        }
    }

    fn csi(&mut self, parameters: &[u8], last: u8) {
        if let Some(modes) = parameters.strip_prefix(b"?") {
            let alternate = modes
                .split(|&byte| byte == b';')
                .any(|mode| matches!(mode, b"47" | b"1047" | b"1049"));
            match last {
                b'h' if alternate && !self.full_screen => {
                    self.full_screen = true;
                    self.rows.own_line(FULL_SCREEN, &mut self.store);
                }
                b'l' if alternate => self.full_screen = false,
                _ => {}
            }
            return;
        }
        if let (b'm', true, Ok(style)) = (last, self.colours, std::str::from_utf8(parameters)) {
            let known = |byte: u8| byte.is_ascii_digit() || byte == b';';
            if !self.full_screen && parameters.len() < 64 && parameters.iter().copied().all(known) {
                self.rows.lay_out(&mut self.store);
                self.rows.style(style);
            }
            return;
        }
        let moves = matches!(last, b'A'..=b'G' | b'J' | b'K') && !self.full_screen;
        if !moves || parameters.len() > 9 || !parameters.iter().all(u8::is_ascii_digit) {
            return;
        }
        self.rows.lay_out(&mut self.store);
        let given = std::str::from_utf8(parameters)
            .ok()
            .and_then(|text| text.parse::<usize>().ok());
        let count = given.unwrap_or(1).max(1);
        match (last, given.unwrap_or(0)) {
            (b'A', _) => self.rows.up(count),
            (b'B', _) => self.rows.down(count),
            (b'C', _) => self.rows.right(count),
            (b'D', _) => self.rows.left(count),
            (b'E', _) => {
                self.rows.down(count);
                self.rows.carriage_return();
            }
            (b'F', _) => {
                self.rows.up(count);
                self.rows.carriage_return();
            }
            (b'G', _) => {
                self.rows.carriage_return();
                self.rows.right(count - 1);
            }
            (b'K', 0) => self.rows.erase_right(),
            (b'K', 1) => self.rows.erase_left(),
            (b'K', 2) => self.rows.erase_line(),
            (b'J', 0) => self.rows.erase_below(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
