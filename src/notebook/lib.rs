//! Sessions as files: notebooks, scripts, pages; and notebooks as sessions.
//!
//! In: a session as the record keeps it ([`SavedSession`]), or the text of a file. Out: the text of a file, or the
//! cells to run again. A notebook file is a [`Document`]: its parts that we do not know stay as they were. Documents:
//! nbformat 4.5; the percent format of scripts as Jupytext and editors read it.
//!
//! Invariants: a written notebook is read back equal and validates with `nbformat`; a text is read whole, or refused
//! with the place of its fault. Absent on purpose: file access, the record, running code.

#[cfg(doctest)]
#[doc = include_str!("README.md")]
pub struct Readme;

mod cells;
pub mod document;
mod events;
mod html;
mod literal;
mod markdown;
mod metadata;
mod outputs;
mod parameters;
#[cfg(test)]
#[path = "../properties.rs"]
pub mod properties;
mod saved;
mod script;
mod update;
mod writer;

#[cfg(test)]
mod tests;

use ipycodex_text::{self as text, dialog, input, output};

pub use cells::{broken_cells, fault as cell_fault, read_session, saved_prompt};
pub use document::{Document, NotebookError};
pub use events::read_events;
pub use html::to_html;
pub use markdown::to_markdown;
pub use metadata::{TIMES, is_ours, language_mismatch, python_language_info, times};
pub use outputs::{CellPicture, outputs_text, pictures_of, read_outputs};
pub use parameters::{WithParameters, with_parameters};
pub use saved::{CellTiming, SavedCell, SavedEntry, SavedPrompt, SavedSession};
pub use script::{ScriptCell, read_script, to_script};
pub use update::update_notebook;
pub use writer::{output_value, write_session};

/// The largest file that is read for users, in bytes.
pub const LARGEST: u64 = 256 << 20;
