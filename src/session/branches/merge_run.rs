//! The state of a merge: what was found out, decided, and left behind.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::effect::{Effect, emit};
use crate::events::{Notice, TextEvent};
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

impl MergeRun {
    pub(super) fn new(job: JobId) -> Self {
        MergeRun {
            job,
            rows: Vec::new(),
            shared: Value::Null,
            outdated: Vec::new(),
            olds: BTreeMap::new(),
            decided: BTreeMap::new(),
            refused: BTreeMap::new(),
            renames: BTreeMap::new(),
            deleted: Vec::new(),
        }
    }

    /// Tells what was brought over from the cell with this In number, and what was not; `asked`: the user has decided
    /// about what both sides changed.
    pub(super) fn report(&self, line: u32, names: &[String], asked: bool) -> Vec<Effect> {
        let mut parts = Vec::new();
        if !names.is_empty() {
            parts.push(names.join(", "));
        }
        if !self.deleted.is_empty() {
            parts.push(format!("deleted {}", self.deleted.join(", ")));
        }
        let text = match parts.is_empty() {
            true => format!("Nothing was brought over from In [{line}]."),
            false => format!("Brought over from In [{line}]: {}", parts.join("; ")),
        };
        let mut effects = emit(TextEvent::Text(text));
        for (name, why) in &self.refused {
            let text = format!("`{name}` stays behind: {why}");
            effects.extend(emit(Notice::warning(text)));
        }
        for (name, olds) in &self.olds {
            let olds = olds.join(", ");
            let text = format!("`{name}` holds {olds} as it was before In [{line}]");
            effects.extend(emit(Notice::note(text)));
        }
        for name in self.decided.keys().filter(|_| !asked) {
            let text = format!("`{name}` stays as it is here: both sides have changed it");
            effects.extend(emit(Notice::warning(text)));
        }
        effects
    }
}
