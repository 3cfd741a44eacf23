//! Enter on a known text: a new line with its indentation, or a submit.

use reedline::{EditCommand, ReedlineEvent};

use crate::input::{Completeness, Mode};
use crate::terminal::cell_language::CellLanguage;
use crate::terminal::keys::typed_text::TypedText;

/// Returns the event that begins a line indented by this many columns.
pub(super) fn newline(indent: usize) -> ReedlineEvent {
    let mut edits = vec![EditCommand::InsertNewline];
    if indent > 0 {
        edits.push(EditCommand::InsertString(" ".repeat(indent)));
    }
    ReedlineEvent::Edit(edits)
}

/// Returns the indentation of a line begun at the cursor.
pub(super) fn indent_at(typed: &TypedText, (mode, cell_language): &(Mode, CellLanguage)) -> usize {
    match cell_language.completeness(&typed.text[..typed.cursor], *mode) {
        Completeness::Incomplete { indent } => indent,
        Completeness::Complete | Completeness::Invalid => 0,
    }
}

pub(super) fn enter(typed: &TypedText, reading: &(Mode, CellLanguage)) -> ReedlineEvent {
    let after = &typed.text[typed.cursor..];
    if !after.trim().is_empty() && after.contains('\n') {
        return newline(indent_at(typed, reading));
    }
    match reading.1.completeness(&typed.text, reading.0) {
        Completeness::Incomplete { indent } => newline(indent),
        Completeness::Complete | Completeness::Invalid => ReedlineEvent::Submit,
    }
}
