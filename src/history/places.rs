//! Where the things of this process lie in the file.

use std::collections::HashMap;

use super::lines::Lines;
use super::values::TurnKey;

/// Where the things of this process lie in the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    /// Rows of the turns that run.
    pub(super) turns: HashMap<TurnKey, i64>,
    pub(super) lines: Lines,
}
