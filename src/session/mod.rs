//! The session: joins runtime, agent and record; numbers inputs, queues them and runs one job at a time.
//!
//! One loop on one thread (`task.rs`) takes commands and the events of both peers and never waits for a reply.
//! Front-ends hold a [`SessionHandle`] and read one [`Run`] per input. An interrupt bypasses the queue: the runtime
//! gets it directly, the agent with the next event of the loop.
//!
//! The machines (`floor`, `asking`, `kernels`, `host_calls`, `prompt`, `toolbox`, `numbering`) hold the state and know
//! no channel; the files of `impl Session` (each `driver.rs`, `dispatch`, `commands`, `agent_turns`, `runtime_events`,
//! `startup`, `shutdown`, `shell`) carry out their effects.
//!
//! Absent on purpose: terminals, Codex, Python, SQL.

mod agent_profile;
mod agent_turns;
mod answer_events;
mod approvals;
mod attachments;
mod cell;
mod clipboard;
mod commands;
mod deps;
mod dispatch;
mod editor;
mod effect;
mod event_loop;
mod events;
mod exact_log;
mod external_calls;
mod handle;
mod host_calls;
mod ids;
mod kernels;
mod loading;
mod notebook_file;
mod notice;
mod numbering;
mod output_collector;
mod outputs;
mod peers;
mod pictures;
mod prompt;
mod question;
mod replay;
mod replay_summary;
mod resume;
mod run;
mod runtime_events;
mod runtimes;
mod saving;
mod scheduler;
mod shell;
mod shutdown;
mod startup;
mod submission;
mod suggest;
mod tool_return;
mod tools;
mod undo;
mod variables;
mod workbook;

#[cfg(test)]
mod tests;

pub use crate::record::{SessionTail, TailEntry};
pub use answer_events::answer_event;
pub use attachments::read_attachments;
pub use commands::listing;
pub use deps::StartupFiles;
pub use editor::{
    EditorRequest, EditorRequests, NO_SHELL, PICK_USAGE, SessionPick, no_terminal_message,
};
pub use event_loop::start;
pub use events::{
    AfterEvent, AnswerEvent, BeginEvent, CellEvent, EndEvent, QuestionEvent, RunKind, SessionEvent,
    TextEvent, TurnOutcome,
};
pub use external_calls::{Caller, IncomingCall, IncomingCalls, PendingCall, Toolset};
pub use handle::SessionHandle;
pub use kernels::KernelRequest;
pub use loading::{LoadRequest, not_found_message};
pub use notebook_file::{IfMissing, NotebookFile, notebook_report};
pub use notice::Notice;
pub use notice::report_notice;
pub use peers::{
    ConnectAgent, ConnectRuntime, MissingAgent, PlanAgent, PlanKernel, PlannedRuntime,
};
pub use question::{ProposedCell, Question, QuestionChoice, QuestionSubject, Reply, SteppedCell};
pub use replay::{Replay, ReplayStep};
pub use replay_summary::{ReplayStop, ReplaySummary};
pub use run::{NextEvent, Run};
pub use saving::{FileForm, NotebookPlaces, SaveTarget, read_text, write_file};
pub use submission::{LastExchange, SessionEnd, SessionSnapshot, Submission};
pub use suggest::{Draft, OnSuggestion, PendingSuggestion};
pub use tools::{FindSkills, Skills};

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::agent::McpServer;
use crate::config::{Choices, Keymap, Provenance};
use crate::record::RecordHandle;
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
    pub record: RecordHandle,
    /// Reports of the record's thread.
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
    pub keys: Arc<Keymap>,
    /// True when a session is resumed: its numbering has to be known before the first input.
    pub resumed: bool,
    /// The interpreter starts before it is needed.
    pub runtime_at_once: bool,
    /// Waits until the session may begin to work; commands may come earlier.
    pub wait_for_start: Box<dyn FnOnce() + Send>,
    /// There is a user who can be asked.
    pub asks: bool,
    pub startup_files: StartupFiles,
    /// Finds the skills.
    pub skills: FindSkills,
    /// Where texts too long for the model are kept.
    pub artifacts: PathBuf,
    /// The file the session is recorded in.
    pub record_path: PathBuf,
    /// Where notebooks lie.
    pub notebooks: NotebookPlaces,
}
