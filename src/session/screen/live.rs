//! The live region: the rows under the scrollback that may still change.
//!
//! In: settled lines, to be printed once, and live lines, all rows below them. Out: bytes; pure. Invariants:
//! unchanged rows are not written again, text appended to the last row costs only that text; the cursor rests after
//! the last live row, or at the start of a fresh row when there is none; no cursor query, no `ESC[J` (with the
//! cursor in the first row tmux copies the screen to its scrollback); any change but an append is one synchronised
//! update with automatic wrapping off, so that a terminal with other widths clips. Absent on purpose: the source of
//! the text, and time: the caller ticks.

use crate::runtime::TerminalSize;
use crate::text::Line;
use crate::text::is_plain_ascii;

const BEGIN: &str = "\x1b[?2026h\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?2026l";
/// Automatic wrapping off and on again.
const NO_WRAP: (&str, &str) = ("\x1b[?7l", "\x1b[?7h");

pub struct LiveRegion {
    colour: bool,
    /// Live rows on the screen; the cursor is after the last one.
    rows: Vec<Line>,
    size: Option<TerminalSize>,
}

impl LiveRegion {
    /// Creates an empty region; the cursor must be at the start of a row.
    pub fn new(colour: bool) -> Self {
        LiveRegion {
            colour,
            rows: Vec::new(),
            size: None,
        }
    }

    /// Returns bytes that print `settled` and leave `live` below (its last `size.rows - 2` rows).
    pub fn draw(&mut self, settled: &[Line], live: &[Line], size: TerminalSize) -> Vec<u8> {
        let room = usize::from(size.rows).saturating_sub(2).max(1);
        let live = &live[live.len().saturating_sub(room)..];
        let resized = self.size.replace(size).filter(|known| *known != size);
        let mut out = String::new();
        if resized.is_some() {
            self.erase(size, &mut out);
        }
        let wanted: Vec<&Line> = settled.iter().chain(live).collect();
        if let Some(bytes) = self.append_only(&wanted, live.len(), size) {
            out.push_str(&bytes);
        } else {
            let (begin, end) = self.framing(&wanted, size);
            out.push_str(begin);
            self.redraw(&wanted, live.is_empty(), &mut out);
            out.push_str(end);
        }
        self.rows = live.to_vec();
        out.into_bytes()
    }

    /// Returns bytes that erase the live rows; the cursor is then at the start of the first of them.
    pub fn clear(&mut self) -> Vec<u8> {
        let mut out = String::new();
        let size = self.size.unwrap_or(TerminalSize {
            columns: u16::MAX,
            rows: u16::MAX,
        });
        self.erase(size, &mut out);
        out.into_bytes()
    }

    /// Handles the common case without a synchronised update: the last row grew, or nothing changed.
    fn append_only(&self, wanted: &[&Line], live: usize, size: TerminalSize) -> Option<String> {
        if live == 0 && self.rows.is_empty() && wanted.is_empty() {
            return Some(String::new());
        }
        if live == 0 || wanted.len() != self.rows.len() {
            return None;
        }
        let (last, before) = wanted.split_last()?;
        let (old_last, old_before) = self.rows.split_last()?;
        if !before.iter().zip(old_before).all(|(new, old)| *new == old) {
            return None;
        }
        let old_width = old_last.width();
        if old_last.common_columns(last) != old_width {
            return None;
        }
        let mut added = String::new();
        last.write_ansi_from(old_width, self.colour, &mut added);
        if added.is_empty() || fits_surely(last, size) {
            Some(added)
        } else {
            Some([NO_WRAP.0, &added, NO_WRAP.1].concat())
        }
    }

    /// Returns the sequences around a redraw. A redraw that begins in the last row and continues downwards is like
    /// an append and needs no synchronising; one that certainly fits needs no clipping.
    fn framing(&self, wanted: &[&Line], size: TerminalSize) -> (&'static str, &'static str) {
        let first = wanted
            .iter()
            .zip(&self.rows)
            .take_while(|(new, old)| **new == *old)
            .count();
        if first + 1 < self.rows.len() || wanted.len() < self.rows.len() {
            (BEGIN, END)
        } else if wanted[first..].iter().all(|line| fits_surely(line, size)) {
            ("", "")
        } else {
            NO_WRAP
        }
    }

    /// Rewrites the rows from the first difference on.
    fn redraw(&self, wanted: &[&Line], ends_fresh: bool, out: &mut String) {
        let mut cursor = self.rows.len().saturating_sub(1);
        // The cursor's column, where it is known without a query: after the last row.
        let mut column = self.rows.last().map(Line::width);
        for row in 0..wanted.len().max(self.rows.len()) {
            let new = wanted.get(row).copied();
            let old = self.rows.get(row);
            if new == old {
                continue;
            }
            if row >= self.rows.len() && row > 0 {
                // A row that does not exist yet is created from the last one down.
                move_rows(cursor, row - 1, out);
                out.push_str("\r\n");
                column = Some(0);
            } else if row != cursor {
                move_rows(cursor, row, out);
                column = None;
            }
            cursor = row;
            let empty = Line::default();
            let new = new.unwrap_or(&empty);
            let old_width = old.map_or(0, Line::width);
            let same = old.map_or(0, |old| old.common_columns(new));
            if column != Some(same) && (same > 0 || column != Some(0)) {
                go_to_column(same, out);
            }
            new.write_ansi_from(same, self.colour, out);
            let width = new.width();
            if width < old_width {
                out.push_str("\x1b[K");
            }
            column = Some(width);
        }
        if ends_fresh {
            let last = wanted.len().saturating_sub(1);
            move_rows(cursor, last, out);
            if wanted.is_empty() {
                out.push('\r');
            } else if self.rows.len() > wanted.len() {
                move_rows(last, wanted.len(), out);
                out.push('\r');
            } else {
                out.push_str("\r\n");
            }
        } else {
            let last = wanted.len() - 1;
            let width = wanted[last].width();
            if cursor != last {
                move_rows(cursor, last, out);
                column = None;
            }
            if column != Some(width) {
                go_to_column(width, out);
            }
        }
    }

    /// Clears every row of the region, as the terminal has re-wrapped them by now.
    fn erase(&mut self, size: TerminalSize, out: &mut String) {
        if self.rows.is_empty() {
            return;
        }
        let columns = usize::from(size.columns).max(1);
        let taken: usize = self
            .rows
            .iter()
            .map(|row| row.width().div_ceil(columns).max(1))
            .sum();
        let taken = taken.min(usize::from(size.rows).max(1));
        out.push_str(BEGIN);
        out.push_str("\r\x1b[K");
        for _ in 1..taken {
            out.push_str("\x1b[A\x1b[K");
        }
        out.push_str(END);
        self.rows.clear();
    }
}

/// True for a line that stays in its row whatever widths the terminal gives to non-ASCII text.
fn fits_surely(line: &Line, size: TerminalSize) -> bool {
    line.width() * 2 <= usize::from(size.columns)
        || line.spans().iter().all(|span| is_plain_ascii(&span.text))
            && line.width() <= usize::from(size.columns)
}

fn move_rows(from: usize, to: usize, out: &mut String) {
    match (to > from, to.abs_diff(from)) {
        (_, 0) => {}
        (true, 1) => out.push_str("\x1b[B"),
        (true, n) => out.push_str(&format!("\x1b[{n}B")),
        (false, 1) => out.push_str("\x1b[A"),
        (false, n) => out.push_str(&format!("\x1b[{n}A")),
    }
}

/// Moves to a column, counted from 0.
fn go_to_column(column: usize, out: &mut String) {
    if column == 0 {
        out.push('\r');
    } else {
        out.push_str(&format!("\x1b[{}G", column + 1));
    }
}

#[cfg(test)]
mod tests;
