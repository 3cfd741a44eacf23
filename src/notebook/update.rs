//! Updates a notebook with the session that was saved in it before.
//!
//! In: the notebook as it is now, and the session. Out: a [`Draft`] with the session's cells in their order. A cell
//! that is in both keeps its bytes except for its outputs, number, times and our metadata, which come from the
//! session. Additions of other programs to the cell and the notebook (tags, a kernel) stay.

use std::collections::HashMap;

use super::cells::read_cell;
use super::document::{CellChanges, CellKind, Document, Draft, DraftCell, NewCell};
use super::outputs::read_outputs;
use super::saved::{SavedCell, SavedEntry, SavedPrompt, SavedSession};
use super::writer::{Ids, cell_metadata, exchange_metadata, output_value};
use crate::input::note_value;

/// The updated notebook; `None` when its format has no ids to match cells by.
pub fn update_notebook(old: &Document, session: &SavedSession) -> Option<Draft> {
    if old.format().0 != 4 || !old.has_ids() {
        return None;
    }
    let by_id: HashMap<String, usize> = old
        .cells()
        .enumerate()
        .filter_map(|(number, cell)| Some((cell.id()?, number)))
        .collect();
    let mut ids = Ids::default();
    let mut cells = Vec::with_capacity(session.entries().len());
    for entry in session.entries() {
        let id = ids.entry(entry);
        let known = by_id
            .get(&id)
            .filter(|number| is_same(old, **number, entry));
        cells.push(match known {
            Some(number) => update_cell(old, *number, entry),
            None => DraftCell::New(new_cell(entry, id)),
        });
    }
    Some(Draft {
        cells,
        metadata: Vec::new(),
    })
}

fn is_same(old: &Document, number: usize, entry: &SavedEntry) -> bool {
    let there = old.cell(number).and_then(read_cell);
    there.is_some_and(|there| there.texts() == entry.texts())
}

/// Merges the recorded cell into the notebook's cell.
fn update_cell(old: &Document, number: usize, entry: &SavedEntry) -> DraftCell {
    let Some(cell) = old.cell(number) else {
        return DraftCell::Kept(number);
    };
    let new = new_cell(entry, String::new());
    let metadata = new.metadata.into_iter();
    let metadata = metadata.filter(|(key, value)| cell.metadata(key).as_ref() != Some(value));
    let mut revision = CellChanges {
        metadata: metadata.collect(),
        ..CellChanges::default()
    };
    if new.kind == CellKind::Code {
        let count = new.execution_count.map(u64::from);
        if cell
            .value("execution_count")
            .and_then(|count| count.as_u64())
            != count
        {
            revision.execution_count = Some(new.execution_count);
        }
        if read_outputs(&cell.outputs()) != read_outputs(&new.outputs) {
            revision.outputs = Some(new.outputs);
        }
    }
    match revision == CellChanges::default() {
        true => DraftCell::Kept(number),
        false => DraftCell::Changed(number, revision),
    }
}

fn new_cell(entry: &SavedEntry, id: String) -> NewCell {
    let made = match entry {
        SavedEntry::Code(cell) => cell_from_code(cell),
        SavedEntry::Prompt(prompt) => cell_from_prompt(prompt),
    };
    NewCell {
        id: Some(id),
        ..made
    }
}

fn cell_from_code(cell: &SavedCell) -> NewCell {
    if let Some(note) = note_value(&cell.source) {
        return NewCell {
            metadata: cell_metadata(cell, Some(&cell.source)),
            ..NewCell::new(CellKind::Markdown, note)
        };
    }
    let value = |output| output_value(output, Some(cell.line));
    NewCell {
        metadata: cell_metadata(cell, None),
        outputs: cell.outputs.iter().map(value).collect(),
        execution_count: Some(cell.line),
        ..NewCell::new(CellKind::Code, cell.source.clone())
    }
}

fn cell_from_prompt(prompt: &SavedPrompt) -> NewCell {
    NewCell {
        metadata: exchange_metadata(prompt),
        ..NewCell::new(CellKind::Markdown, prompt.response.clone())
    }
}
