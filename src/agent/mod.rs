//! The contract between a session and an AI agent.
//!
//! Owns the words both sides use: [`TurnRequest`] goes down, [`AgentEvent`] comes up through the receiver that the
//! constructor in `connect` returns beside the [`Agent`]. Nothing here knows Codex, ACP, JSON-RPC or SQL.
//!
//! Invariants every implementation keeps:
//! - `start`, `reply` and `cancel` never block; what goes wrong becomes [`AgentEvent::Failed`] of that turn.
//! - every turn ends in exactly one `Finished` or `Failed`; an agent that dies or stays silent is `Failed`.
//! - an [`AgentEvent::ToolCalled`] and an [`AgentEvent::Asked`] is answered by exactly one [`AgentReply`], or the turn
//!   ends first.
//! - calls and questions are told as they come, any number at once: their order and who has the terminal are the
//!   session's.
//! - one turn at a time: the session asks for the next one after the end of the last.
//!
//! What a peer cannot do is a field of [`AgentCapabilities`], never a branch on its name. Another agent is another
//! folder here and one arm in `connect`.

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
mod last_words;
mod news;
mod plan;
mod question;
pub mod scripted;
mod settings;
mod suggest;
mod trouble;
mod turn;

use tokio::sync::oneshot;

/// A command the agent ran: what the record keeps of it.
pub use crate::dialog::CommandRecord as CommandRun;
pub use activity::{
    Activity, ActivityKind, Change, FileChange, FilePlace, FileWritten, PlanStep, WorkStatus,
    titled,
};
pub use capabilities::{AgentCapabilities, Login, LoginMethod, LoginProgram, ToolRoute};
pub use digest::ThreadDigest;
pub use event::{AgentEvent, Aside};
pub use facts::{Facts, Kept, Limit, Lookup, Model};
pub use failure::{AgentFailure, FailureKind};
pub use input::InputPart;
pub use news::{News, Offering, Selection};
pub use question::{AgentQuestion, Choosable, Decision, Field, QuestionAnswer, Subject};
pub use settings::{Approvals, Effort, McpServer, Sandbox, Threads, TurnSettings, WebSearchUse};
pub use suggest::{ConsultRequest, Consultation, Consulted, SuggestRequest, Suggested};
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
    fn look_up(&mut self, lookup: Lookup) -> oneshot::Receiver<Result<Facts, AgentFailure>>;

    /// Asks for text at a cursor, beside any turn and on no thread that is kept: no tools, no commands, no questions.
    /// Starts the agent if it does not run. Dropping the receiver cancels; it fails when the agent is dropped.
    fn suggest(&mut self, request: SuggestRequest) -> oneshot::Receiver<Suggested>;

    /// Asks a question beside any turn, on no thread that is kept: no tools, no conversation; an agent that does one
    /// thing at a time refuses. Dropping the receiver cancels; it fails when the agent is dropped.
    fn consult(&mut self, _request: ConsultRequest) -> oneshot::Receiver<Consulted> {
        let (tell, told) = oneshot::channel();
        // Whoever asked may have gone.
        let _ = tell.send(Err(AgentFailure {
            kind: FailureKind::Refused,
            message: "the agent answers one prompt at a time, and waits for this code".to_owned(),
            hints: Vec::new(),
        }));
        told
    }

    /// Logs in with one of [`Login::Methods`]; an agent that has none refuses. The receiver fails when the agent is
    /// dropped.
    fn log_in(&mut self, method: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        let (tell, told) = oneshot::channel();
        // Whoever asked may have gone.
        let _ = tell.send(Err(AgentFailure {
            kind: FailureKind::Refused,
            message: format!("there is no login method `{method}`"),
            hints: Vec::new(),
        }));
        told
    }

    /// Sets one of what [`News::Modes`] and [`News::Options`] told, by the ids of the selection and of the value; an
    /// agent that has none refuses. The receiver fails when the agent is dropped.
    fn choose(&mut self, option: &str, value: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        let (tell, told) = oneshot::channel();
        // As above.
        let _ = tell.send(Err(AgentFailure {
            kind: FailureKind::Refused,
            message: format!("`{option}` cannot be set to `{value}`"),
            hints: Vec::new(),
        }));
        told
    }

    /// Gets the process ready before it is needed (spawn, handshake); optional, never blocks.
    fn warm_up(&mut self) {}
}
