//! Foreign JSON: Python and JavaScript can write half of a surrogate pair as an escape, and programs bytes that are no
//! UTF-8.
//!
//! In: one value as bytes. Out: the value; what is no character in it becomes U+FFFD. The parser's depth limit stays
//! on.

use memchr::memchr;
use serde_json::Value;

/// Reads a value.
///
/// # Errors
/// The bytes are no JSON.
pub fn parse(json: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(json).or_else(|_| serde_json::from_str(&mended(json)))
}

/// `json` as valid UTF-8, each lone `\uD800`-`\uDFFF` escape replaced.
fn mended(json: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(json).into_owned();
    let mut at = 0;
    while let Some(found) = memchr(b'\\', &text.as_bytes()[at..]) {
        let escape = at + found;
        let next = text[escape + 1..].chars().next();
        let low = |at| surrogate(&text, at).is_some_and(|low| low >= 0xDC00);
        at = match surrogate(&text, escape) {
            // The backslash and what it escapes, which may be another backslash.
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

/// The code unit when the escape of a surrogate (six bytes of ASCII) stands at `at`.
fn surrogate(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

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
