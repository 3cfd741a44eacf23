//! How a file is laid out, so that what is written into it looks like the rest: indent, line ends, blanks, escapes.
//!
//! In: the text of an object of it. Out: pieces of JSON for any depth. A file that is one line gets one line.

use memchr::memmem;
use serde_json::Value;

use super::scan::{Member, Span};
use super::string::encode;

/// The layout of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Before each item; `None`: all on one line.
    newline: Option<&'static str>,
    /// One step of the indent.
    step: String,
    /// Between items that stand on one line, with what follows it.
    comma: String,
    /// Between a key and its value.
    colon: String,
    /// What is not ASCII is escaped.
    ascii: bool,
}

/// What stands around and between the items of an array or object.
#[derive(Debug, Clone)]
pub(super) struct ItemFrame {
    pub lead: String,
    pub comma: String,
    pub tail: String,
}

impl Layout {
    /// That of the file whose outermost object is `root`, with these first two members.
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
            ascii: text.is_ascii() && escapes_characters(text),
        }
    }

    /// That of items `depth` steps deep.
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

    /// True when what is not ASCII is to be escaped.
    pub(super) fn ascii(&self) -> bool {
        self.ascii
    }

    /// A string with its quotes.
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

    /// A key with what stands between it and its value.
    pub(super) fn key(&self, key: &str) -> String {
        self.quoted(key) + &self.colon
    }

    /// `items` between two brackets, `depth` steps deep, each put behind what is there.
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

    /// A list of values, `depth` steps deep.
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

    /// An object of members that are JSON, `depth` steps deep.
    pub(super) fn object(&self, members: &[(&str, String)], depth: usize) -> String {
        let mut out = String::new();
        let members = members.iter();
        self.put_list(['{', '}'], members, depth, &mut out, |(key, value), out| {
            out.push_str(&self.key(key));
            out.push_str(value);
        });
        out
    }

    /// A value whose items are `depth` steps deep.
    pub(super) fn value(&self, value: &Value, depth: usize) -> String {
        let mut out = String::new();
        self.put(value, depth, &mut out);
        out
    }

    /// The same, behind what is there: large values are copied once.
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
                        // A list of its lines would take many times the room of a long text.
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

    /// A text as notebooks have it: a list of its lines, each but the last with its newline.
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

/// A character beyond ASCII is written as an escape somewhere; half of a pair is none.
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
