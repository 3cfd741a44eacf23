//! State of an interpreter that can come back, requests and replies: checkpoints, which step back to the state between
//! two cells and forward again; the user's variables, saved when a session ends and restored when it is resumed.
//!
//! Invariants: an interpreter that has been stepped is another process with the same requests, output and terminal; an
//! interpreter reads only a file of variables that no other user could have written.

use serde::Deserialize;

/// Requests about checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointRequest {
    /// Sets of how many most recent cells each checkpoint is kept; of older ones fewer are. Reply:
    /// [`RuntimeReply::Checkpoints`](super::RuntimeReply::Checkpoints).
    Keep(u32),
    /// Lists the checkpoints. Reply: as above.
    List,
    /// Steps back to the state before a cell. Reply: [`RuntimeReply::Stepped`](super::RuntimeReply::Stepped).
    Back {
        /// The cell's In number; `None`: the last cell of any session.
        to: Option<u32>,
        /// The session that `to` counts in, as in [`Execute::session`](super::Execute::session).
        session: u32,
    },
    /// Undoes the last step back; possible until a cell runs. Reply: as above.
    Forward,
}

/// A cell that has run, as the checkpoints know it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct CellStep {
    /// The cell's In number.
    pub number: u32,
    /// First line of the source, cut when it is long.
    pub line: String,
    /// The session, as in [`Execute::session`](super::Execute::session).
    pub session: u32,
    /// Files it wrote and programs it started, as far as Python's own audit events show.
    pub wrote: Vec<String>,
}

/// A checkpoint: a kept copy of the state before a cell.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Checkpoint {
    /// The cell that follows the checkpoint.
    #[serde(flatten)]
    pub before: CellStep,
    /// Age in seconds.
    pub age: f64,
    /// Memory in bytes that no other process shares.
    pub memory: u64,
    /// Milliseconds that making it took; the interpreter was blocked meanwhile.
    pub took: f64,
}

/// A cell without a checkpoint before it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct MissingCheckpoint {
    /// The cell.
    #[serde(flatten)]
    pub before: CellStep,
    /// Why there is no checkpoint.
    pub why: String,
}

/// The existing checkpoints, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Checkpoints {
    /// The checkpoints.
    pub rows: Vec<Checkpoint>,
    /// The most recent cells without a checkpoint before them.
    pub missing: Vec<MissingCheckpoint>,
    /// Number of older checkpoints that were thinned out.
    pub thinned: u32,
    /// A step forward is possible.
    pub forward: bool,
    /// Number of most recent cells that each keep a checkpoint; before them every 2nd, 4th, 8th … keeps one.
    pub most: u32,
}

/// Result of a step.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct CheckpointStep {
    /// The cells between the old state and the new one.
    pub over: Vec<CellStep>,
    /// A step forward is possible.
    pub forward: bool,
    /// Number of open connections to other programs; a step does not rewind those.
    pub connections: u32,
    /// The interpreter's working directory after the step.
    pub cwd: Option<String>,
    /// The checkpoints after the step.
    pub there: Checkpoints,
}

/// Operations on the file of a session's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariablesRequest {
    /// Writes the variables that can be saved, in a bounded time. The reply lists those saved and those left out.
    Save,
    /// Lists the variables in the file.
    List,
    /// Sets the variables, except names that are taken. The reply lists those set and those left out.
    Restore,
}

/// Variables in a file, and those that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SavedVariables {
    /// Seconds since they were saved.
    pub age: u64,
    /// In the order in which they were bound.
    pub rows: Vec<SavedVariable>,
    /// Names left out, each with its reason.
    pub left: Vec<(String, String)>,
}

/// A saved variable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SavedVariable {
    /// Its name.
    pub name: String,
    /// Name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Size in the file, in bytes.
    pub bytes: u64,
}
