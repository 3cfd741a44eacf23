//! The steps of a replay: where they come from is theirs to know, how they run is not.

use serde_json::{Map, Value};

use crate::runtime::SourceLocation;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Its source, for messages: `startup.ipynb`, `session 43`.
    pub name: String,
    pub steps: Vec<ReplayStep>,
    /// Only the output of a cell that fails is shown.
    pub quiet: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayStep {
    Cell {
        source: String,
        /// The In number of a recorded cell, which keeps it and is not recorded again. `None`: the cell takes the
        /// next number and is recorded as if typed.
        again: Option<u32>,
        /// The position in a script.
        place: Option<SourceLocation>,
        metadata: Map<String, Value>,
    },
    /// Adds an exchange to the conversation: takes the next number, sends nothing.
    Prompt {
        prompt: String,
        response: String,
        /// The last code line before it; `None` for the last one of this session.
        after: Option<u32>,
        metadata: Map<String, Value>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReplayPurpose {
    /// Recorded cells run again.
    Again {
        /// Afterwards every recorded cell has run in this interpreter.
        all: bool,
    },
    /// The steps of a file; unless empty, `said` replaces the summary when all went well.
    File { said: String },
}
