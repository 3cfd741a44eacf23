//! Input modes: how a text without a leading mark is read, and where it begins.

/// The meaning of a text without a leading mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Python; a leading `.` makes a prompt.
    #[default]
    Cells,
    /// A prompt; a leading `;` makes Python.
    Prompts,
    /// A command or a script for the shell; `%ipycodex` commands keep their meaning.
    Shell,
}

/// The text from its first line that is not blank.
pub(super) fn without_leading_blank_lines(text: &str) -> &str {
    let indent = text.len() - text.trim_start().len();
    match text[..indent].rfind('\n') {
        Some(at) => &text[at + 1..],
        None => text,
    }
}
