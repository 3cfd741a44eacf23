//! What a runtime tells its session.
//!
//! Invariant: bytes and texts are foreign, as the cell made them; whoever shows them makes them safe.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::answer::RuntimeReply;
use super::call::HostCall;
use super::interpreter::{Death, RuntimeInfo, StartFailure};
use super::request::{CommMessage, RequestId};
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;

/// What a runtime tells its session.
#[derive(Debug, Clone)]
pub enum RuntimeEvent {
    /// An interpreter is up. Sent again after every restart.
    Ready(RuntimeInfo),
    /// No interpreter could be started. Requests of the time end as `Died`.
    StartFailed(StartFailure),
    /// The cell began.
    Started {
        /// Of the request.
        id: RequestId,
    },
    /// Bytes the cell (or, without id, a background thread or task) wrote.
    Output {
        /// The request it belongs to.
        id: Option<RequestId>,
        /// Which stream.
        stream: OutputStream,
        /// As written: not sanitised, not necessarily whole characters.
        bytes: Vec<u8>,
        /// True for bytes of a program that owns the screen (`!vim`, or whoever took the cell's terminal out of
        /// line mode): meant for the terminal as they are, worthless as text.
        foreign: bool,
    },
    /// A value or a display.
    Display {
        /// The request it belongs to.
        id: Option<RequestId>,
        /// What to show.
        display: DisplayData,
    },
    /// A message of an object of the interpreter to one of a front-end.
    Comm {
        /// The request it belongs to.
        id: Option<RequestId>,
        /// It.
        message: CommMessage,
    },
    /// The output so far is to be cleared.
    Clear {
        /// Of the request.
        id: RequestId,
        /// True: not before new output arrives.
        wait: bool,
    },
    /// Help or long text for the pager.
    Page {
        /// Of the request.
        id: RequestId,
        /// The text, by MIME type.
        bundle: MimeBundle,
    },
    /// The cell asks for a line (only with [`Stdin::Ask`](super::Stdin::Ask)).
    InputRequested {
        /// Of the request.
        id: RequestId,
        /// To be named in the reply.
        call: u64,
        /// Text to show.
        prompt: String,
        /// True: do not echo.
        password: bool,
    },
    /// The code asks where the inputs of all sessions are recorded.
    RecordRequested {
        /// Of the request.
        id: RequestId,
        /// To be named in the reply.
        call: u64,
    },
    /// The code asks something of its session; see [`RuntimeRequest::ReplyCall`](super::RuntimeRequest::ReplyCall).
    HostCalled {
        /// Of the request; it may have ended.
        id: Option<RequestId>,
        /// What.
        call: HostCall,
    },
    /// The code waits for the reply to this call no longer.
    HostCallCancelled {
        /// Its number.
        call: u64,
    },
    /// A line that tells how far the code is; an empty one: nothing is to be told any more.
    Status {
        /// Of the request.
        id: RequestId,
        /// In place of the one before.
        text: String,
    },
    /// The cell raised.
    Error {
        /// Of the request.
        id: RequestId,
        /// What it raised.
        error: CellError,
    },
    /// `exit`, `quit` or `%exit` was called.
    ExitRequested {
        /// Of the request.
        id: RequestId,
        /// The exit status asked for.
        code: i32,
        /// Only the client that runs the cell is to leave: the interpreter stays.
        stays: bool,
    },
    /// `%load`, `%recall` and their like offer text for the next input.
    NextInput {
        /// Of the request.
        id: RequestId,
        /// The text.
        text: String,
        /// It takes the place of the cell, where the front-end has cells.
        replaces: bool,
    },
    /// The cell ended; the last event of its id.
    Finished {
        /// Of the request.
        id: RequestId,
        /// How.
        finish: Finish,
    },
    /// The end of any other request; the last event of its id.
    Replied {
        /// Of the request.
        id: RequestId,
        /// The answer.
        answer: RuntimeReply,
    },
    /// The interpreter is gone. Whatever was running has been finished as [`Ending::Died`] before this.
    Died {
        /// How it ended.
        death: Death,
        /// False when it died too often and is not started again before it is asked for.
        restarting: bool,
    },
    /// The connection to the interpreter is gone; it may live on, and run what it ran. Whatever was running here has
    /// been finished as [`Ending::Lost`] before this.
    Lost {
        /// What happened to it.
        why: String,
    },
    /// Something the user should know (an interpreter that printed garbage, a slow start).
    Notice(String),
}

impl RuntimeEvent {
    /// The request it belongs to.
    pub fn request(&self) -> Option<RequestId> {
        match self {
            RuntimeEvent::Output { id, .. }
            | RuntimeEvent::Display { id, .. }
            | RuntimeEvent::Comm { id, .. } => *id,
            RuntimeEvent::Started { id }
            | RuntimeEvent::Clear { id, .. }
            | RuntimeEvent::Page { id, .. }
            | RuntimeEvent::InputRequested { id, .. }
            | RuntimeEvent::RecordRequested { id, .. }
            | RuntimeEvent::Status { id, .. }
            | RuntimeEvent::Error { id, .. }
            | RuntimeEvent::ExitRequested { id, .. }
            | RuntimeEvent::NextInput { id, .. }
            | RuntimeEvent::Finished { id, .. }
            | RuntimeEvent::Replied { id, .. } => Some(*id),
            _ => None,
        }
    }
}

/// Which of the cell's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output on a pipe.
    Stdout,
    /// Standard error on a pipe.
    Stderr,
    /// Both, on the cell's terminal, in true order.
    Terminal,
}

/// The entry of [`DisplayData::transient`] with forms for terminals.
const FOR_TERMINALS: &str = "ipycodex";

/// A value shown by a cell.
#[derive(Debug, Clone)]
pub struct DisplayData {
    /// The forms it comes in, and what is said of them.
    pub bundle: MimeBundle,
    /// The value of the cell (`Out[n]`) with its number, or a display in passing.
    pub execution_count: Option<u32>,
    /// For updates of an earlier display.
    pub display_id: Option<String>,
    /// What else came with it for those who show it, and is kept nowhere.
    pub transient: Map<String, Value>,
    /// True when it replaces the earlier display of that id.
    pub update: bool,
}

impl DisplayData {
    /// A display in passing.
    pub fn new(bundle: MimeBundle) -> Self {
        DisplayData {
            bundle,
            execution_count: None,
            display_id: None,
            transient: Map::new(),
            update: false,
        }
    }

    /// The forms a terminal shows: those of the bundle, and in their places what came for terminals alone.
    pub fn terminal_bundle(&self) -> Cow<'_, MimeBundle> {
        let forms = self.transient.get(FOR_TERMINALS).and_then(Value::as_object);
        match forms {
            Some(forms) => Cow::Owned(self.bundle.with_forms(forms)),
            None => Cow::Borrowed(&self.bundle),
        }
    }
}

/// How a cell ended.
#[derive(Debug, Clone)]
pub struct Finish {
    /// The ending.
    pub ending: Ending,
    /// The exit status, of a command of a shell that told it.
    pub exit: Option<i32>,
    /// Time the cell took, in ms, as the interpreter measured it.
    pub milliseconds: f64,
    /// The interpreter's working directory afterwards.
    pub cwd: Option<String>,
    /// What its terminal took and the cell did not read, whole and in order. Empty for a dead interpreter: its terminal
    /// is gone with what was in it, and what the cell had read (passwords among it) is not told from the rest.
    pub typeahead: Vec<u8>,
}

/// The ways a cell ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Ran to its end.
    Ok,
    /// Raised; [`RuntimeEvent::Error`] came before.
    Error,
    /// Interrupted; the namespace is kept.
    Interrupted,
    /// The interpreter died with it; the namespace is lost.
    Died(Death),
    /// The connection broke, and why; the cell may run on, and the namespace may be there.
    Lost(String),
}
