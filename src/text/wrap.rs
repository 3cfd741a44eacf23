//! Text in rows of a given width: the one place that decides where a row ends.
//!
//! In: safe text without line ends, the room of the first row and of the others, where rows may end. Out: byte
//! ranges, or the same ranges of styled runs. Invariants: wrapping is greedy and looks only ahead of a row's start,
//! so a text wrapped from a row's start on gives the same rows again; rows are whole clusters, and no row is wider
//! than its room, except by one cluster that is wider than any row and as [`Break::Message`] says. Only blanks are
//! left out of the rows. Absent on purpose: hyphenation; full line-breaking classes (words, East Asian characters,
//! and no row that begins with a closing mark); margins, which callers add.

use std::ops::Range;

use nu_ansi_term::Style;

use super::Line;
use super::width::{clusters, columns, is_plain_ascii};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// At any cluster: code, columns.
    Anywhere,
    /// After blanks, which stay in the rows: untrusted text that has to be seen whole.
    BehindBlanks,
    /// Between words; the blanks there are in no row. A word longer than a row is broken.
    Words,
    /// Between words; text in backticks counts as one word if a row can hold it. A word longer than a row (a path,
    /// an address) is left to the terminal to wrap, so that it can be copied from the screen whole: the program's
    /// own messages.
    Message,
}

/// Columns of the first row and of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub first: usize,
    pub rest: usize,
}

impl From<usize> for Room {
    fn from(width: usize) -> Self {
        Room {
            first: width,
            rest: width,
        }
    }
}

/// Returns the rows of one line of text; an empty line has one row.
pub fn rows(line: &str, room: impl Into<Room>, at: Break) -> Vec<Range<usize>> {
    let Room { first, rest } = room.into();
    let mut wrapper = Wrapper {
        rest: rest.max(1),
        room: first.max(1),
        row: 0..0,
        used: 0,
        begun: false,
        rows: Vec::new(),
    };
    if at == Break::Anywhere {
        wrapper.broken(line, 0);
    } else {
        wrapper.words(line, at);
    }
    wrapper.rows.push(wrapper.row);
    wrapper.rows
}

/// As [`rows`], for runs of a style and a text.
pub fn rows_of_runs<'t, S: Clone>(
    runs: &[(S, &'t str)],
    room: impl Into<Room>,
    at: Break,
) -> Vec<Vec<(S, &'t str)>> {
    let whole: String = runs.iter().map(|(_, text)| *text).collect();
    let mut left = runs.iter();
    let (mut run, mut begin) = (left.next(), 0);
    let mut cut = |row: Range<usize>| {
        let mut pieces = Vec::new();
        while let Some((look, text)) = run {
            let inside =
                row.start.saturating_sub(begin)..row.end.saturating_sub(begin).min(text.len());
            if !inside.is_empty() {
                pieces.push((look.clone(), &text[inside]));
            }
            if begin + text.len() > row.end {
                break;
            }
            begin += text.len();
            run = left.next();
        }
        pieces
    };
    rows(&whole, room, at).into_iter().map(&mut cut).collect()
}

/// As [`rows`], for styled runs; returns lines of at most `width` columns.
pub fn styled_rows(styled: &[(Style, &str)], width: usize, at: Break) -> Vec<Line> {
    rows_of_runs(styled, width, at)
        .into_iter()
        .map(|row| row.into_iter().collect())
        .collect()
}

struct Wrapper {
    /// Columns of the rows after the first.
    rest: usize,
    room: usize,
    row: Range<usize>,
    used: usize,
    /// The current row holds a word, so that the next one may start a new row.
    begun: bool,
    rows: Vec<Range<usize>>,
}

impl Wrapper {
    fn next_row(&mut self, start: usize) {
        let row = std::mem::replace(&mut self.row, start..start);
        self.rows.push(row);
        (self.room, self.used, self.begun) = (self.rest, 0, false);
    }

    /// Adds text that is broken where the room ends; `start` is its offset in the line.
    fn broken(&mut self, text: &str, start: usize) {
        let mut at = start;
        for (cluster, width) in clusters_of(text) {
            if self.used > 0 && self.used + width > self.room {
                self.next_row(at);
            }
            at += cluster;
            self.row.end = at;
            self.used += width;
        }
    }

    fn words(&mut self, line: &str, at: Break) {
        let mut start = 0;
        while start < line.len() {
            let rest = &line[start..];
            let word = start + rest.len() - rest.trim_start_matches(' ').len();
            let end = word + word_end(&line[word..], at, self.rest);
            let (gap, wide) = (word - start, columns(&line[word..end]));
            if at == Break::BehindBlanks {
                self.broken(&line[start..word], start);
                self.begun = self.used > 0;
                // A word takes the blank after it along; one that no row can hold begins in the current row.
                let blank = usize::from(line[end..].starts_with(' '));
                if self.begun && self.used + wide + blank > self.room && wide <= self.rest {
                    self.next_row(word);
                }
            } else if word == end {
                return; // Blanks at the end.
            } else if self.begun && self.used + gap + wide > self.room {
                self.next_row(word);
            } else {
                self.used += gap;
            }
            if at == Break::Message {
                self.row.end = end;
                self.used += wide;
                if self.used > self.room {
                    // The terminal breaks it.
                    self.used %= self.room;
                }
            } else {
                self.broken(&line[word..end], word);
            }
            self.begun = true;
            start = end;
        }
    }
}

fn clusters_of(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let plain = is_plain_ascii(text);
    let (ascii, other) = if plain { (text, "") } else { ("", text) };
    let other = clusters(other).map(|(cluster, width)| (cluster.len(), width));
    ascii.bytes().map(|_| (1, 1)).chain(other)
}

/// End of the first word; `room` is that of a row.
fn word_end(text: &str, at: Break, room: usize) -> usize {
    let end = |from: usize| text[from..].find(' ').map_or(text.len(), |at| from + at);
    let first = end(0);
    if at == Break::Message {
        return ticked_end(text, first, end, room);
    }
    if is_plain_ascii(&text[..first]) {
        return first;
    }
    let (mut before, mut here) = (None, 0);
    for cluster in clusters(&text[..first]) {
        if before.is_some_and(|before| may_break(before, cluster)) {
            return here;
        }
        here += cluster.0.len();
        before = Some(cluster);
    }
    first
}

/// End of a word that ends at `first` by its blanks: a word with an open backtick continues to the closing one.
fn ticked_end(text: &str, first: usize, end: impl Fn(usize) -> usize, room: usize) -> usize {
    let mut ticks = text[..first].match_indices('`').map(|(at, _)| at);
    let (Some(open), None) = (ticks.next(), ticks.next()) else {
        return first;
    };
    let Some(close) = text[open + 1..].find('`') else {
        return first;
    };
    let whole = end(open + 1 + close);
    if columns(&text[..whole]) <= room {
        whole
    } else {
        first
    }
}

/// True between East Asian characters, and between one and a letter, but not before closing or after opening marks.
fn may_break((before, wide_before): (&str, usize), (cluster, width): (&str, usize)) -> bool {
    const OPENING: &str = "（「『《【〈“‘(";
    const CLOSING: &str = "，。、；：？！）」』》】〉”’…ー・";
    let c = cluster.chars().next().unwrap_or(' ');
    if width == 0 || CLOSING.contains(c) || before.ends_with(|c| OPENING.contains(c)) {
        return false;
    }
    width == 2 || (wide_before == 2 && c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    const ALL: [Break; 4] = [
        Break::Anywhere,
        Break::BehindBlanks,
        Break::Words,
        Break::Message,
    ];

    #[track_caller]
    fn check(line: &str, width: usize, expected: [&[&str]; 4]) {
        for (at, expected) in ALL.into_iter().zip(expected) {
            let found = rows(line, width, at).into_iter().map(|row| &line[row]);
            assert_eq!(found.collect::<Vec<_>>(), expected, "{line:?} {at:?}");
        }
    }

    #[test]
    fn rows_end_where_they_may() {
        check("", 8, [&[""], &[""], &[""], &[""]]);
        check(
            "one two three",
            8,
            [
                &["one two ", "three"],
                &["one two ", "three"],
                &["one two", "three"],
                &["one two", "three"],
            ],
        );
        check(
            "abcdefghijk",
            4,
            [
                &["abcd", "efgh", "ijk"],
                &["abcd", "efgh", "ijk"],
                &["abcd", "efgh", "ijk"],
                &["abcdefghijk"],
            ],
        );
        check(
            "a   bcdef",
            4,
            [
                &["a   ", "bcde", "f"],
                &["a   ", "bcde", "f"],
                &["a", "bcde", "f"],
                &["a", "bcdef"],
            ],
        );
        check(
            "  in `a b` x",
            7,
            [
                &["  in `a", " b` x"],
                &["  in ", "`a b` x"],
                &["  in `a", "b` x"],
                &["  in", "`a b` x"],
            ],
        );
    }

    #[test]
    fn wide_characters_break_where_their_script_allows() {
        let both: [&[&str]; 2] = [&["漢字", "漢字"], &["漢字漢字"]];
        check("漢字漢字", 5, [both[0], both[0], both[0], both[1]]);
        check(
            "漢字，漢",
            5,
            [
                &["漢字", "，漢"],
                &["漢", "字，", "漢"],
                &["漢", "字，", "漢"],
                &["漢字，漢"],
            ],
        );
        check("漢", 1, [&["漢"]; 4]);
    }

    #[test]
    fn the_first_row_may_have_other_room() {
        let room = Room { first: 3, rest: 5 };
        assert_eq!(rows("ab cd ef gh", room, Break::Words), [0..2, 3..8, 9..11]);
    }

    #[test]
    fn runs_are_cut_where_the_text_is() {
        let styled = [(1, "ab"), (2, ""), (3, "c de"), (4, "f")];
        assert_eq!(
            rows_of_runs(&styled, 4, Break::Words),
            [vec![(1, "ab"), (3, "c")], vec![(3, "de"), (4, "f")]]
        );
        assert_eq!(rows_of_runs::<u8>(&[], 4, Break::Words), [vec![]]);
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn rows_fit_and_only_blanks_are_lost(text in "[a-z 漢，é\u{301}`👩‍👧]{0,60}", width in 1usize..30) {
            let longer = text.split(' ').any(|word| columns(word) > width);
            for at in ALL {
                let found = rows(&text, width, at);
                let shown: String = found.iter().map(|row| &text[row.clone()]).collect();
                if matches!(at, Break::Anywhere | Break::BehindBlanks) {
                    prop_assert_eq!(&shown, &text);
                }
                prop_assert_eq!(shown.replace(' ', ""), text.replace(' ', ""));
                for row in found {
                    let fits = columns(&text[row]) <= width.max(2);
                    prop_assert!(fits || at == Break::Message && longer);
                }
            }
        }

        #[test]
        fn the_same_rows_come_from_a_row_on(text in "[a-z 漢，]{0,60}", width in 2usize..30) {
            for at in [Break::Anywhere, Break::BehindBlanks, Break::Words] {
                let found = rows(&text, width, at);
                for (n, row) in found.iter().enumerate().skip(1) {
                    let again = rows(&text[row.start..], width, at);
                    let again: Vec<_> = again.into_iter().map(|r| r.start + row.start..r.end + row.start).collect();
                    prop_assert_eq!(&again[..], &found[n..]);
                }
            }
        }
    }
}
