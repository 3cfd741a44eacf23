//! A notebook: its JSON, in the order of the file, and the few things that are asked of it.
//!
//! In: text. Out: a [`Notebook`] or why it is none, with line and column. Unknown keys and values are kept.

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
}

/// The text of a cell: a list of lines, or one string.
pub(super) fn source(cell: &Value) -> String {
    match &cell["source"] {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
