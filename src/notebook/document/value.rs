//! A value of a file, as JSON that other programs read.
//!
//! In: JSON that was checked. Out: the value; `NaN` and its kin become null, a lone surrogate U+FFFD, and a value
//! that is nested too deep for readers its own text. For display only: the file keeps its own bytes.

use serde_json::Value;

use crate::text::parse_json;

pub(super) fn read(raw: &str) -> Value {
    match parse_json(raw.as_bytes()) {
        Ok(value) => value,
        Err(_) => parse_json(standard(raw).as_bytes()).unwrap_or(Value::Null),
    }
}

/// `raw` without Python's extensions of JSON.
fn standard(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let (mut quoted, mut escaped) = (false, false);
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        let word = ["NaN", "-Infinity", "Infinity"]
            .into_iter()
            .find(|word| !quoted && rest.starts_with(word));
        if let Some(word) = word {
            out.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_python_writes_is_read() {
        for (raw, expected) in [
            (
                r#"[NaN, -Infinity, "NaN\"", 1]"#,
                json!([null, null, "NaN\"", 1]),
            ),
            (
                r#"["\"", NaN, "\\", Infinity, {"NaN": "Infinity"}]"#,
                json!(["\"", null, "\\", null, {"NaN": "Infinity"}]),
            ),
            (r#""\ud800""#, json!("\u{fffd}")),
        ] {
            assert_eq!(read(raw), expected, "{raw}");
        }
        let deep = |inner: &str| read(&("[".repeat(100_000) + inner + &"]".repeat(100_000)));
        assert_ne!(deep("1"), deep("2"));
    }
}
