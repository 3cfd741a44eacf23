//! The remaining parts of a text that lost its middle where it was produced, and their offsets in the whole.
//!
//! In: a text that may hold lines as [`limits::marker`](super::limits) and the runner's `cut.py` write them. Out:
//! the parts between these lines, and the sizes of the whole. Texts are cut at their source only when they are long,
//! so a line counts only with `LEAST` bytes on both sides; a program that prints such a line misleads only the
//! reader of its own output.

/// Bytes that a cut at the source leaves at least on each side.
const LEAST: usize = 1 << 18;

/// How the line of a cut begins.
const OPENING: &str = "\n[… ";
const CLOSING: &str = " …]\n";

/// A text, or the parts that are left of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncatedText<'a> {
    /// Parts in order; at least one.
    pub parts: Vec<Part<'a>>,
    /// Code points of the whole text.
    pub characters: u64,
    /// Lines of the whole text.
    pub lines: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// Offset of its first code point in the whole text.
    pub start: u64,
    /// Length in code points.
    pub characters: u64,
    /// Index of the line of the whole text in which it begins, from 0.
    pub line: u64,
    pub text: &'a str,
}

impl Part<'_> {
    /// Offset in the whole text of the code point after its last.
    pub fn end(&self) -> u64 {
        self.start + self.characters
    }
}

/// Splits `text` into the parts that are left of the whole.
pub fn parts(text: &str) -> TruncatedText<'_> {
    let mut whole = TruncatedText {
        parts: Vec::new(),
        characters: 0,
        lines: 0,
    };
    let (mut rest, mut searched) = (text, LEAST);
    while let Some(at) = rest
        .as_bytes()
        .get(searched..)
        .and_then(|bytes| memchr::memmem::find(bytes, OPENING.as_bytes()))
    {
        let at = searched + at;
        let line = rest[at..].find(CLOSING).map(|length| at + length);
        match line.and_then(|end| Some((read(&rest[at + OPENING.len()..end])?, end))) {
            Some((cut, end)) if rest.len() >= end + CLOSING.len() + LEAST => {
                whole.take(&rest[..at]);
                whole.characters += cut.missing;
                rest = &rest[end + CLOSING.len()..];
                // The line states the number of all lines; the last of them follow.
                let following = rest.lines().count() as u64;
                whole.lines = cut.lines.saturating_sub(following).max(whole.lines - 1);
                searched = LEAST;
            }
            _ => searched = at + OPENING.len(),
        }
    }
    whole.take(rest);
    whole
}

impl<'a> TruncatedText<'a> {
    fn take(&mut self, text: &'a str) {
        let part = Part {
            start: self.characters,
            characters: text.chars().count() as u64,
            line: self.lines,
            text,
        };
        self.characters = part.end();
        self.lines += text.lines().count() as u64;
        self.parts.push(part);
    }
}

struct Cut {
    lines: u64,
    missing: u64,
}

/// Parses `10,400,018 characters, 1 line in all; 2,011,430 in the middle are left out; …`.
fn read(line: &str) -> Option<Cut> {
    let number = |text: &str| text.replace(',', "").parse().ok();
    let (characters, rest) = line.split_once(" characters, ")?;
    let (lines, rest) = rest.split_once(" in all; ")?;
    let (lines, _) = lines.split_once(" line")?;
    let (missing, _) = rest.split_once(" in the middle are left out; ")?;
    number(characters)?;
    Some(Cut {
        lines: number(lines)?,
        missing: number(missing)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::limits::{shorten, shorten_bytes};

    #[test]
    fn a_whole_text_is_one_part() {
        for text in ["", "a", "a\nb\n", "a\n[… 5 characters …]\nb"] {
            let whole = parts(text);
            assert_eq!(whole.parts.len(), 1, "{text:?}");
            assert_eq!(whole.characters, text.chars().count() as u64);
            assert_eq!(whole.lines, text.lines().count() as u64);
        }
        // In a short text, or near an end, such a line was printed by a program.
        let line = shorten(&"x".repeat(30), 2);
        assert_eq!(parts(&line).parts.len(), 1);
        let near = format!("{}{line}{}", "x".repeat(LEAST - 9), "x".repeat(LEAST));
        assert_eq!(parts(&near).parts.len(), 1);
    }

    #[test]
    fn the_sizes_are_those_of_the_whole_however_often_it_was_cut() {
        let whole: String = (0..200_000).map(|n| format!("línea {n}\n")).collect();
        let (characters, lines) = (whole.chars().count() as u64, 200_000);
        let mut text = whole.clone();
        for limit in [2_000_000, 1_900_000, 1_100_000] {
            text = shorten_bytes(&text, limit);
            let left = parts(&text);
            assert_eq!(
                (left.characters, left.lines),
                (characters, lines),
                "{limit}"
            );
            assert_eq!(left.parts.len(), 2, "{limit}");
            for part in &left.parts {
                let there: String = whole
                    .chars()
                    .skip(usize::try_from(part.start).unwrap())
                    .take(usize::try_from(part.characters).unwrap())
                    .collect();
                assert!(part.text == there, "{limit}: {}", part.start);
                let before = whole[..whole.find(part.text).unwrap()]
                    .matches('\n')
                    .count();
                assert_eq!(part.line, before as u64, "{limit}");
            }
        }
        let short = shorten(&text, 1_000);
        let told = "[… 2,488,890 characters, 200,000 lines in all; 2,487,";
        assert_eq!(characters, 2_488_890);
        assert!(short.contains(told), "{short}");
    }

    #[test]
    fn one_line_that_lost_its_middle_is_one_line() {
        let text = shorten_bytes(&"x".repeat(3_000_000), 2_000_000);
        let left = parts(&text);
        assert_eq!((left.characters, left.lines), (3_000_000, 1));
        assert_eq!((left.parts[1].start, left.parts[1].line), (2_000_000, 0));
    }
}
