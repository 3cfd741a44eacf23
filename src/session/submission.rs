//! The input of a front-end, and the answers it gets beside the events of a run.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::agent::InputPart;
use crate::input::Mode;
use crate::runtime::{SourceLocation, Stdin};

/// One input, and what comes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// As typed.
    pub text: String,
    /// The kind of a text without a leading mark.
    pub mode: Mode,
    /// Given to the agent before the prompt.
    pub attached: Vec<InputPart>,
    /// JSON schema the answer must fit.
    pub schema: Option<Value>,
    /// This In number's exchange and everything after it leave the conversation first (they stay in the record).
    pub replaces: Option<u32>,
    /// Where a cell stands in a script.
    pub place: Option<SourceLocation>,
    /// A cell shows no value and takes no number; what it prints and what goes wrong is told. Never recorded.
    pub silent: bool,
    /// False: a cell or a command is recorded nowhere. A prompt always is, the conversation being the record.
    pub store_history: bool,
    /// False: what is recorded nowhere takes no number either; it shows the next one.
    pub counts: bool,
    /// Who answers a cell's `input()`; `None`: as in the whole session.
    pub stdin: Option<Stdin>,
    /// Whether there is somebody who answers questions about it; `None`: as in the whole session.
    pub asks: Option<bool>,
    /// When the cell fails, inputs that wait behind it are not run: each of their runs tells
    /// [`EndEvent::NotRun`](super::EndEvent::NotRun).
    pub stop_on_error: bool,
    /// The message of a Jupyter client that it came in (`header`, `metadata`, `content`), for code that looks for it.
    pub parent: Option<Arc<Value>>,
}

impl Default for Submission {
    fn default() -> Self {
        Submission {
            text: String::new(),
            mode: Mode::Cells,
            attached: Vec::new(),
            schema: None,
            replaces: None,
            place: None,
            silent: false,
            store_history: true,
            counts: true,
            stdin: None,
            asks: None,
            stop_on_error: false,
            parent: None,
        }
    }
}

/// A prompt of the conversation and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastExchange {
    /// The prompt's In number.
    pub line: u32,
    /// As typed, without the dot.
    pub prompt: String,
    /// The stored answer.
    pub response: String,
}

/// State of the session beside its conversation, as of now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionSnapshot {
    /// The interpreter's working directory.
    pub cwd: PathBuf,
    /// Name and description of each skill that a name tells apart.
    pub skills: Vec<(String, String)>,
    /// Name and description of each command of the agent's own.
    pub commands: Vec<(String, String)>,
    /// Name and state of each option of the agent's own.
    pub options: Vec<(String, String)>,
}

#[derive(Debug, Clone, Default)]
pub struct SessionEnd {
    /// The session's number, when something of it was recorded.
    pub resumable: Option<i64>,
}
