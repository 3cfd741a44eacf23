//! Untrusted text as rows of the screen: escaped, complete, broken after blanks, never wrapped by the terminal.
//!
//! In: text of a model, a skill, a file, and a width. Out: [`Line`]s within that width. Invariants: every character
//! of the text is in the rows, including blanks at a break, unchanged or spelled (`text::escape`); a tab becomes
//! blanks up to the next stop; a word is broken only when no row can hold it. Absent on purpose: markdown; the
//! choice of row ends (`text::wrap`).

use nu_ansi_term::Style;

use crate::markdown::{Appearance, CodeHighlighter};
use crate::screen::{Screen, ScreenError};
use crate::text::escape::visible_lines;
use crate::text::{Break, Line, Room, columns, expand_tabs, rows_of_runs};

pub(super) struct Rows {
    width: usize,
    rows: Vec<Line>,
}

impl Rows {
    /// Creates an empty builder; `width` in columns.
    pub(super) fn new(width: usize) -> Self {
        Rows {
            width: width.max(2),
            rows: Vec::new(),
        }
    }

    pub(super) fn into_rows(self) -> Vec<Line> {
        self.rows
    }

    /// Adds text of one style; each of its lines is indented by `indent` columns.
    pub(super) fn text(&mut self, indent: usize, text: &str, style: Style) {
        let margin = " ".repeat(indent);
        for line in visible_lines(text).split('\n') {
            let runs = [(expand_tabs(line, 0), style)];
            self.runs((&margin, Style::new()), &margin, &runs);
        }
    }

    pub(super) fn labelled(&mut self, label: (&str, Style), text: &str, style: Style) {
        let shown = visible_lines(text);
        let mut margin = label;
        let blank = " ".repeat(columns(label.0));
        for line in shown.split('\n') {
            self.runs(margin, &blank, &[(expand_tabs(line, 0), style)]);
            margin = (&blank, Style::new());
        }
    }

    /// Adds highlighted Python; `margin` returns the text before line `n` (from 0).
    pub(super) fn code(
        &mut self,
        source: &str,
        appearance: &Appearance,
        margin: impl Fn(usize) -> (String, Style),
    ) {
        let mut colours =
            CodeHighlighter::new("python", appearance.colour.then_some(appearance.theme));
        for (number, line) in visible_lines(source).split('\n').enumerate() {
            let runs = colours.line(&expand_tabs(line, 0));
            let (first, style) = margin(number);
            let rest = " ".repeat(columns(&first));
            self.runs((&first, style), &rest, &runs);
        }
    }

    /// Adds one line of safe text: `first` before its first row, `rest` before the others. A `rest` that leaves too
    /// little room is left out.
    pub(super) fn runs(&mut self, first: (&str, Style), rest: &str, runs: &[(String, Style)]) {
        let margin = if columns(rest) * 2 <= self.width {
            rest
        } else {
            ""
        };
        // A first margin that leaves no room is a row of its own.
        let room = Room {
            first: self.width.saturating_sub(columns(first.0)),
            rest: self.width - columns(margin),
        };
        let runs: Vec<_> = runs
            .iter()
            .map(|(text, style)| (*style, text.as_str()))
            .collect();
        for (n, row) in rows_of_runs(&runs, room, Break::BehindBlanks)
            .into_iter()
            .enumerate()
        {
            let before = match n {
                0 => first,
                _ => (margin, Style::new()),
            };
            let row = row.into_iter();
            self.rows
                .push(std::iter::once((before.1, before.0)).chain(row).collect());
        }
    }
}

/// Writes rows to the scrollback. The terminal's wrapping stays on, since its widths may differ from ours.
pub(super) fn print(screen: &Screen, rows: &[Line]) -> Result<(), ScreenError> {
    for row in rows {
        screen.write_trusted(row.to_ansi(screen.colour()).as_bytes())?;
        screen.write_trusted(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(rows: Rows) -> Vec<String> {
        rows.into_rows().iter().map(Line::plain).collect()
    }

    #[test]
    fn text_is_whole_escaped_and_wrapped() {
        let check = |width: usize, indent: usize, text: &str, expected: &[&str]| {
            let mut rows = Rows::new(width);
            rows.text(indent, text, Style::new());
            assert_eq!(plain(rows), expected, "{text:?} at {width}");
        };
        check(10, 2, "abcdefghij", &["  abcdefgh", "  ij"]);
        check(10, 2, "a\n\nb", &["  a", "  ", "  b"]);
        check(5, 4, "abc", &["    a", "bc"]);
        check(5, 0, "漢字漢", &["漢字", "漢"]);
        check(12, 0, "\x1b[2Jx\ry\u{202e}", &["^[[2Jx^My\\u{", "202e}"]);
        check(9, 0, "a\tb", &["a   b"]);
        check(1, 0, "漢", &["漢"]);
    }

    #[test]
    fn labels_and_code_keep_their_margins() {
        let mut rows = Rows::new(12);
        rows.labelled(("why: ", Style::new()), "one two three\nx", Style::new());
        rows.text(2, "one two three four", Style::new());
        let numbered = |n: usize| (format!("{} ", n + 1), Style::new());
        rows.code("a = 1\nlonger_name = 2", &Appearance::default(), numbered);
        assert_eq!(
            plain(rows),
            [
                "why: one ",
                "     two ",
                "     three",
                "     x",
                "  one two ",
                "  three four",
                "1 a = 1",
                "2 longer_nam",
                "  e = 2"
            ]
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_wider(text in "[a-z漢é\u{301}\u{1b}\u{202e}]{0,60}", width in 2usize..30) {
            let mut rows = Rows::new(width);
            rows.text(0, &text, Style::new());
            let rows = rows.into_rows();
            let whole: String = rows.iter().map(Line::plain).collect();
            prop_assert_eq!(whole, visible_lines(&text).into_owned());
            for row in rows {
                prop_assert!(row.width() <= width.max(2));
            }
        }
    }
}
