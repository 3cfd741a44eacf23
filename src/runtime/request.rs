//! Requests of a session to a runtime; host calls, requests of running code to its session.
//!
//! Invariants: nothing here says how a request is carried out; each request of running code gets one reply, unless its
//! cell ends first. The reply is named beside each request; replies are defined in `answer.rs`, events that come
//! without a request in `event.rs`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use ipycodex_jupyter::CommMessage;

use super::handoff::{BackgroundRequest, Branch};
use super::look_back::LookBackRequest;
use super::saved_state::{CheckpointRequest, VariablesRequest};
use crate::text::offset::CodePoints;

/// Id of one submitted request; unique within a runtime's life, across restarts of its interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RequestId(pub u64);

/// Requests of a session to a runtime.
#[derive(Debug, Clone)]
pub enum RuntimeRequest {
    /// Runs a cell. Reply: `Started`, its output in order, `Finished`.
    Execute(Execute),
    /// Runs the start-up plan before the first cell, now and in every interpreter that replaces this one. Reply: as
    /// to [`Execute`](RuntimeRequest::Execute).
    Startup(Box<StartupPlan>),
    /// Completes at `position`. Reply: [`RuntimeReply::Completions`](super::RuntimeReply::Completions).
    Complete {
        /// The text being edited.
        code: String,
        /// The cursor, in code points from the start of `code`.
        position: CodePoints,
        /// Allows the slower, deeper engine.
        deep: bool,
    },
    /// Reports if a cell can be run as it stands or continues on a further line. For Python the editor decides that
    /// itself; requests come from Jupyter clients, and from the editor for a language whose syntax it does not
    /// know. Reply: [`RuntimeReply::Completeness`](super::RuntimeReply::Completeness).
    IsComplete {
        /// The text so far.
        code: String,
    },
    /// Describes the object at `position`, or the function whose call surrounds it. The reply,
    /// [`RuntimeReply::Inspection`](super::RuntimeReply::Inspection), has an entry
    /// [`INSPECTION_MIME`](super::INSPECTION_MIME) in its bundle.
    Inspect {
        /// The text being edited.
        code: String,
        /// The cursor, in code points from the start of `code`.
        position: CodePoints,
        /// Includes the source (`??`).
        detailed: bool,
    },
    /// Describes callables of the namespace as tools. Reply: [`RuntimeReply::Tools`](super::RuntimeReply::Tools).
    DescribeTools {
        /// Names to look up.
        names: Vec<String>,
    },
    /// Calls a callable of the namespace. Its printed output carries this request's id. Reply:
    /// [`RuntimeReply::ToolResult`](super::RuntimeReply::ToolResult).
    CallTool {
        /// Name in the namespace.
        name: String,
        /// A JSON object of keyword arguments.
        arguments: Value,
        /// Who answers `input()`; a tool owns no terminal, so never [`Stdin::Terminal`].
        stdin: Stdin,
    },
    /// Evaluates the references of a prompt, each once: names and calls in the live namespace, other expressions in
    /// a copy that can change nothing. Reply: [`RuntimeReply::Evaluated`](super::RuntimeReply::Evaluated).
    Evaluate {
        /// Any text; a text that is no expression gives a failed value.
        variables: Vec<String>,
        /// Shell commands, run in the interpreter's directory and environment.
        shells: Vec<String>,
    },
    /// Evaluates expressions and renders each like the last line of a cell. Reply:
    /// [`RuntimeReply::Expressed`](super::RuntimeReply::Expressed).
    EvaluateExpressions {
        /// Any text; a text that is no expression is an error.
        expressions: Vec<String>,
    },
    /// Finds the names that these cells bind at their top level and the namespace lacks; runs nothing. Reply:
    /// [`RuntimeReply::Missing`](super::RuntimeReply::Missing).
    FindMissingNames {
        /// Sources of cells, in the order they ran.
        sources: Vec<String>,
    },
    /// Runs code in a copy of the interpreter that can change nothing. Reply:
    /// [`RuntimeReply::Snapshot`](super::RuntimeReply::Snapshot).
    Snapshot {
        /// Python; the value of a last expression is the result.
        code: String,
        /// True: run even where writes cannot be prevented.
        unprotected: bool,
    },
    /// Runs cells as [`Snapshot`](RuntimeRequest::Snapshot) does, one after the other, to find out what they would
    /// do. Reply: [`RuntimeReply::Snapshot`](super::RuntimeReply::Snapshot), with the whole report as its text and
    /// the pictures as its value.
    DryRun {
        /// The cells, in order.
        cells: Vec<DryRunCell>,
    },
    /// As [`Snapshot`](RuntimeRequest::Snapshot), in a copy that stays for further requests. Reply:
    /// [`RuntimeReply::Snapshot`](super::RuntimeReply::Snapshot).
    Branch(BranchRequest),
    /// Sets strings in the namespace, and removes names from it. Reply:
    /// [`RuntimeReply::Done`](super::RuntimeReply::Done).
    SetVariables {
        /// Names and texts; `None` removes the name.
        values: Vec<(String, Option<String>)>,
    },
    /// Saves the variables in a file, or restores them. Reply:
    /// [`RuntimeReply::Variables`](super::RuntimeReply::Variables).
    Variables {
        /// The operation.
        wish: VariablesRequest,
        /// A file of this session alone, in a folder that only the user can read.
        file: PathBuf,
    },
    /// Manages checkpoints and steps between them. Replies: as [`CheckpointRequest`] says.
    Checkpoints(CheckpointRequest),
    /// Evaluates code in the states that checkpoints hold. Reply:
    /// [`RuntimeReply::LookedBack`](super::RuntimeReply::LookedBack).
    LookBack(LookBackRequest),
    /// Moves a running cell to the background: the copy of the interpreter from before the cell takes its place. Reply:
    /// [`RuntimeReply::Branch`](super::RuntimeReply::Branch).
    HandOff {
        /// The cell.
        cell: RequestId,
        /// A number for the branch, unique within the life of the runtime.
        branch: u32,
    },
    /// Forks an interpreter beside this one, from the checkpoint of this moment or, while a cell runs, from before that
    /// cell. It can change nothing but files in its folder. Reply:
    /// [`RuntimeReply::Branch`](super::RuntimeReply::Branch).
    Fork {
        /// A number for the branch, unique within the life of the runtime.
        branch: u32,
        /// A folder of its own.
        folder: PathBuf,
    },
    /// Lets a branch in which nothing runs take its place again; the interpreter that has it ends. Reply:
    /// [`RuntimeReply::Done`](super::RuntimeReply::Done).
    TakeBack(Branch),
    /// About names that a branch has changed. Reply: [`RuntimeReply::Background`](super::RuntimeReply::Background).
    Background(BackgroundRequest),
    /// Delivers a front-end's comm message to an object of the interpreter. A front-end's `Open` with an unknown
    /// target is closed by [`RuntimeEvent::Comm`](super::RuntimeEvent::Comm). Output carries this request's id.
    /// Reply: [`RuntimeReply::Done`](super::RuntimeReply::Done).
    Comm(CommMessage),
    /// Answers [`RuntimeEvent::InputRequested`](super::RuntimeEvent::InputRequested); has no reply of its own.
    ReplyInput {
        /// The `call` of the event.
        call: u64,
        /// The user's input.
        reply: InputReply,
    },
    /// Answers [`RuntimeEvent::RecordRequested`](super::RuntimeEvent::RecordRequested); has no reply of its own.
    ReplyRecord {
        /// The `call` of the event.
        call: u64,
        /// Location of the record; `None`: nothing is recorded.
        place: Option<RecordLocation>,
    },
    /// Answers [`RuntimeEvent::HostCalled`](super::RuntimeEvent::HostCalled); has no reply of its own. Until then
    /// the calling code serves all requests but cells.
    ReplyCall {
        /// The number of the call.
        call: u64,
        /// The reply to the code.
        reply: HostReply,
    },
    /// Shuts the interpreter down in an orderly way (at-exit functions run). Reply:
    /// [`RuntimeReply::Done`](super::RuntimeReply::Done).
    Shutdown {
        /// Ends only the connection: the interpreter existed before it, and stays.
        stays: bool,
    },
}

/// A cell of a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRunCell {
    /// Its source.
    pub code: String,
    /// The cell runs in a fresh namespace, as in a new interpreter.
    pub reset: bool,
}

/// Requests to the branch, the copy of the interpreter that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchRequest {
    /// Runs code in the branch, creating it where there is none.
    Run {
        /// The source; the value of a last expression is the result.
        code: String,
        /// Directory to change to first; `None`: the current one.
        directory: Option<PathBuf>,
        /// Replaces the branch by a new one, forked from the interpreter as it is now.
        anew: bool,
        /// True: run even where writes cannot be prevented.
        unprotected: bool,
    },
    /// Ends the branch, if there is one.
    End,
}

/// One cell to run.
#[derive(Debug, Clone)]
pub struct Execute {
    /// The source as typed; magics and top-level `await` included.
    pub code: String,
    /// Number shown as `In [n]`.
    pub execution_count: Option<u32>,
    /// The session that counts this number; each session has its own numbering.
    pub session: u32,
    /// Stores the cell in the interpreter's history (`In`, `Out` and `_n`), where it has a number.
    pub store_history: bool,
    /// Suppresses the display of the result.
    pub silent: bool,
    /// Directory to change to first; `None`, as for every typed cell: the current one. Used by a shell that follows
    /// the directory of the cells.
    pub directory: Option<PathBuf>,
    /// Environment variables to set first; `None` removes a variable. Empty for typed cells; used by a shell, as
    /// above.
    pub environment: EnvironmentChanges,
    /// Who answers `input()`.
    pub stdin: Stdin,
    /// Position of the code in a script; `None`: the code was typed.
    pub location: Option<SourceLocation>,
    /// Outputs to adapt to a dark terminal.
    pub dark: DarkRendering,
    /// The Jupyter message that carried the cell (`header`, `metadata`, `content`).
    pub parent: Option<Arc<Value>>,
}

/// Environment variables by name; `None` removes the variable.
pub type EnvironmentChanges = Vec<(String, Option<String>)>;

/// Applies the changes to the environment a process starts with.
pub(super) fn apply_environment(
    process: &mut BTreeMap<OsString, OsString>,
    told: &EnvironmentChanges,
) {
    for (name, value) in told {
        match value {
            Some(value) => process.insert(name.into(), value.into()),
            None => process.remove(&OsString::from(name)),
        };
    }
}

/// Outputs of a cell that are adapted to a dark terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DarkRendering {
    /// None: the terminal is not known to be dark.
    #[default]
    Off,
    /// The colours of errors and sources.
    Text,
    /// As `Text`, and pictures in a dark form beside the usual one
    /// ([`DisplayData::terminal_bundle`](super::DisplayData::terminal_bundle)).
    TextAndPictures,
}

impl Execute {
    /// Creates a cell that is numbered, shown and stored, and whose `input()` is refused.
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

    /// Creates a cell that takes no number and is not stored.
    pub fn unnumbered(code: String) -> Self {
        Execute {
            execution_count: None,
            store_history: false,
            ..Execute::numbered(code, 0)
        }
    }
}

/// IPython's options of the command line. The built-in engine supports some of them, and reports the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IpythonFlags {
    /// Opens the debugger after an exception.
    pub pdb: bool,
    /// A backend as `%matplotlib` takes it, or `auto`.
    pub matplotlib: Option<String>,
    /// Modules to load as extensions.
    pub extensions: Vec<String>,
    /// Settings, each as it was typed: `--Class.trait=value`.
    pub traits: Vec<String>,
}

impl IpythonFlags {
    /// Returns true when no option is set.
    pub fn is_empty(&self) -> bool {
        *self == IpythonFlags::default()
    }
}

/// Work before the first cell, in this order: IPython's profile where IPython is present, flags, then files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartupPlan {
    /// Name of the profile; `None`: no profile.
    pub profile: Option<String>,
    /// Command-line options, which override the profile.
    pub flags: IpythonFlags,
    /// Files to run in the namespace, in order.
    pub files: Vec<StartupFile>,
    /// File that remembers which notices about the profile the user has seen, so that each is shown once.
    pub seen_notices: PathBuf,
}

/// A file to run before the first cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartupFile {
    /// Path of the file.
    pub path: PathBuf,
    /// The text to run in place of the file's current content: the text that the user approved.
    pub text: Option<String>,
}

impl StartupPlan {
    /// Returns true when there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.profile.is_none() && self.flags.is_empty() && self.files.is_empty()
    }
}

/// Placeholder in a comm message for the id of the front-end's message that carries it. Code that asks for the
/// output caused by that message to go to the object cannot know the id.
pub const THIS_REQUEST: &str = "ipycodex:this-request";

/// Position of a cell in a script, for its tracebacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLocation {
    /// The script.
    pub file: PathBuf,
    /// First line of the cell, from 1.
    pub line: u32,
    /// The script ends with this cell: its threads are joined, and its at-exit functions run.
    pub last: bool,
}

/// Who answers a cell's `input()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// The cell's own terminal ([`Runtime::terminal`](super::Runtime::terminal)).
    Terminal,
    /// The front-end, through [`RuntimeEvent::InputRequested`](super::RuntimeEvent::InputRequested).
    Ask,
    /// Nobody: `input()` raises `EOFError` at once.
    Refuse,
}

/// Reply to an input request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputReply {
    /// A line, without its newline.
    Line(String),
    /// End of input: `EOFError` in the cell.
    Eof,
}

/// Location of earlier inputs, for code that reads them (`%history`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLocation {
    /// The SQLite file of the record.
    pub path: PathBuf,
    /// Id of the running session.
    pub session: i64,
}

/// A request of running code to its session.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// Number to name in the reply.
    pub call: u64,
    /// The request itself.
    pub request: HostRequest,
    /// The code waits for the reply and does nothing else: a reply resumes it, so no interrupt is needed.
    pub blocking: bool,
}

/// Requests that running code can make.
#[derive(Debug, Clone, PartialEq)]
pub enum HostRequest {
    /// An answer of the agent; the reply is an object with `text` (the whole answer) and `last` (its last message).
    Ask {
        /// Prompt text, sent unchanged.
        prompt: String,
        /// JSON schema that the answer must fit.
        schema: Option<Value>,
        /// Functions of the namespace offered as tools for this prompt.
        tools: Vec<String>,
    },
    /// A call of one of the session's tools; the reply is its result as text.
    Tool {
        /// Tool name.
        name: String,
        /// Arguments, a JSON object.
        arguments: Value,
    },
}

/// Reply to a host call.
#[derive(Debug, Clone, PartialEq)]
pub enum HostReply {
    /// The result.
    Value(Value),
    /// The call failed or is not allowed; the reason.
    Refused(String),
    /// The user interrupted the call; raises `KeyboardInterrupt` in the code.
    Interrupted,
}
