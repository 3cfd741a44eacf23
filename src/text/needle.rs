//! A search text, as typed into a search, and its places in other texts.
//!
//! Lower-case letters match capitals too, a capital matches only itself (as `rg -S`). Out: byte ranges on character
//! boundaries. An empty needle is never found.

use std::ops::Range;

use memchr::memmem::Finder;

use crate::cut;
use crate::escape::visible;
use crate::{clusters, columns};

/// Returns a part of `text` that takes at most `room` columns, on one line and safe to print: the text before the
/// match at `at`, the match, and the text after. The match is in it, however long the line.
pub fn excerpt(text: &str, at: &Range<usize>, room: usize) -> [String; 3] {
    let before = visible(&text[..at.start]);
    let matched = visible(&text[at.clone()]);
    let taken = columns(&matched);
    let mut before = before.trim_start();
    let mut width = columns(before);
    while width > 0 && width + taken > room * 2 / 3 {
        let (first, columns) = clusters(before).next().unwrap_or((before, width));
        before = &before[first.len()..];
        width -= columns;
    }
    let left = room.saturating_sub(width + taken);
    let after: String = text[at.end..].chars().take(left + 1).collect();
    let after = cut(&visible(&after), left).into_owned();
    [before.to_owned(), cut(&matched, room).into_owned(), after]
}

#[derive(Debug, Clone)]
pub struct Needle {
    text: String,
    how: How,
}

#[derive(Debug, Clone)]
enum How {
    Exactly(Box<Finder<'static>>),
    /// Lower-case ASCII: its first byte in both cases.
    Ascii([u8; 2]),
    Folded(Vec<char>),
}

impl Needle {
    /// Creates a needle for `text`, including its blanks.
    pub fn new(text: &str) -> Self {
        let how = if text.is_empty() || text.chars().any(char::is_uppercase) {
            How::Exactly(Box::new(Finder::new(text.as_bytes()).into_owned()))
        } else if text.is_ascii() {
            let first = text.as_bytes()[0];
            How::Ascii([first, first.to_ascii_uppercase()])
        } else {
            How::Folded(text.chars().flat_map(char::to_lowercase).collect())
        };
        Needle {
            text: text.to_owned(),
            how,
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// True when a matching text may differ from the needle in more than the case of ASCII letters.
    pub fn is_folded(&self) -> bool {
        matches!(self.how, How::Folded(_))
    }

    pub fn find(&self, hay: &str) -> Option<Range<usize>> {
        let (length, bytes) = (self.text.len(), hay.as_bytes());
        if length == 0 {
            return None;
        }
        match &self.how {
            How::Exactly(finder) => finder.find(bytes).map(|at| at..at + length),
            How::Ascii([small, capital]) => memchr::memchr2_iter(*small, *capital, bytes)
                .find(|at| {
                    let here = bytes.get(*at..at + length);
                    here.is_some_and(|here| here.eq_ignore_ascii_case(self.text.as_bytes()))
                })
                .map(|at| at..at + length),
            How::Folded(wanted) => hay
                .char_indices()
                .find_map(|(at, _)| folded_end(&hay[at..], wanted).map(|end| at..at + end)),
        }
    }

    pub fn find_all(&self, hay: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(range) = self.find(&hay[from..]) {
            found.push(from + range.start..from + range.end);
            from += range.end;
        }
        found
    }
}

/// Returns the offset after the prefix of `hay` that is `wanted` in lower case.
fn folded_end(hay: &str, wanted: &[char]) -> Option<usize> {
    let mut left = wanted.iter();
    for (at, c) in hay.char_indices() {
        for small in c.to_lowercase() {
            if left.next() != Some(&small) {
                return None;
            }
        }
        if left.len() == 0 {
            return Some(at + c.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::properties;

    fn check(needle: &str, hay: &str, found: &[&str]) {
        let ranges = Needle::new(needle).find_all(hay);
        let texts: Vec<&str> = ranges.into_iter().map(|range| &hay[range]).collect();
        assert_eq!(texts, found, "{needle:?} in {hay:?}");
    }

    #[test]
    fn small_letters_find_capitals_and_capitals_themselves() {
        check("read", "pd.Read_csv(READ)", &["Read", "READ"]);
        check("Read", "pd.Read_csv(READ)", &["Read"]);
        check("größe", "GRÖSSE Größe GRÖßE", &["Größe", "GRÖßE"]);
        check("aa", "aaaa a", &["aa", "aa"]);
        check("x\ny", "ax\nyb", &["x\ny"]);
        check("", "abc", &[]);
        check("abc", "ab", &[]);
        check("é", "e\u{301}É", &["É"]);
    }

    #[test]
    fn an_excerpt_holds_what_was_found() {
        let text = format!("{}needle{}", "a".repeat(90), "b".repeat(90));
        for room in [20, 40, 79] {
            let shown = excerpt(&text, &(90..96), room).concat();
            assert!(shown.contains("aneedleb"), "{shown}");
            assert!(columns(&shown) <= room);
        }
        for (text, at, room, parts) in [
            ("  x = 1", 2..3, 40, ["", "x", " = 1"]),
            ("x\n\x1by", 1..3, 20, ["x", "⏎^[", "y"]),
            ("漢字漢字漢字x", 18..19, 9, ["漢字", "x", ""]),
            ("abcdef", 0..6, 4, ["", "a...", ""]),
        ] {
            assert_eq!(excerpt(text, &at, room), parts, "{text:?} {room}");
        }
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        /// Any needle in any text: a match equals the needle but for case, and a text that has the needle is
        /// matched.
        #[test]
        fn what_is_found_is_what_was_looked_for(needle in "[aBé ß]{0,3}", before in "[abBéÉ ß]{0,6}",
            after in "[abBé]{0,4}") {
            let hay = format!("{before}{needle}{after}");
            let found = Needle::new(&needle).find_all(&hay);
            prop_assert_eq!(found.is_empty(), needle.is_empty());
            for range in found {
                prop_assert_eq!(hay[range].to_lowercase(), needle.to_lowercase());
            }
        }
    }
}
