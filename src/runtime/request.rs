//! What a session asks of a runtime.
//!
//! Invariant: nothing here says how it is carried out. An answer is named beside each request; what is answered stands
//! in `answer.rs`, what comes unasked in `event.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::call::HostReply;
use super::checkpoints::CheckpointRequest;
use super::environment::EnvironmentChanges;
use super::variables::VariablesRequest;
use crate::text::offset::CodePoints;

/// Names one submitted request; unique within a runtime's life, across restarts of its interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RequestId(pub u64);

/// What a session asks of a runtime.
#[derive(Debug, Clone)]
pub enum RuntimeRequest {
    /// Runs a cell. Answer: `Started`, its output in order, `Finished`.
    Execute(Execute),
    /// Does what is to be done before the first cell, now and in every interpreter that takes this one's place.
    /// Answer: as to [`Execute`](RuntimeRequest::Execute).
    Startup(Box<StartupPlan>),
    /// Completes at `position`. Answer: [`Answer::Completions`](super::RuntimeReply::Completions).
    Complete {
        /// The text being edited.
        code: String,
        /// The cursor, in code points from the start of `code`.
        position: CodePoints,
        /// Whether the slower, deeper engine may be asked.
        deep: bool,
    },
    /// Says whether a cell could be run as it stands, or goes on in a further line. Of Python the editor knows that
    /// itself; a Jupyter client's question comes here, and the editor's for a language whose syntax it does not know.
    /// Answer:
    /// [`Answer::Completeness`](super::RuntimeReply::Completeness).
    IsComplete {
        /// The text so far.
        code: String,
    },
    /// Describes what stands at `position`, or the function in whose brackets it is. The answer,
    /// [`Answer::Inspection`](super::RuntimeReply::Inspection), has an entry
    /// [`INSPECTION_MIME`](super::INSPECTION_MIME) in its bundle.
    Inspect {
        /// The text being edited.
        code: String,
        /// The cursor, in code points from the start of `code`.
        position: CodePoints,
        /// True for sources too (`??`).
        detailed: bool,
    },
    /// Schemas of callables in the namespace. Answer: [`Answer::Tools`](super::RuntimeReply::Tools).
    DescribeTools {
        /// Names to look up.
        names: Vec<String>,
    },
    /// Calls a callable of the namespace. Output it prints is this id's output. Answer:
    /// [`Answer::ToolResult`](super::RuntimeReply::ToolResult).
    CallTool {
        /// Name in the namespace.
        name: String,
        /// A JSON object of keyword arguments.
        arguments: Value,
        /// Who answers `input()`; a tool owns no terminal, so never [`Stdin::Terminal`].
        stdin: Stdin,
    },
    /// Evaluates what a prompt refers to, each once: names and calls in the live namespace, other expressions in a copy
    /// of it that can change nothing. Answer: [`Answer::Evaluated`](super::RuntimeReply::Evaluated).
    Evaluate {
        /// Any text; what is no expression gives a value that failed.
        variables: Vec<String>,
        /// Shell commands, run in the interpreter's directory and environment.
        shells: Vec<String>,
    },
    /// Evaluates expressions, each as the last line of a cell would be shown. Answer:
    /// [`Answer::Expressed`](super::RuntimeReply::Expressed).
    EvaluateExpressions {
        /// Any text; what is no expression is an error.
        expressions: Vec<String>,
    },
    /// Names that these cells bind at their top level and the namespace lacks; nothing is run. Answer:
    /// [`Answer::Missing`](super::RuntimeReply::Missing).
    FindMissingNames {
        /// Sources of cells, in the order they ran.
        sources: Vec<String>,
    },
    /// Runs code in a copy of the interpreter that can change nothing. Answer:
    /// [`Answer::Snapshot`](super::RuntimeReply::Snapshot).
    Snapshot {
        /// Python; the value of a last expression is the result.
        code: String,
        /// True: run even where writes cannot be prevented.
        unprotected: bool,
    },
    /// Runs cells as [`Snapshot`](RuntimeRequest::Snapshot) does, one after the other, to tell what they would do.
    /// Answer: [`Answer::Snapshot`](super::RuntimeReply::Snapshot), its text saying all, its value the pictures.
    DryRun {
        /// Cells.
        cells: Vec<DryRunCell>,
    },
    /// As [`Snapshot`](RuntimeRequest::Snapshot), in a copy that stays for more. Answer:
    /// [`Answer::Snapshot`](super::RuntimeReply::Snapshot).
    Branch(BranchRequest),
    /// Sets strings in the namespace, and takes names out of it. Answer: [`Answer::Done`](super::RuntimeReply::Done).
    SetVariables {
        /// Name and text of each; `None`: there shall be none of that name.
        values: Vec<(String, Option<String>)>,
    },
    /// Keeps the variables in a file, or brings them back. Answer:
    /// [`Answer::Variables`](super::RuntimeReply::Variables).
    Variables {
        /// What is wanted.
        wish: VariablesRequest,
        /// A file of the session's own, in a folder that is the user's alone.
        file: PathBuf,
    },
    /// Steps between cells, back and forward. Answers: as [`CheckpointRequest`] tells.
    Checkpoints(CheckpointRequest),
    /// A message of a front-end to an object of the interpreter; a front-end's opening, where nobody takes it, is
    /// closed by [`RuntimeEvent::Comm`](super::RuntimeEvent::Comm). Output is this id's. Answer:
    /// [`RuntimeReply::Done`](super::RuntimeReply::Done).
    Comm(CommMessage),
    /// Answers [`RuntimeEvent::InputRequested`](super::RuntimeEvent::InputRequested); has no answer of its own.
    ReplyInput {
        /// The `call` of the request.
        call: u64,
        /// What was typed.
        reply: InputReply,
    },
    /// Answers [`RuntimeEvent::RecordRequested`](super::RuntimeEvent::RecordRequested); has no answer of its own.
    ReplyRecord {
        /// The `call` of the request.
        call: u64,
        /// Where the inputs are; `None`: nothing is recorded.
        place: Option<RecordLocation>,
    },
    /// Answers [`RuntimeEvent::HostCalled`](super::RuntimeEvent::HostCalled); has no answer of its own. Until then the
    /// code that called serves all requests but cells.
    ReplyCall {
        /// The number of the call.
        call: u64,
        /// What it is told.
        reply: HostReply,
    },
    /// Ends the interpreter in an orderly way (at-exit functions run). Answer:
    /// [`Answer::Done`](super::RuntimeReply::Done).
    Shutdown {
        /// Only the connection ends: the interpreter was there before it, and stays.
        stays: bool,
    },
}

/// A cell whose effects are to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRunCell {
    /// Its source.
    pub code: String,
    /// It would find a new interpreter, without the names there are.
    pub reset: bool,
}

/// What is wanted of the copy of the interpreter that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchRequest {
    /// Code runs in it; it is made where there is none.
    Run {
        /// Its source; the value of a last expression is the result.
        code: String,
        /// Where it goes first; `None`: it stays where it is.
        directory: Option<PathBuf>,
        /// In a new one, as the interpreter is now.
        anew: bool,
        /// True: run even where writes cannot be prevented.
        unprotected: bool,
    },
    /// It ends, if there is one.
    End,
}

/// One cell to run.
#[derive(Debug, Clone)]
pub struct Execute {
    /// The source as typed; magics and top-level `await` included.
    pub code: String,
    /// Number shown as `In [n]`.
    pub execution_count: Option<u32>,
    /// Names the session whose number that is: each counts its own.
    pub session: u32,
    /// It is kept among the inputs and values of the interpreter (`In`, `Out` and `_n`), where it has a number.
    pub store_history: bool,
    /// No result display.
    pub silent: bool,
    /// The interpreter goes there first; `None`: it stays where it is, as for every cell that is typed. For a shell
    /// that shares its directory with the cells.
    pub directory: Option<PathBuf>,
    /// Environment variables it gets first; `None`: it has none of that name. Empty for cells that are typed; for a
    /// shell, as above.
    pub environment: EnvironmentChanges,
    /// Who answers `input()`.
    pub stdin: Stdin,
    /// Where the code stands; `None`: it was typed.
    pub location: Option<SourceLocation>,
    /// What of it is looked at on a dark terminal.
    pub dark: DarkRendering,
    /// The message of a Jupyter client that it came in (`header`, `metadata`, `content`).
    pub parent: Option<Arc<Value>>,
}

/// What of a cell's outputs is made for a dark terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DarkRendering {
    /// The terminal is not known to be dark.
    #[default]
    Off,
    /// The colours of errors and sources.
    Text,
    /// Pictures may come in a form for it, too ([`DisplayData::terminal_bundle`](super::DisplayData::terminal_bundle)).
    TextAndPictures,
}

impl Execute {
    /// A cell that is numbered, shown and stored, and asks nobody.
    pub fn numbered(code: String, number: u32) -> Self {
        Execute {
            code,
            execution_count: Some(number),
            session: 0,
            store_history: true,
            silent: false,
            directory: None,
            environment: EnvironmentChanges::new(),
            stdin: Stdin::Refuse,
            location: None,
            dark: DarkRendering::Off,
            parent: None,
        }
    }

    /// Code that takes no number and is not stored.
    pub fn unnumbered(code: String) -> Self {
        Execute {
            execution_count: None,
            store_history: false,
            ..Execute::numbered(code, 0)
        }
    }
}

/// What a command line asks of IPython. The built-in engine does what it can, and says what it cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IpythonFlags {
    /// The debugger opens after an exception.
    pub pdb: bool,
    /// A backend as `%matplotlib` takes it, or `auto`.
    pub matplotlib: Option<String>,
    /// Modules to load as extensions.
    pub extensions: Vec<String>,
    /// Settings, each as it was typed: `--Class.trait=value`.
    pub traits: Vec<String>,
}

impl IpythonFlags {
    /// Nothing is asked.
    pub fn is_empty(&self) -> bool {
        *self == IpythonFlags::default()
    }
}

/// What is done before the first cell, in this order: IPython's profile where there is IPython, flags, then files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartupPlan {
    /// Name of the profile; `None`: none.
    pub profile: Option<String>,
    /// Before the profile where they say the same.
    pub flags: IpythonFlags,
    /// Run in the namespace, one after the other.
    pub files: Vec<StartupFile>,
    /// Keeps what the user has been told of the profile, so that it is told once.
    pub seen_notices: PathBuf,
}

/// A file that is run before the first cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartupFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What is run in place of what it holds by then: what the user has agreed to.
    pub text: Option<String>,
}

impl StartupPlan {
    /// There is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.profile.is_none() && self.flags.is_empty() && self.files.is_empty()
    }
}

/// Stands in a message of an object for the name of the front-end's message by which it is sent: code that wants what
/// is shown because of that to go to the object cannot know the name.
pub const THIS_REQUEST: &str = "ipycodex:this-request";

/// A message between an object of the interpreter and one of a front-end.
#[derive(Debug, Clone, PartialEq)]
pub struct CommMessage {
    /// Names the pair of them.
    pub comm_id: String,
    /// What it does.
    pub op: CommOp,
    /// What it says.
    pub data: Value,
    /// What is said of that.
    pub metadata: Map<String, Value>,
    /// What is too large or too binary for it.
    pub buffers: Vec<Vec<u8>>,
}

/// What a message of a comm does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommOp {
    /// It asks for the other one, of this kind.
    Open {
        /// Registered under this name.
        target: String,
    },
    /// It says something.
    Msg,
    /// One of the two is gone.
    Close,
}

/// Where in a script a cell stands: what its tracebacks name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLocation {
    /// The script.
    pub file: PathBuf,
    /// The line the cell begins at, from 1.
    pub line: u32,
    /// The script ends with the cell: its threads are waited for, and what it registered for its exit is run.
    pub last: bool,
}

/// Where a cell's `input()` goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// The cell's own terminal ([`Runtime::terminal`](super::Runtime::terminal)).
    Terminal,
    /// The front-end is asked by [`RuntimeEvent::InputRequested`](super::RuntimeEvent::InputRequested).
    Ask,
    /// Nobody: `input()` raises `EOFError` at once.
    Refuse,
}

/// What came back for an input request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputReply {
    /// A line, without its newline.
    Line(String),
    /// End of input: `EOFError` in the cell.
    Eof,
}

/// Where code that asks for earlier inputs (`%history`) may read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLocation {
    /// The file of the record.
    pub path: PathBuf,
    /// The session that runs.
    pub session: i64,
}
