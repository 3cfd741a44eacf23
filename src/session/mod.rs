//! The session: owns the turn, the numbering and the queue; joins runtime, agent and record.
//!
//! One loop on one thread (`task.rs`) takes commands and the events of both peers; nothing in it waits for a reply.
//! Front-ends hold a [`SessionHandle`] and read one [`Run`] per input. An interrupt goes beside the queue: to the
//! runtime directly, to the agent as the next thing the loop does.
//!
//! Absent on purpose: terminals, Codex, Python, SQL.

mod asking;
mod cell;
mod commands;
mod editor;
mod ending;
mod events;
mod exact_log;
mod exchange;
mod floor;
mod handle;
mod intake;
mod kernels;
mod loading;
mod numbering;
mod offers;
mod opened;
mod outputs;
mod outside;
mod prompt;
mod question;
mod replay;
mod resume;
mod routing;
mod run;
mod runtimes;
mod saving;
mod set_up;
mod shell;
mod shown;
mod slots;
mod suggest;
mod task;
mod toolbox;
mod workbook;

#[cfg(test)]
mod tests;

pub use crate::history::{Earlier, EarlierEntry};
pub use commands::listing;
pub use editor::{EditorWish, EditorWishes, NO_SHELL, PICK_USAGE, Pick};
pub use events::notice as report_notice;
pub use events::{
    AfterEvent, AnswerEvent, BeginEvent, CellEvent, EndEvent, Notice, QuestionEvent, RunKind,
    SessionEvent, ToldEvent, TurnOutcome,
};
pub use handle::{SessionHandle, start};
pub use kernels::KernelWish;
pub use loading::{Loading, missing};
pub use opened::{MissingNotebook, OpenedNotebook, unusable};
pub use outside::{Caller, Calling, Toolset, Visit, Visits};
pub use question::{About, ProposedCell, Question, QuestionChoice, Reply};
pub use replay::{Replay, ReplayStep, ReplayStop, Replayed};
pub use run::{Next, Run};
pub use saving::{FileForm, NotebookPlaces, SaveTarget, read_text, write_file};
pub use set_up::AtHome;
pub use slots::{ConnectAgent, ConnectRuntime, PlanAgent, PlanKernel, PlannedRuntime};
pub use suggest::{Draft, Suggesting, TakeSuggestion};
pub use toolbox::{FindSkills, Skills};

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::agent::{InputPart, McpServer};
use crate::config::{Choices, Keymap, Provenance};
use crate::history::History;
use crate::input::Mode;
use crate::report::Report;
use crate::runtime::{Place, Stdin};

use handle::Command;

/// Everything a session is made of.
pub struct Parts {
    /// The runtime.
    pub runtime: PlannedRuntime,
    /// The persistent shell.
    pub shell: PlannedRuntime,
    /// Connects the agent when it is first needed.
    pub agent: ConnectAgent,
    /// How another agent would be connected in its place.
    pub agents: PlanAgent,
    /// Plans a kernel of the agent's own.
    pub kernels: PlanKernel,
    /// How an agent that takes tools from a server only reaches ours; `None`: it cannot.
    pub own_server: Option<McpServer>,
    /// The record, opened.
    pub history: History,
    /// What the record has to say.
    pub reports: UnboundedReceiver<Report>,
    /// The system prompt.
    pub instructions: String,
    /// The choices to begin with.
    pub choices: Choices,
    /// The working directory to begin with.
    pub cwd: PathBuf,
    /// Who answers `input()`.
    pub stdin: Stdin,
    /// Where exact exchanges are logged when that is chosen.
    pub exact_log: PathBuf,
    /// The settings file.
    pub config_file: PathBuf,
    /// Who decided the choices to begin with, and which files there are.
    pub provenance: Provenance,
    /// What the editor's keys do, for whoever asks.
    pub keys: Arc<Keymap>,
    /// True when an earlier session is taken up: its numbering has to be known before the first input.
    pub resumed: bool,
    /// The interpreter starts before it is needed.
    pub runtime_at_once: bool,
    /// There is a user who can be asked.
    pub asks: bool,
    /// What is done before the first input.
    pub at_home: AtHome,
    /// Finds the skills.
    pub skills: FindSkills,
    /// Where texts too long for the model are kept.
    pub artifacts: PathBuf,
    /// The file the session is recorded in.
    pub record: PathBuf,
    /// Where notebooks lie.
    pub notebooks: NotebookPlaces,
}

/// One input, and what comes with it.
#[derive(Debug, Clone)]
pub struct Submission {
    /// As typed.
    pub text: String,
    /// What a text without a leading mark is.
    pub mode: Mode,
    /// Given to the agent before the prompt.
    pub attached: Vec<InputPart>,
    /// JSON schema the answer must fit.
    pub schema: Option<Value>,
    /// This In number's exchange and everything after it leave the conversation first (they stay in the record).
    pub replaces: Option<u32>,
    /// Where a cell stands in a script.
    pub place: Option<Place>,
    /// A cell shows no value and takes no number; what it prints and what goes wrong is told. Never recorded.
    pub silent: bool,
    /// False: a cell or a command is recorded nowhere. A prompt always is, the conversation being the record.
    pub store_history: bool,
    /// Who answers a cell's `input()`; `None`: as in the whole session.
    pub stdin: Option<Stdin>,
    /// Whether there is somebody who answers questions about it; `None`: as in the whole session.
    pub asks: Option<bool>,
    /// When the cell fails, inputs that wait behind it are not run: each of their runs tells
    /// [`EndEvent::NotRun`].
    pub stop_on_error: bool,
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
            stdin: None,
            asks: None,
            stop_on_error: false,
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

/// What the session knows beside its conversation, as of now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The interpreter's working directory.
    pub cwd: PathBuf,
    /// Name and description of each skill that a name tells apart.
    pub skills: Vec<(String, String)>,
    /// Name and description of each command of the agent's own.
    pub commands: Vec<(String, String)>,
    /// Name and state of each option of the agent's own.
    pub options: Vec<(String, String)>,
}

/// What is left when a session has ended.
#[derive(Debug, Clone, Default)]
pub struct Closed {
    /// The session's number, when something of it was recorded.
    pub resumable: Option<i64>,
}
