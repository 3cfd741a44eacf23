//! A part of the input of a model, or of the result of a tool.

use crate::dialog::file_entry;

/// A piece of the current input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputPart {
    /// Text for the model.
    Text(String),
    /// An image as a `data:` URL.
    Image(String),
    /// A file, for agents that take it as one.
    File {
        /// As the user named it.
        path: String,
        /// All of it.
        text: String,
    },
}

impl InputPart {
    /// A file as text, for agents that take no files; any other part as it is.
    #[must_use]
    pub fn without_file(self) -> Self {
        match self {
            InputPart::File { path, text } => InputPart::Text(file_entry(&path, &text)),
            part => part,
        }
    }

    /// Text of it, when it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            InputPart::Text(text) => Some(text),
            InputPart::Image(_) | InputPart::File { .. } => None,
        }
    }
}
