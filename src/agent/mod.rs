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
//! What a peer cannot do is a field of [`Capabilities`], never a branch on its name. Another agent is another folder
//! here and one arm in `connect`.

mod activity;
mod capabilities;
pub mod codex;
pub mod connect;
pub mod demo;
mod digest;
mod facts;
mod news;
mod question;
pub mod scripted;
mod settings;
mod suggest;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::dialog::file_entry;

/// A command the agent ran: what the record keeps of it.
pub use crate::dialog::CommandRecord as CommandRun;
pub use activity::{Activity, ActivityKind, Change, FileChange, FilePlace, PlanStep, WorkStatus};
pub use capabilities::{Capabilities, Login, ToolRoute};
pub use digest::ThreadDigest;
pub use facts::{Facts, Kept, Limit, Lookup, Model};
pub use news::{News, Offering, Selection};
pub use question::{Answer as QuestionAnswer, Choosable, Decision, Field, Question, Subject};
pub use settings::{Approvals, Effort, Sandbox, Search, Threads, TurnSettings};
pub use suggest::{SuggestRequest, Suggested};

/// Names one turn; unique within an agent's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TurnId(pub u64);

/// Answers prompts. Object-safe; owned by the session loop alone.
pub trait Agent: Send {
    /// What this agent can do.
    fn capabilities(&self) -> Capabilities;

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

    /// Logs in with one of [`Login::Methods`]; an agent that has none refuses. The receiver fails when the agent is
    /// dropped.
    fn log_in(&mut self, method: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        let (tell, told) = oneshot::channel();
        // Whoever asked may have gone.
        let _ = tell.send(Err(AgentFailure {
            kind: FailureKind::Refused,
            message: format!("there is no way to log in called '{method}'"),
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
            message: format!("'{option}' cannot be set to '{value}'"),
            hints: Vec::new(),
        }));
        told
    }

    /// Gets the process ready before it is needed (spawn, handshake); optional, never blocks.
    fn warm_up(&mut self) {}
}

/// Everything one turn needs: built afresh from the record each time.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// System prompt, skills section included.
    pub instructions: String,
    /// Earlier exchanges that are part of the conversation, oldest first.
    pub history: Vec<Exchange>,
    /// The current input: warnings, variables, context and request, in order.
    pub input: Vec<InputPart>,
    /// Functions offered.
    pub tools: Vec<ToolSpec>,
    /// How to run it.
    pub settings: TurnSettings,
    /// The agent's id of a thread that holds exactly `instructions`, `tools` and `history`, if the record knows one.
    /// `None`, or a thread that is gone: a new one is seeded from this request.
    pub thread: Option<String>,
    /// JSON schema the answer must fit, for this turn only.
    pub schema: Option<Value>,
}

/// One earlier prompt and its answer, as the model is to see them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Exchange {
    /// Context and request.
    pub user: String,
    /// The stored answer; never empty.
    pub assistant: String,
    /// Pictures that went with `user`, as `data:` URLs.
    pub images: Vec<String>,
}

/// A piece of the current input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputPart {
    /// Text for the model.
    Text(String),
    /// An image as a `data:` URL.
    Image(String),
    /// A file, for agents that take it as one.
    File {
        /// As the user named it.
        path: String,
        /// All of it.
        text: String,
    },
}

impl InputPart {
    /// A file as text, for agents that take no files; any other part as it is.
    #[must_use]
    pub fn without_file(self) -> Self {
        match self {
            InputPart::File { path, text } => InputPart::Text(file_entry(&path, &text)),
            part => part,
        }
    }

    /// Text of it, when it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            InputPart::Text(text) => Some(text),
            InputPart::Image(_) | InputPart::File { .. } => None,
        }
    }
}

/// A function the agent may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Name, `[a-zA-Z0-9_-]{1,128}`.
    pub name: String,
    /// For the model; may be empty.
    pub description: String,
    /// JSON schema of the arguments (an object).
    pub schema: Value,
}

/// What an agent tells its session. Every event but news belongs to the turn it names.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// The prompt is on the wire.
    Sent {
        /// The turn.
        turn: TurnId,
    },
    /// A piece of the answer.
    Text {
        /// The turn.
        turn: TurnId,
        /// Message it belongs to; a new number starts a new paragraph.
        message: u64,
        /// The piece.
        delta: String,
    },
    /// The text of a message was cut and starts again: what came for `message` is void.
    Restarted {
        /// The turn.
        turn: TurnId,
        /// The void message.
        message: u64,
    },
    /// A piece of reasoning.
    Thought {
        /// The turn.
        turn: TurnId,
        /// Part it belongs to; a new number starts a new paragraph.
        part: u64,
        /// The piece.
        delta: String,
    },
    /// A command of the agent began.
    CommandStarted {
        /// The turn.
        turn: TurnId,
        /// Names it in later events.
        id: String,
        /// As the agent runs it.
        command: String,
    },
    /// Live output of a command; may be missing or incomplete.
    CommandOutput {
        /// The turn.
        turn: TurnId,
        /// Which command.
        id: String,
        /// The piece.
        delta: String,
    },
    /// A command ended.
    CommandRan {
        /// The turn.
        turn: TurnId,
        /// What it was and what came of it.
        command: CommandRun,
    },
    /// A command did not run: it was not allowed. Its output is empty, or the reason the user gave.
    CommandDenied {
        /// The turn.
        turn: TurnId,
        /// What it would have been.
        command: CommandRun,
        /// The user was asked or told about it before.
        told: bool,
    },
    /// The agent calls one of our tools and waits for [`AgentReply::ToolResult`].
    ToolCalled {
        /// The turn.
        turn: TurnId,
        /// The call.
        call: ToolCall,
    },
    /// The agent asks the user and waits for [`AgentReply::Answered`].
    Asked {
        /// The turn.
        turn: TurnId,
        /// The question.
        question: Question,
    },
    /// The agent no longer waits for the answer to a call or a question.
    Withdrawn {
        /// The turn.
        turn: TurnId,
        /// The id of the call or the question.
        id: String,
    },
    /// The plan of the turn, as it stands now.
    Planned {
        /// The turn.
        turn: TurnId,
        /// All of it, in order.
        steps: Vec<PlanStep>,
    },
    /// Work with a tool of the agent's own began, went on or ended.
    Worked {
        /// The turn.
        turn: TurnId,
        /// How it stands.
        activity: Activity,
    },
    /// Files were changed by the agent.
    FilesChanged {
        /// The turn.
        turn: TurnId,
        /// Each change.
        changes: Vec<FileChange>,
    },
    /// Something worth a passing line: a retry, a warning.
    Progress {
        /// The turn.
        turn: TurnId,
        /// One line.
        message: String,
    },
    /// Tokens used so far by this turn.
    Usage {
        /// The turn.
        turn: TurnId,
        /// Counts.
        usage: Usage,
    },
    /// The turn ended as it should, or was stopped.
    Finished {
        /// The turn.
        turn: TurnId,
        /// True after `cancel`.
        interrupted: bool,
        /// The thread that now holds `history` and this exchange, if it is kept and can be gone on with.
        thread: Option<String>,
    },
    /// The turn ended without a whole answer.
    Failed {
        /// The turn.
        turn: TurnId,
        /// Why, and what to do.
        failure: AgentFailure,
    },
    /// Something that belongs to no turn.
    News(News),
}

/// A call of one of our tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The agent's id of it.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// A JSON object.
    pub arguments: Value,
}

impl AgentEvent {
    /// The turn it belongs to; none of news.
    pub fn turn(&self) -> Option<TurnId> {
        match self {
            AgentEvent::Sent { turn }
            | AgentEvent::Text { turn, .. }
            | AgentEvent::Restarted { turn, .. }
            | AgentEvent::Thought { turn, .. }
            | AgentEvent::CommandStarted { turn, .. }
            | AgentEvent::CommandOutput { turn, .. }
            | AgentEvent::CommandRan { turn, .. }
            | AgentEvent::CommandDenied { turn, .. }
            | AgentEvent::ToolCalled { turn, .. }
            | AgentEvent::Asked { turn, .. }
            | AgentEvent::Withdrawn { turn, .. }
            | AgentEvent::Planned { turn, .. }
            | AgentEvent::Worked { turn, .. }
            | AgentEvent::FilesChanged { turn, .. }
            | AgentEvent::Progress { turn, .. }
            | AgentEvent::Usage { turn, .. }
            | AgentEvent::Finished { turn, .. }
            | AgentEvent::Failed { turn, .. } => Some(*turn),
            AgentEvent::News(_) => None,
        }
    }
}

/// What a session answers.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentReply {
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        call: String,
        /// False for exceptions and refusals.
        success: bool,
        /// What the model gets.
        content: Vec<InputPart>,
    },
    /// The answer to a question.
    Answered {
        /// The id of the question.
        question: String,
        /// The answer.
        answer: QuestionAnswer,
    },
}

/// Tokens of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Read by the model.
    pub input: u64,
    /// Of those, from its cache.
    pub cached: u64,
    /// Written by the model, reasoning included.
    pub output: u64,
    /// Of those, reasoning.
    pub reasoning: u64,
    /// Size of the model's window, when known.
    pub window: Option<u64>,
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFailure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// One line.
    pub message: String,
    /// What the user can do; may be empty.
    pub hints: Vec<String>,
}

/// The failures a session treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The program is not there.
    Missing,
    /// Nobody is logged in.
    LoggedOut,
    /// The process ended.
    Died,
    /// No answer in time.
    Silent,
    /// The peer refused or reported an error.
    Refused,
    /// The model's service failed.
    Upstream,
}
