//! Events from a runtime to its session.
//!
//! Invariant: bytes and texts are untrusted, exactly as the cell produced them; the code that shows them sanitises
//! them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::answer::RuntimeReply;
use super::interpreter::{Death, RuntimeInfo, StartFailure};
use super::request::{HostCall, RequestId};
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use ipycodex_jupyter::CommMessage;

/// Events from a runtime to its session.
#[derive(Debug, Clone)]
pub enum RuntimeEvent {
    /// An interpreter is ready. Sent again after every restart.
    Ready(RuntimeInfo),
    /// No interpreter could be started. Pending requests end as `Died`.
    StartFailed(StartFailure),
    /// The cell began.
    Started {
        /// Id of the request.
        id: RequestId,
    },
    /// Bytes that the cell wrote; without an id, bytes of a background thread or task.
    Output {
        /// The request it belongs to.
        id: Option<RequestId>,
        /// The stream.
        stream: OutputStream,
        /// As written: not sanitised, possibly cut inside a character.
        bytes: Vec<u8>,
        /// True for bytes of a program that owns the screen (`!vim`, or any program that took the cell's terminal
        /// out of line mode): to be passed to the terminal unchanged, useless as text.
        foreign: bool,
    },
    /// A value or a display.
    Display {
        /// The request it belongs to.
        id: Option<RequestId>,
        /// The data to show.
        display: DisplayData,
    },
    /// A comm message from an object of the interpreter to one of a front-end.
    Comm {
        /// The request it belongs to.
        id: Option<RequestId>,
        /// The message.
        message: CommMessage,
    },
    /// The output so far is to be cleared.
    Clear {
        /// Id of the request.
        id: RequestId,
        /// True: clear only when new output arrives.
        wait: bool,
    },
    /// Help or a long text for the pager.
    Page {
        /// Id of the request.
        id: RequestId,
        /// The text, by MIME type.
        bundle: MimeBundle,
    },
    /// The cell asks for a line (only with [`Stdin::Ask`](super::Stdin::Ask)).
    InputRequested {
        /// Id of the request.
        id: RequestId,
        /// Number to name in the reply.
        call: u64,
        /// Text to show before the input.
        prompt: String,
        /// True: do not echo.
        password: bool,
    },
    /// The code asks for the location of the record with the inputs of all sessions.
    RecordRequested {
        /// Id of the request.
        id: RequestId,
        /// Number to name in the reply.
        call: u64,
    },
    /// The code calls its session; see [`RuntimeRequest::ReplyCall`](super::RuntimeRequest::ReplyCall).
    HostCalled {
        /// Id of the request, which may have ended already.
        id: Option<RequestId>,
        /// The call.
        call: HostCall,
    },
    /// The code no longer waits for the reply to this call.
    HostCallCancelled {
        /// Number of the call.
        call: u64,
    },
    /// A line of progress; an empty text removes the line.
    Status {
        /// Id of the request.
        id: RequestId,
        /// The line, which replaces the one before.
        text: String,
    },
    /// The cell raised.
    Error {
        /// Id of the request.
        id: RequestId,
        /// The exception.
        error: CellError,
    },
    /// `exit`, `quit` or `%exit` was called.
    ExitRequested {
        /// Id of the request.
        id: RequestId,
        /// The requested exit status.
        code: i32,
        /// Only the client that runs the cell is to leave; the interpreter stays.
        stays: bool,
    },
    /// Text for the next input, offered by `%load`, `%recall` and similar magics.
    NextInput {
        /// Id of the request.
        id: RequestId,
        /// The text.
        text: String,
        /// The text replaces the cell, in front-ends that have cells.
        replaces: bool,
    },
    /// The cell ended; the last event of its id, but for late output.
    Finished {
        /// Id of the request.
        id: RequestId,
        /// How it ended.
        finish: Finish,
    },
    /// The end of a request other than a cell; the last event of its id.
    Replied {
        /// Id of the request.
        id: RequestId,
        /// The reply.
        answer: RuntimeReply,
    },
    /// The interpreter is gone. A running request was finished as [`Ending::Died`] before this.
    Died {
        /// How it ended.
        death: Death,
        /// False when it died too often: it is then started again only on the next request.
        restarting: bool,
    },
    /// The connection to the interpreter is gone; the interpreter may still run, with its cell. A running request
    /// was finished as [`Ending::Lost`] before this.
    Lost {
        /// The reason.
        why: String,
    },
    /// A message for the user (an interpreter that printed garbage, a slow start).
    Notice(String),
}

impl RuntimeEvent {
    /// Returns the id of the request that the event belongs to.
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

/// Output streams of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output on a pipe.
    Stdout,
    /// Standard error on a pipe.
    Stderr,
    /// Both, on the cell's terminal, in true order.
    Terminal,
}

/// Key in [`DisplayData::transient`] of the formats meant for terminals only.
const FOR_TERMINALS: &str = "ipycodex";

/// A value or display shown by a cell.
#[derive(Debug, Clone)]
pub struct DisplayData {
    /// The formats with their metadata.
    pub bundle: MimeBundle,
    /// The number of a cell's value (`Out[n]`); `None` for other displays.
    pub execution_count: Option<u32>,
    /// Id by which later displays update this one.
    pub display_id: Option<String>,
    /// Data for the front-end that is never recorded.
    pub transient: Map<String, Value>,
    /// True when it replaces the earlier display of that id.
    pub update: bool,
}

impl DisplayData {
    /// Creates a display that is neither a cell's value nor an update.
    pub fn new(bundle: MimeBundle) -> Self {
        DisplayData {
            bundle,
            execution_count: None,
            display_id: None,
            transient: Map::new(),
            update: false,
        }
    }

    /// Returns the formats for a terminal: those of the bundle, overridden by the formats meant for terminals only.
    pub fn terminal_bundle(&self) -> Cow<'_, MimeBundle> {
        let forms = self.transient.get(FOR_TERMINALS).and_then(Value::as_object);
        match forms {
            Some(forms) => Cow::Owned(self.bundle.with_forms(forms)),
            None => Cow::Borrowed(&self.bundle),
        }
    }
}

/// Result of a cell.
#[derive(Debug, Clone)]
pub struct Finish {
    /// The ending.
    pub ending: Ending,
    /// Exit status, of a shell command whose shell reports one.
    pub exit: Option<i32>,
    /// Time the cell took, in ms, as the interpreter measured it.
    pub milliseconds: f64,
    /// The interpreter's working directory afterwards.
    pub cwd: Option<String>,
    /// Bytes that the cell's terminal took and the cell did not read, whole and in order. Empty for a dead
    /// interpreter: the bytes are lost with the terminal, and could not be told apart from those the cell had read
    /// (passwords among them).
    pub typeahead: Vec<u8>,
}

/// The ways a cell ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The cell ran to its end.
    Ok,
    /// The cell raised; [`RuntimeEvent::Error`] came before.
    Error,
    /// The cell was interrupted; the namespace is kept.
    Interrupted,
    /// The interpreter died with it; the namespace is lost.
    Died(Death),
    /// The connection broke, with the reason; the cell may still run, and the namespace may survive.
    Lost(String),
}
