//! A notebook file that keeps its bytes: read as spans, shown as text, and changed only where a change is asked for.
//!
//! In: the text of a file ([`Document`]), a marked text, or an action on one cell. Out: the same text, a [`Draft`],
//! and the parts of the file that it makes. Invariants: an unchanged part keeps its bytes; any text is read, or
//! refused with the place of its fault. Absent on purpose: file access, running code.

mod actions;
mod apply;
mod diff;
mod draft;
mod fault;
mod layout;
mod marked;
mod model;
mod object;
mod outline;
mod scan;
mod sequence;
mod source;
mod string;
mod value;

#[cfg(test)]
mod tests;

pub use actions::{CellAction, CellActionError, CellActionOutcome, apply_action};
pub use apply::{ApplyError, apply_marked_text};
pub use diff::{DiffLine, diff};
pub use draft::{CellChanges, Draft, DraftCell, NewCell, RenderedFile};
pub use fault::NotebookError;
pub use marked::{
    LineRange, MarkedCell, ShownPart, TextError, lines_of, output_mark, read_marked, show,
    show_cell,
};
pub use model::{Cell, CellKind, Document};
pub use outline::outline;
