//! How much of a text a model gets: head and tail around a line that tells the true sizes.

use crate::output::transcript::TranscriptText;

/// Code points of one cell's output that go to the model.
pub const MODEL_CHARACTERS: usize = 20_000;

/// `text`, or its head and tail with at most `limit` code points of it.
pub fn shorten(text: &str, limit: usize) -> String {
    // A text of so many bytes cannot have more code points.
    if text.len() <= limit {
        return text.to_owned();
    }
    let characters = text.chars().count();
    if characters <= limit {
        return text.to_owned();
    }
    let lines = text.lines().count();
    join(text, limit, &marker(characters as u64, lines as u64))
}

/// Like [`shorten`], for a text that may have lost its middle already: the sizes told are those of the whole.
pub fn shorten_transcript(transcript: &TranscriptText, limit: usize) -> String {
    if !transcript.cut {
        return shorten(&transcript.text, limit);
    }
    if transcript.text.chars().count() <= limit {
        return transcript.text.clone();
    }
    let middle = marker(transcript.total_characters, transcript.total_lines);
    join(&transcript.text, limit, &middle)
}

/// The line that stands for what is left out.
pub(crate) fn marker(characters: u64, lines: u64) -> String {
    format!(
        "[… {} characters, {} {} in all; the middle is left out; print a slice to see it …]",
        grouped(characters),
        grouped(lines),
        if lines == 1 { "line" } else { "lines" },
    )
}

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Half of `limit` code points from each end, at line boundaries where there are some near.
fn join(text: &str, limit: usize, middle: &str) -> String {
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
            "xxxxx\n[… 1,234,567 characters, 1 line in all; the middle is left out; print a slice to see it …]\nxxxxx"
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
                let middle = marker(total as u64, text.lines().count() as u64);
                prop_assert!(short.chars().count() <= limit + middle.chars().count() + 2);
            }
        }
    }
}
