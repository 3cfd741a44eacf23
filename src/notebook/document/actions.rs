//! One action on one cell: edit, insert, delete, move.
//!
//! In: a [`Document`] and an [`CellAction`]. Out: the [`Draft`] and a summary of the change, for users and agents.

use super::draft::{CellChanges, Draft, DraftCell, NewCell};
use super::model::{CellKind, Document};

/// A change to one cell; numbers are from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellAction {
    /// Replaces the text of a cell, or its kind.
    Edit {
        cell: usize,
        /// The new kind; `None` keeps the kind.
        kind: Option<CellKind>,
        /// The new text; `None` keeps the text.
        source: Option<String>,
        /// Removes the outputs and the execution count.
        clear: bool,
    },
    /// Inserts a new cell.
    Insert {
        /// The number that the new cell gets; `None` appends it.
        cell: Option<usize>,
        kind: CellKind,
        source: String,
    },
    /// Removes a cell.
    Delete {
        /// The cell's number.
        cell: usize,
    },
    /// Moves a cell to another place.
    Move {
        /// The cell's number before the move.
        cell: usize,
        /// The cell's number after the move.
        to: usize,
    },
}

/// Why an action was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CellActionError {
    /// There is no such place to insert at: the number asked for, and the number of cells.
    #[error("Cell index {0} out of range for insert (0-{1})")]
    NoPlace(usize, usize),
    /// There is no such cell: the number asked for, and the number of cells.
    #[error("Cell index {0} out of range (0-{last})", last = .1 - 1)]
    NoCell(usize, usize),
    /// The notebook has no cells.
    #[error("Cell index {0} out of range: the notebook has no cells")]
    NoCells(usize),
    /// The item of this number is not a JSON object, so it cannot be changed.
    #[error("cell {0} is not a JSON object: it can be deleted, not edited")]
    NoObject(usize),
    /// The edit names neither a text, nor a kind, nor `clear`.
    #[error("Content is required for edit action")]
    NoContent,
}

/// The result of an action.
#[derive(Debug, Clone, PartialEq)]
pub struct CellActionOutcome {
    /// `edit`, `insert`, `delete` or `move`.
    pub action: &'static str,
    /// The number of the cell; for a deleted cell, the number it had.
    pub cell: usize,
    pub kind: CellKind,
    /// The number of cells after the action.
    pub total: usize,
    /// The text of the cell; for a deleted cell, the text it had.
    pub source: String,
    /// The previous text, for an edit.
    pub before: Option<String>,
    /// True when the cell still shows the outputs of its previous text.
    pub stale: bool,
    /// The changed notebook.
    pub draft: Draft,
}

impl CellActionOutcome {
    /// One sentence for users and agents: `Inserted code cell 2 into a.ipynb: 5 cells.`
    pub fn summary(&self, file: &str) -> String {
        let (done, into) = match self.action {
            "insert" => ("Inserted", "into"),
            "delete" => ("Deleted", "from"),
            "move" => ("Moved", "in"),
            _ => ("Edited", "in"),
        };
        let number = match self.action {
            "move" => format!("to {}", self.cell),
            _ => self.cell.to_string(),
        };
        let cells = match self.total {
            1 => "1 cell".to_owned(),
            total => format!("{total} cells"),
        };
        format!(
            "{done} {} cell {number} {into} {file}: {cells}.",
            self.kind.name()
        )
    }
}

/// Applies the action.
///
/// # Errors
/// There is no such cell or place, or an edit changes nothing.
pub fn apply_action(
    document: &Document,
    action: &CellAction,
) -> Result<CellActionOutcome, CellActionError> {
    let count = document.len();
    let mut draft = Draft::unchanged(document);
    let find = |number: usize| {
        document.cell(number).ok_or(match count {
            0 => CellActionError::NoCells(number),
            _ => CellActionError::NoCell(number, count),
        })
    };
    let kind_of = |number: usize| {
        let kind = document.cell(number).and_then(|cell| cell.kind());
        kind.unwrap_or(CellKind::Raw)
    };
    let outcome = |action, cell, kind, source, draft: Draft| CellActionOutcome {
        action,
        cell,
        kind,
        total: draft.cells.len(),
        source,
        before: None,
        stale: false,
        draft,
    };
    Ok(match action {
        CellAction::Edit {
            cell: number,
            kind,
            source,
            clear,
        } => {
            let cell = find(*number)?;
            if kind.is_none() && source.is_none() && !clear {
                return Err(CellActionError::NoContent);
            }
            if !cell.is_object() {
                return Err(CellActionError::NoObject(*number));
            }
            let (was, text) = (cell.kind(), cell.source());
            let kind = kind.filter(|kind| was != Some(*kind));
            let source = source.clone().filter(|source| *source != text);
            let clears = *clear && kind.or(was) == Some(CellKind::Code);
            let shows = source.is_some() && !clears && kind.is_none() && !cell.outputs().is_empty();
            let told = source.clone().unwrap_or_else(|| text.clone());
            if kind.is_some() || source.is_some() || clears {
                draft.cells[*number] = DraftCell::Changed(
                    *number,
                    CellChanges {
                        kind,
                        source,
                        outputs: clears.then(Vec::new),
                        execution_count: clears.then_some(None),
                        ..CellChanges::default()
                    },
                );
            }
            CellActionOutcome {
                before: Some(text),
                stale: shows,
                ..outcome(
                    "edit",
                    *number,
                    kind.unwrap_or(kind_of(*number)),
                    told,
                    draft,
                )
            }
        }
        CellAction::Insert { cell, kind, source } => {
            let place = cell.unwrap_or(count);
            if place > count {
                return Err(CellActionError::NoPlace(place, count));
            }
            let made = DraftCell::New(NewCell::new(*kind, source.clone()));
            draft.cells.insert(place, made);
            outcome("insert", place, *kind, source.clone(), draft)
        }
        CellAction::Delete { cell: number } => {
            let source = find(*number)?.source();
            draft.cells.remove(*number);
            outcome("delete", *number, kind_of(*number), source, draft)
        }
        CellAction::Move { cell: number, to } => {
            let source = find(*number)?.source();
            find(*to)?;
            let slot = draft.cells.remove(*number);
            draft.cells.insert(*to, slot);
            outcome("move", *to, kind_of(*number), source, draft)
        }
    })
}
