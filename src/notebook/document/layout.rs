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
pub(super) struct Frame {
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
    pub(super) fn frame(&self, depth: usize) -> Frame {
        let line = |depth| {
            self.newline
                .map(|newline| format!("{newline}{}", self.step.repeat(depth)))
        };
        let lead = line(depth);
        Frame {
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
        let mut out = String::from("\"");
        encode(text, self.ascii, &mut out);
        out.push('"');
        out
    }

    /// A key with what stands between it and its value.
    pub(super) fn key(&self, key: &str) -> String {
        self.quoted(key) + &self.colon
    }

    /// `items` between two brackets, `depth` steps deep.
    pub(super) fn list(&self, brackets: [char; 2], items: &[String], depth: usize) -> String {
        let mut out = String::from(brackets[0]);
        if !items.is_empty() {
            let frame = self.frame(depth);
            out.push_str(&frame.lead);
            out.push_str(&items.join(&frame.comma));
            out.push_str(&frame.tail);
        }
        out.push(brackets[1]);
        out
    }

    /// An object of members that are JSON, `depth` steps deep.
    pub(super) fn object(&self, members: &[(&str, String)], depth: usize) -> String {
        let member = |(key, value): &(&str, String)| self.key(key) + value;
        let members: Vec<String> = members.iter().map(member).collect();
        self.list(['{', '}'], &members, depth)
    }

    /// A value whose items are `depth` steps deep.
    pub(super) fn value(&self, value: &Value, depth: usize) -> String {
        match value {
            Value::String(text) => self.quoted(text),
            Value::Array(items) => {
                let items: Vec<String> = items
                    .iter()
                    .map(|item| self.value(item, depth + 1))
                    .collect();
                self.list(['[', ']'], &items, depth)
            }
            Value::Object(members) => {
                let members: Vec<(&str, String)> = members
                    .iter()
                    .map(|(key, value)| (key.as_str(), self.value(value, depth + 1)))
                    .collect();
                self.object(&members, depth)
            }
            other => other.to_string(),
        }
    }

    /// A text as notebooks have it: a list of its lines, each but the last with its newline.
    pub(super) fn lines(&self, text: &str, depth: usize) -> String {
        let lines: Vec<String> = text
            .split_inclusive('\n')
            .map(|line| self.quoted(line))
            .collect();
        self.list(['[', ']'], &lines, depth)
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
