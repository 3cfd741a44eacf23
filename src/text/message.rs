//! Messages for people: sizes, ages and counts in words, columns, texts of several lines on one, and rows that keep
//! their columns on a terminal narrower than they are.
//!
//! In: text, safe to print except for [`first_line`], which makes it so; a width. Out: text. Where a row breaks, the
//! next begins under the last column of the line that leaves it room (two blanks separate columns). Pure.

use std::time::Duration;

use super::escape::visible;
use super::wrap::{Break, Room, rows};
use crate::columns;

pub fn bytes_in_words(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => {
            let tenths = bytes / 100_000_000;
            format!("{}.{} GB", tenths / 10, tenths % 10)
        }
    }
}

pub fn age_in_words(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// Formats a count: `1 session`, `2 sessions`.
pub fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

pub fn joined_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first line that is not blank, safe to print, and ` …` where more lines follow.
pub fn first_line(text: &str) -> (String, &'static str) {
    let (first, more) = match text.trim().split_once('\n') {
        Some((first, _)) => (first.trim_end(), " …"),
        None => (text.trim(), ""),
    };
    (visible(&first.replace('\t', " ")).into_owned(), more)
}

/// Returns one line per row, with two blanks between columns.
pub fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| columns(&row[at])).max().unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let cells =
            cells.map(|(cell, width)| format!("{cell}{}", " ".repeat(width - columns(cell))));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

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

    #[test]
    fn amounts_are_told_in_their_unit() {
        let sizes = [0, 999, 1_001, 2_000_000, 1_250_000_000].map(bytes_in_words);
        assert_eq!(sizes, ["0 B", "999 B", "2 kB", "2 MB", "1.2 GB"]);
        let ages = [59, 61, 7_300, 180_000].map(|age| age_in_words(Duration::from_secs(age)));
        assert_eq!(ages, ["59 s", "1 min", "2 h", "2 days"]);
        let counts = [0, 1, 2].map(|count| counted(count, "cell"));
        assert_eq!(counts, ["0 cells", "1 cell", "2 cells"]);
    }

    #[test]
    fn several_lines_on_one() {
        assert_eq!(joined_words(" a\n\n b\tc "), "a b c");
        assert_eq!(first_line("\n a\tb\x1b \nc"), ("a b^[".into(), " …"));
        assert_eq!(first_line("a\n"), ("a".into(), ""));
    }

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
