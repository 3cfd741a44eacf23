//! Broken cells of a notebook, which are left out and reported.

use serde_json::Value;

use super::document::{Cell, Document};
use super::metadata::OURS;

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
