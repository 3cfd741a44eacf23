//! Errors of notebook files: a file that cannot be read, or one that cannot be changed.

use super::scan::Fault;

/// Why a text cannot be used as a notebook. The message continues a sentence that begins with the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotebookError {
    /// The text is not JSON.
    #[error("is not valid JSON: line {line}, column {column}: {what}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in bytes.
        column: usize,
        /// The token that was expected there.
        what: String,
    },
    /// The text is JSON of another shape.
    #[error("is not a notebook: it {0}")]
    Shape(&'static str),
    /// The text is of a format (`nbformat`) that is read only.
    #[error("is a notebook of format {0}, which is shown but not changed")]
    Format(u64),
    /// A cell can be neither shown nor changed: its number from 0, and the reason.
    #[error("has a cell that is not understood: cell {0} {1}")]
    Cell(usize, String),
}

impl NotebookError {
    /// The message as a whole sentence about the file named `file`.
    pub fn sentence(&self, file: &str) -> String {
        match self {
            NotebookError::Json { line, column, what } => {
                format!("Invalid JSON in notebook: `{file}`, line {line}, column {column}: {what}")
            }
            NotebookError::Shape(what) => {
                format!("Invalid notebook structure (missing cells array): `{file}` {what}")
            }
            other => format!("`{file}` {other}"),
        }
    }

    pub(super) fn json(text: &str, fault: Fault) -> Self {
        let before = &text.as_bytes()[..fault.at.min(text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        NotebookError::Json {
            line: line + 1,
            column: before.len() - start + 1,
            what: fault.what.to_owned(),
        }
    }
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
