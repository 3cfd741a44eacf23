//! A notebook: its JSON, in the order of the file, and the few things that are asked of it.
//!
//! In: text. Out: a [`Notebook`] or why it is none, with line and column. Unknown keys and values are kept. New ones are
//! written as `nbformat` writes them: keys sorted by whoever builds them, one blank an indent, a final newline.

use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Value};

/// The key of what we know of a cell, in its metadata.
pub(super) const OURS: &str = "ipycodex";

/// The key of the format of what we know, in the notebook's metadata.
pub(super) const VERSION: &str = "ipycodex_version";

/// Why a text is no notebook that can be used. Reads on after the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotebookError {
    /// It is not JSON.
    #[error("is not valid JSON: line {line}, column {column}: {what}")]
    Json {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// The parser's words.
        what: String,
    },
    /// It is JSON of another shape.
    #[error("is not a notebook: it {0}")]
    Shape(&'static str),
    /// A format before 4.
    #[error("is a notebook of format {0}, which is not read")]
    Old(u64),
}

impl From<serde_json::Error> for NotebookError {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let what = error.to_string();
        let what = what
            .rsplit_once(" at line ")
            .map_or(what.as_str(), |(what, _)| what);
        NotebookError::Json {
            line,
            column,
            what: what.to_owned(),
        }
    }
}

/// A notebook of format 4.
#[derive(Debug, Clone, PartialEq)]
pub struct Notebook {
    root: Map<String, Value>,
}

impl Notebook {
    /// Reads a file's text.
    ///
    /// # Errors
    /// [`NotebookError`]: not JSON, no list of cells, too old.
    pub fn parse(text: &str) -> Result<Self, NotebookError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Value::Object(root) = serde_json::from_str(text)? else {
            return Err(NotebookError::Shape("holds no object"));
        };
        let format = root.get("nbformat").and_then(Value::as_u64);
        if let Some(old) = format.filter(|format| *format < 4) {
            return Err(NotebookError::Old(old));
        }
        match root.get("cells") {
            Some(Value::Array(_)) => Ok(Notebook { root }),
            _ => Err(NotebookError::Shape("has no list of cells")),
        }
    }

    /// A notebook of format 4.5 with these cells, marked as ours.
    pub(super) fn of_cells(cells: Vec<Value>) -> Self {
        let mut root = Map::new();
        root.insert("cells".into(), Value::Array(cells));
        let version = Map::from_iter([(VERSION.to_owned(), Value::from(1))]);
        root.insert("metadata".into(), Value::Object(version));
        root.insert("nbformat".into(), Value::from(4));
        root.insert("nbformat_minor".into(), Value::from(5));
        Notebook { root }
    }

    /// Its cells, in order.
    pub fn cells(&self) -> &[Value] {
        match self.root.get("cells") {
            Some(Value::Array(cells)) => cells,
            _ => &[],
        }
    }

    /// True when we wrote it.
    pub fn is_ours(&self) -> bool {
        self.metadata(VERSION).is_some()
    }

    /// The language of its code, when it says.
    pub fn language(&self) -> Option<&str> {
        let of_kernel = self.metadata("kernelspec").map(|spec| &spec["language"]);
        let of_code = self.metadata("language_info").map(|info| &info["name"]);
        of_kernel.into_iter().chain(of_code).find_map(Value::as_str)
    }

    fn metadata(&self, key: &str) -> Option<&Value> {
        self.root.get("metadata")?.get(key)
    }

    /// The file's text.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(b" ");
        let mut writer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        self.root
            .serialize(&mut writer)
            .expect("a JSON value has only keys that are strings, and memory takes it");
        bytes.push(b'\n');
        String::from_utf8(bytes).expect("JSON of strings is UTF-8")
    }
}

/// The text of a cell: a list of lines, or one string.
pub(super) fn source(cell: &Value) -> String {
    match &cell["source"] {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// A text as notebooks have it: its lines, each but the last with its newline.
pub(super) fn lines(text: &str) -> Value {
    text.split_inclusive('\n').map(Value::from).collect()
}
