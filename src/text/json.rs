//! Untrusted JSON: Python and JavaScript can write half of a surrogate pair as an escape, and programs write bytes
//! that are not UTF-8.
//!
//! In: one value as bytes. Out: the value; invalid characters become U+FFFD, and a list or object nested deeper than
//! [`NESTING`] becomes its text as a string. A value can thus be put into others, written and read again before the
//! parser's own limit (128 levels) refuses it, and walking it needs little stack.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr2_iter};
use serde_json::Value;

use super::NESTING;

/// Parses a value.
///
/// # Errors
/// The bytes are not JSON.
pub fn parse(json: &[u8]) -> serde_json::Result<Value> {
    let json = shallow(json);
    serde_json::from_slice(&json).or_else(|_| serde_json::from_str(&mended(&json)))
}

/// Returns `json` with each list and object deeper than [`NESTING`] as a string.
fn shallow(json: &[u8]) -> Cow<'_, [u8]> {
    if memchr2_iter(b'[', b'{', json).nth(NESTING).is_none() {
        return Cow::Borrowed(json);
    }
    let mut out = Vec::new();
    // Offsets up to which `json` is copied, and at which the list or object begins that is too deep.
    let (mut done, mut deep) = (0, 0);
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => at += string_length(&json[at..]),
            b'[' | b'{' => {
                if depth == NESTING {
                    deep = at;
                }
                depth += 1;
                at += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at += 1;
                if depth == NESTING && deep >= done {
                    out.extend_from_slice(&json[done..deep]);
                    let text = Value::from(String::from_utf8_lossy(&json[deep..at]));
                    out.extend_from_slice(text.to_string().as_bytes());
                    done = at;
                }
            }
            _ => at += 1,
        }
    }
    if done == 0 {
        return Cow::Borrowed(json);
    }
    out.extend_from_slice(&json[done..]);
    Cow::Owned(out)
}

/// Length in bytes of the string that begins here, with its quotes.
fn string_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        if json[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    json.len()
}

/// Returns `json` as valid UTF-8, each lone `\uD800`-`\uDFFF` escape replaced.
fn mended(json: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(json).into_owned();
    let mut at = 0;
    while let Some(found) = memchr(b'\\', &text.as_bytes()[at..]) {
        let escape = at + found;
        let next = text[escape + 1..].chars().next();
        let low = |at| surrogate(&text, at).is_some_and(|low| low >= 0xDC00);
        at = match surrogate(&text, escape) {
            // The backslash and the character it escapes, which may be another backslash.
            None => escape + 1 + next.map_or(0, char::len_utf8),
            Some(high) if high < 0xDC00 && low(escape + 6) => escape + 12,
            Some(_) => {
                text.replace_range(escape + 2..escape + 6, "fffd");
                escape + 6
            }
        };
    }
    text
}

/// Returns the code unit when the escape of a surrogate (six bytes of ASCII) is at `at`.
fn surrogate(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        "[".repeat(levels) + "\"]\\\"[\"" + &"]".repeat(levels)
    }

    #[test]
    fn what_lies_too_deep_is_text_and_whole() {
        let innermost = |json: &str| {
            let mut value = &parse(json.as_bytes()).unwrap();
            while let Value::Array(items) = value {
                value = items.last().unwrap();
            }
            value.as_str().unwrap().to_owned()
        };
        assert_eq!(innermost(&nested(NESTING)), "]\"[");
        for levels in [1, 2, 30, 100_000] {
            assert_eq!(
                innermost(&nested(NESTING + levels)),
                nested(levels),
                "{levels}"
            );
        }
        // As an object, beside others, and with half a surrogate pair.
        let deep = r#"{"a": [{}, {"b": "\ud800"}]}"#;
        let json = "[".repeat(NESTING) + deep + ", 1, " + deep + &"]".repeat(NESTING);
        assert_eq!(innermost(&json), deep);
        let twice = parse(json.as_bytes()).unwrap().to_string();
        assert_eq!(twice.matches(r#""{\"a\""#).count(), 2);
        assert_eq!(parse(twice.as_bytes()).unwrap().to_string(), twice);
        for open in [
            "[".repeat(100_000),
            "]".repeat(100_000),
            "[".repeat(200) + "]",
        ] {
            assert!(parse(open.as_bytes()).is_err());
        }
    }

    #[test]
    fn many_lists_beside_each_other_are_no_nesting() {
        let json = format!("[{}[\"[[\"]]", "[{}], ".repeat(1000));
        assert_eq!(parse(json.as_bytes()).unwrap()[1000][0], "[[");
    }

    #[test]
    fn lone_surrogates_are_mended_and_pairs_kept() {
        for (json, expected) in [
            (r#""\ud800""#, "\u{fffd}"),
            (
                r#""\ud83d\ude00 \\ud800 \udc00\ud800x""#,
                "😀 \\ud800 \u{fffd}\u{fffd}x",
            ),
            (r#""\"\ud800\ud800\udc00é""#, "\"\u{fffd}\u{10000}é"),
        ] {
            assert_eq!(parse(json.as_bytes()).unwrap(), expected, "{json}");
        }
        assert_eq!(parse(b"\"a\xff\"").unwrap(), "a\u{fffd}");
        assert!(parse(br#""\ud800"#).is_err());
        assert!(parse(br#""\"#).is_err());
    }
}
