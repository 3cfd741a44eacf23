//! Lines for the whole terminal: pieces of text and how they look, cut and wrapped to a width.
//!
//! In: foreign text where it says so, made safe here; columns. Out: lines without control characters.

use std::ops::Range;

use crate::text::escape::visible_lines;
use crate::text::needle::excerpt;
use crate::text::{columns, split_at_columns};

/// How a piece of a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Dim,
    Strong,
    /// What was looked for.
    Match,
}

/// A line: pieces of text without control characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pieces: Vec<(Look, String)>,
    chosen: bool,
}

impl Line {
    /// A line of one piece.
    pub(super) fn of(look: Look, text: impl Into<String>) -> Self {
        Line::default().and(look, text)
    }

    /// The line and a piece more.
    pub(super) fn and(mut self, look: Look, text: impl Into<String>) -> Self {
        self.pieces.push((look, text.into()));
        self
    }

    /// The line and a text of which `at` is marked and in sight, in at most `room` columns.
    pub(super) fn sighted(self, text: &str, at: &Range<usize>, room: usize) -> Self {
        let [before, matched, after] = excerpt(text, at, room);
        self.and(Look::Plain, before)
            .and(Look::Match, matched)
            .and(Look::Plain, after)
    }

    /// The line in as many rows as it takes at this width.
    pub(super) fn in_rows(self, width: usize) -> Vec<Line> {
        let width = width.max(2);
        let (mut rows, mut row, mut room) = (Vec::new(), Line::default(), width);
        for (look, text) in self.pieces {
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let (fits, over) = split_at_columns(rest, room);
                room -= columns(fits);
                if !fits.is_empty() {
                    row = row.and(look, fits);
                }
                if !over.is_empty() {
                    rows.push(std::mem::take(&mut row));
                    room = width;
                }
                rest = over;
            }
        }
        rows.push(row);
        rows
    }

    /// Its pieces, from the left.
    pub(super) fn pieces(&self) -> &[(Look, String)] {
        &self.pieces
    }

    /// It is the one that is chosen.
    pub(super) fn is_chosen(&self) -> bool {
        self.chosen
    }

    /// The line as the one that is chosen.
    pub(super) fn chosen(mut self, chosen: bool) -> Self {
        self.chosen = chosen;
        self
    }

    /// Its text.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// Text in rows of at most `width` columns, broken at blanks where there are some.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = visible_lines(text).replace('\t', "    ");
    let mut rows = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        loop {
            let (fits, over) = split_at_columns(rest, width.max(2));
            if over.is_empty() || fits.is_empty() {
                rows.push(fits.to_owned());
                break;
            }
            let end = match fits.rfind(' ') {
                Some(blank) if !over.starts_with(' ') && !fits[..blank].trim().is_empty() => {
                    blank + 1
                }
                _ => fits.len(),
            };
            rows.push(rest[..end].trim_end().to_owned());
            rest = rest[end..].trim_start_matches(' ');
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_at_blanks() {
        for (text, width, rows) in [
            ("one two three", 8, vec!["one two", "three"]),
            ("onetwothree", 4, vec!["onet", "woth", "ree"]),
            ("  indented line", 10, vec!["  indented", "line"]),
            ("漢字漢字", 5, vec!["漢字", "漢字"]),
            ("a\n\nb", 5, vec!["a", "", "b"]),
            ("", 5, vec![]),
        ] {
            assert_eq!(wrapped(text, width), rows, "{text:?}");
        }
    }

    #[test]
    fn a_line_of_pieces_keeps_every_column() {
        let line = Line::of(Look::Plain, "ab漢")
            .and(Look::Match, "cde")
            .and(Look::Plain, "");
        let rows: Vec<String> = line.in_rows(3).iter().map(Line::text).collect();
        assert_eq!(rows, ["ab", "漢c", "de"]);
        assert_eq!(Line::default().in_rows(3).len(), 1);
    }
}
