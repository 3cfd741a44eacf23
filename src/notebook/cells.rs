//! Notebook cells as a session.
//!
//! In: a notebook of ours (`written.rs` tells its form) or of another program, of which code cells are code and
//! markdown cells notes. Out: what is to be run again.

use serde_json::Value;

use super::events;
use super::faults::fault;
use super::literal::literal;
use super::model::{Notebook, OURS, source};
use super::saved::{SavedCell, SavedEntry, SavedSession};
use crate::input::note_value;

/// The sources of a notebook's code cells, broken ones left out.
pub fn code_cells(notebook: &Notebook) -> Vec<String> {
    let cells = notebook.cells().iter();
    cells
        .filter(|cell| cell["cell_type"] == "code" && fault(cell).is_none())
        .map(source)
        .collect()
}

/// What a notebook holds to be run again, without outputs; broken cells are left out. Of one that is ours, cells we did
/// not write are left out, and order is that of the lines; any other is read from top to bottom.
pub fn read_session(notebook: &Notebook) -> SavedSession {
    let ours = notebook.is_ours();
    let mut entries = Vec::new();
    for cell in notebook.cells().iter().filter(|cell| fault(cell).is_none()) {
        let known = &cell["metadata"][OURS];
        let entry = match known {
            Value::Object(_) => saved(cell, known),
            _ if ours => None,
            _ => foreign(cell, u32::try_from(entries.len() + 1).unwrap_or(u32::MAX)),
        };
        entries.extend(entry);
    }
    if ours {
        SavedSession::of(entries)
    } else {
        SavedSession::as_ordered(entries)
    }
}

/// A cell we wrote; the text in it counts, where it was edited since.
fn saved(cell: &Value, known: &Value) -> Option<SavedEntry> {
    let text = source(cell);
    match known.get("kind")?.as_str()? {
        "code" => {
            let noted = known.get("source").and_then(Value::as_str);
            let source = match noted {
                Some(noted) if note_value(noted).as_ref() == Some(&text) => noted.to_owned(),
                _ if cell["cell_type"] == "markdown" => literal(&text),
                _ => text,
            };
            Some(SavedEntry::Code(SavedCell {
                line: events::number(known, "line").unwrap_or(0),
                source,
                ..SavedCell::default()
            }))
        }
        "prompt" => {
            let prompt = known.get("prompt")?.as_str()?.to_owned();
            Some(SavedEntry::Prompt(events::prompt(known, prompt, text)))
        }
        _ => None,
    }
}

/// A cell of another program.
fn foreign(cell: &Value, line: u32) -> Option<SavedEntry> {
    let text = source(cell);
    if text.trim().is_empty() {
        return None;
    }
    let source = match cell["cell_type"].as_str()? {
        "code" => text,
        "markdown" => literal(&text),
        _ => return None,
    };
    Some(SavedEntry::Code(SavedCell {
        line,
        source,
        ..SavedCell::default()
    }))
}
