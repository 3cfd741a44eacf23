//! Sessions as files: notebooks, scripts, pages; and notebooks as sessions.
//!
//! In: what the record keeps of a session ([`SavedSession`]), or the text of a file. Out: the text of a file, or what
//! is to be run again. A notebook is its JSON ([`Notebook`]): what we do not know in it stays as it was. Documents:
//! nbformat 4.5; the percent format of scripts as Jupytext and editors read it.
//!
//! Invariants: what is written is read back equal and validates with `nbformat`; any text is read or refused with the
//! place of its fault, never half. Absent on purpose: files, the record, running anything.

mod cells;
mod events;
mod faults;
mod html;
mod literal;
mod markdown;
mod model;
mod page;
mod saved;
mod script;
mod written;

#[cfg(test)]
mod tests;

pub use cells::{code_cells, read_session};
pub use events::read_events;
pub use faults::broken_cells;
pub use html::to_html;
pub use markdown::to_markdown;
pub use model::{Notebook, NotebookError};
pub use saved::{SavedCell, SavedEntry, SavedPrompt, SavedSession};
pub use script::{ScriptCell, read_script, to_script};
pub use written::write_session;
