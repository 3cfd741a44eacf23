//! How much of a text is sent to a model: head and tail around a line that states the true sizes and how to get the
//! rest.
//!
//! Invariant: the sizes are those of the whole text, also when it lost its middle before (see [`super::parts`]).

use crate::output::marker::marker;
use crate::output::parts::parts;
use crate::output::transcript::TranscriptText;

pub use crate::output::marker::{Rest, grouped};

/// Code points of one cell's output that are sent to the model.
pub const MODEL_CHARACTERS: usize = 20_000;

pub fn cell_id(line: u32) -> String {
    format!("cell-{line}")
}

/// Returns `text`, or its head and tail with at most `limit` code points of it.
pub fn shorten(text: &str, limit: usize) -> String {
    shorten_naming(text, limit, Rest::Gone)
}

/// As [`shorten`]; the line between head and tail states how to get the rest.
pub fn shorten_naming(text: &str, limit: usize, rest: Rest<'_>) -> String {
    if !exceeds(text, limit) {
        return text.to_owned();
    }
    let whole = parts(text);
    join(text, limit, whole.characters, whole.lines, rest)
}

/// Returns `text`, or its head and tail with at most `limit` bytes of it.
pub fn shorten_bytes(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let whole = parts(text);
    let head = &text[..text.floor_char_boundary(limit / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit / 2)..];
    // Head and tail may each hold the line of an earlier cut.
    let missing = whole
        .characters
        .saturating_sub(parts(head).characters + parts(tail).characters);
    let middle = marker(whole.characters, whole.lines, missing, 0, Rest::Gone);
    format!("{head}\n{middle}\n{tail}")
}

/// Returns true when `text` has more than `limit` code points.
pub fn exceeds(text: &str, limit: usize) -> bool {
    // A text has at most as many code points as bytes.
    text.len() > limit && text.chars().nth(limit).is_some()
}

/// As [`shorten_naming`], for a text that may have lost its middle before: the line states the sizes of the whole.
pub fn shorten_transcript(transcript: &TranscriptText, limit: usize, rest: Rest<'_>) -> String {
    if !transcript.cut {
        return shorten_naming(&transcript.text, limit, rest);
    }
    if !exceeds(&transcript.text, limit) {
        return transcript.text.clone();
    }
    let (characters, lines) = (transcript.total_characters, transcript.total_lines);
    join(&transcript.text, limit, characters, lines, rest)
}

/// Joins half of `limit` code points from each end, cut at line boundaries where there are some near.
fn join(text: &str, limit: usize, characters: u64, lines: u64, rest: Rest<'_>) -> String {
    let half = limit / 2;
    let at = |mut found: std::str::CharIndices<'_>, nth| found.nth(nth).map(|(at, _)| at);
    let head = &text[..at(text.char_indices(), half).unwrap_or(text.len())];
    let tail = match half.checked_sub(1) {
        None => "",
        Some(last) => text
            .char_indices()
            .rev()
            .nth(last)
            .map_or(text, |(at, _)| &text[at..]),
    };
    let head = match head.rfind('\n') {
        Some(at) if at >= head.len() / 2 => &head[..at],
        _ => head,
    };
    let tail = match tail.find('\n') {
        Some(at) if at <= tail.len() / 2 => &tail[at + 1..],
        _ => tail,
    };
    let before = head.chars().count();
    let missing = characters.saturating_sub((before + tail.chars().count()) as u64);
    let middle = marker(characters, lines, missing, before, rest);
    format!("{head}\n{middle}\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn short_texts_stay() {
        assert_eq!(shorten("", 10), "");
        assert_eq!(shorten("0123456789", 10), "0123456789");
        assert_eq!(shorten("éééééééééé", 10), "éééééééééé");
    }

    #[test]
    fn long_texts_tell_their_true_sizes() {
        let line = "x".repeat(1_234_567);
        let short = shorten(&line, 10);
        assert_eq!(
            short,
            "xxxxx\n[… 1,234,567 characters, 1 line in all; 1,234,557 in the middle are left out; print a slice to see \
             it …]\nxxxxx"
        );
        let lines: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let short = shorten(&lines, 100);
        assert!(short.starts_with("line 0\nline 1\n"), "{short}");
        assert!(short.ends_with("line 19999\n"), "{short}");
        assert!(short.contains("20,000 lines in all"), "{short}");
        assert!(
            short
                .lines()
                .all(|line| line.starts_with("line ") || line.starts_with("[…"))
        );
    }

    #[test]
    fn a_text_that_is_kept_says_under_which_id() {
        assert_eq!(
            shorten_naming(&"x".repeat(30), 10, Rest::Kept("cell-12")),
            "xxxxx\n[… 30 characters, 1 line in all; 20 in the middle are left out; \
             read_output(id=\"cell-12\", offset=5) shows it …]\nxxxxx"
        );
        assert_eq!(shorten_naming("x", 10, Rest::Kept("cell-12")), "x");
    }

    #[test]
    fn numbers_in_groups() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn never_more_than_the_limit(text in any::<String>(), limit in 0usize..60) {
            let short = shorten(&text, limit);
            let total = text.chars().count();
            if total <= limit {
                prop_assert_eq!(short, text);
            } else {
                let middle = marker(total as u64, text.lines().count() as u64, total as u64, limit, Rest::Gone);
                prop_assert!(short.chars().count() <= limit + middle.chars().count() + 2);
            }
        }

        /// The offset in the line is where the head ends: head and rest together are the text.
        #[test]
        fn the_offset_is_where_the_head_ends(text in "[a-zé\n]{30,90}", limit in 2usize..20) {
            let short = shorten_naming(&text, limit, Rest::Kept("cell-1"));
            let (head, after) = short.split_once("\n[… ").expect("it is cut");
            let (_, offset) = after.split_once("offset=").expect("it is told");
            let offset: usize = offset.split_once(')').expect("closed").0.parse().expect("a number");
            let taken: String = text.chars().take(offset).collect();
            prop_assert_eq!(head, taken);
        }
    }
}
