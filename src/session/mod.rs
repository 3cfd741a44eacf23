//! The session: owns the turn, the numbering and the queue; joins runtime, agent and record.
//!
//! One loop on one thread (`task.rs`) takes commands and the events of both peers; nothing in it waits for a reply.
//! Front-ends hold a [`SessionHandle`] and read one [`Run`] per input. An interrupt goes beside the queue: to the
//! runtime directly, to the agent as the next thing the loop does.
//!
//! Absent on purpose: terminals, Codex, Python, SQL.

mod answered;
mod asking;
mod attached;
mod cell;
mod clipboard;
mod commands;
mod editor;
mod ending;
mod events;
mod exact_log;
mod exchange;
mod floor;
mod from_agent;
mod from_cells;
mod given;
mod handle;
mod intake;
mod kernels;
mod loading;
mod notice;
mod numbering;
mod offers;
mod opened;
mod outputs;
mod outside;
mod pictures;
mod prompt;
mod question;
mod replay;
mod replayed;
mod resume;
mod routing;
mod run;
mod runtimes;
mod saving;
mod set_up;
mod shell;
mod shown;
mod slots;
mod start;
mod submission;
mod suggest;
mod taken_back;
mod task;
mod ticket;
mod tool_return;
mod toolbox;
mod variables;
mod workbook;

#[cfg(test)]
mod tests;

pub use crate::history::{Earlier, EarlierEntry};
pub use answered::answer_event;
pub use attached::attached_files;
pub use commands::listing;
pub use editor::{EditorWish, EditorWishes, NO_SHELL, PICK_USAGE, Pick, log_in_elsewhere};
pub use events::{
    AfterEvent, AnswerEvent, BeginEvent, CellEvent, EndEvent, QuestionEvent, RunKind, SessionEvent,
    ToldEvent, TurnOutcome,
};
pub use given::AtHome;
pub use handle::SessionHandle;
pub use kernels::KernelWish;
pub use loading::{Loading, missing};
pub use notice::Notice;
pub use notice::notice as report_notice;
pub use opened::{MissingNotebook, OpenedNotebook, unusable};
pub use outside::{Caller, Calling, Toolset, Visit, Visits};
pub use question::{About, ProposedCell, Question, QuestionChoice, Reply, SteppedCell};
pub use replay::{Replay, ReplayStep};
pub use replayed::{ReplayStop, Replayed};
pub use run::{Next, Run};
pub use saving::{FileForm, NotebookPlaces, SaveTarget, read_text, write_file};
pub use slots::{
    ConnectAgent, ConnectRuntime, MissingAgent, PlanAgent, PlanKernel, PlannedRuntime,
};
pub use start::start;
pub use submission::{Closed, LastExchange, Submission, Surroundings};
pub use suggest::{Draft, Suggesting, TakeSuggestion};
pub use toolbox::{FindSkills, Skills};

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::agent::McpServer;
use crate::config::{Choices, Keymap, Provenance};
use crate::history::History;
use crate::report::Report;
use crate::runtime::Stdin;

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
    /// Tells which of them are not there.
    pub missing: MissingAgent,
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
    /// Waits until the session may begin to work; commands may come earlier.
    pub turn: Box<dyn FnOnce() + Send>,
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
