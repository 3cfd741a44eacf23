//! The contract between a session and an AI agent.
//!
//! Owns the types both sides use: [`TurnRequest`] goes down, [`AgentEvent`] comes up through the receiver that the
//! constructor in `connect` returns beside the [`Agent`]. Nothing here knows Codex, ACP, JSON-RPC or SQL.
//!
//! Invariants every implementation keeps:
//! - `start`, `reply` and `cancel` never block; an error becomes [`AgentEvent::Failed`] of that turn.
//! - every turn ends in exactly one `Finished` or `Failed`; an agent that dies or stays silent is `Failed`.
//! - each [`AgentEvent::ToolCalled`] and [`AgentEvent::QuestionAsked`] is answered by exactly one [`AgentReply`], or
//!   the turn ends first.
//! - calls and questions are sent as they come, any number at once: the session decides their order and who has the
//!   terminal.
//! - one turn at a time: the session starts the next one after the end of the last.
//!
//! A missing feature of a peer is a field of [`AgentCapabilities`], never a branch on its name. Another agent is
//! another folder here and one arm in `connect`.

pub mod acp;
mod activity;
mod capabilities;
pub mod codex;
pub mod connect;
pub mod demo;
mod digest;
mod event;
mod facts;
mod failure;
mod form;
mod handle;
mod input;
mod news;
mod process_config;
mod process_failure;
mod question;
pub mod scripted;
mod settings;
mod stderr_cause;
mod suggest;
mod turn;

use tokio::sync::oneshot;

/// A command the agent ran: what the record keeps of it.
pub use crate::dialog::CommandRecord as CommandRun;
pub use activity::{
    Activity, ActivityKind, Change, FileChange, FileLocation, FileWritten, PlanStep, WorkStatus,
    command_title,
};
pub use capabilities::{AgentCapabilities, Login, LoginMethod, LoginProgram, ToolRoute};
pub use digest::ThreadDigest;
pub use event::{AgentEvent, AgentNotice};
pub use facts::{Limit, ListedSession, Lookup, LookupReply, Model};
pub use failure::{AgentFailure, FailureKind};
pub use input::InputPart;
pub use news::{AgentUpdate, ConfigOption, Descriptor};
pub use question::{AgentQuestion, Decision, FormField, QuestionAnswer, QuestionOption, Subject};
pub use settings::{Approvals, Effort, McpServer, Sandbox, ThreadMode, TurnSettings, WebSearchUse};
pub use suggest::{ConsultAnswer, ConsultReply, ConsultRequest, SuggestReply, SuggestRequest};
pub use turn::{AgentReply, Cost, Exchange, ToolCall, ToolSpec, TurnId, TurnRequest, Usage};

/// Answers prompts. Object-safe; owned by the session loop alone.
pub trait Agent: Send {
    /// What this agent can do.
    fn capabilities(&self) -> AgentCapabilities;

    /// Begins a turn and returns its id at once.
    fn start(&mut self, request: TurnRequest) -> TurnId;

    /// Answers a question of the turn. Late answers are ignored.
    fn reply(&mut self, turn: TurnId, reply: AgentReply);

    /// Stops the turn and what it started (background commands too). It still ends in `Finished` or `Failed`.
    fn cancel(&mut self, turn: TurnId);

    /// Looks something up beside any turn; starts the agent if it does not run. The receiver fails when the agent is
    /// dropped.
    fn look_up(&mut self, lookup: Lookup) -> oneshot::Receiver<Result<LookupReply, AgentFailure>>;

    /// Asks for text at a cursor, beside any turn and on no thread that is kept: no tools, no commands, no questions.
    /// Starts the agent if it does not run. Dropping the receiver cancels; it fails when the agent is dropped.
    fn suggest(&mut self, request: SuggestRequest) -> oneshot::Receiver<SuggestReply>;

    /// Asks a question beside any turn, on no thread that is kept: no tools, no conversation; an agent that does one
    /// thing at a time refuses. Dropping the receiver cancels; it fails when the agent is dropped.
    fn consult(&mut self, _request: ConsultRequest) -> oneshot::Receiver<ConsultReply> {
        refused("the agent answers one prompt at a time, and waits for this code".to_owned())
    }

    /// Logs in with one of [`Login::Methods`]; an agent that has none refuses. The receiver fails when the agent is
    /// dropped.
    fn log_in(&mut self, method: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        refused(format!("there is no login method `{method}`"))
    }

    /// Sets one of what [`AgentUpdate::Modes`] and [`AgentUpdate::Options`] told, by the ids of the selection and of
    /// the value; an agent that has none refuses. The receiver fails when the agent is dropped.
    fn choose(&mut self, option: &str, value: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        refused(format!("`{option}` cannot be set to `{value}`"))
    }

    /// Gets the process ready before it is needed (spawn, handshake); optional, never blocks.
    fn warm_up(&mut self) {}
}

fn refused<T>(message: String) -> oneshot::Receiver<Result<T, AgentFailure>> {
    let (sender, receiver) = oneshot::channel();
    // The receiver is alive: nobody can have dropped it yet.
    let _ = sender.send(Err(AgentFailure {
        kind: FailureKind::Refused,
        message,
        hints: Vec::new(),
    }));
    receiver
}
