//! Messages of our own on a terminal that is narrower than they: columns stay under columns.
//!
//! In: safe text (`text::escape`), a width. Out: the same text with line ends and margins instead of blanks. Where a
//! row breaks, the next begins under the last column of the line that leaves it room (two blanks part columns).

use super::wrap::{Break, Room, rows};
use crate::text::columns;

/// Rows under a column have at least this part of the width.
const ROOM: usize = 3;

/// Breaks every line that is wider than `width`; `margin` is the least that stands before its other rows.
pub fn hanging(text: &str, width: usize, margin: usize) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| match columns(line) <= width {
            true => line.to_owned(),
            false => broken(line, width, margin),
        })
        .collect();
    lines.join("\n")
}

fn broken(line: &str, width: usize, margin_of_rows: usize) -> String {
    let lead = line.len() - line.trim_start_matches(' ').len();
    let roomy = |margin: &usize| *margin * ROOM <= width * (ROOM - 1);
    let mut starts = line.char_indices().filter_map(|(at, c)| {
        let before = &line[..at];
        (c != ' ' && before.ends_with("  ")).then(|| columns(before))
    });
    let margin = starts.rfind(roomy).unwrap_or(0);
    let margin = margin.max(lead).max(margin_of_rows);
    let margin = Some(margin).filter(roomy).unwrap_or(0);
    let room = Room {
        first: width,
        rest: width - margin,
    };
    let rows = rows(line, room, Break::Message);
    let rows: Vec<&str> = rows.into_iter().map(|row| &line[row]).collect();
    rows.join(&format!("\n{}", " ".repeat(margin)))
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
        // A path is left whole.
        check("in /a/long/path/x.py it", 10, 0, "in\n/a/long/path/x.py it");
        check("漢字 漢字 漢字", 9, 0, "漢字 漢字\n漢字");
        check("one two", 1, 0, "one\ntwo");
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
