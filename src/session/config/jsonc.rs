//! JSON with `//` and `/* */` comments and trailing commas.
//!
//! Pure. In: the text of a settings file. Out: the same text as plain JSON, each value at the same byte offset (so
//! that positions in it are positions in the file), the keys in it, and the text with one value changed. Invariant: a
//! change touches only the bytes of that value, or adds one key behind the last.

use std::ops::Range;

use jsonc_parser::ast::{ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions, parse_to_ast};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// `outer.inner` for a key one level deeper.
    pub(super) name: String,
    /// From 1.
    pub(super) line: usize,
    /// The offset of its first byte.
    at: usize,
    /// The bytes of its value; empty for a key one level deeper.
    value: Range<usize>,
}

/// Replaces comments, and commas before a closing bracket, by blanks.
pub(super) fn strip_comments(text: &str) -> String {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let mut bytes = text.as_bytes().to_vec();
    let mut blank = |range: Range<usize>| {
        let visible = bytes[range].iter_mut().filter(|byte| **byte != b'\n');
        visible.for_each(|byte| *byte = b' ');
    };
    // A comma is trailing only behind a value.
    let (mut behind_value, mut trailing) = (false, None);
    // What the scanner refuses is no JSON, so nothing behind it counts.
    while let Ok(Some(token)) = scanner.scan() {
        let range = scanner.token_start()..scanner.token_end();
        match token {
            Token::CommentLine(_) | Token::CommentBlock(_) => {
                blank(range);
                continue;
            }
            Token::CloseBrace | Token::CloseBracket => {
                trailing.take().into_iter().for_each(&mut blank)
            }
            _ => {}
        }
        trailing = (behind_value && token == Token::Comma).then_some(range);
        behind_value = !matches!(
            token,
            Token::OpenBrace | Token::OpenBracket | Token::Comma | Token::Colon
        );
    }
    // Whole characters became blanks.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The keys of the outermost object of valid JSON, and those of objects that are its values.
pub(super) fn keys(text: &str) -> Vec<Key> {
    let parsed = parse_to_ast(text, &Default::default(), &Default::default());
    let Some(Node::Object(object)) = parsed.ok().and_then(|parsed| parsed.value) else {
        return Vec::new();
    };
    let (mut line, mut counted) = (1, 0);
    let mut key = |outer: &str, property: &ObjectProp<'_>, value| {
        let at = property.start();
        line += text[counted..at].matches('\n').count();
        counted = at;
        let name = format!("{outer}{}", property.name.as_str());
        Key {
            name,
            line,
            at,
            value,
        }
    };
    let mut keys = Vec::new();
    for property in &object.properties {
        let value = property.value.range();
        keys.push(key("", property, value.start..value.end));
        if let Node::Object(inner) = &property.value {
            let outer = format!("{}.", property.name.as_str());
            keys.extend(
                inner
                    .properties
                    .iter()
                    .map(|property| key(&outer, property, 0..0)),
            );
        }
    }
    keys
}

/// `text` with `name` set to `value`; a text without an object gets one.
pub(super) fn set_value(text: &str, name: &str, value: &Value) -> String {
    let json = strip_comments(text);
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let keys = keys(&json);
    // Of repeated keys the last one counts.
    if let Some(known) = keys.iter().rev().find(|key| key.name == name) {
        let (before, after) = (&text[..known.value.start], &text[known.value.end..]);
        return format!("{before}{value}{after}");
    }
    let entry = format!("{}: {value}", Value::from(name));
    let Some(open) = json.find('{') else {
        let gap = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            line_end
        };
        return format!("{text}{gap}{{{line_end}  {entry}{line_end}}}{line_end}");
    };
    let last = keys.iter().rev().find(|key| !key.value.is_empty());
    let Some(last) = last else {
        let (at, _) = line_rest(text, open + 1);
        let closes = if text[at..].starts_with('}') {
            line_end
        } else {
            ""
        };
        return format!("{}{line_end}  {entry}{closes}{}", &text[..at], &text[at..]);
    };
    let line = text[..last.at].rfind('\n').map_or(0, |at| at + 1);
    let indent = &text[line..last.at];
    let (head, tail) = text.split_at(last.value.end);
    if line == 0 || !indent.trim().is_empty() {
        return format!("{head}, {entry}{tail}");
    }
    let (at, comma) = line_rest(text, last.value.end);
    let comma = if comma { "" } else { "," };
    let (rest, tail) = tail.split_at(at - last.value.end);
    format!("{head}{comma}{rest}{line_end}{indent}{entry}{tail}")
}

/// Skips blanks, comments and a comma from `from` up to the line end or the next token; true when there was a comma.
fn line_rest(text: &str, from: usize) -> (usize, bool) {
    let rest = &text[from..];
    let mut scanner = Scanner::new(rest, &ScannerOptions::default());
    let (mut at, mut comma) = (0, false);
    while let Ok(Some(token)) = scanner.scan() {
        match token {
            _ if rest[at..scanner.token_start()].contains('\n') => break,
            Token::CommentLine(_) | Token::CommentBlock(_) => {}
            Token::Comma if !comma => comma = true,
            _ => {
                at = scanner.token_start();
                break;
            }
        }
        at = scanner.token_end();
    }
    let blanks = rest[at..].len() - rest[at..].trim_start_matches([' ', '\t']).len();
    (from + at + blanks, comma)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn comments_and_last_commas_are_blanks() {
        for (text, expected) in [
            ("{\"a\": 1} // x", "{\"a\": 1}     "),
            ("{/* é\n */\"a\": 1,}", "{     \n   \"a\": 1 }"),
            ("[1, 2, ]", "[1, 2  ]"),
            (
                "{\"a\": \"// no /* , }\",\n}",
                "{\"a\": \"// no /* , }\" \n}",
            ),
            ("{\"a\\\"//\": 1}", "{\"a\\\"//\": 1}"),
            ("{,}", "{,}"),
            ("[1,,]", "[1,,]"),
            ("{ /* open", "{ /* open"),
            ("{\"a\": 1 / 2}", "{\"a\": 1 / 2}"),
        ] {
            assert_eq!(strip_comments(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_of_keys() {
        let text =
            "{\n \"a\": {\"b\": [\"c\", 1]},\n\n \"d\\\"\": \"x\\\\\", \"e\":\n 1,\n \"a\": 2}";
        let lines: Vec<(String, usize)> = keys(text)
            .into_iter()
            .map(|key| (key.name, key.line))
            .collect();
        let expected = [("a", 2), ("a.b", 2), ("d\"", 4), ("e", 4), ("a", 6)];
        assert_eq!(lines, expected.map(|(key, line)| (key.to_owned(), line)));
    }

    #[test]
    fn only_the_value_changes() {
        for (text, expected) in [
            ("", "{\n  \"think\": \"h\"\n}\n"),
            ("// mine\n", "// mine\n{\n  \"think\": \"h\"\n}\n"),
            ("{}", "{\n  \"think\": \"h\"\n}"),
            ("{ // c\n}\n", "{ // c\n  \"think\": \"h\"\n}\n"),
            ("{\"think\":\"l\"}", "{\"think\":\"h\"}"),
            (
                "{\"a\": {\"think\": 1}}",
                "{\"a\": {\"think\": 1}, \"think\": \"h\"}",
            ),
            (
                "{\n  // how much\n  \"think\": \"l\", // little\n  \"x\": [1,\n 2]\n}\n",
                "{\n  // how much\n  \"think\": \"h\", // little\n  \"x\": [1,\n 2]\n}\n",
            ),
            (
                "{\n\t\"a\": 1 // one\n\t// \"b\": 2\n}\n",
                "{\n\t\"a\": 1, // one\n\t\"think\": \"h\"\n\t// \"b\": 2\n}\n",
            ),
            (
                "{\n  \"a\": 1, /* two\n lines */\n}",
                "{\n  \"a\": 1, /* two\n lines */\n  \"think\": \"h\"\n}",
            ),
            (
                "{\r\n  \"a\": 1\r\n}\r\n",
                "{\r\n  \"a\": 1,\r\n  \"think\": \"h\"\r\n}\r\n",
            ),
            (
                "{\"think\": 1, \"think\": {\"b\": 2}}",
                "{\"think\": 1, \"think\": \"h\"}",
            ),
        ] {
            let changed = set_value(text, "think", &json!("h"));
            assert_eq!(changed, expected, "{text:?}");
            let read: Value = serde_json::from_str(&strip_comments(&changed)).unwrap();
            assert_eq!(read["think"], json!("h"));
        }
    }

    proptest! {
        #[test]
        fn a_change_reads_back(
            keys in proptest::collection::vec("[a-z\"é/*,]{1,5}", 0..5),
            comment in "[a-z,}\"]{0,9}",
            pretty in any::<bool>(),
        ) {
            let object: serde_json::Map<String, Value> =
                keys.iter().map(|key| (key.clone(), json!({"x": [key, 1]}))).collect();
            let text = if pretty {
                serde_json::to_string_pretty(&object).unwrap().replace('\n', &format!(" // {comment}\n"))
            } else {
                format!("/*{comment}*/ {} // {comment}", Value::Object(object.clone()))
            };
            let changed = set_value(&text, "new", &json!(["v"]));
            let read: Value = serde_json::from_str(&strip_comments(&changed)).unwrap();
            let mut expected = object;
            expected.insert("new".into(), json!(["v"]));
            prop_assert_eq!(read, Value::Object(expected));
        }
    }
}
