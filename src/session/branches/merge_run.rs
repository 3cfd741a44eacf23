//! The state of a merge: what was found out, decided, and left behind.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ids::JobId;
use crate::question::QuestionChoice;
use crate::runtime::MergeRow;

/// A merge under way.
pub(crate) struct MergeRun {
    pub(super) job: JobId,
    pub(super) rows: Vec<MergeRow>,
    pub(super) shared: Value,
    pub(super) outdated: Vec<String>,
    /// Names whose values hold others as they were.
    pub(super) olds: BTreeMap<String, Vec<String>>,
    /// The answers so far, by name.
    pub(super) decided: BTreeMap<String, QuestionChoice>,
    /// The names that cannot be carried, with the reason.
    pub(super) refused: BTreeMap<String, String>,
    /// Names that become others.
    pub(super) renames: BTreeMap<String, String>,
    pub(super) deleted: Vec<String>,
}
