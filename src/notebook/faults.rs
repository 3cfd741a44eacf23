//! What is wrong with single cells of a notebook: such cells are left out, and said.

use serde_json::Value;

use super::model::{Notebook, OURS};
use crate::text::cut_characters;

/// The broken cells: `cell 2 of 5 has no source`. A cell of a kind that does not run is not broken.
pub fn broken_cells(notebook: &Notebook) -> Vec<String> {
    let cells = notebook.cells();
    let broken = |(number, cell)| Some((number, fault(cell)?));
    (1..)
        .zip(cells)
        .filter_map(broken)
        .map(|(number, fault): (usize, _)| format!("cell {number} of {} {fault}", cells.len()))
        .collect()
}

pub(super) fn fault(cell: &Value) -> Option<String> {
    let Value::Object(parts) = cell else {
        return Some("is no JSON object".into());
    };
    match parts.get("cell_type") {
        None => return Some("has no `cell_type`".into()),
        Some(Value::String(kind)) if ["code", "markdown", "raw"].contains(&kind.as_str()) => {}
        Some(other) => return Some(format!("has the unknown `cell_type` {}", short(other))),
    }
    match parts.get("source") {
        None => return Some("has no `source`".into()),
        Some(Value::String(_)) => {}
        Some(Value::Array(lines)) if lines.iter().all(Value::is_string) => {}
        Some(_) => return Some("has a `source` that is no text and no list of lines".into()),
    }
    let known = cell["metadata"].get(OURS)?;
    let understood = match known.get("kind").and_then(Value::as_str) {
        Some("code") => true,
        Some("prompt") => known.get("prompt").is_some_and(Value::is_string),
        _ => false,
    };
    (!understood).then(|| format!("has `metadata.{OURS}` that is not understood"))
}

fn short(value: &Value) -> String {
    cut_characters(&value.to_string(), 40).into_owned()
}
