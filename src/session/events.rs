//! The events a session sends to a front-end.
//!
//! Text in events is foreign unless stated otherwise: the front-end makes it safe when it writes it. What only an
//! editor can do is an [`EditorRequest`](super::EditorRequest), not an event. Events come in groups, and a front-end
//! matches each group, or each event of a group it looks into: a new one is a compile error where it was forgotten.

use std::time::Duration;

use crate::agent::{Activity, AgentFailure, FileChange, FileWritten, InputPart, PlanStep, Usage};
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::record::SessionTail;
use crate::runtime::{CommMessage, Death, DisplayData, Ending, OutputStream};
use crate::session::question::Question;
use crate::session::replay_summary::ReplaySummary;
use crate::text::Page;

pub(super) use crate::session::notice::{Notice, report_notice};

/// Something that happened in a run, or in the background.
#[derive(Debug, Clone)]
pub enum SessionEvent {
    /// Something takes a number and begins.
    Begin(BeginEvent),
    /// Of the cell that runs, or from the interpreter between two cells.
    Cell(CellEvent),
    /// A piece of the answer.
    Answer(AnswerEvent),
    /// The user is asked, or no longer.
    Question(QuestionEvent),
    /// Something is over.
    End(EndEvent),
    /// Text of a command.
    Text(TextEvent),
    /// One thing the user should know.
    Notice(Notice),
    /// The front-end's part, when the run is over.
    After(AfterEvent),
    /// The interpreter is gone.
    RuntimeDied {
        death: Death,
        /// A new one is being started.
        restarting: bool,
    },
}

/// The beginning of an input or a step; its own events follow.
#[derive(Debug, Clone)]
pub enum BeginEvent {
    /// The input took this number and is about to be worked on.
    Input {
        /// `n` of `In [n]`.
        line: u32,
        kind: RunKind,
    },
    /// A cell the agent runs: what follows up to its end is the cell's, as with one of the user.
    AgentCell {
        /// The number it took.
        line: u32,
        /// Its purpose, in the agent's words; may be empty.
        title: String,
        /// Its code.
        source: String,
    },
    /// The cell that runs asks the agent: the answer follows, then the cell goes on.
    Asked {
        /// The number it took.
        line: u32,
        prompt: String,
    },
    /// A step of a replay: what follows up to its cell's end is the cell's. An exchange has nothing to follow.
    Step {
        /// From 1.
        step: usize,
        /// Of how many.
        of: usize,
        /// The number it has.
        line: u32,
        /// A cell or a prompt.
        kind: RunKind,
        /// As it would be typed.
        source: String,
        /// Output is shown only if the cell fails.
        quiet: bool,
    },
}

#[derive(Debug, Clone)]
pub enum CellEvent {
    /// The interpreter began with it: from now on it may read.
    Started,
    /// Bytes, as written.
    Output {
        /// Where it was written.
        stream: OutputStream,
        /// Not sanitised, not necessarily whole characters.
        bytes: Vec<u8>,
        /// Of a program that owns the terminal for the moment: to be let through.
        foreign: bool,
    },
    /// A value or a display.
    Display(DisplayData),
    /// A message of an object of the interpreter to one of the front-end's; the front-end's own go by
    /// [`SessionHandle::ask`](super::SessionHandle::ask).
    Comm(CommMessage),
    /// A line that tells how far it is, in place of the one before; empty: there is nothing to tell any more.
    Status(String),
    /// Of a cell that ended before: its tasks and threads went on.
    Late {
        /// Its In number.
        line: u32,
        event: Box<CellEvent>,
    },
    /// The output so far is to be cleared (`wait`: when new output arrives).
    Clear {
        /// Not before new output.
        wait: bool,
    },
    /// Asks for a line; answer with [`SessionHandle::reply_input`](super::SessionHandle::reply_input).
    InputRequested {
        /// To be named in the reply.
        call: u64,
        /// Text to show.
        prompt: String,
        /// Do not echo.
        password: bool,
    },
    Raised(CellError),
    Ended {
        ending: Ending,
        /// Typed and not read.
        typeahead: Vec<u8>,
    },
}

#[derive(Debug, Clone)]
pub enum QuestionEvent {
    /// The user is asked; answer with [`SessionHandle::answer`](super::SessionHandle::answer).
    Asked(Question),
    /// The question of this id needs no answer any more.
    Over(u64),
}

/// What is over. A cell's end is the cell's own, since the turn or the replay it is part of goes on.
#[derive(Debug, Clone)]
pub enum EndEvent {
    /// The turn; nothing more of the answer comes.
    Turn {
        outcome: TurnOutcome,
        /// Tokens, when the agent reports them.
        usage: Option<Usage>,
        /// From submit to end.
        took: Duration,
    },
    /// The turn that a cell asked for: the cell goes on.
    Asked {
        outcome: TurnOutcome,
        /// Tokens, when the agent reports them.
        usage: Option<Usage>,
        /// From the call to its end.
        took: Duration,
    },
    /// The replay.
    Replay(ReplaySummary),
    /// The tool that was called by itself returned.
    Call {
        /// For the caller: text and pictures, in order.
        content: Vec<InputPart>,
        /// False for exceptions and refusals.
        success: bool,
    },
    /// The input was not run: one before it failed, and whoever sent that one wanted the rest stopped.
    NotRun,
}

#[derive(Debug, Clone)]
pub enum TextEvent {
    /// Lines a command printed; our own text around foreign values. Two blanks part columns.
    Text(String),
    /// Lines that are shown as they are: what is sent, code that runs.
    Verbatim(String),
    /// A page of our own: help, or the settings.
    Help(Page),
    /// Help for the pager.
    Page(MimeBundle),
    /// The conversation goes on in this session: what it held so far.
    Earlier(Box<SessionTail>),
}

/// For the front-end, once the run is over.
#[derive(Debug, Clone)]
pub enum AfterEvent {
    /// This text goes back into the editor.
    Refill(String),
    /// The same; where there are cells, it takes the place of the cell that ran.
    Replace(String),
    /// The user asked to leave with this status.
    Leave(i32),
    /// The same of whoever shows this run alone: what others can attach to stays.
    Detach,
}

/// A group's event is an event of the session.
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

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Code, notes included.
    Cell,
    /// A command of the persistent shell.
    Shell,
    /// A prompt.
    Prompt,
    /// A command.
    Command,
}

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerEvent {
    /// Markdown. A new `message` number starts a new paragraph.
    Text { message: u64, delta: String },
    /// The message so far is void; it starts again.
    Restarted { message: u64 },
    /// Reasoning, in markdown.
    Thought { part: u64, delta: String },
    /// The agent is still starting, in words; `None`: it has started.
    AgentStarts(Option<String>),
    /// A command began.
    CommandStarted {
        /// Names it.
        id: String,
        /// As run, behind what the agent calls it.
        command: String,
    },
    /// Its output so far grew.
    CommandOutput { id: String, delta: String },
    CommandRan {
        id: String,
        /// As run, behind what the agent calls it.
        command: String,
        /// Its exit code.
        exit_code: Option<i32>,
        /// Whole output.
        output: String,
    },
    /// A command that had begun, or the call that had, was not allowed.
    Denied {
        /// The command; empty for the call.
        id: String,
        /// Its text, unless the user has just seen it.
        what: Option<String>,
    },
    /// A tool is being called: `f(x=1)`.
    ToolStarted {
        /// The call, on one line.
        call: String,
    },
    /// It returned: `f(x=1) => 2`, cut to 100 characters.
    ToolRan {
        /// Call and result on one line.
        line: String,
        /// False for exceptions.
        success: bool,
    },
    /// A picture that came of a tool, as a `data:` URL.
    Picture(String),
    /// The plan as it stands now.
    Planned(Vec<PlanStep>),
    /// The cells of the call that runs, as they stand now.
    CellsProgress(Vec<PlanStep>),
    /// Work with a tool of the agent's own began, went on or ended.
    Worked(Activity),
    /// Files were changed.
    FilesChanged(Vec<FileChange>),
    /// The agent wrote a file through us.
    FileWritten(FileWritten),
    /// A passing line: a retry, a warning.
    Progress(String),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutcome {
    /// With a whole answer.
    Complete,
    /// Stopped by the user; the part received is kept.
    Interrupted,
    /// Without an answer worth keeping.
    Failed(AgentFailure),
}
