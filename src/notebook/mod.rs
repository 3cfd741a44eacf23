//! Sessions as files: notebooks, scripts, pages; and notebooks as sessions.
//!
//! In: what the record keeps of a session ([`SavedSession`]), or the text of a file. Out: the text of a file, or what
//! is to be run again. A notebook file is a [`Document`]: what we do not know in it stays as it was. Documents:
//! nbformat 4.5; the percent format of scripts as Jupytext and editors read it.
//!
//! Invariants: what is written is read back equal and validates with `nbformat`; any text is read or refused with the
//! place of its fault, never half. Absent on purpose: files, the record, running anything.

mod cells;
pub mod document;
mod events;
mod html;
mod language;
mod literal;
mod markdown;
mod metadata;
mod outputs;
mod page;
mod parameters;
mod saved;
mod script;
mod update;
mod validation;
mod writer;

#[cfg(test)]
mod tests;

pub use cells::{read_session, saved_prompt};
pub use document::{Document, NotebookError};
pub use events::read_events;
pub use html::to_html;
pub use language::{language_mismatch, python_language_info};
pub use markdown::to_markdown;
pub use metadata::{TIMES, is_ours, times};
pub use outputs::{CellPicture, outputs_text, pictures_of, read_outputs};
pub use parameters::{WithParameters, with_parameters};
pub use saved::{CellTiming, SavedCell, SavedEntry, SavedPrompt, SavedSession};
pub use script::{ScriptCell, read_script, to_script};
pub use update::update_notebook;
pub use validation::{broken_cells, fault as cell_fault};
pub use writer::{output_value, write_session};

/// Larger files are not read for people, in bytes.
pub const LARGEST: u64 = 256 << 20;
