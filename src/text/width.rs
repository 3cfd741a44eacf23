//! Display width: the terminal columns of a text.
//!
//! In: text without control characters (a control character counts as no column). Out: columns, counted by grapheme
//! cluster, so that a base with its marks, an emoji sequence or a flag is one unit that is never cut. Invariant:
//! `columns(a) + columns(b) == columns(a + b)` whenever the cut between them is a cluster boundary. Absent on
//! purpose: guessing ambiguous widths (narrow, the default of all common terminals). Unicode data: the versions of
//! `unicode-width` 0.2 and `unicode-segmentation` 1.13.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub fn columns(text: &str) -> usize {
    if is_plain_ascii(text) {
        text.len()
    } else {
        clusters(text).map(|(_, width)| width).sum()
    }
}

/// The grapheme clusters of `text`, each with its columns (0, 1 or 2).
pub fn clusters(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.graphemes(true)
        .map(|cluster| (cluster, cluster.width().min(2)))
}

/// Columns of a single character, as counted by a terminal without support for clusters.
pub fn character_columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Columns of a single character where all terminals agree on them: `None` for marks, emoji, and characters of
/// ambiguous width.
pub fn certain_columns(c: char) -> Option<u16> {
    if (' '..='~').contains(&c) {
        return Some(1);
    }
    let narrow = c
        .width()
        .filter(|width| *width > 0 && c.width_cjk() == Some(*width));
    let pictured = matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..);
    u16::try_from(narrow?).ok().filter(|_| !pictured)
}

/// Splits `text` after the longest run of whole clusters that takes at most `limit` columns.
pub fn split_at_columns(text: &str, limit: usize) -> (&str, &str) {
    if is_plain_ascii(text) {
        return text.split_at(limit.min(text.len()));
    }
    let mut used = 0;
    let mut end = 0;
    for (cluster, width) in clusters(text) {
        if used + width > limit {
            break;
        }
        used += width;
        end += cluster.len();
    }
    text.split_at(end)
}

/// Returns the longest start of `text` that fits `limit` columns; a cut text ends in `...`, which counts.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    cut_with(text, limit, "...")
}

/// As [`cut`], with another mark at the end.
pub fn cut_with<'t>(text: &'t str, limit: usize, mark: &str) -> Cow<'t, str> {
    // A text takes at most as many columns as bytes, so short ones need no measuring.
    if text.len() <= limit || columns(text) <= limit {
        return Cow::Borrowed(text);
    }
    let (mark, _) = split_at_columns(mark, limit);
    let (start, _) = split_at_columns(text, limit - columns(mark));
    Cow::Owned(format!("{start}{mark}"))
}

/// Returns the longest end of `text` that fits `limit` columns, after `…` when something was cut; for paths, whose
/// end matters most.
pub fn cut_front(text: &str, limit: usize) -> Cow<'_, str> {
    let mut over = columns(text).saturating_sub(limit);
    if over == 0 {
        return Cow::Borrowed(text);
    }
    over += 1;
    let mut end = text;
    for (cluster, width) in clusters(text) {
        if over == 0 {
            break;
        }
        over = over.saturating_sub(width);
        end = &end[cluster.len()..];
    }
    Cow::Owned(if limit > 0 {
        format!("…{end}")
    } else {
        String::new()
    })
}

/// Returns the first `most` characters of `text`, then `…` when there are more.
pub fn cut_characters(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Replaces tabs with blanks, at stops of four columns; `text` begins at `column` of its line and may have several
/// lines.
pub fn expand_tabs(text: &str, column: usize) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut column = column;
    for part in text.split_inclusive(['\t', '\n']) {
        let kept = part.trim_end_matches('\t');
        out.push_str(kept);
        column += columns(kept.trim_end_matches('\n'));
        if kept.len() < part.len() {
            let blanks = 4 - column % 4;
            out.push_str(&" ".repeat(blanks));
            column += blanks;
        } else if kept.ends_with('\n') {
            column = 0;
        }
    }
    out
}

/// Byte offset of the last word of `text`, as Ctrl-W defines words: separated by blanks.
pub fn last_word(text: &str) -> usize {
    text.trim_end()
        .trim_end_matches(|c: char| !c.is_whitespace())
        .len()
}

/// True for printable ASCII only: one byte is one column and one cluster.
pub fn is_plain_ascii(text: &str) -> bool {
    text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn counts_columns_by_cluster() {
        for (text, expected) in [
            ("", 0),
            ("abc", 3),
            ("漢字", 4),
            ("e\u{301}", 1),
            ("👩\u{200d}💻", 2),
            ("🇩🇪", 2),
            ("a漢b", 4),
        ] {
            assert_eq!(columns(text), expected, "{text:?}");
        }
    }

    #[test]
    fn never_cuts_a_cluster() {
        assert_eq!(split_at_columns("漢字", 3), ("漢", "字"));
        assert_eq!(split_at_columns("漢字", 1), ("", "漢字"));
        assert_eq!(split_at_columns("abc", 2), ("ab", "c"));
        assert_eq!(split_at_columns("abc", 9), ("abc", ""));
        assert_eq!(split_at_columns("xe\u{301}y", 2), ("xe\u{301}", "y"));
    }

    #[test]
    fn cutting_keeps_clusters_whole() {
        let check = |text: &str, columns: usize, expected: &str| {
            assert_eq!(cut(text, columns), expected, "{text:?} at {columns}");
        };
        check("hello", 5, "hello");
        check("hello!", 5, "he...");
        check("漢字漢字", 7, "漢字...");
        check("漢字漢字", 8, "漢字漢字");
        check("漢字漢字", 6, "漢...");
        check("ae\u{301}bcd", 4, "a...");
        check("abc", 2, "..");
        check("abc", 0, "");
        let check = |text: &str, columns: usize, expected: &str| {
            assert_eq!(cut_front(text, columns), expected, "{text:?} at {columns}");
        };
        check("/a/path", 7, "/a/path");
        check("/a/path", 5, "…path");
        check("漢字漢字", 7, "…字漢字");
        check("漢字漢字", 6, "…漢字");
        check("abc", 1, "…");
        check("abc", 0, "");
        assert!(matches!(cut("safe", 4), Cow::Borrowed(_)));
        assert_eq!(cut_with("abc", 2, "…"), "a…");
        assert_eq!(cut_with("abc", 0, "…"), "");
        assert_eq!(cut_characters("漢字x", 2), "漢字…");
        assert_eq!(cut_characters("漢字", 2), "漢字");
        assert_eq!(expand_tabs("a\tb\t\t漢\tc", 0), "a   b       漢  c");
        assert_eq!(expand_tabs("a\tb\nab\t\n\tc", 2), "a b\nab  \n    c");
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn a_cut_text_fits(text in any::<String>(), limit in 0usize..40) {
            prop_assert!(columns(&cut(&text, limit)) <= limit);
        }
    }
}
