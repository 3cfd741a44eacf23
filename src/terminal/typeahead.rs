//! Typeahead, as key events for the editor to replay, and as lines to show, take back or edit.
//!
//! In: bytes of the keyboard and queued events. Out: [`TypedLines`]; for a running cell the bytes for its terminal
//! ([`CellTypeahead`]). Invariants: nothing is lost or reordered; a pasted line end never becomes an Enter, also
//! after a round trip through a cell's terminal. Absent on purpose: the queue (`keys/key_queue.rs`), the routing
//! (`input_router`).

use std::collections::VecDeque;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use crate::display::RunOutcome;
use crate::keys::{Decoder, PASTE_BEGINS, PASTE_ENDS, is_control};
use crate::text::escape::editable;
use crate::text::last_word;

pub(super) fn is_enter(event: &Event) -> bool {
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    *event == Event::Key(enter) || is_control(event, 'j')
}

pub(super) fn ctrl_c() -> Event {
    Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL))
}

pub(super) fn is_ctrl_c(event: &Event) -> bool {
    is_control(event, 'c')
}

/// Keys as text: the lines that Enter ended, and the one being typed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct TypedLines {
    pub(super) ended: Vec<String>,
    pub(super) typed: String,
}

impl TypedLines {
    pub(super) fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut lines = TypedLines::default();
        events.into_iter().for_each(|event| lines.push(event));
        lines
    }

    fn push(&mut self, event: &Event) {
        match event {
            event if is_enter(event) => self.ended.push(std::mem::take(&mut self.typed)),
            event if is_control(event, 'u') => self.typed.clear(),
            event if is_control(event, 'w') => {
                self.typed.truncate(last_word(&self.typed));
            }
            Event::Paste(text) => self.typed.push_str(&editable(text)),
            Event::Key(key) => match key.code {
                KeyCode::Enter => self.typed.push('\n'),
                KeyCode::Tab => self.typed.push('\t'),
                KeyCode::Backspace => {
                    self.typed.pop();
                }
                KeyCode::Char(c) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => {
                    self.typed.push(c);
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Joins the lines to one text, without leading and trailing newlines.
    pub(super) fn into_text(mut self) -> String {
        self.ended.push(self.typed);
        self.ended.join("\n").trim_matches('\n').to_owned()
    }
}

/// Returns the editor's text after a run. Typeahead does not run after an error or an interrupt, or behind a text
/// that is there to be edited: it is appended to that text.
pub(super) fn initial_text(
    refill: String,
    ended: RunOutcome,
    queued: impl FnOnce() -> Option<String>,
) -> String {
    if ended == RunOutcome::Succeeded && refill.is_empty() {
        return refill;
    }
    match queued() {
        Some(queued) if refill.is_empty() => queued,
        Some(queued) => format!("{refill}\n{queued}"),
        None => refill,
    }
}

/// Typeahead for the running cell, on its way to the cell's terminal.
#[derive(Debug, Default)]
pub(super) struct CellTypeahead {
    pasting: bool,
    mark: Vec<u8>,
    /// For each line end forwarded: true when it was pasted.
    ends: VecDeque<bool>,
    decoder: Decoder,
    /// The last line that Enter ended, and the one being typed.
    lines: TypedLines,
}

impl CellTypeahead {
    /// Returns the bytes for the terminal. A program in line mode does not know paste marks; a program that has
    /// requested them is not in line mode.
    pub(super) fn forward(&mut self, bytes: &[u8], line_mode: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for byte in bytes {
            self.mark.push(*byte);
            while line_mode || self.mark.len() > 1 {
                if self.mark == PASTE_BEGINS || self.mark == PASTE_ENDS {
                    self.pasting = self.mark == PASTE_BEGINS;
                    self.mark.clear();
                } else if [PASTE_BEGINS, PASTE_ENDS]
                    .iter()
                    .any(|mark| mark.starts_with(&self.mark))
                {
                    break;
                } else {
                    let first = self.mark.remove(0);
                    self.one(first, &mut out);
                }
                if self.mark.is_empty() {
                    break;
                }
            }
            if !line_mode {
                self.rest(&mut out);
            }
        }
        // An `ESC` alone is a key, except within a paste.
        if self.mark.len() == 1 && !self.pasting {
            self.rest(&mut out);
        }
        out
    }

    /// Returns the bytes that precede the next ones: the mark of an open paste, and the start of a mark of which
    /// nothing has been forwarded.
    pub(super) fn into_pending(self) -> Vec<u8> {
        match self.pasting {
            true => [PASTE_BEGINS, &self.mark].concat(),
            false => self.mark,
        }
    }

    fn rest(&mut self, out: &mut Vec<u8>) {
        for byte in std::mem::take(&mut self.mark) {
            self.one(byte, out);
        }
    }

    fn one(&mut self, byte: u8, out: &mut Vec<u8>) {
        if matches!(byte, b'\n' | b'\r') {
            self.ends.push_back(self.pasting);
        }
        if let Some(event) = self.decoder.push(byte) {
            self.lines.push(&event);
            let surplus = self.lines.ended.len().saturating_sub(1);
            self.lines.ended.drain(..surplus);
        }
        out.push(byte);
    }

    /// Returns true when nothing has been typed since the last line end.
    pub(super) fn at_line_start(&self) -> bool {
        self.typed().is_empty()
    }

    /// Returns what has been typed since the last line end.
    pub(super) fn typed(&self) -> &str {
        &self.lines.typed
    }

    pub(super) fn last_line(&self) -> &str {
        self.lines.ended.first().map_or("", String::as_str)
    }

    /// Restores the marks of pasted line ends in bytes that came back (the end of those forwarded).
    pub(super) fn restore_paste_marks(&mut self, bytes: &[u8]) -> Vec<u8> {
        let is_end = |byte: &&u8| matches!(byte, b'\n' | b'\r');
        let count = bytes.iter().filter(is_end).count();
        let first = self.ends.len().saturating_sub(count);
        let mut pasted = self.ends.split_off(first).into_iter();
        let mut out = Vec::with_capacity(bytes.len());
        for byte in bytes {
            if is_end(&byte) && pasted.next().unwrap_or_default() {
                out.extend([PASTE_BEGINS, b"\n", PASTE_ENDS].concat());
            } else {
                out.push(*byte);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &str) -> (Vec<String>, String) {
        let lines = TypedLines::from_events(&Decoder::all(bytes.as_bytes()));
        (lines.ended, lines.typed)
    }

    fn check(bytes: &str, ended: &[&str], typed: &str) {
        let ended = ended.iter().map(ToString::to_string).collect();
        assert_eq!(read(bytes), (ended, typed.to_owned()), "{bytes:?}");
    }

    #[test]
    fn keys_read_as_they_were_meant() {
        check("a = 1\r.hé\n b", &["a = 1", ".hé"], " b");
        check("ab\x7fc\rx y  \x17z\x15q", &["ac"], "q");
        check("x\x1b[D\x1b[A\x01\x1bp\r", &["x"], "");
        check("\x1b[200~a\rb\n\x1b[201~c\r", &["a\nb\nc"], "");
        check("über", &[], "über");
    }

    #[test]
    fn as_one_text_they_begin_and_end_with_something() {
        let text =
            |bytes: &str| TypedLines::from_events(&Decoder::all(bytes.as_bytes())).into_text();
        assert_eq!(text("\r\ra = 1\r  b\r\r"), "a = 1\n  b");
        assert_eq!(text("\r\r"), "");
        assert_eq!(text("a\rb"), "a\nb");
    }

    /// Forwards these pieces to a cell in line mode.
    fn to_cell(pieces: &[&str]) -> (String, CellTypeahead) {
        let mut cell = CellTypeahead::default();
        let handed: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| cell.forward(piece.as_bytes(), true))
            .collect();
        (String::from_utf8(handed).unwrap(), cell)
    }

    #[test]
    fn a_cell_gets_no_marks_and_what_it_leaves_has_them_again() {
        let text = "a\r\x1b[200~b\nc\x1b[201~\rd";
        for at in 0..text.len() {
            let (one, other) = text.split_at(at);
            let (handed, mut cell) = to_cell(&[one, other]);
            if one.ends_with('\x1b') && !one.contains("200~") {
                // Taken for the key.
                continue;
            }
            assert_eq!(handed, "a\rb\nc\rd", "{at}");
            assert_eq!(
                read(&String::from_utf8(cell.restore_paste_marks(b"b\nc\nd")).unwrap()),
                (vec!["b\nc".to_owned()], "d".to_owned())
            );
        }
    }

    #[test]
    fn a_partial_mark_at_the_end_of_the_cell_is_not_lost() {
        let (handed, cell) = to_cell(&["a\x1b[2"]);
        assert_eq!(handed, "a");
        assert_eq!(cell.into_pending(), b"\x1b[2");
        let (handed, cell) = to_cell(&["a\x1b[200~b\x1b[20"]);
        assert_eq!(handed, "ab");
        assert_eq!(cell.into_pending(), b"\x1b[200~\x1b[20");
    }

    #[test]
    fn a_key_that_is_no_mark_goes_on_at_once() {
        for key in ["\x1b", "\x1b[A", "\x1bp", "\x1b[2"] {
            let (handed, mut cell) = to_cell(&[key]);
            let held = key == "\x1b[2";
            assert_eq!(handed, if held { "" } else { key });
            let later = cell.forward(b"x", true);
            assert_eq!(later, if held { "\x1b[2x".as_bytes() } else { b"x" });
        }
        let mut raw = CellTypeahead::default();
        assert_eq!(
            raw.forward(b"\x1b[200~a\x1b[201~", false),
            b"\x1b[200~a\x1b[201~"
        );
    }

    #[test]
    fn the_line_being_typed_for_a_cell_is_known() {
        let (_, cell) = to_cell(&["one\rtwo\rx\x7f"]);
        assert!(cell.at_line_start());
        assert_eq!(cell.last_line(), "two");
        assert!(!to_cell(&["one\rx"]).1.at_line_start());
    }
}
