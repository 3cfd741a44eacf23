//! Strings of a JSON text: read, written, and changed with the spelling of unchanged characters kept.
//!
//! In: the text between the quotes (an *inner*, checked before), and plain text. A lone surrogate is read as U+FFFD
//! and kept where the text around it changes. Invariant: characters of the common prefix and suffix of the old and
//! the new text keep their escapes.

use std::borrow::Cow;
use std::fmt::Write;

use memchr::memchr;

/// The text that an inner spells.
pub(super) fn decode(inner: &str) -> Cow<'_, str> {
    if memchr(b'\\', inner.as_bytes()).is_none() {
        return Cow::Borrowed(inner);
    }
    let mut text = String::with_capacity(inner.len());
    decode_into(inner, &mut text);
    Cow::Owned(text)
}

/// Appends the text that an inner spells to `out`.
pub(super) fn decode_into(inner: &str, out: &mut String) {
    let mut rest = inner;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let (c, length) = unit(&rest[at..]);
        out.push(c);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
}

/// The first character of a non-empty inner, and the number of bytes that spell it.
fn unit(inner: &str) -> (char, usize) {
    let bytes = inner.as_bytes();
    if bytes[0] != b'\\' {
        let c = inner.chars().next().unwrap_or('\u{fffd}');
        return (c, c.len_utf8());
    }
    let c = match bytes.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let first = code_unit(inner, 0);
            let second = code_unit(inner, 6);
            let pair = char::decode_utf16(first.into_iter().chain(second)).next();
            let length = match pair {
                Some(Ok(c)) if c.len_utf16() == 2 => 12,
                _ => 6,
            };
            return (pair.and_then(Result::ok).unwrap_or('\u{fffd}'), length);
        }
        Some(other) => char::from(*other),
        None => '\\',
    };
    (c, 2)
}

fn code_unit(inner: &str, at: usize) -> Option<u16> {
    let digits = inner.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

/// Appends `text` to an inner; `ascii` escapes characters beyond ASCII.
pub(super) fn encode(text: &str, ascii: bool, out: &mut String) {
    for c in text.chars() {
        encode_character(c, ascii, out);
    }
}

fn encode_character(c: char, ascii: bool, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        c if c < ' ' || ascii && !c.is_ascii() => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        c => out.push(c),
    }
}

/// The inner of `new`, which replaces the text of `old`.
pub(super) fn patch(old: &str, new: &str, ascii: bool) -> String {
    let text = decode(old);
    let (from, behind) = common(&text, new);
    let to = text.len() - behind;
    let (mut at, mut raw) = (0, 0);
    let (mut raw_from, mut raw_to) = (None, None);
    // The spellings of lone surrogates.
    let mut lost: Vec<&str> = Vec::new();
    loop {
        if at == from && raw_from.is_none() {
            raw_from = Some(raw);
        }
        if at == to && raw_from.is_some() {
            raw_to = Some(raw);
        }
        if raw_to.is_some() || raw == old.len() {
            break;
        }
        let (c, length) = unit(&old[raw..]);
        if c == '\u{fffd}' && raw_from.is_some() {
            lost.push(&old[raw..raw + length]);
        }
        at += c.len_utf8();
        raw += length;
    }
    let (raw_from, raw_to) = (raw_from.unwrap_or(raw), raw_to.unwrap_or(old.len()));
    let middle = &new[from..new.len() - behind];
    let mut inner = String::with_capacity(raw_from + middle.len() + old.len() - raw_to);
    inner.push_str(&old[..raw_from]);
    let kept = middle.matches('\u{fffd}').count() == lost.len();
    let mut lost = lost.into_iter();
    for c in middle.chars() {
        let spelled = if kept && c == '\u{fffd}' {
            lost.next()
        } else {
            None
        };
        match spelled {
            Some(spelled) => inner.push_str(spelled),
            None => encode_character(c, ascii, &mut inner),
        }
    }
    inner.push_str(&old[raw_to..]);
    if decode(&inner) != new {
        // Two halves of a pair that become neighbours would be one character.
        inner.clear();
        encode(new, ascii, &mut inner);
    }
    inner
}

/// Bytes of the common prefix and suffix of two texts; the two do not overlap.
fn common(old: &str, new: &str) -> (usize, usize) {
    let same = |(a, b): &(u8, u8)| a == b;
    let mut front = old.bytes().zip(new.bytes()).take_while(same).count();
    while !old.is_char_boundary(front) || !new.is_char_boundary(front) {
        front -= 1;
    }
    let (a, b) = (&old[front..], &new[front..]);
    let pairs = a.bytes().rev().zip(b.bytes().rev());
    let mut back = pairs.take_while(same).count();
    while !a.is_char_boundary(a.len() - back) || !b.is_char_boundary(b.len() - back) {
        back -= 1;
    }
    (front, back)
}

/// Splits an inner behind each newline; no part is empty.
pub(super) fn lines(inner: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = memchr(b'\\', &inner.as_bytes()[at..]) {
        let (c, length) = unit(&inner[at + found..]);
        at += found + length;
        if c == '\n' {
            lines.push(&inner[start..at]);
            start = at;
        }
    }
    if start < inner.len() {
        lines.push(&inner[start..]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn what_stays_is_spelled_as_it_was() {
        for (old, new, expected) in [
            (r"a\u00e9\/b", "aé/bc", r"a\u00e9\/bc"),
            (r"x\u00e9", "yé", r"y\u00e9"),
            (r"\u00e9 \u00e9", "è ©", "è ©"),
            (r"\ud800 x", "\u{fffd} y", r"\ud800 y"),
            (r"x\ud800\udc00\udc00y", "z\u{10000}\u{fffd}!", r"z𐀀\udc00!"),
            (r"a\u000ab", "a\nc", r"a\u000ac"),
            ("", "\"\u{1}é", "\\\"\\u0001é"),
            ("é", "è", "è"),
            (r"\/é\/", "/è/", r"\/è\/"),
            (r"\/é\/", "/©/", r"\/©\/"),
            (r"a\ud800b\udc00", "x\u{fffd}y\u{fffd}", r"x\ud800y\udc00"),
            (r"\ud800a\udc00b", "\u{fffd}x\u{fffd}y", r"\ud800x\udc00y"),
            ("aa", "a", "a"),
        ] {
            assert_eq!(patch(old, new, false), expected, "{old}");
        }
        assert_eq!(patch("", "é😀", true), r"\u00e9\ud83d\ude00");
        assert_eq!(lines(r"a\nb\u000ac\\n"), [r"a\n", r"b\u000a", r"c\\n"]);
    }

    const TEXT: &str = "([ab\"\\\\\n\r\té😀\u{1}/]){0,12}";

    proptest! {
        #![proptest_config(properties::cases(4 * properties::USUAL))]

        #[test]
        fn a_changed_string_says_the_new_text(old in TEXT, new in TEXT, ascii: bool) {
            let mut inner = String::new();
            encode(&old, ascii, &mut inner);
            prop_assert_eq!(decode(&inner), old.as_str());
            let quoted = format!("\"{inner}\"");
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), old.as_str());
            let patched = patch(&inner, &new, !ascii);
            prop_assert_eq!(decode(&patched), new.as_str());
            prop_assert_eq!(lines(&patched).concat(), patched);
        }
    }
}
