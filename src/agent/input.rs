//! A part of the input of a model, or of the result of a tool.

use crate::dialog::file_entry;

/// A part of the model's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputPart {
    /// Text for the model.
    Text(String),
    /// An image as a `data:` URL.
    Image(String),
    /// A file, for agents that accept files.
    File {
        /// Path as the user named it.
        path: String,
        /// The whole content.
        text: String,
    },
}

impl InputPart {
    /// Converts a file to text, for agents that accept no files; returns any other part unchanged.
    #[must_use]
    pub fn without_file(self) -> Self {
        match self {
            InputPart::File { path, text } => InputPart::Text(file_entry(&path, &text)),
            part => part,
        }
    }

    /// The text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            InputPart::Text(text) => Some(text),
            InputPart::Image(_) | InputPart::File { .. } => None,
        }
    }
}
