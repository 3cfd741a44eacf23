//! Looks into the past of an interpreter: the value of code after each cell that has a checkpoint, and now.
//!
//! Invariant: a look changes nothing, neither the interpreter nor a checkpoint.

use serde::Deserialize;

use super::saved_state::CellStep;

/// The code and the cells to look back over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookBackRequest {
    /// An expression; of other code, what a cell would show.
    pub code: String,
    /// In number of the first cell; `None`: the state before all cells, too.
    pub from: Option<u32>,
    /// In number of the last cell; `None`: up to now.
    pub to: Option<u32>,
    /// The session that `from` and `to` count in, as in [`Execute::session`](super::Execute::session).
    pub session: u32,
    /// The sessions it was forked from, each with the In number below which their cells are its own.
    pub shared: Vec<(u32, u32)>,
    /// True: run even where writes cannot be prevented.
    pub unprotected: bool,
}

/// Result of looking back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookBack {
    /// The states of the range, oldest first.
    Looked(Vec<PastState>),
    /// Nothing would keep the code from changing files, so it did not run; the reason.
    Unprotected(String),
}

/// The state of the interpreter after a cell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct PastState {
    /// The cell; `None`: the state before all cells.
    pub after: Option<CellStep>,
    /// The present state.
    pub now: bool,
    /// `None`: there is no checkpoint, or it could not be asked.
    pub value: Option<PastValue>,
    /// Why there is no value.
    pub why: String,
}

/// The value of the code in one state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct PastValue {
    /// The code could not be evaluated; `text` says why.
    pub failed: bool,
    /// What a cell would show, cut when it is long; `not defined` where a name did not exist.
    pub text: String,
    /// Equal for equal values.
    pub key: String,
}
