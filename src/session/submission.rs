//! What front-ends submit, what waits in the queue, and the answers they get beside the events of a run.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::agent::InputPart;
use crate::external_calls::ExternalCall;
use crate::input::Mode;
use crate::replay::Replay;
use crate::runtime::{SourceLocation, Stdin};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// As typed.
    pub text: String,
    /// The kind of a text without a leading mark.
    pub mode: Mode,
    /// Files and other context, sent before the prompt.
    pub attached: Vec<InputPart>,
    /// JSON schema the answer must fit.
    pub schema: Option<Value>,
    /// Removes this In number's exchange and everything after it from the conversation first (they stay in the
    /// record).
    pub replaces: Option<u32>,
    /// The position of a cell in a script.
    pub place: Option<SourceLocation>,
    /// A cell shows no value and takes no number; its output and errors are published. Never recorded.
    pub silent: bool,
    /// False: a cell or a command is recorded nowhere. A prompt always is, the conversation being the record.
    pub store_history: bool,
    /// False: an input that is not recorded takes no number either; it shows the next one.
    pub counts: bool,
    /// The source of answers to a cell's `input()`; `None`: as in the whole session.
    pub stdin: Option<Stdin>,
    /// True when somebody can answer questions about it; `None`: as in the whole session.
    pub asks: Option<bool>,
    /// When the cell fails, inputs queued behind it are not run: each of their runs gets
    /// [`EndEvent::NotRun`](super::EndEvent::NotRun).
    pub stop_on_error: bool,
    /// The Jupyter client's message that carried the input (`header`, `metadata`, `content`), for code that looks
    /// for it.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadRequest {
    pub path: PathBuf,
    /// The path as the user knows it.
    pub shown: String,
    /// The startup notebook: may be missing, and prints nothing when all goes well.
    pub startup: bool,
}

/// What waits in the queue of the scheduler.
pub(super) enum QueuedJob {
    Input(Submission),
    Replay(Replay),
    Load(LoadRequest),
    SetUp,
    RestoreVariables,
    Call(ExternalCall),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastExchange {
    pub line: u32,
    /// As typed, without the dot.
    pub prompt: String,
    /// The answer in its stored form.
    pub response: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionSnapshot {
    pub cwd: PathBuf,
    /// Name and description of each skill whose name is unique.
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
