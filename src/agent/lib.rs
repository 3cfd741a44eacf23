//! The contract between a session and an AI agent.
//!
//! Owns the types that both sides use: the session sends a [`TurnRequest`] and receives [`AgentEvent`]s through the
//! receiver that the constructor in `connect` returns beside the [`Agent`]. Absent on purpose: Codex, ACP,
//! JSON-RPC, SQL.
//!
//! Invariants every implementation keeps:
//! - `start`, `reply` and `cancel` never block; an error becomes [`AgentEvent::Failed`] of that turn.
//! - every turn ends in exactly one `Finished` or `Failed`; an agent that dies or stays silent is `Failed`.
//! - each [`AgentEvent::ToolCalled`] and [`AgentEvent::QuestionAsked`] is answered by exactly one [`AgentReply`],
//!   or the turn ends first.
//! - calls and questions are sent as they arrive, any number at once: the session decides their order and which of
//!   them uses the terminal.
//! - one turn at a time: the session starts the next one after the end of the last.
//!
//! A missing feature of a peer is a field of [`AgentCapabilities`], never a branch on its name. Another agent is
//! another folder here and one arm in `connect`.

mod acp;
mod activity;
mod agent_process;
mod beside;
mod capabilities;
mod codex;
pub mod connect;
pub mod demo;
mod digest;
mod driver;
mod event;
mod failure;
mod form;
mod handle;
mod input;
#[cfg(test)]
#[path = "../properties.rs"]
pub mod properties;
mod question;
pub mod scripted;
mod settings;
mod stderr_cause;
mod turn;

use ipycodex_notebook as notebook;
use ipycodex_process::{self as process, files, rpc};
use ipycodex_text::{self as text, dialog, output};
use tokio::sync::oneshot;

use handle::Command;

/// A command that the agent ran, as the record keeps it.
pub use crate::dialog::CommandRecord as CommandRun;
pub use activity::{
    Activity, ActivityKind, Change, FileChange, FileLocation, FileWritten, PlanStep, WorkStatus,
    command_title,
};
pub use beside::{
    ConsultAnswer, ConsultReply, ConsultRequest, Limit, ListedSession, Lookup, LookupReply, Model,
    SuggestReply, SuggestRequest,
};
pub use capabilities::{AgentCapabilities, Login, LoginMethod, LoginProgram, ToolRoute};
pub use digest::ThreadDigest;
pub use event::{AgentEvent, AgentNotice, AgentUpdate, ConfigOption, Descriptor};
pub use failure::{AgentFailure, FailureKind};
pub use input::InputPart;
pub use question::{AgentQuestion, Decision, FormField, QuestionAnswer, QuestionOption, Subject};
pub use settings::{
    Approvals, Effort, McpServer, PlanMode, Sandbox, ThreadMode, TurnSettings, WebSearchUse,
};
pub use turn::{
    AgentReply, Cost, Exchange, ThreadPoint, ToolCall, ToolSpec, TurnId, TurnRequest, Usage,
};

/// Answers prompts. Object-safe; owned by the session loop alone.
pub trait Agent: Send {
    /// Features of the agent, as far as they are known now.
    fn capabilities(&self) -> AgentCapabilities;

    /// Begins a turn and returns its id at once.
    fn start(&mut self, request: TurnRequest) -> TurnId;

    /// Answers a tool call or a question of the turn. Late answers are ignored.
    fn reply(&mut self, turn: TurnId, reply: AgentReply);

    /// Stops the turn and everything it started, background commands included. The turn still ends in `Finished` or
    /// `Failed`.
    fn cancel(&mut self, turn: TurnId);

    /// Answers a query beside any turn; starts the agent if it does not run. The receiver fails when the agent is
    /// dropped.
    fn look_up(&mut self, lookup: Lookup) -> oneshot::Receiver<Result<LookupReply, AgentFailure>>;

    /// Requests text at a cursor, beside any turn and on no thread that is kept: no tools, no commands, no
    /// questions. Starts the agent if it does not run. Dropping the receiver cancels the request; the receiver
    /// fails when the agent is dropped.
    fn suggest(&mut self, request: SuggestRequest) -> oneshot::Receiver<SuggestReply>;

    /// Asks a question beside any turn, on no thread that is kept: no tools, no conversation; an agent that handles
    /// one request at a time refuses. Dropping the receiver cancels the request; the receiver fails when the agent
    /// is dropped.
    fn consult(&mut self, request: ConsultRequest) -> oneshot::Receiver<ConsultReply> {
        refused(|tell| Command::Consult(Box::new(request), tell))
    }

    /// Logs in with one of [`Login::Methods`]; an agent that has none refuses. The receiver fails when the agent is
    /// dropped.
    fn log_in(&mut self, method: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        refused(|tell| Command::LogIn(method.to_owned(), tell))
    }

    /// Sets an option that [`AgentUpdate::Modes`] or [`AgentUpdate::Options`] reported, by the ids of option and
    /// value; an agent that has none refuses. The receiver fails when the agent is dropped.
    fn choose(&mut self, option: &str, value: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        refused(|tell| Command::Choose(option.to_owned(), value.to_owned(), tell))
    }

    /// Starts the process before it is needed (spawn, handshake); optional, never blocks.
    fn warm_up(&mut self) {}
}

fn refused<T>(command: impl FnOnce(oneshot::Sender<T>) -> Command) -> oneshot::Receiver<T> {
    let (tell, receiver) = oneshot::channel();
    command(tell).refuse();
    receiver
}
