//! Reads the cells of a notebook as a session.
//!
//! In: a notebook of ours (`writer.rs` describes its form) or of another program, whose code cells become code and
//! whose markdown cells become notes. Out: the cells to run again, and the faults of broken ones, which are left out.

use serde_json::Value;

use super::document::{Cell, CellKind, Document};
use super::events;
use super::literal::literal;
use super::metadata::{OURS, foreign_metadata, is_ours};
use super::saved::{SavedCell, SavedEntry, SavedPrompt, SavedSession};
use crate::input::note_value;

/// The prompt whose answer the markdown cell holds, when we saved the cell.
pub fn saved_prompt(cell: Cell<'_>) -> Option<String> {
    match read_cell(cell)? {
        SavedEntry::Prompt(prompt) => Some(prompt.prompt),
        SavedEntry::Code(_) => None,
    }
}

/// The cells to run again, without outputs; broken cells are left out. In a notebook of ours, cells that we did not
/// write are left out and the order is that of the lines; any other notebook is read from top to bottom.
pub fn read_session(notebook: &Document) -> SavedSession {
    let ours = is_ours(notebook);
    let mut entries = Vec::new();
    for cell in notebook.cells().filter(|cell| fault(*cell).is_none()) {
        let entry = match cell.metadata(OURS) {
            Some(known @ Value::Object(_)) => own_entry(cell, &known),
            _ if ours => None,
            _ => foreign_entry(cell, u32::try_from(entries.len() + 1).unwrap_or(u32::MAX)),
        };
        entries.extend(entry);
    }
    if ours {
        SavedSession::from_entries(entries)
    } else {
        SavedSession::as_ordered(entries)
    }
}

pub(super) fn read_cell(cell: Cell<'_>) -> Option<SavedEntry> {
    own_entry(cell, &cell.metadata(OURS)?)
}

/// Reads a cell that we wrote; where its text was edited since, the edited text counts.
fn own_entry(cell: Cell<'_>, known: &Value) -> Option<SavedEntry> {
    let text = cell.source();
    match known.get("kind")?.as_str()? {
        "code" => {
            let noted = known.get("source").and_then(Value::as_str);
            let source = match noted {
                Some(noted) if note_value(noted).as_ref() == Some(&text) => noted.to_owned(),
                _ if cell.kind() == Some(CellKind::Markdown) => literal(&text),
                _ => text,
            };
            Some(SavedEntry::Code(SavedCell {
                line: events::number(known, "line").unwrap_or(0),
                source,
                metadata: foreign_metadata(cell),
                ..SavedCell::default()
            }))
        }
        "prompt" => {
            let prompt = known.get("prompt")?.as_str()?.to_owned();
            Some(SavedEntry::Prompt(SavedPrompt {
                metadata: foreign_metadata(cell),
                ..events::prompt(known, prompt, text)
            }))
        }
        _ => None,
    }
}

fn foreign_entry(cell: Cell<'_>, line: u32) -> Option<SavedEntry> {
    let text = cell.source();
    if text.trim().is_empty() {
        return None;
    }
    let source = match cell.kind()? {
        CellKind::Code => text,
        CellKind::Markdown => literal(&text),
        CellKind::Raw => return None,
    };
    Some(SavedEntry::Code(SavedCell {
        line,
        source,
        metadata: foreign_metadata(cell),
        ..SavedCell::default()
    }))
}

/// The broken cells: `cell 2 of 5 has no source`. A cell of a kind that does not run is not broken.
pub fn broken_cells(notebook: &Document) -> Vec<String> {
    let broken = |(number, cell)| Some((number, fault(cell)?));
    let (cells, of) = (notebook.cells(), notebook.len());
    (1..)
        .zip(cells)
        .filter_map(broken)
        .map(|(number, fault): (usize, _)| format!("cell {number} of {of} {fault}"))
        .collect()
}

/// The fault of a cell, our metadata included.
pub fn fault(cell: Cell<'_>) -> Option<String> {
    if let Some(fault) = cell.fault() {
        return Some(fault);
    }
    let known = cell.metadata(OURS)?;
    let understood = match known.get("kind").and_then(Value::as_str) {
        Some("code") => true,
        Some("prompt") => known.get("prompt").is_some_and(Value::is_string),
        _ => false,
    };
    (!understood).then(|| format!("has `metadata.{OURS}` that is not understood"))
}
