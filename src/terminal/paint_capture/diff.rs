//! The bytes that turn one paint into the next.

use std::fmt::Write as _;

use super::frame::{Cursor, Frame, PaintedLine, Walk};
use super::token::{Looks, Token, Tokens};
use crate::text::certain_columns;

/// The end of every paint, even of one without changes: shows the cursor, which a program may have hidden.
const END: &str = "\x1b[?25h";

/// Returns the bytes that turn `old` into `new` on a terminal of this size; `None` when everything has to be
/// painted.
pub(super) fn diff(old: &Frame, new: &Frame, (columns, rows): (u16, u16)) -> Option<String> {
    if old.first.checked_sub(new.scrolled)? != new.first {
        return None;
    }
    let mut writer = Writer {
        out: String::new(),
        columns,
    };
    if new.scrolled > 0 {
        writer.go(rows - 1, 0);
        writer.out.extend((0..new.scrolled).map(|_| "\r\n"));
    }
    let before = |row: u16| {
        let row = row + new.scrolled;
        let at = old.lines.binary_search_by_key(&row, |line| line.row).ok()?;
        Some(&old.lines[at])
    };
    let stays = |line: &PaintedLine| before(line.row).is_some_and(|it| it.text == line.text);
    // Where all rows below are empty, one sequence clears them.
    let old_end = old.end() - new.scrolled;
    if old_end > new.end() {
        writer.go(new.end(), 0);
        writer.out.push_str("\x1b[J");
    }
    for row in uncovered(old, new) {
        writer.go(row, 0);
        writer.out.push_str("\x1b[K");
    }
    let moved = new.scrolled > 0 || old.cursor != new.cursor;
    let mut placed = false;
    for (number, line) in new.lines.iter().enumerate() {
        let here = match new.cursor {
            Cursor::In(own, at) if own == number => Some(at),
            _ => None,
        };
        if stays(line) && (here.is_none() || !moved && writer.out.is_empty()) {
            continue;
        }
        writer.line(before(line.row), line, here);
        placed |= here.is_some();
    }
    if !placed
        && let Cursor::In(number, at) = new.cursor
        && (moved || !writer.out.is_empty())
    {
        writer.line(None, new.lines.get(number)?, Some(at));
    }
    let reshaped = old.shape != new.shape;
    if writer.out.is_empty() && !moved && !reshaped {
        return Some(END.to_owned());
    }
    match new.cursor {
        Cursor::At(row, column) => writer.go(row, column),
        Cursor::In(..) => writer.out.push_str("\x1b8"),
    }
    Some(format!("\x1b[0m\x1b[?25l{}{}{END}", writer.out, new.shape))
}

/// Returns the rows above the end of `new` that are empty in it and were not in `old`.
fn uncovered(old: &Frame, new: &Frame) -> Vec<u16> {
    let rows = |frame: &Frame, scrolled: u16| -> Vec<u16> {
        let lines = frame.lines.iter();
        lines
            .flat_map(|line| line.row - scrolled..line.end() - scrolled)
            .collect()
    };
    let covered = rows(new, 0);
    let mut left = rows(old, new.scrolled);
    left.retain(|row| *row < new.end() && covered.binary_search(row).is_err());
    left
}

/// The part of a line that is on the screen already: its length in bytes, the position and the looks behind it.
#[derive(Clone)]
struct Shared {
    from: usize,
    place: Walk,
    looks: Looks,
    /// The line on the screen ends with this part.
    appends: bool,
}

impl Shared {
    fn nothing(row: u16, columns: u16) -> Self {
        Shared {
            from: 0,
            place: Walk::begin(row, columns),
            looks: Looks::default(),
            appends: false,
        }
    }
}

struct Writer {
    out: String,
    columns: u16,
}

impl Writer {
    fn go(&mut self, row: u16, column: u16) {
        // Writing to memory does not fail.
        let _ = write!(self.out, "\x1b[{};{}H", row + 1, column + 1);
    }

    /// Writes a line in place of `old`; the terminal saves the position behind `cursor` bytes of it.
    fn line(&mut self, old: Option<&PaintedLine>, new: &PaintedLine, cursor: Option<usize>) {
        let shared = old.and_then(|old| self.shared(old, new));
        let appends = shared.as_ref().is_some_and(|shared| shared.appends);
        let Shared {
            from, place, looks, ..
        } = shared.unwrap_or_else(|| Shared::nothing(new.row, self.columns));
        for row in (place.row + 1..new.end()).rev() {
            self.go(row, 0);
            self.out.push_str("\x1b[K");
        }
        self.go(place.row, place.column);
        if !appends {
            self.out.push_str("\x1b[K");
        }
        self.out.push_str(&looks.0);
        match cursor {
            None => self.out.push_str(&new.text[from..]),
            Some(at) => {
                self.out.push_str(&new.text[..at]);
                self.out.push_str("\x1b7");
                self.out.push_str(&new.text[at..]);
            }
        }
        self.out.push_str("\x1b[0m");
    }

    /// Returns the part of the line that is on the screen already; `None` where the position behind it is not
    /// certain.
    fn shared(&self, old: &PaintedLine, new: &PaintedLine) -> Option<Shared> {
        if !old.certain || !new.certain || old.rows > new.rows {
            return None;
        }
        let mut shared = Shared::nothing(new.row, self.columns);
        let mut last = None;
        let mut known = Tokens::new(&old.text);
        for (from, token) in Tokens::new(&new.text) {
            shared.from = from;
            if !shared.place.is_full() {
                last = Some(shared.clone());
            }
            let before = known.next().map(|(_, token)| token);
            if before != Some(token) {
                let is_text = |token: Token<'_>| matches!(token, Token::Text(_));
                let goes_on = before.is_some_and(is_text) || known.any(|(_, it)| is_text(it));
                return last.map(|shared| Shared {
                    appends: !goes_on,
                    ..shared
                });
            }
            match token {
                Token::Style(sequence) => shared.looks.take(sequence),
                Token::Text(c) => shared.place.go(certain_columns(c)?),
                _ => {}
            }
        }
        // The rest of the old line is erased.
        if shared.place.is_full() {
            last
        } else {
            shared.from = new.text.len();
            Some(shared)
        }
    }
}
