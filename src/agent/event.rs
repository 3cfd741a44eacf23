//! The events an agent sends to its session.

use std::time::Duration;

use super::activity::{Activity, FileChange, FileWritten, PlanStep};
use super::failure::AgentFailure;
use super::question::AgentQuestion;
use super::turn::{ToolCall, TurnId, Usage};
use crate::dialog::CommandRecord as CommandRun;

/// The events of an agent, in order. The channel is bounded and drops nothing.
pub type AgentEvents = tokio::sync::mpsc::Receiver<AgentEvent>;

/// An event of an agent. Every event but `Update` belongs to the turn it names.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// The agent's process has to be started first, which takes time. [`AgentEvent::Sent`] marks the end of the
    /// start.
    Starting {
        turn: TurnId,
        /// Name of the agent.
        agent: String,
        /// The longest time the start may take.
        limit: Option<Duration>,
    },
    /// The prompt has been written to the agent.
    Sent {
        /// The turn.
        turn: TurnId,
    },
    /// A piece of the answer.
    Text {
        turn: TurnId,
        /// Message the piece belongs to; a new number starts a new paragraph.
        message: u64,
        /// The piece.
        delta: String,
    },
    /// A message was cut off and starts again: the text sent so far for `message` is void.
    TextRestarted {
        turn: TurnId,
        /// The void message.
        message: u64,
    },
    /// A piece of reasoning.
    Thought {
        turn: TurnId,
        /// Part the piece belongs to; a new number starts a new paragraph.
        part: u64,
        /// The piece.
        delta: String,
    },
    /// A command of the agent began.
    CommandStarted {
        turn: TurnId,
        /// The agent's id of the command, used by later events.
        id: String,
        /// The command line as the agent runs it.
        command: String,
        /// The agent's title for the command; may be empty.
        title: String,
    },
    /// Live output of a command; may be missing or incomplete.
    CommandOutput {
        turn: TurnId,
        /// Id of the command.
        id: String,
        /// The piece.
        delta: String,
    },
    /// A command ended.
    CommandEnded {
        turn: TurnId,
        /// The command, its output and its exit code.
        command: CommandRun,
        /// The agent's title for the command; may be empty.
        title: String,
    },
    /// A command was not allowed and did not run. Its output is empty, or the reason the user gave.
    CommandDenied {
        turn: TurnId,
        /// The command that did not run.
        command: CommandRun,
        /// The user was asked about the command, or has been informed already.
        user_knows: bool,
    },
    /// The agent calls one of our tools and waits for [`AgentReply::ToolResult`](super::AgentReply::ToolResult).
    ToolCalled {
        turn: TurnId,
        /// The call.
        call: ToolCall,
    },
    /// The agent asks the user and waits for [`AgentReply::Answer`](super::AgentReply::Answer).
    QuestionAsked {
        turn: TurnId,
        /// The question.
        question: AgentQuestion,
    },
    /// The agent no longer waits for the answer to a call or a question.
    RequestWithdrawn {
        turn: TurnId,
        /// Id of the call or the question.
        id: String,
    },
    /// The agent has taken more input ([`AgentReply::Steer`](super::AgentReply::Steer)), or not; in order.
    Steered {
        turn: TurnId,
        /// False when the input is no part of the turn.
        taken: bool,
    },
    /// The plan of the turn has changed.
    PlanUpdated {
        turn: TurnId,
        /// The complete plan, in order.
        steps: Vec<PlanStep>,
    },
    /// An activity of the agent began, went on or ended.
    ActivityUpdated {
        turn: TurnId,
        /// The complete activity as of now.
        activity: Activity,
    },
    /// The agent changed files.
    FilesChanged {
        turn: TurnId,
        /// One change per file.
        changes: Vec<FileChange>,
    },
    /// A passing remark: a retry, a warning.
    Progress {
        turn: TurnId,
        /// One line of text.
        message: String,
    },
    /// A side effect of the turn worth a line.
    Notice {
        turn: TurnId,
        /// The notice.
        notice: AgentNotice,
    },
    /// Tokens that this turn has used so far.
    Usage {
        turn: TurnId,
        /// Counts for the turn, not since the last event.
        usage: Usage,
    },
    /// The turn ended normally, or was stopped.
    Finished {
        turn: TurnId,
        /// True after `cancel`.
        interrupted: bool,
        /// The thread that now holds `history` and this exchange, if the agent keeps it and can continue it.
        thread: Option<String>,
        /// The agent's id of the place after this exchange, where it can fork the thread there later.
        point: Option<String>,
    },
    /// The turn ended without a complete answer.
    Failed {
        turn: TurnId,
        /// The cause, and hints for the user.
        failure: AgentFailure,
    },
    /// An update that belongs to no turn. Each replaces the one before.
    Update(AgentUpdate),
}

/// Side effects of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentNotice {
    /// A file was written through us.
    FileWritten(FileWritten),
    /// A command started in one of our terminals.
    TerminalStarted(String),
    /// A file was too long to be sent whole.
    FileTruncated(String),
    /// The agent sent an update of an unknown kind.
    UnknownUpdate(String),
    /// A picture in the answer, as a `data:` URL.
    Picture(String),
}

impl AgentEvent {
    /// The turn of the event; `None` for `Update`.
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
            | AgentEvent::Steered { turn, .. }
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

/// A choice that an agent offers: a command, a mode, a value, a login method.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// The agent's id of the choice.
    pub id: String,
    /// Name for people; may be empty.
    pub name: String,
    /// One line; may be empty.
    pub description: String,
}

/// An update that belongs to no turn. Each replaces the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentUpdate {
    /// The agent's commands: a prompt that begins with `/` and the id of one runs it.
    Commands(Vec<Descriptor>),
    /// The agent's modes.
    Modes(ConfigOption),
    /// The agent's title of the conversation.
    Title(String),
    /// Options besides the mode.
    Options(Vec<ConfigOption>),
}

/// A setting with a fixed set of values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigOption {
    /// Id, name and description of the option.
    pub descriptor: Descriptor,
    /// Id of the current value.
    pub current: String,
    /// The values to choose from.
    pub values: Vec<Descriptor>,
}

impl ConfigOption {
    /// One line: `mode: plan (one of code, plan)`.
    pub fn line(&self) -> String {
        let values = self.values.iter().map(|value| value.id.as_str());
        let values = values.collect::<Vec<_>>().join(", ");
        format!("{}: {} (one of {values})", self.descriptor.id, self.current)
    }
}

impl Descriptor {
    /// Name and description, as far as they are not empty.
    pub fn description_line(&self) -> String {
        let parts = [self.name.as_str(), &self.description].into_iter();
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(": ")
    }
}
