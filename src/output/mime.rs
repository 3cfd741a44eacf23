//! A value in the forms it was offered in (Jupyter's MIME bundle), and which form a reader gets.

use serde_json::Value;

/// MIME type to data, in the order received. Binary types hold base64 text, as in Jupyter's wire format 5.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MimeBundle {
    entries: Vec<(String, Value)>,
}

impl MimeBundle {
    /// A bundle of the given entries.
    pub fn new(entries: Vec<(String, Value)>) -> Self {
        MimeBundle { entries }
    }

    /// A bundle holding `text/plain` only.
    pub fn plain(text: impl Into<String>) -> Self {
        MimeBundle {
            entries: vec![("text/plain".into(), Value::String(text.into()))],
        }
    }

    /// The data of `mime` when it is text (lists of lines are joined).
    pub fn text(&self, mime: &str) -> Option<String> {
        match self.get(mime)? {
            Value::String(text) => Some(text.clone()),
            Value::Array(lines) => Some(lines.iter().filter_map(Value::as_str).collect()),
            _ => None,
        }
    }

    /// The data of `mime` as it came.
    pub fn get(&self, mime: &str) -> Option<&Value> {
        self.entries
            .iter()
            .find(|(name, _)| name == mime)
            .map(|(_, data)| data)
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries
            .iter()
            .map(|(name, data)| (name.as_str(), data))
    }

    /// True when there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
