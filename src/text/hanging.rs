//! Messages on a terminal narrower than they are: continuation rows keep the columns.
//!
//! In: safe text (`text::escape`), a width. Out: the same text with line ends and margins instead of blanks. Where a
//! row breaks, the next begins under the last column of the line that leaves it room (two blanks separate columns).

use super::wrap::{Break, Room, rows};
use crate::columns;

/// Rows under a column have at least one such part of the width.
const ROOM: usize = 3;

/// Breaks every line wider than `width`; its other rows are indented by at least `margin` columns.
pub fn hanging(text: &str, width: usize, margin: usize) -> String {
    let roomy = |column: &usize| is_roomy(*column, width);
    broken(text, width, |line| {
        let starts = line.char_indices().filter_map(|(at, c)| {
            let before = &line[..at];
            (c != ' ' && before.ends_with("  ")).then(|| columns(before))
        });
        let column = starts.rev().find(roomy).unwrap_or(0);
        column.max(lead(line)).max(margin)
    })
}

/// As [`hanging`], for text that may be code: blanks in it separate no columns.
pub fn indented(text: &str, width: usize, margin: usize) -> String {
    broken(text, width, |line| lead(line).max(margin))
}

fn broken(text: &str, width: usize, margin: impl Fn(&str) -> usize) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| match columns(line) <= width {
            true => line.to_owned(),
            false => below(line, width, margin(line)),
        })
        .collect();
    lines.join("\n")
}

fn below(line: &str, width: usize, margin: usize) -> String {
    let margin = Some(margin).filter(|it| is_roomy(*it, width)).unwrap_or(0);
    let room = Room {
        first: width,
        rest: width - margin,
    };
    let rows = rows(line, room, Break::Message);
    let rows: Vec<&str> = rows.into_iter().map(|row| &line[row]).collect();
    rows.join(&format!("\n{}", " ".repeat(margin)))
}

fn lead(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_roomy(margin: usize, width: usize) -> bool {
    margin * ROOM <= width * (ROOM - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, width: usize, margin: usize, expected: &str) {
        assert_eq!(hanging(text, width, margin), expected, "{text:?}");
    }

    #[test]
    fn lines_break_at_words_and_columns_stay_under_columns() {
        check("short", 10, 0, "short");
        check("one two three\nfour", 8, 0, "one two\nthree\nfour");
        check("one two three", 8, 2, "one two\n  three");
        check("  one two three", 9, 0, "  one two\n  three");
        check(
            "* gpt  low, high  a model for all",
            28,
            0,
            "* gpt  low, high  a model\n                  for all",
        );
        // Columns that leave no room.
        check(
            "name       value is long",
            16,
            2,
            "name       value\n  is long",
        );
        // A path is not broken.
        check("in /a/long/path/x.py it", 10, 0, "in\n/a/long/path/x.py it");
        check("漢字 漢字 漢字", 9, 0, "漢字 漢字\n漢字");
        check("one two", 1, 0, "one\ntwo");
        let call = "f(code='if a:    b') => one two";
        assert_eq!(indented(call, 22, 3), "f(code='if a:    b')\n   => one two");
    }

    proptest! {
        #[test]
        fn only_blanks_change_and_rows_fit(words in proptest::collection::vec("[a-z]{1,9}", 1..20),
            width in 10usize..40) {
            let line = words.join(" ");
            let shown = hanging(&line, width, 0);
            prop_assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), words);
            for row in shown.lines() {
                prop_assert!(columns(row) <= width, "{:?}", row);
            }
        }
    }
}
