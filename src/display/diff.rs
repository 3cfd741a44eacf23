//! Changes of files as coloured rows.
//!
//! In: what an agent changed or wants to change: the content of a new or deleted file, the hunks of an updated one
//! (unified diff), made of its old and new text where that is what is known. Out: a head with path, kind and counts,
//! then every line of it. All of it is foreign.

use nu_ansi_term::{Color, Style};

use super::rows::Rows;
use crate::agent::{Change, FileChange};

/// What one line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Added,
    Removed,
    Place,
    Same,
}

/// The head: `update src/a.py +2 -1`.
pub(super) fn head(change: &FileChange) -> String {
    let text = change.change.text();
    let lines: Vec<Mark> = lines(change, &text).map(|(mark, _)| mark).collect();
    let count = |mark| lines.iter().filter(|found| **found == mark).count();
    format!(
        "{} {} +{} -{}",
        change.change.word(),
        change.path,
        count(Mark::Added),
        count(Mark::Removed)
    )
}

/// Adds the lines of `change`, indented; at most `most` of them. Returns how many were left out.
pub(super) fn body(change: &FileChange, most: usize, rows: &mut Rows) -> usize {
    let mut left_out = 0;
    let text = change.change.text();
    for (number, (mark, line)) in lines(change, &text).enumerate() {
        if number >= most {
            left_out += 1;
            continue;
        }
        let (sign, style) = match mark {
            Mark::Added => ("+", Color::Green.normal()),
            Mark::Removed => ("-", Color::Red.normal()),
            Mark::Place => ("", Color::Cyan.normal()),
            Mark::Same => (" ", Style::new()),
        };
        rows.text(2, &format!("{sign}{line}"), style);
    }
    left_out
}

/// Each line of `text`, which is that of `change`, with what it is, without its sign.
fn lines<'a>(change: &FileChange, text: &'a str) -> impl Iterator<Item = (Mark, &'a str)> {
    let whole = match &change.change {
        Change::Added(_) => Some(Mark::Added),
        Change::Deleted(_) => Some(Mark::Removed),
        Change::Diff(_) | Change::Rewritten { .. } => None,
    };
    let mut in_hunk = false;
    text.split_terminator('\n').map(move |line| match whole {
        Some(mark) => (mark, line),
        None => {
            in_hunk |= line.starts_with("@@");
            marked(line, in_hunk)
        }
    })
}

fn marked(line: &str, in_hunk: bool) -> (Mark, &str) {
    let head = !in_hunk && (line.starts_with("+++") || line.starts_with("---"));
    match line.as_bytes().first() {
        _ if head => (Mark::Place, line),
        Some(b'@') if line.starts_with("@@") => (Mark::Place, line),
        Some(b'+') => (Mark::Added, &line[1..]),
        Some(b'-') => (Mark::Removed, &line[1..]),
        Some(b' ') => (Mark::Same, &line[1..]),
        Some(b'\\') => (Mark::Place, line),
        _ => (Mark::Same, line),
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
            assert_eq!(body(&change, usize::MAX, &mut rows), 0);
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
        assert_eq!(body(&change("add", "1\n2\n3\n"), 2, &mut rows), 1);
        assert_eq!(rows.into_rows().len(), 2);
    }
}
