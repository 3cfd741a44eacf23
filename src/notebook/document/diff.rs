//! The difference between two notebooks, as a unified diff of their marked texts.
//!
//! Marks are compared without their numbers: an inserted cell does not change the cells behind it.

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::marked::without_number;

/// Unchanged lines shown around a change.
const AROUND: usize = 3;

/// A line of a diff, without its sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine<'a> {
    /// The header of a hunk: `@@ -1,4 +1,5 @@`.
    Place(String),
    /// A line of both texts.
    Same(&'a str),
    /// A line of the first text only.
    Removed(&'a str),
    /// A line of the second text only.
    Added(&'a str),
}

impl DiffLine<'_> {
    /// The line with its sign.
    pub fn text(&self) -> String {
        match self {
            DiffLine::Place(place) => place.clone(),
            DiffLine::Same(line) => format!(" {line}"),
            DiffLine::Removed(line) => format!("-{line}"),
            DiffLine::Added(line) => format!("+{line}"),
        }
    }
}

/// The difference between two texts; empty when they are equal.
pub fn diff<'a>(old: &'a str, new: &'a str) -> Vec<DiffLine<'a>> {
    // A carriage return before the newline is part of the line.
    let lines = |text: &'a str| -> Vec<&'a str> { text.split_terminator('\n').collect() };
    let (old, new) = (lines(old), lines(new));
    let keys = |lines: &[&'a str]| -> Vec<&'a str> {
        lines.iter().map(|line| without_number(line)).collect()
    };
    let ops = capture_diff_slices(Algorithm::Myers, &keys(&old), &keys(&new));
    let mut differences = Vec::new();
    for group in group_diff_ops(ops, AROUND) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        if group.iter().all(|op| matches!(op, DiffOp::Equal { .. })) {
            continue;
        }
        // A range without lines names the line before it.
        let place =
            |from: usize, to: usize| format!("{},{}", from + usize::from(to > from), to - from);
        differences.push(DiffLine::Place(format!(
            "@@ -{} +{} @@",
            place(first.old_range().start, last.old_range().end),
            place(first.new_range().start, last.new_range().end)
        )));
        for op in &group {
            if let DiffOp::Equal { .. } = op {
                differences.extend(new[op.new_range()].iter().map(|line| DiffLine::Same(line)));
                continue;
            }
            let removed = old[op.old_range()].iter();
            differences.extend(removed.map(|line| DiffLine::Removed(line)));
            let added = new[op.new_range()].iter();
            differences.extend(added.map(|line| DiffLine::Added(line)));
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &[&str]) {
        let lines: Vec<String> = diff(old, new).iter().map(DiffLine::text).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn line_ends_differ_too() {
        check(
            "a\r\nb\n",
            "a\nb\n",
            &["@@ -1,2 +1,2 @@", "-a\r", "+a", " b"],
        );
    }

    #[test]
    fn no_lines_stand_behind_one() {
        check("", "a\n", &["@@ -0,0 +1,1 @@", "+a"]);
        check("a\n", "", &["@@ -1,1 +0,0 @@", "-a"]);
    }
}
