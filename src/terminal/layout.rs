//! Styles of pieces of a panel's lines, the excerpt of a long text around a match, and wrapping.
//!
//! In: foreign text where a function says so, made safe here; columns. Out: lines without control characters.

use std::ops::Range;

use nu_ansi_term::Style;

use crate::text::escape::visible_lines;
use crate::text::needle::excerpt;
use crate::text::{Break, Line, expand_tabs, rows};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PanelStyle {
    Plain,
    Dim,
    Strong,
    Match,
}

impl From<PanelStyle> for Style {
    fn from(look: PanelStyle) -> Style {
        match look {
            PanelStyle::Plain => Style::new(),
            PanelStyle::Dim => Style::new().dimmed(),
            PanelStyle::Strong => Style::new().bold(),
            // Readable on light and dark backgrounds, and in reverse video.
            PanelStyle::Match => Style::new().bold().underline(),
        }
    }
}

/// Appends a text to the line with the range `at` marked and visible, in at most `room` columns.
pub(super) fn with_excerpt(line: Line, text: &str, at: &Range<usize>, room: usize) -> Line {
    let [before, matched, after] = excerpt(text, at, room);
    line.and(PanelStyle::Plain, before)
        .and(PanelStyle::Match, matched)
        .and(PanelStyle::Plain, after)
}

/// Wraps foreign text into rows of at most `width` columns, broken between words.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = expand_tabs(&visible_lines(text), 0);
    let of_line = |line| {
        rows(line, width, Break::Words)
            .into_iter()
            .map(|row| line[row].to_owned())
    };
    text.lines().flat_map(of_line).collect()
}
