//! A cell in the background: the branch that runs it, and what is asked of it and of the interpreter at the prompt.
//!
//! The interpreter that runs the cell becomes a *branch*, a runtime of its own; its copy from before the cell takes its
//! place ([`RuntimeRequest::HandOff`](super::RuntimeRequest::HandOff)). Afterwards the branch takes the prompt again
//! ([`RuntimeRequest::TakeBack`](super::RuntimeRequest::TakeBack)), or names are carried over
//! ([`BackgroundRequest`]). Invariant: a branch is a descendant of the guard of the interpreter that it was, so it ends
//! with the one that took its place.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A branch, as the interpreter that was handed the prompt reports it;
/// [`connect_branch`](super::connect::connect_branch) makes a runtime of it.
#[derive(Clone)]
pub struct Branch {
    /// Its runtime and events, until they are taken.
    pub(super) parts: Arc<dyn Any + Send + Sync>,
    /// What the runtime that it was takes it back by.
    pub(super) claim: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Branch")
    }
}

/// Requests about names that are carried over from a branch. Files are the session's own, and hold JSON or values.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum BackgroundRequest {
    /// Makes a checkpoint of this moment if there is none.
    Ready,
    /// At the prompt: begins to write what tells the values apart that both began with.
    Base {
        /// The number of the branch.
        branch: u32,
        /// The file to write; it is there once it is whole.
        path: PathBuf,
    },
    /// To a branch: compares its names with those that both began with, and writes what tells them apart.
    Digest {
        /// The file of what both began with, which is waited for.
        base: PathBuf,
        /// The file to write.
        path: PathBuf,
    },
    /// At the prompt: compares its names and those of a branch with those that both began with.
    Plan {
        /// The file of what both began with.
        base: PathBuf,
        /// The file that the branch has written.
        theirs: PathBuf,
    },
    /// To a branch: writes the values of these names.
    Pack {
        /// The names.
        names: Vec<String>,
        /// What the plan says is the same on both sides: what refers to it goes on doing so.
        shared: Value,
        /// Names that only the prompt has changed.
        outdated: Vec<String>,
        /// The file to write, in place of another.
        path: PathBuf,
    },
    /// At the prompt: sets names from a file, all or none.
    Unpack {
        /// The file that the branch has written; `None`: only names are deleted.
        path: Option<PathBuf>,
        /// Names that become others.
        renames: BTreeMap<String, String>,
        /// Names to delete.
        deleted: Vec<String>,
    },
    /// To a branch that has taken the prompt again: it has its checkpoints again.
    Return,
    /// At the prompt: nothing will be merged from this branch any more.
    Forget {
        /// The number of the branch.
        branch: u32,
    },
}

/// Reply to a [`BackgroundRequest`]; what the request does not give is empty.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct BackgroundReply {
    /// Why there is nothing.
    pub why: Option<String>,
    /// To `Digest` and `Plan`: a row for each name that the branch has changed.
    pub rows: Vec<MergeRow>,
    /// To `Plan`: the values that neither side has changed, and where they are.
    pub shared: Value,
    /// To `Plan`: the names that only the prompt has changed.
    pub outdated: Vec<String>,
    /// To `Pack`: the names that cannot be carried, with the reason.
    pub refused: BTreeMap<String, String>,
    /// To `Pack`: names whose values hold those of other names as they were before the prompt changed them.
    pub olds: BTreeMap<String, Vec<String>>,
    /// To `Unpack`: the names that were set.
    pub names: Vec<String>,
}

/// What a merge does with one name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MergeRow {
    /// The name.
    pub name: String,
    /// What the branch has done with it: `added`, `changed`, `deleted`.
    pub change: String,
    /// Both sides have changed it, and not to the same.
    pub conflict: bool,
    /// Why it cannot be carried over.
    pub refused: Option<String>,
    /// The value in the branch: type and size.
    pub theirs: String,
    /// The value at the prompt; empty when there is none.
    pub ours: String,
}
