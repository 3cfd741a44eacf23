//! The events an agent sends to its session.

use std::time::Duration;

use super::activity::{Activity, FileChange, FileWritten, PlanStep};
use super::failure::AgentFailure;
use super::news::AgentUpdate;
use super::question::AgentQuestion;
use super::turn::{ToolCall, TurnId, Usage};
use crate::dialog::CommandRecord as CommandRun;

/// What an agent says, in order. Bounded, nothing is dropped.
pub type AgentEvents = tokio::sync::mpsc::Receiver<AgentEvent>;

/// What an agent tells its session. Every event but news belongs to the turn it names.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// The agent has to be started first, which takes its time. [`AgentEvent::Sent`] tells its end.
    Starting {
        /// The turn.
        turn: TurnId,
        /// What it is called.
        agent: String,
        /// How long that may take at most.
        limit: Option<Duration>,
    },
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
    TextRestarted {
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
        /// What the agent calls it; may be empty.
        title: String,
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
    CommandEnded {
        /// The turn.
        turn: TurnId,
        /// What it was and what came of it.
        command: CommandRun,
        /// What the agent calls it; may be empty.
        title: String,
    },
    /// A command did not run: it was not allowed. Its output is empty, or the reason the user gave.
    CommandDenied {
        /// The turn.
        turn: TurnId,
        /// What it would have been.
        command: CommandRun,
        /// The user was asked or told about it before.
        user_knows: bool,
    },
    /// The agent calls one of our tools and waits for [`AgentReply::ToolResult`](super::AgentReply::ToolResult).
    ToolCalled {
        /// The turn.
        turn: TurnId,
        /// The call.
        call: ToolCall,
    },
    /// The agent asks the user and waits for [`AgentReply::Answer`](super::AgentReply::Answer).
    QuestionAsked {
        /// The turn.
        turn: TurnId,
        /// The question.
        question: AgentQuestion,
    },
    /// The agent no longer waits for the answer to a call or a question.
    RequestWithdrawn {
        /// The turn.
        turn: TurnId,
        /// The id of the call or the question.
        id: String,
    },
    /// The plan of the turn, as it stands now.
    PlanUpdated {
        /// The turn.
        turn: TurnId,
        /// All of it, in order.
        steps: Vec<PlanStep>,
    },
    /// Work with a tool of the agent's own began, went on or ended.
    ActivityUpdated {
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
    /// Something by the way.
    Notice {
        /// The turn.
        turn: TurnId,
        /// What.
        notice: AgentNotice,
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
    Update(AgentUpdate),
}

/// What happens by the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentNotice {
    /// A file was written through us.
    FileWritten(FileWritten),
    /// A command runs in a terminal of ours.
    TerminalStarted(String),
    /// A file was too long to be handed over whole.
    FileTruncated(String),
    /// The agent told something of a kind that nobody here knows.
    UnknownUpdate(String),
    /// A picture in the answer, as a `data:` URL.
    Picture(String),
}

impl AgentEvent {
    /// The turn it belongs to; none of news.
    pub fn turn(&self) -> Option<TurnId> {
        match self {
            AgentEvent::Starting { turn, .. }
            | AgentEvent::Sent { turn }
            | AgentEvent::Text { turn, .. }
            | AgentEvent::TextRestarted { turn, .. }
            | AgentEvent::Thought { turn, .. }
            | AgentEvent::CommandStarted { turn, .. }
            | AgentEvent::CommandOutput { turn, .. }
            | AgentEvent::CommandEnded { turn, .. }
            | AgentEvent::CommandDenied { turn, .. }
            | AgentEvent::ToolCalled { turn, .. }
            | AgentEvent::QuestionAsked { turn, .. }
            | AgentEvent::RequestWithdrawn { turn, .. }
            | AgentEvent::PlanUpdated { turn, .. }
            | AgentEvent::ActivityUpdated { turn, .. }
            | AgentEvent::FilesChanged { turn, .. }
            | AgentEvent::Progress { turn, .. }
            | AgentEvent::Notice { turn, .. }
            | AgentEvent::Usage { turn, .. }
            | AgentEvent::Finished { turn, .. }
            | AgentEvent::Failed { turn, .. } => Some(*turn),
            AgentEvent::Update(_) => None,
        }
    }
}
