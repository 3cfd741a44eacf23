//! JSON in Python's notation: `repr` for display, `json.dumps` for the record.

use std::fmt::Write as _;
use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// `name(a=1, b='x')`, arguments sorted by name.
pub(super) fn call(name: &str, arguments: &Value) -> String {
    let mut text = format!("{name}(");
    match arguments {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_unstable_by_key(|(key, _)| key.as_str());
            for (n, (key, value)) in pairs.into_iter().enumerate() {
                text.push_str(if n == 0 { "" } else { ", " });
                text.push_str(key);
                text.push('=');
                repr(&mut text, value);
            }
        }
        Value::Null => {}
        other => repr(&mut text, other),
    }
    text.push(')');
    text
}

fn repr(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => repr_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                out.push_str(if n == 0 { "" } else { ", " });
                repr(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (n, (key, item)) in map.iter().enumerate() {
                out.push_str(if n == 0 { "" } else { ", " });
                repr_text(out, key);
                out.push_str(": ");
                repr(out, item);
            }
            out.push('}');
        }
    }
}

fn repr_text(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() && (c as u32) < 0x100 => {
                write!(out, "\\x{:02x}", c as u32).expect("writing to a string");
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// One line, with `", "` and `": "` as separators, nothing escaped to ASCII.
pub(super) fn dumps(value: &Value) -> String {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, Spaced))
        .expect("a JSON value is written to memory");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
