//! Steps back to where an interpreter was between two cells, and forward again: what is asked, and what is answered.
//!
//! Invariant: an interpreter that has been stepped is another process with the same requests, output and terminal.

use serde::Deserialize;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointRequest {
    /// So many are kept from here on. Answer: [`Answer::Checkpoints`](super::RuntimeReply::Checkpoints).
    Keep(u32),
    /// Which there are. Answer: as above.
    List,
    /// To where it was before a cell. Answer: [`Answer::Stepped`](super::RuntimeReply::Stepped).
    Back {
        /// Its In number; `None`: the last one of all sessions.
        to: Option<u32>,
        /// The session whose numbers are meant, as in [`Execute::session`](super::Execute::session).
        session: u32,
    },
    /// Undoes the last step back, while nothing has run since. Answer: as above.
    Forward,
}

/// A cell that has run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct CellStep {
    /// Its In number.
    pub number: u32,
    /// Its first line, perhaps cut.
    pub line: String,
    /// As [`Execute::session`](super::Execute::session) said.
    pub session: u32,
    /// Files it wrote and programs it started, as far as Python's own calls tell.
    pub wrote: Vec<String>,
}

/// What is kept of the moment before a cell.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Checkpoint {
    /// The cell.
    #[serde(flatten)]
    pub before: CellStep,
    /// Its age in seconds.
    pub age: f64,
    /// Bytes it holds alone.
    pub memory: u64,
    /// Milliseconds it took to make it, in which nothing else was done.
    pub took: f64,
}

/// A moment before a cell of which nothing is kept.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct MissingCheckpoint {
    /// The cell.
    #[serde(flatten)]
    pub before: CellStep,
    /// Why there is none.
    pub why: String,
}

/// The checkpoints there are, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Checkpoints {
    /// Those that are kept.
    pub rows: Vec<Checkpoint>,
    /// Of the last cells those before which there is none.
    pub missing: Vec<MissingCheckpoint>,
    /// There is a way forward.
    pub forward: bool,
    /// How many are kept at most.
    pub most: u32,
}

/// A step was made.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct CheckpointStep {
    /// The cells between here and there.
    pub over: Vec<CellStep>,
    /// There is a way forward.
    pub forward: bool,
    /// Connections to others that were open: they are where they were.
    pub connections: u32,
    /// The interpreter's directory.
    pub cwd: Option<String>,
    /// The checkpoints there are now.
    pub there: Checkpoints,
}
