//! The events a session sends to a front-end.
//!
//! Text in events is foreign unless stated otherwise: the front-end makes it safe when it writes it. Requests that
//! only an editor can serve are [`EditorRequest`](super::EditorRequest)s, not events. Events come in groups; a
//! front-end matches each group, or each event of the groups it handles, so that a new event is a compile error
//! where it was forgotten.

use std::time::Duration;

use crate::agent::{Activity, AgentFailure, FileChange, FileWritten, InputPart, PlanStep, Usage};
use crate::magics::Page;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::question::Question;
use crate::record::SessionTail;
use crate::replay_summary::ReplaySummary;
use crate::runtime::{CommMessage, Death, DisplayData, Ending, OutputStream};

pub(super) use crate::notice::{Notice, report_notice};

/// Something that happened in a run, or in the background.
#[derive(Debug, Clone)]
pub enum SessionEvent {
    /// Something takes a number and begins.
    Begin(BeginEvent),
    /// From the running cell, or from the interpreter between two cells.
    Cell(CellEvent),
    Answer(AnswerEvent),
    /// A question to the user, or its end.
    Question(QuestionEvent),
    /// The end of a turn, a replay, a call or an input.
    End(EndEvent),
    Text(TextEvent),
    /// One fact for the user.
    Notice(Notice),
    /// A request that the front-end carries out when the run is over.
    After(AfterEvent),
    /// The interpreter exited.
    RuntimeDied {
        death: Death,
        /// True when a new interpreter is being started.
        restarting: bool,
    },
}

/// The beginning of an input or a step; its own events follow.
#[derive(Debug, Clone)]
pub enum BeginEvent {
    /// The input took this number and is about to start.
    Input {
        /// `n` of `In [n]`.
        line: u32,
        kind: RunKind,
    },
    /// The command that took the number works for a while; an interrupt ends that.
    Wait,
    /// A cell of the agent began: events up to its end belong to it, as with a cell of the user.
    AgentCell {
        line: u32,
        /// The cell's purpose in the agent's words; may be empty.
        title: String,
        source: String,
    },
    /// The running cell sent a prompt: the answer follows, then the cell goes on.
    Asked {
        /// `n` of `In [n]`.
        line: u32,
        prompt: String,
    },
    /// A step of a replay began: events up to its cell's end belong to it. No events follow for an exchange.
    Step {
        /// From 1.
        step: usize,
        of: usize,
        line: u32,
        kind: RunKind,
        /// As it would be typed.
        source: String,
        /// Output is shown only if the cell fails.
        quiet: bool,
    },
}

#[derive(Debug, Clone)]
pub enum CellEvent {
    /// The interpreter started the cell: from now on the cell may read input.
    Started,
    /// Bytes, as written.
    Output {
        /// The stream they were written to.
        stream: OutputStream,
        /// Not sanitised; may end within a character.
        bytes: Vec<u8>,
        /// Written by a program that owns the terminal: to be passed through unchanged.
        foreign: bool,
    },
    /// A value or a display.
    Display(DisplayData),
    /// A message from an object in the interpreter to its front-end part; messages the other way go through
    /// [`SessionHandle::ask`](super::SessionHandle::ask).
    Comm(CommMessage),
    /// A line of progress that replaces the one before; empty when there is nothing to report any more.
    Status(String),
    /// Output of tasks and threads of a cell that ended before.
    Late {
        /// The In number of that cell.
        line: u32,
        event: Box<CellEvent>,
    },
    /// Clear the output so far.
    Clear {
        /// Not before new output arrives.
        wait: bool,
    },
    /// The cell asks for a line; answer with [`SessionHandle::reply_input`](super::SessionHandle::reply_input).
    InputRequested {
        /// The id that the reply names.
        call: u64,
        prompt: String,
        /// Do not echo.
        password: bool,
    },
    Raised(CellError),
    Ended {
        ending: Ending,
        /// Bytes typed and not yet read.
        typeahead: Vec<u8>,
    },
}

#[derive(Debug, Clone)]
pub enum QuestionEvent {
    /// A question to the user; answer with [`SessionHandle::answer`](super::SessionHandle::answer).
    Asked(Question),
    /// The question with this id needs no answer any more.
    Over(u64),
}

/// The end of something. The end of a cell is a [`CellEvent`], since its turn or replay goes on.
#[derive(Debug, Clone)]
pub enum EndEvent {
    /// The turn ended; nothing more of the answer comes.
    Turn {
        outcome: TurnOutcome,
        /// Tokens, when the agent reports them.
        usage: Option<Usage>,
        /// From submission to end.
        took: Duration,
    },
    /// The turn that a cell asked for ended: the cell goes on.
    Asked {
        outcome: TurnOutcome,
        /// Tokens, when the agent reports them.
        usage: Option<Usage>,
        /// From the call to its end.
        took: Duration,
    },
    Replay(ReplaySummary),
    /// The tool of an external call returned.
    Call {
        /// For the caller: text and pictures, in order.
        content: Vec<InputPart>,
        /// False for exceptions and refusals.
        success: bool,
    },
    /// The input was not run: an earlier one failed, and its sender wanted the rest stopped.
    NotRun,
}

#[derive(Debug, Clone)]
pub enum TextEvent {
    /// Lines that a command printed; our own text around foreign values. Two blanks separate columns.
    Text(String),
    /// Lines to be shown unchanged: requests, code that runs.
    Verbatim(String),
    Help(Page),
    /// Help for the pager.
    Page(MimeBundle),
    /// The conversation continues in this session, which held this so far.
    Earlier(Box<SessionTail>),
}

/// Requests that the front-end carries out once the run is over.
#[derive(Debug, Clone)]
pub enum AfterEvent {
    /// Put this text back into the editor.
    Refill(String),
    /// The same; a front-end with cells replaces the cell that ran.
    Replace(String),
    /// Leave with this exit status.
    Leave(i32),
    /// Leave, but only the front-end that shows this run; the session stays for the others.
    Detach,
}

macro_rules! groups {
    ($($group:ident($event:ident)),*) => {
        $(impl From<$event> for SessionEvent {
            fn from(event: $event) -> Self {
                SessionEvent::$group(event)
            }
        })*
    };
}

groups! {
    Begin(BeginEvent), Cell(CellEvent), Answer(AnswerEvent), Question(QuestionEvent), End(EndEvent), Text(TextEvent),
    Notice(Notice), After(AfterEvent)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Code, notes included.
    Cell,
    Shell,
    Prompt,
    Command,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AnswerEvent {
    /// Markdown. A new `message` number starts a new paragraph.
    Text { message: u64, delta: String },
    /// The message so far is void; it starts again.
    Restarted { message: u64 },
    /// Reasoning, in markdown.
    Thought { part: u64, delta: String },
    /// The line shown while the agent starts; `None` when it has started.
    AgentStarts(Option<String>),
    /// A command began.
    CommandStarted {
        /// The id that later events of this command carry.
        id: String,
        /// As run, preceded by the agent's name for it.
        command: String,
    },
    /// More output of the command.
    CommandOutput { id: String, delta: String },
    CommandRan {
        id: String,
        /// As run, preceded by the agent's name for it.
        command: String,
        exit_code: Option<i32>,
        /// The whole output.
        output: String,
    },
    /// A command that had begun, or the call that had begun, was refused.
    Denied {
        /// The command's id; empty for the call.
        id: String,
        /// The text of the command, unless the user has just seen it.
        what: Option<String>,
    },
    /// A tool call began: `f(x=1)`.
    ToolStarted {
        /// The call, on one line.
        call: String,
    },
    /// A tool call returned: `f(x=1) => 2`, cut to 100 characters.
    ToolRan {
        /// Call and result on one line.
        line: String,
        /// False for exceptions.
        success: bool,
    },
    /// A picture from a tool, as a `data:` URL.
    Picture(String),
    /// The current plan.
    Planned(Vec<PlanStep>),
    /// The cells of the running call, with their current states.
    CellsProgress(Vec<PlanStep>),
    /// Work with a tool of the agent's own began, went on or ended.
    Worked(Activity),
    /// The agent changed these files.
    FilesChanged(Vec<FileChange>),
    /// The agent wrote a file through us.
    FileWritten(FileWritten),
    /// A passing line: a retry, a warning.
    Progress(String),
    /// What the user typed for the running turn; not `taken`: it is no part of the turn.
    Steered { text: String, taken: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutcome {
    /// With a whole answer.
    Complete,
    /// Stopped by the user; the part received is kept.
    Interrupted,
    /// Without an answer worth keeping.
    Failed(AgentFailure),
}
