//! The window on a text taller than the screen: which of its rows are visible.
//!
//! reedline's painter measures all of the text several times at every key and cannot scroll: a text taller than the
//! screen costs 17 ms a key at 500 lines, hides the text behind the cursor's line, and leaves rows in the
//! scrollback. So the painter gets a *window*: as many whole rows around the cursor as the screen holds. The
//! painter splits its text at the cursor's byte offset, so each byte of a row above the window becomes a NUL, which
//! the painter measures as nothing and terminals ignore as padding, if NULs get there at all
//! ([`paint_capture`](super::paint_capture) drops them). Rows below the window are left out. The window's first row
//! has the continuation label, or none when that row is the middle of a wrapped line.
//!
//! In: text, cursor, size of the terminal, columns of the labels. Out: [`WindowShown`]. Invariants: rows are those
//! the whole text would wrap to; a window is at most one row less than the screen (at the screen's height the
//! painter draws in another way) and keeps some rows free below the cursor for a menu; the cursor is in it; the
//! window moves only as far as it must. When the text is submitted, the window is erased and all of the text
//! printed once.
//!
//! Absent on purpose: reedline's own history search, which bypasses this file.

use std::ops::Range;

use crate::text::{clusters, is_plain_ascii};

/// Rows below the cursor that a window leaves free, when the screen has them.
const FREE: usize = 8;

/// Rows shown above a cursor that has left the window upwards.
const CONTEXT: usize = 2;

/// The visible part of the text, and its last position.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Columns of the label before the first line.
    pub(super) label: usize,
    /// Columns of the label before each other line.
    pub(super) continuation: usize,
    /// The first byte shown last.
    top: usize,
}

/// The prefix of the first visible row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowPrefix {
    Label,
    Continuation,
    /// None: the row continues the line above.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WindowShown {
    /// Bytes of the text.
    pub(super) range: Range<usize>,
    pub(super) front: RowPrefix,
    /// Rows of the screen the window takes, when it is less than the text.
    pub(super) rows: Option<usize>,
}

impl Window {
    /// Returns the visible part of `text` on a terminal of these columns and rows.
    pub(super) fn show(
        &mut self,
        text: &str,
        cursor: usize,
        (columns, rows): (u16, u16),
    ) -> WindowShown {
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        let whole = WindowShown {
            range: 0..text.len(),
            front: RowPrefix::Label,
            rows: None,
        };
        let layout = WrapLayout {
            text,
            columns,
            label: self.label,
            continuation: self.continuation,
        };
        if columns < self.label.max(self.continuation) + 2 || rows < 4 {
            self.top = 0;
            return whole;
        }
        // A cursor behind a full row is in a row of its own.
        let line = layout.line_at(cursor);
        let beyond = usize::from(cursor == line.end && layout.is_full(&line));
        let capacity = rows - 1 - beyond;
        if layout.down(0, capacity).2 {
            self.top = 0;
            return whole;
        }
        let above = capacity - 1 - FREE.min(rows / 4);
        let up = layout.up(cursor, above + 1);
        let (own, oldest) = (up[0], up[up.len() - 1]);
        let mut top = if self.top > own {
            up[CONTEXT.min(up.len() - 1)]
        } else if self.top <= oldest {
            oldest
        } else {
            let known = up.iter().find(|start| **start <= self.top);
            known.copied().unwrap_or(oldest)
        };
        let (mut end, mut used, mut all) = layout.down(top, capacity);
        if all && used < above + 1 {
            // The end of the text has come closer: no empty rows for it.
            let higher = layout.up(top, above + 2 - used);
            top = higher[higher.len() - 1];
            (end, used, all) = layout.down(top, capacity);
        }
        debug_assert!(top <= cursor && cursor <= end);
        self.top = top;
        let at_line = top == 0 || text.as_bytes()[top - 1] == b'\n';
        WindowShown {
            range: top..if all { text.len() } else { end },
            front: match (top, at_line) {
                (0, _) => RowPrefix::Label,
                (_, true) => RowPrefix::Continuation,
                (_, false) => RowPrefix::Nothing,
            },
            rows: Some(used + beyond),
        }
    }
}

/// A text and how it wraps.
struct WrapLayout<'a> {
    text: &'a str,
    columns: usize,
    label: usize,
    continuation: usize,
}

impl WrapLayout<'_> {
    /// Returns the line that contains byte `at`, without its newline.
    fn line_at(&self, at: usize) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline);
        start..end
    }

    /// Returns true when the last row of the line is full, so that the next character is in another row.
    fn is_full(&self, line: &Range<usize>) -> bool {
        self.rows(line).1
    }

    /// Returns the start of each row of a line, and whether the last one is full. A line has at least one row.
    fn rows(&self, line: &Range<usize>) -> (Vec<usize>, bool) {
        let front = match line.start {
            0 => self.label,
            _ => self.continuation,
        };
        let text = &self.text[line.clone()];
        let mut starts = vec![line.start];
        if is_plain_ascii(text) {
            let mut next = self.columns - front;
            while next < text.len() {
                starts.push(line.start + next);
                next += self.columns;
            }
            return (starts, next == text.len());
        }
        let (mut at, mut column) = (line.start, front);
        for (cluster, width) in clusters(text) {
            let width = match cluster {
                // A tab goes to the next stop and never beyond the row.
                "\t" => (8 - column % 8).min((self.columns - 1).saturating_sub(column)),
                _ => width,
            };
            if column >= self.columns || (column > 0 && column + width > self.columns) {
                starts.push(at);
                column = 0;
            }
            at += cluster.len();
            column += width;
        }
        (starts, column >= self.columns)
    }

    /// Returns the starts of the row that contains byte `at` and of those above it, at most `count`, going up.
    fn up(&self, at: usize, count: usize) -> Vec<usize> {
        let mut out = Vec::with_capacity(count);
        let mut at = at;
        loop {
            let line = self.line_at(at);
            let starts = self.rows(&line).0;
            let here = starts.into_iter().rev().filter(|start| *start <= at);
            out.extend(here.take(count - out.len()));
            if out.len() == count || line.start == 0 {
                return out;
            }
            at = line.start - 1;
        }
    }

    /// Counts down from the row that begins at `top`: returns the end of the last of at most `count` rows, their
    /// number, and whether they reach the end of the text.
    fn down(&self, top: usize, count: usize) -> (usize, usize, bool) {
        let mut used = 0;
        let mut line = self.line_at(top);
        loop {
            let starts = self.rows(&line).0;
            for start in starts.into_iter().filter(|start| *start >= top) {
                if used == count {
                    // The newline before a line is no part of the window.
                    let end = start - usize::from(start == line.start);
                    return (end, used, false);
                }
                used += 1;
            }
            if line.end == self.text.len() {
                return (line.end, used, true);
            }
            line = self.line_at(line.end + 1);
        }
    }
}

#[cfg(test)]
mod tests;
