//! The layout of a file (indent, line ends, blanks, escapes), so that new JSON looks like the rest of it.
//!
//! In: the text of an object of the file. Out: pieces of JSON for any depth. A file of one line stays one line.

use memchr::memmem;
use serde_json::Value;

use super::scan::{Member, Span};
use super::string::encode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// The line end before each item; `None`: all on one line.
    newline: Option<&'static str>,
    step: String,
    /// The comma between items on one line, with the blanks behind it.
    comma: String,
    /// The colon between key and value, with its blanks.
    colon: String,
    /// Characters beyond ASCII are escaped.
    ascii: bool,
}

#[derive(Debug, Clone)]
pub(super) struct ItemFrame {
    pub lead: String,
    pub comma: String,
    pub tail: String,
}

impl Layout {
    /// The layout of the file whose outermost object is `root`, judged by the first two members.
    pub(super) fn of(text: &str, root: Span, members: &[Member]) -> Self {
        let Some(first) = members.first() else {
            return Layout {
                newline: Some("\n"),
                step: " ".into(),
                comma: ", ".into(),
                colon: ": ".into(),
                ascii: false,
            };
        };
        let lead = &text[root.start as usize + 1..first.key.start as usize];
        let comma = members
            .get(1)
            .map(|second| &text[first.value.end as usize..second.key.start as usize]);
        let newline = match lead.rfind('\n') {
            None => None,
            Some(_) if lead.contains("\r\n") => Some("\r\n"),
            Some(_) => Some("\n"),
        };
        Layout {
            newline,
            step: lead[lead.rfind('\n').map_or(0, |at| at + 1)..].to_owned(),
            comma: comma
                .filter(|comma| !comma.contains('\n'))
                .unwrap_or(", ")
                .to_owned(),
            colon: text[first.key.end as usize..first.value.start as usize].to_owned(),
            ascii: root.of(text).is_ascii() && escapes_characters(root.of(text)),
        }
    }

    pub(super) fn frame(&self, depth: usize) -> ItemFrame {
        let line = |depth| {
            self.newline
                .map(|newline| format!("{newline}{}", self.step.repeat(depth)))
        };
        let lead = line(depth);
        ItemFrame {
            comma: match &lead {
                Some(lead) => format!(",{lead}"),
                None => self.comma.clone(),
            },
            lead: lead.unwrap_or_default(),
            tail: line(depth - 1).unwrap_or_default(),
        }
    }

    pub(super) fn ascii(&self) -> bool {
        self.ascii
    }

    /// `text` as a JSON string, quotes included.
    pub(super) fn quoted(&self, text: &str) -> String {
        let mut out = String::new();
        self.put_quoted(text, &mut out);
        out
    }

    fn put_quoted(&self, text: &str, out: &mut String) {
        out.push('"');
        encode(text, self.ascii, out);
        out.push('"');
    }

    pub(super) fn key(&self, key: &str) -> String {
        self.quoted(key) + &self.colon
    }

    /// Appends `items` between two brackets, at `depth`, to `out`.
    fn put_list<T>(
        &self,
        brackets: [char; 2],
        items: impl Iterator<Item = T>,
        depth: usize,
        out: &mut String,
        mut put: impl FnMut(T, &mut String),
    ) {
        out.push(brackets[0]);
        let mut items = items.peekable();
        if items.peek().is_some() {
            let frame = self.frame(depth);
            let mut between = &frame.lead;
            for item in items {
                out.push_str(between);
                put(item, out);
                between = &frame.comma;
            }
            out.push_str(&frame.tail);
        }
        out.push(brackets[1]);
    }

    pub(super) fn values(&self, values: &[Value], depth: usize) -> String {
        let mut out = String::new();
        self.put_values(values, depth, &mut out);
        out
    }

    fn put_values(&self, values: &[Value], depth: usize, out: &mut String) {
        self.put_list(['[', ']'], values.iter(), depth, out, |value, out| {
            self.put(value, depth + 1, out);
        });
    }

    /// An object at `depth`, whose member values are JSON already.
    pub(super) fn object(&self, members: &[(&str, String)], depth: usize) -> String {
        let mut out = String::new();
        let members = members.iter();
        self.put_list(['{', '}'], members, depth, &mut out, |(key, value), out| {
            out.push_str(&self.key(key));
            out.push_str(value);
        });
        out
    }

    /// A value whose items are at `depth`.
    pub(super) fn value(&self, value: &Value, depth: usize) -> String {
        let mut out = String::new();
        self.put(value, depth, &mut out);
        out
    }

    /// Like `value`, but appends to `out`: large values are copied once.
    fn put(&self, value: &Value, depth: usize, out: &mut String) {
        match value {
            Value::String(text) => self.put_quoted(text, out),
            Value::Array(items) => self.put_values(items, depth, out),
            Value::Object(members) => {
                let is_stream = members.get("output_type").is_some_and(|is| is == "stream");
                let members = members.iter();
                self.put_list(['{', '}'], members, depth, out, |(key, value), out| {
                    out.push_str(&self.key(key));
                    match value {
                        // A list of its lines would take many times the memory of a long text.
                        Value::String(text) if is_stream && key == "text" => {
                            self.put_lines(text, depth + 1, out);
                        }
                        value => self.put(value, depth + 1, out),
                    }
                });
            }
            other => out.push_str(&other.to_string()),
        }
    }

    /// A text in the form that notebooks use: a list of lines, each but the last with its newline.
    pub(super) fn lines(&self, text: &str, depth: usize) -> String {
        let mut out = String::new();
        self.put_lines(text, depth, &mut out);
        out
    }

    fn put_lines(&self, text: &str, depth: usize, out: &mut String) {
        let lines = text.split_inclusive('\n');
        self.put_list(['[', ']'], lines, depth, out, |line, out| {
            self.put_quoted(line, out)
        });
    }
}

/// True when the text escapes a character beyond ASCII; a lone surrogate does not count.
fn escapes_characters(text: &str) -> bool {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    memmem::find_iter(text.as_bytes(), b"\\u").any(|at| {
        let backslashes = text.as_bytes()[..at]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        let is_character = match unit(at) {
            Some(0xD800..=0xDBFF) => matches!(unit(at + 6), Some(0xDC00..=0xDFFF)),
            Some(0xDC00..=0xDFFF) | None => false,
            Some(unit) => unit >= 0x80,
        };
        backslashes % 2 == 0 && is_character
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_characters_are_told_from_others() {
        for (text, expected) in [
            (r"\u00e9", true),
            (r"a\u00e9", true),
            (r"\u0080", true),
            (r"\u007f", false),
            (r"\n", false),
            (r"\\u00e9", false),
            (r"\\\u00e9", true),
            (r"\ud83d\ude00", true),
            (r"\ud83d \ude00", false),
            (r"\ude00\ud83d", false),
            (r"\ud83d\u0041", false),
            (r"\u0041\u00e9", true),
            (r"\\u00", false),
        ] {
            assert_eq!(escapes_characters(text), expected, "{text}");
        }
    }
}
