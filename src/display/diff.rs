//! Changes of files as coloured rows.
//!
//! In: a change: the content of a new or deleted file, or the hunks of an updated one (unified diff, made from its
//! old and new text where these are known). Out: a head with path, kind and counts, then the lines: removed ones
//! red, added and unchanged ones highlighted by their language; in a notebook only code cells are. All text is
//! untrusted.

use nu_ansi_term::{Color, Style};

use super::rows::Rows;
use crate::agent::{Change, FileChange};
use crate::markdown::{Appearance, CodePainter, CodeState};
use crate::text::MARKED;
use crate::text::escape::visible_lines;
use crate::text::expand_tabs;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Added,
    Removed,
    Header,
    Context,
}

pub(super) fn head(change: &FileChange) -> String {
    let text = change.change.text();
    let lines: Vec<LineKind> = lines(change, &text).map(|(kind, _)| kind).collect();
    let count = |kind| lines.iter().filter(|found| **found == kind).count();
    format!(
        "{} {} +{} -{}",
        change.change.as_str(),
        change.path,
        count(LineKind::Added),
        count(LineKind::Removed)
    )
}

/// Adds the lines of `change`, indented, at most `most` of them. Returns how many were left out.
pub(super) fn body(
    change: &FileChange,
    most: usize,
    appearance: &Appearance,
    rows: &mut Rows,
) -> usize {
    let mut left_out = 0;
    let text = change.change.text();
    let mut code = DiffColours::for_path(&change.path, appearance);
    for (number, (kind, line)) in lines(change, &text).enumerate() {
        if number >= most {
            left_out += 1;
            continue;
        }
        let (sign, style) = match kind {
            LineKind::Added => ("+", Color::Green.normal()),
            LineKind::Removed => ("-", Color::Red.normal()),
            LineKind::Header => ("", MARKED.normal()),
            LineKind::Context => (" ", Style::new()),
        };
        let colours = code.as_mut().and_then(|code| code.line(kind, line, style));
        match colours {
            Some(colours) => rows.runs((&format!("  {sign}"), style), "  ", &colours),
            None => rows.text(2, &format!("{sign}{line}"), style),
        }
    }
    left_out
}

struct DiffColours {
    painter: CodePainter,
    state: CodeState,
    /// In a notebook: true while the lines belong to a code cell, as far as known.
    cell: Option<bool>,
}

impl DiffColours {
    fn for_path(path: &str, appearance: &Appearance) -> Option<Self> {
        let (_, suffix) = path.rsplit_once('.').filter(|_| appearance.colour)?;
        let notebook = suffix.eq_ignore_ascii_case("ipynb");
        let language = if notebook { "python" } else { suffix };
        let painter = CodePainter::new(language, appearance.theme)?;
        Some(DiffColours {
            state: painter.start(),
            painter,
            cell: notebook.then_some(true),
        })
    }

    /// Returns the runs of an added or unchanged line, with `style` where the language has no colour; `None` for
    /// lines without highlighting.
    fn line(&mut self, kind: LineKind, line: &str, style: Style) -> Option<Vec<(String, Style)>> {
        let is_mark = self.cell.is_some() && line.starts_with("# %% [");
        if kind == LineKind::Header || is_mark {
            // Another part of the file, or another cell.
            self.state = self.painter.start();
        }
        if is_mark {
            self.cell = Some(line.starts_with("# %% [code]"));
        }
        let paints =
            matches!(kind, LineKind::Added | LineKind::Context) && self.cell != Some(false);
        if !paints || is_mark {
            return None;
        }
        // Behind its sign.
        let line = expand_tabs(&visible_lines(line), 1);
        let mut rest = line.as_str();
        let runs = self.painter.line(&mut self.state, &line).into_iter();
        let runs = runs.map(|(length, own)| {
            let (run, after) = rest.split_at(length);
            rest = after;
            let style = if own == Style::new() { style } else { own };
            (run.to_owned(), style)
        });
        Some(runs.collect())
    }
}

/// Lines of `text`, the text of `change`, with their kind and without their sign.
fn lines<'a>(change: &FileChange, text: &'a str) -> impl Iterator<Item = (LineKind, &'a str)> {
    let whole = match &change.change {
        Change::Added(_) => Some(LineKind::Added),
        Change::Deleted(_) => Some(LineKind::Removed),
        Change::Diff(_) | Change::Rewritten { .. } => None,
    };
    let mut in_hunk = false;
    text.split_terminator('\n').map(move |line| match whole {
        Some(kind) => (kind, line),
        None => {
            in_hunk |= line.starts_with("@@");
            classify_line(line, in_hunk)
        }
    })
}

fn classify_line(line: &str, in_hunk: bool) -> (LineKind, &str) {
    let head = !in_hunk && (line.starts_with("+++") || line.starts_with("---"));
    match line.as_bytes().first() {
        _ if head => (LineKind::Header, line),
        Some(b'@') if line.starts_with("@@") => (LineKind::Header, line),
        Some(b'+') => (LineKind::Added, &line[1..]),
        Some(b'-') => (LineKind::Removed, &line[1..]),
        Some(b' ') => (LineKind::Context, &line[1..]),
        Some(b'\\') => (LineKind::Header, line),
        _ => (LineKind::Context, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Line;

    fn change(kind: &str, diff: &str) -> FileChange {
        FileChange {
            path: "a\x1b.py".into(),
            change: match kind {
                "add" => Change::Added(diff.into()),
                "delete" => Change::Deleted(diff.into()),
                _ => Change::Diff(diff.into()),
            },
        }
    }

    #[test]
    fn every_line_is_there_with_its_sign_and_counted() {
        let check = |kind: &str, diff: &str, counts: &str, expected: &[&str]| {
            let change = change(kind, diff);
            assert_eq!(head(&change), format!("{kind} a\x1b.py {counts}"));
            let mut rows = Rows::new(40);
            let plain = Appearance::default();
            assert_eq!(body(&change, usize::MAX, &plain, &mut rows), 0);
            let rows: Vec<String> = rows.into_rows().iter().map(Line::plain).collect();
            assert_eq!(rows, expected, "{diff:?}");
        };
        check("add", "x\n\ny\n", "+3 -0", &["  +x", "  +", "  +y"]);
        check("delete", "x\r", "+0 -1", &["  -x^M"]);
        check("add", "", "+0 -0", &[]);
        check(
            "update",
            "--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- was a comment\n+new\x1b[31m\n same\n\n\\ No newline",
            "+1 -1",
            &[
                "  --- a",
                "  +++ b",
                "  @@ -1,2 +1,2 @@",
                "  --- was a comment",
                "  +new^[[31m",
                "   same",
                "   ",
                "  \\ No newline",
            ],
        );
    }

    #[test]
    fn a_limit_says_how_much_it_left_out() {
        let mut rows = Rows::new(40);
        let plain = Appearance::default();
        let change = change("add", "1\n2\n3\n");
        assert_eq!(body(&change, 2, &plain, &mut rows), 1);
        assert_eq!(rows.into_rows().len(), 2);
    }

    #[test]
    fn what_comes_and_stays_has_the_colours_of_its_language() {
        let painted = |path: &str, diff: &str| -> Vec<String> {
            let change = FileChange {
                path: path.into(),
                change: Change::Diff(diff.into()),
            };
            let appearance = Appearance {
                colour: true,
                ..Appearance::default()
            };
            let mut rows = Rows::new(40);
            body(&change, usize::MAX, &appearance, &mut rows);
            let rows = rows.into_rows();
            rows.iter().map(|row| row.to_ansi(true)).collect()
        };
        let code =
            " # %% [code] cell:0\n-return 1\n+return 2\n # %% [markdown] cell:1\n+return me\n";
        let rows = painted("a.ipynb", &format!("@@ -1,2 +1,2 @@\n{code}"));
        assert_eq!(rows[1], "   # %% [code] cell:0");
        assert_eq!(rows[2], "  \x1b[31m-return 1\x1b[0m");
        assert!(rows[3].starts_with("\x1b[32m  +\x1b[38;5;"), "{rows:?}");
        assert!(rows[3].contains("2"), "{rows:?}");
        assert_eq!(rows[5], "  \x1b[32m+return me\x1b[0m");
        let rows = painted("a.unknown", "@@ -1 +1 @@\n+return\n");
        assert_eq!(rows[1], "  \x1b[32m+return\x1b[0m");
    }
}
