//! What a session tells a front-end, and the stream it comes in.
//!
//! One [`Run`] per submitted input: its events in order, then its end (the stream closes). Text in events is foreign
//! unless it says otherwise: the front-end makes it safe when it writes it. The stream is bounded: a front-end that stops reading stops the cell's output at the source, never the session.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tokio::sync::Notify;

use crate::agent::{AgentFailure, FileChange, Usage};
use crate::history::Earlier;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::runtime::{Death, Display, Ending, OutputStream};
use crate::session::question::Question;
use crate::session::replay::Replayed;

/// How many events may be unread before the sender waits.
const UNREAD: usize = 64;

/// Something that happened in a run, or in the background.
#[derive(Debug, Clone)]
pub enum SessionEvent {
    /// The input took this number and is about to be worked on.
    Numbered {
        /// `n` of `In [n]`.
        line: u32,
        /// What it is.
        kind: RunKind,
    },
    /// The interpreter began with the cell: from now on it may read.
    CellStarted,
    /// Bytes of the cell, as written.
    Output {
        /// Where it was written.
        stream: OutputStream,
        /// Not sanitised, not necessarily whole characters.
        bytes: Vec<u8>,
        /// Of a program that owns the terminal for the moment: to be let through.
        foreign: bool,
    },
    /// A value or a display.
    Display(Display),
    /// The output so far is to be cleared (`wait`: when new output arrives).
    Clear {
        /// Not before new output.
        wait: bool,
    },
    /// Help for the pager.
    Page(MimeBundle),
    /// The cell asks for a line; answer with [`SessionHandle::reply_input`](super::SessionHandle::reply_input).
    InputRequested {
        /// To be named in the reply.
        call: u64,
        /// Text to show.
        prompt: String,
        /// Do not echo.
        password: bool,
    },
    /// The cell raised.
    Raised(CellError),
    /// The cell ended.
    CellEnded {
        /// How.
        ending: Ending,
        /// What was typed and not read.
        typeahead: Vec<u8>,
    },
    /// A piece of the answer.
    Answer(AnswerEvent),
    /// The user is asked; answer with [`SessionHandle::answer`](super::SessionHandle::answer).
    Asked(Question),
    /// The question of this id needs no answer any more.
    QuestionOver(u64),
    /// A cell the agent runs begins: what follows up to its `CellEnded` is the cell's, as with one of the user.
    AgentCell {
        /// The number it took.
        line: u32,
        /// What it is for, in the agent's words; may be empty.
        title: String,
        /// Python.
        source: String,
    },
    /// A step of a replay begins: what follows up to its `CellEnded` is the cell's. An exchange has nothing to follow.
    Replaying {
        /// Which, from 1 on.
        step: usize,
        /// Of how many.
        of: usize,
        /// The number it has.
        line: u32,
        /// A cell or a prompt.
        kind: RunKind,
        /// As it would be typed.
        source: String,
        /// What the cell shows is told only if it fails.
        quiet: bool,
    },
    /// The conversation goes on in this session: what it held so far.
    Earlier(Box<Earlier>),
    /// The replay is over.
    ReplayEnded(Replayed),
    /// The turn ended; nothing more of the answer comes.
    TurnEnded {
        /// How.
        outcome: TurnOutcome,
        /// Tokens, when the agent told.
        usage: Option<Usage>,
        /// From submit to end.
        took: Duration,
    },
    /// Lines a command printed; our own text around foreign values. Two blanks part columns.
    Text(String),
    /// Lines that are shown as they are: what is sent, code that runs.
    Verbatim(String),
    /// A page of help: our own markdown.
    Help(String),
    /// The themes for code, this one being in force.
    Themes(String),
    /// One thing the user should know.
    Notice(Notice),
    /// Prompt mode is to be turned on or off.
    PromptsToggled,
    /// The user is to pick the session to go on with.
    PickSession(Pick),
    /// Text that goes back into the editor.
    Refill(String),
    /// The user asked to leave with this status.
    Leave(i32),
    /// The interpreter is gone.
    RuntimeDied {
        /// How.
        death: Death,
        /// A new one is being started.
        restarting: bool,
    },
}

/// Among which sessions one is picked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// The one that goes on now: it is not among them. 0: not known.
    pub current: i64,
    /// Whose sessions come first.
    pub cwd: PathBuf,
}

/// What an input turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Python, notes included.
    Cell,
    /// A prompt.
    Prompt,
    /// A command.
    Command,
}

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerEvent {
    /// Markdown. A new `message` number starts a new paragraph.
    Text {
        /// Which message.
        message: u64,
        /// The piece.
        delta: String,
    },
    /// What came of the message is void; it starts again.
    Restarted {
        /// Which message.
        message: u64,
    },
    /// Reasoning, in markdown.
    Thought {
        /// Which part.
        part: u64,
        /// The piece.
        delta: String,
    },
    /// A command began.
    CommandStarted {
        /// Names it.
        id: String,
        /// As run.
        command: String,
    },
    /// Its output so far grew.
    CommandOutput {
        /// Which.
        id: String,
        /// The piece.
        delta: String,
    },
    /// It ended.
    CommandRan {
        /// Which.
        id: String,
        /// As run.
        command: String,
        /// Its exit code.
        exit_code: Option<i32>,
        /// Whole output.
        output: String,
    },
    /// A command that had begun, or the call that had, was not allowed.
    Denied {
        /// Which command; empty for the call.
        id: String,
        /// What is not to run, unless the user has just been told so.
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
    /// Files were changed.
    FilesChanged(Vec<FileChange>),
    /// A passing line: a retry, a web search.
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

/// One thing the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// One line.
    pub message: String,
    /// What can be done, a line each.
    pub hints: Vec<String>,
    /// Something went wrong, as against something worth knowing.
    pub warning: bool,
}

impl Notice {
    /// Worth knowing.
    pub fn note(message: impl Into<String>) -> Self {
        Notice {
            message: message.into(),
            hints: Vec::new(),
            warning: false,
        }
    }

    /// Something went wrong.
    pub fn warning(message: impl Into<String>) -> Self {
        Notice {
            warning: true,
            ..Notice::note(message)
        }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// The events of one submitted input; ends when the input has been worked off.
#[derive(Debug)]
pub struct Run {
    events: Receiver<SessionEvent>,
    flow: Arc<Flow>,
}

/// Counts events on their way, so that the sender can wait for a slow reader.
#[derive(Debug, Default)]
struct Flow {
    unread: AtomicUsize,
    read: Notify,
}

/// What waiting for an event gave.
#[derive(Debug)]
pub enum Next {
    /// An event.
    Event(Box<SessionEvent>),
    /// Nothing within the time given.
    Nothing,
    /// The run is over.
    Ended,
}

impl Run {
    /// Waits for the next event, at most `patience` (`None`: as long as it takes).
    pub fn next(&self, patience: Option<Duration>) -> Next {
        let received = match patience {
            None => self
                .events
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => self.events.recv_timeout(patience),
        };
        match received {
            Ok(event) => {
                self.flow.unread.fetch_sub(1, Ordering::Relaxed);
                self.flow.read.notify_one();
                Next::Event(Box::new(event))
            }
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::Ended,
        }
    }
}

/// The session's end of a [`Run`]. Dropping the last one ends the run.
#[derive(Debug, Clone)]
pub(super) struct RunSender {
    events: Sender<SessionEvent>,
    flow: Arc<Flow>,
}

impl RunSender {
    /// Sends at once. Senders of many events wait for [`RunSender::ready`] first.
    pub(super) fn send(&self, event: SessionEvent) {
        self.flow.unread.fetch_add(1, Ordering::Relaxed);
        // A front-end that went away does not stop the session.
        let _ = self.events.send(event);
    }

    /// True when the reader keeps up.
    pub(super) fn is_ready(&self) -> bool {
        self.flow.unread.load(Ordering::Relaxed) < UNREAD
    }

    /// Returns when the reader has caught up.
    pub(super) async fn ready(&self) {
        while !self.is_ready() {
            self.flow.read.notified().await;
        }
    }
}

/// A new stream.
pub(super) fn stream() -> (RunSender, Run) {
    let (sender, receiver) = channel();
    let flow = Arc::new(Flow::default());
    let run = Run {
        events: receiver,
        flow: Arc::clone(&flow),
    };
    (
        RunSender {
            events: sender,
            flow,
        },
        run,
    )
}
