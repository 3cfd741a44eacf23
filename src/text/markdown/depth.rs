//! The limit on nesting of quotes, lists and footnotes; deeper content is shown as source.
//!
//! In: cleaned markdown. Out: a text of the same length and offsets, in which no line opens more than [`NESTING`]
//! blocks: the first byte of each further marker is replaced by a control character, which cleaned text has none of,
//! and which [`Bounded::written`] turns back. A parser that checks every open block for every line thus does bounded
//! work. Blocks that are deep by their indentation need more bytes the deeper they are; the builder of the tree
//! counts those levels.

use std::borrow::Cow;

use super::source::clean;
use crate::NESTING;

/// First bytes of markers, and the control characters that stand for them, in the same order.
const MARKERS: &[u8] = b">-+*[0123456789";
const FIRST: u8 = 0x0e;

/// Markdown whose lines open a bounded number of blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounded<'s> {
    pub(crate) source: &'s str,
    changed: bool,
}

/// Bounds `source` for the parser; `room` holds the copy, where one is needed.
pub(crate) fn bounded<'s>(source: &'s str, room: &'s mut String) -> Bounded<'s> {
    let mut at = 0;
    let mut deep = Vec::new();
    for line in source.split_inclusive('\n') {
        // A level of a list takes at least two bytes, and `>` takes one.
        if line.len() > NESTING {
            deep_markers(line.as_bytes(), |marker| deep.push(at + marker));
        }
        at += line.len();
    }
    let changed = !deep.is_empty();
    if !changed {
        return Bounded { source, changed };
    }
    let mut next = deep.into_iter().peekable();
    room.extend(source.char_indices().map(|(at, c)| {
        let stands_for = |marker: &u8| char::from(*marker) == c;
        match next.next_if_eq(&at) {
            Some(_) => MARKERS
                .iter()
                .position(stands_for)
                .and_then(|n| u8::try_from(n).ok())
                .map_or(c, |n| char::from(FIRST + n)),
            None => c,
        }
    }));
    Bounded {
        source: room,
        changed,
    }
}

impl Bounded<'_> {
    /// Restores the markers in text from the parser.
    pub(crate) fn written<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.changed || !text.bytes().any(|byte| marker(byte).is_some()) {
            return Cow::Borrowed(text);
        }
        let back = |c: char| u8::try_from(c).ok().and_then(marker).map_or(c, char::from);
        Cow::Owned(text.chars().map(back).collect())
    }

    pub(crate) fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.written(text) {
            Cow::Borrowed(text) => clean(text),
            Cow::Owned(text) => Cow::Owned(clean(&text).into_owned()),
        }
    }
}

fn marker(byte: u8) -> Option<u8> {
    MARKERS.get(usize::from(byte.checked_sub(FIRST)?)).copied()
}

/// Calls `found` with the offset of each marker beyond [`NESTING`] at the start of the line.
fn deep_markers(line: &[u8], mut found: impl FnMut(usize)) {
    let rule = rule_from(line);
    let (mut at, mut levels) = (0, 0);
    loop {
        at += blanks(&line[at..]);
        // After the first byte of `- - -` nothing opens: it is a thematic break.
        if rule.is_some_and(|rule| at >= rule) {
            return;
        }
        let Some(length) = marker_length(&line[at..]) else {
            return;
        };
        levels += 1;
        if levels > NESTING {
            found(at);
        }
        at += length;
    }
}

/// Offset of the thematic break at the end of the line, if there is one.
fn rule_from(line: &[u8]) -> Option<usize> {
    let end = line.trim_ascii_end();
    let mark = *end.last()?;
    if !matches!(mark, b'-' | b'*' | b'_') {
        return None;
    }
    let others = |byte: &u8| *byte != mark && !matches!(byte, b' ' | b'\t');
    let from = end.iter().rposition(others).map_or(0, |last| last + 1);
    let marks = end[from..].iter().filter(|byte| **byte == mark).count();
    (marks >= 3).then(|| from + blanks(&end[from..]))
}

fn blanks(bytes: &[u8]) -> usize {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    bytes.iter().take_while(blank).count()
}

/// Length in bytes of the marker of a quote, an item or a footnote that begins here.
fn marker_length(rest: &[u8]) -> Option<usize> {
    let ends = |at: usize| matches!(rest.get(at), None | Some(b' ' | b'\t' | b'\n'));
    match rest.first()? {
        b'>' => Some(1),
        b'-' | b'+' | b'*' => ends(1).then_some(1),
        b'0'..=b'9' => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let marker = digits <= 9 && matches!(rest.get(digits), Some(b'.' | b')'));
            (marker && ends(digits + 1)).then_some(digits + 1)
        }
        b'[' if rest.get(1) == Some(&b'^') => {
            // A label contains no bracket.
            let close = rest[2..].iter().position(|byte| b"[]\n".contains(byte))? + 2;
            rest[close..].starts_with(b"]:").then_some(close + 2)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the markers hidden from the parser, and checks that the shown text has them.
    #[track_caller]
    fn hidden(source: &str) -> usize {
        let mut room = String::new();
        let bounded = bounded(source, &mut room);
        assert_eq!(bounded.source.len(), source.len());
        assert_eq!(bounded.shown(bounded.source), source);
        let differ = |(was, is): &(u8, u8)| was != is;
        source
            .bytes()
            .zip(bounded.source.bytes())
            .filter(differ)
            .count()
    }

    #[test]
    fn markers_beyond_the_limit_are_counted_on_each_line() {
        for marker in [
            ">",
            "- ",
            "+\t",
            "* ",
            "1. ",
            "123456789) ",
            " > ",
            "[^a]: ",
        ] {
            assert_eq!(hidden(&(marker.repeat(NESTING) + "x > y\n")), 0, "{marker}");
            assert_eq!(hidden(&(marker.repeat(NESTING + 3) + "é\n")), 3, "{marker}");
        }
        let mixed =
            "x\n".to_owned() + &"> - 1. ".repeat(NESTING) + "x\n> y\n" + &">".repeat(NESTING + 1);
        assert_eq!(hidden(&mixed), 2 * NESTING + 1);
    }

    #[test]
    fn what_is_no_marker_stays() {
        for text in [
            "- ",
            "* ",
            "-",
            "_ ",
            "1 ",
            "-x ",
            "1.x ",
            "[a]: ",
            "1234567890. ",
            "[^a] ",
        ] {
            assert_eq!(hidden(&text.repeat(300)), 0, "{text}");
        }
        assert_eq!(
            hidden(&(">".repeat(50) + &"- ".repeat(300))),
            0,
            "a rule in a quote"
        );
        assert_eq!(
            hidden(&("- ".repeat(300) + "> - - -")),
            201,
            "a rule behind a quote"
        );
    }
}
