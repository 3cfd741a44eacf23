//! One action on one cell: edit, insert, delete, move.
//!
//! In: a [`Document`] and an [`CellAction`]. Out: the [`Draft`] and what is told of it, as people and agents are told.

use super::draft::{CellChanges, Draft, DraftCell, NewCell};
use super::model::{CellKind, Document};

/// What is done to a cell; numbers are from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellAction {
    /// It gets another text, or becomes another kind.
    Edit {
        /// Which.
        cell: usize,
        /// `None`: as it is.
        kind: Option<CellKind>,
        /// `None`: as it is.
        source: Option<String>,
        /// What it showed goes, and its number.
        clear: bool,
    },
    /// A new one.
    Insert {
        /// The number it gets; `None`: behind all.
        cell: Option<usize>,
        /// What it is.
        kind: CellKind,
        /// Its text.
        source: String,
    },
    /// It goes.
    Delete {
        /// Which.
        cell: usize,
    },
    /// It stands elsewhere.
    Move {
        /// Which.
        cell: usize,
        /// The number it gets.
        to: usize,
    },
}

/// Why nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CellActionError {
    /// There is no such place to insert at.
    #[error("Cell index {0} out of range for insert (0-{1})")]
    NoPlace(usize, usize),
    /// There is no such cell.
    #[error("Cell index {0} out of range (0-{last})", last = .1 - 1)]
    NoCell(usize, usize),
    /// There is no cell at all.
    #[error("Cell index {0} out of range: the notebook has no cells")]
    NoCells(usize),
    /// What is there cannot be changed: it is no cell at all.
    #[error("cell {0} is not a JSON object: it can be deleted, not edited")]
    NoObject(usize),
    /// An edit that says nothing.
    #[error("Content is required for edit action")]
    NoContent,
}

/// What was done.
#[derive(Debug, Clone, PartialEq)]
pub struct CellActionOutcome {
    /// `edit`, `insert`, `delete` or `move`.
    pub action: &'static str,
    /// The number of the cell; of one that is gone, the number it had.
    pub cell: usize,
    /// What it is.
    pub kind: CellKind,
    /// How many there are now.
    pub total: usize,
    /// Its text; of one that is gone, the text it had.
    pub source: String,
    /// The text it had, of an edit.
    pub before: Option<String>,
    /// Its outputs are those of the text it had.
    pub stale: bool,
    /// The notebook as it shall be.
    pub draft: Draft,
}

impl CellActionOutcome {
    /// `Inserted code cell 2 into a.ipynb: 5 cells.`
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

/// Does it.
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
