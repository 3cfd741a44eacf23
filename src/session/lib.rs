//! The session: joins runtime, agent and record; numbers inputs, queues them and runs one job at a time.
//!
//! One loop on one thread (`event_loop.rs`) takes commands and the events of both peers and never waits for a
//! reply. Front-ends hold a [`SessionHandle`] and read one [`Run`] per input. An interrupt bypasses the queue: the
//! runtime gets it directly, the agent with the next event of the loop.
//!
//! The machines (`scheduler`, `approvals`, `kernels`, `host_calls`, `prompt`, `tools`, `numbering`) hold the state
//! (`state.rs`) and know no channel. They return effects (`effect.rs`), which `io.rs` carries out; what one machine
//! wants of another is an event of the queue (`queue.rs`). `route.rs` gives each event to its machine, or to a function
//! over a step (`step.rs`) that joins machines: each `driver.rs`, `dispatch`, `jobs`, `commands`, `runtime_events`,
//! `prompt_events`, `startup`.
//!
//! Absent on purpose: terminals, Codex, Python, SQL.

mod agent_profile;
mod answer;
mod answer_events;
mod approvals;
pub mod artifacts;
mod asides;
mod attachments;
mod background_magic;
mod branches;
mod cell;
mod clipboard;
mod commands;
pub mod config;
mod context;
mod deps;
mod dispatch;
mod editor;
mod effect;
pub mod environment;
mod event_loop;
mod events;
mod exact_log;
mod external_calls;
mod file_rewind;
mod file_steps;
mod handle;
mod host_calls;
mod ids;
mod io;
mod jobs;
mod kernels;
mod lasting;
mod loading;
mod look_back;
pub mod magics;
mod notebook_file;
mod notice;
mod numbering;
mod output_collector;
mod outputs;
mod peers;
pub mod picture;
mod pictures;
mod plan_mode;
mod prompt;
mod prompt_events;
#[cfg(test)]
#[path = "../properties.rs"]
pub mod properties;
mod query;
mod question;
mod queue;
pub mod record;
mod replacement;
mod replacement_plan;
mod replay;
mod replay_summary;
mod resume;
mod rewind_plan;
mod route;
mod run;
mod runtime_events;
mod runtimes;
mod saving;
mod scheduler;
pub mod schema;
pub mod screen;
mod session;
mod shutdown;
pub mod skills;
mod startup;
mod state;
mod step;
mod submission;
mod suggest;
mod tool_return;
mod tools;
mod turns;
mod undo;
mod variables;
mod workbook;

#[cfg(test)]
mod tests;

pub use crate::record::{SessionTail, TailEntry};
pub use answer::{Answer, OUTPUT_KEPT, Work};
pub use answer_events::answer_event;
pub use asides::{AsideSession, StartAside};
pub use attachments::read_attachments;
pub use commands::listing;
pub use deps::StartupFiles;
pub use editor::{
    EditorRequest, EditorRequests, NO_SHELL, PICK_USAGE, SessionPick, next_replaces_message,
    no_terminal_message,
};
pub use event_loop::start;
pub use events::{
    AfterEvent, AnswerEvent, BeginEvent, CellEvent, EndEvent, QuestionEvent, RunKind, SessionEvent,
    TextEvent, TurnOutcome,
};
pub use external_calls::{Caller, IncomingCall, IncomingCalls, PendingCall, Toolset};
pub use file_rewind::{FileRewind, RewindDirection};
pub use file_steps::FilePlaces;
pub use handle::SessionHandle;
pub use kernels::KernelRequest;
pub use lasting::{Lasting, LastingFile, LastingSubject};
pub use loading::not_found_message;
pub use notebook_file::{IfMissing, NotebookFile, notebook_report};
pub use notice::Notice;
pub use notice::report_notice;
pub use peers::{
    AsidePlan, ConnectAgent, ConnectRuntime, MissingAgent, PlanAgent, PlanKernel, PlannedRuntime,
};
pub use question::{
    NameConflict, Offer, OfferedFile, ProposedCell, Question, QuestionChoice, QuestionSubject,
    Reply, SteppedCell,
};
pub use replacement::{InterpreterStep, LeavingEntry, Replacement, ReplacementPurpose};
pub use replay::{Replay, ReplayStep};
pub use replay_summary::{ReplayStop, ReplaySummary};
pub use run::{NextEvent, Run, RunWaker};
pub use saving::{FileForm, NotebookPlaces, SaveTarget, read_text, write_file};
pub use submission::{LastExchange, LoadRequest, SessionEnd, SessionSnapshot, Submission};
pub use suggest::{Draft, OnSuggestion, PendingSuggestion};
pub use tools::{FindSkills, Skills};

use std::path::PathBuf;
use std::sync::Arc;

use ipycodex_agent as agent;
use ipycodex_notebook as notebook;
use ipycodex_process::{self as process, files};
use ipycodex_rewind as rewind;
use ipycodex_runtime as runtime;
use ipycodex_text::{self as text, dialog, input, markdown, output};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::agent::McpServer;
use crate::config::{Choices, Keymap, Provenance};
use crate::record::RecordHandle;
use crate::runtime::Stdin;
use crate::text::report::Report;

/// The parts a session is made of.
pub struct Parts {
    pub runtime: PlannedRuntime,
    pub shell: PlannedRuntime,
    /// Connects the agent when it is first needed.
    pub agent: ConnectAgent,
    /// Plans the connection of another agent in its place.
    pub agents: PlanAgent,
    /// Reports the agents that are not installed.
    pub missing: MissingAgent,
    /// Plans a kernel for the agent.
    pub kernels: PlanKernel,
    /// Starts a session for a turn beside the prompt; `None` in such a session, and where nobody is at a prompt.
    pub asides: Option<StartAside>,
    /// Our MCP server, for an agent that takes tools only from servers; `None` where that is not possible.
    pub own_server: Option<McpServer>,
    pub record: RecordHandle,
    /// Errors of the record's thread.
    pub reports: UnboundedReceiver<Report>,
    pub instructions: String,
    pub choices: Choices,
    pub cwd: PathBuf,
    /// The source of answers to `input()`.
    pub stdin: Stdin,
    /// Where the files of the working directory are kept, for rewinds; `None` where nobody steps back.
    pub files: Option<FilePlaces>,
    /// The log of exact exchanges, written when the user turns it on.
    pub exact_log: PathBuf,
    pub config_file: PathBuf,
    /// The source of each initial choice, and the settings files that exist.
    pub provenance: Provenance,
    pub keys: Arc<Keymap>,
    /// The session is resumed: its numbering has to be known before the first input.
    pub resumed: bool,
    /// Start the interpreter before it is needed.
    pub runtime_at_once: bool,
    /// Blocks until the session may begin to work; commands may come earlier.
    pub wait_for_start: Box<dyn FnOnce() + Send>,
    /// False where there is no user to ask.
    pub asks: bool,
    pub startup_files: StartupFiles,
    pub skills: FindSkills,
    /// The folder of texts too long for the model.
    pub artifacts: PathBuf,
    /// The file that holds the session's record.
    pub record_path: PathBuf,
    pub notebooks: NotebookPlaces,
    /// Approvals that last.
    pub lasting: LastingFile,
}
