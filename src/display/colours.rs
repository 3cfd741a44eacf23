//! Colours of the text being typed: byte ranges of keywords, strings, numbers, comments.
//!
//! In: the text, possibly incomplete. Out: spans that cover it, in one pass. Prompts are plain; magic and shell
//! lines have one colour. Absent on purpose: syntax (the line scanner of `input` decides where statements end).

use std::ops::Range;

use nu_ansi_term::{Color, Style};

use crate::input::{Input, Mode, classify};
use crate::text::{MARKED, NOTICED};

type Span = (Range<usize>, Style);

const KEYWORDS: [&str; 38] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class",
    "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if",
    "import", "in", "is", "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return",
    "try", "type", "while", "with", "yield",
];

/// Soft keywords: names elsewhere, coloured only at the start of a line.
const SOFT_KEYWORDS: [&str; 3] = ["case", "match", "type"];

/// Returns the spans of `text`, in order, covering all of it.
pub(super) fn paint(text: &str, prompt_mode: bool) -> Vec<(Range<usize>, Style)> {
    let mode = if prompt_mode {
        Mode::Prompts
    } else {
        Mode::Cells
    };
    if matches!(classify(text, mode), Input::Prompt(_) | Input::Empty)
        || text.trim_start().starts_with("%%ipycodex")
    {
        return vec![(0..text.len(), Style::default())];
    }
    let mut highlighter = Highlighter {
        text,
        at: 0,
        spans: Vec::new(),
        line_start: true,
        brackets: 0,
    };
    while highlighter.at < text.len() {
        highlighter.step();
    }
    highlighter.spans
}

struct Highlighter<'a> {
    text: &'a str,
    at: usize,
    spans: Vec<Span>,
    line_start: bool,
    brackets: usize,
}

impl Highlighter<'_> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        let first = rest.chars().next().expect("not at the end");
        let at_start = self.line_start && self.brackets == 0;
        match first {
            '\n' => {
                self.line_start = true;
                self.take(1, Style::default());
                return;
            }
            ' ' | '\t' | '\r' => {
                self.take(1, Style::default());
                return;
            }
            '!' | '%' if at_start => self.take(line_length(rest), Color::Purple.normal()),
            '#' => self.take(line_length(rest), Style::new().dimmed().italic()),
            '@' if at_start => self.take(1 + word_length(&rest[1..]), Color::Purple.normal()),
            '"' | '\'' => self.take(string_length(rest), NOTICED.normal()),
            c if c.is_ascii_digit() => {
                let length = rest
                    .find(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_'))
                    .unwrap_or(rest.len());
                self.take(length, MARKED.normal());
            }
            c if c.is_alphabetic() || c == '_' => self.word(rest, at_start),
            c => {
                match c {
                    '(' | '[' | '{' => self.brackets += 1,
                    ')' | ']' | '}' => self.brackets = self.brackets.saturating_sub(1),
                    _ => {}
                }
                self.take(c.len_utf8(), Style::default());
            }
        }
        self.line_start = false;
    }

    fn word(&mut self, rest: &str, at_start: bool) {
        let length = word_length(rest);
        let word = &rest[..length];
        let prefix = word.len() <= 2 && word.chars().all(|c| "rRbBuUfFtT".contains(c));
        if prefix && rest[length..].starts_with(['"', '\'']) {
            self.take(length + string_length(&rest[length..]), NOTICED.normal());
        } else if KEYWORDS.contains(&word) && (at_start || !SOFT_KEYWORDS.contains(&word)) {
            self.take(length, Color::Green.bold());
        } else {
            self.take(length, Style::default());
        }
    }

    /// Colours the next `length` bytes; joins them to the previous span when the style is the same.
    fn take(&mut self, length: usize, style: Style) {
        let end = self.at + length;
        match self.spans.last_mut() {
            Some((range, last)) if *last == style => range.end = end,
            _ => self.spans.push((self.at..end, style)),
        }
        self.at = end;
    }
}

fn line_length(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len())
}

/// Bytes of the string literal at the start of `text`, up to the end of the line or text when it is not closed.
fn string_length(text: &str) -> usize {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let (open, multi_line) = if text.starts_with(&triple) {
        (triple.as_str(), true)
    } else {
        (quote, false)
    };
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(open.len()) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == '\n' && !multi_line {
            return at;
        } else if text[at..].starts_with(open) {
            return at + open.len();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    fn check(text: &str, painted: &[(&str, Color)]) {
        let spans = paint(text, false);
        let got: Vec<(&str, Color)> = spans
            .iter()
            .filter_map(|(range, style)| Some((&text[range.clone()], style.foreground?)))
            .collect();
        assert_eq!(got, painted, "{text:?}");
    }

    #[test]
    fn words_strings_and_lines() {
        check("x = 1", &[("1", MARKED)]);
        check(
            "for i in x: pass",
            &[
                ("for", Color::Green),
                ("in", Color::Green),
                ("pass", Color::Green),
            ],
        );
        check(
            "s = rb'a\\'b' + \"c\"",
            &[("rb'a\\'b'", NOTICED), ("\"c\"", NOTICED)],
        );
        check("'''a\nb''' # c", &[("'''a\nb'''", NOTICED)]);
        check("'open\nx", &[("'open", NOTICED)]);
        check("!ls 'x'", &[("!ls 'x'", Color::Purple)]);
        check("a %b", &[]);
        check("match = type", &[("match", Color::Green)]);
        check("f(match)", &[]);
        check(".why is this for?", &[]);
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn spans_cover_the_text(text in "[a-z'\"#\\\\\n!%.@(){}0-9é漢 ]{0,60}") {
            let spans = paint(&text, false);
            let whole: String = spans.iter().map(|(range, _)| &text[range.clone()]).collect();
            prop_assert_eq!(whole, text);
        }
    }
}
