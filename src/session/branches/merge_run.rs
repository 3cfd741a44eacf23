//! The state of a merge: what was found out, decided, and left behind.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::effect::{Effect, emit};
use crate::events::{Notice, TextEvent};
use crate::ids::JobId;
use crate::question::{NameConflict, OfferedFile, QuestionChoice, file_key};
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
    /// Files that are offered.
    pub(super) files: Vec<OfferedFile>,
}

/// The name of their value beside ours.
pub(super) fn both(name: &str, line: u32) -> String {
    format!("{name}_{line}")
}

/// The name of their file beside ours.
fn both_files(path: &str, line: u32) -> String {
    let (stem, suffix) = match path.rsplit_once('.') {
        Some((stem, suffix)) if !stem.is_empty() && !suffix.contains('/') => {
            (stem, format!(".{suffix}"))
        }
        _ => (path, String::new()),
    };
    format!("{stem}_{line}{suffix}")
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
            files: Vec::new(),
        }
    }

    /// Returns the next file that is another here and was not decided about.
    pub(super) fn open_file(&self, line: u32) -> Option<NameConflict> {
        let conflicts = self.files.iter().filter_map(|file| {
            Some(NameConflict {
                line,
                both: both_files(&file.path, line),
                name: file.path.clone(),
                theirs: file.theirs.clone(),
                ours: file.ours.clone()?,
                is_file: true,
            })
        });
        let mut conflicts = conflicts.filter(|it| !self.decided.contains_key(&it.key()));
        conflicts.next()
    }

    /// Returns the files to copy: from where, to where, and whether in place of another.
    pub(super) fn copies(&self, line: u32) -> Vec<(String, String, bool)> {
        let copies = self.files.iter().filter_map(|file| {
            let path = file.path.clone();
            match self.decided.get(&file_key(&path)) {
                Some(QuestionChoice::Mine) => None,
                Some(QuestionChoice::Both) => {
                    let target = both_files(&path, line);
                    Some((path, target, false))
                }
                Some(QuestionChoice::Theirs) => Some((path.clone(), path, true)),
                _ => Some((path.clone(), path, false)),
            }
        });
        copies.collect()
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
