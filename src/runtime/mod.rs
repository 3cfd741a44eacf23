//! The contract between a session and whatever runs its cells.
//!
//! Owns the words both sides use: [`RuntimeRequest`] goes down, [`RuntimeEvent`] comes up through the receiver that
//! the constructor in `connect` returns beside the [`Runtime`]. Nothing here knows Python, pipes or JSON.
//!
//! Invariants every implementation keeps:
//! - `submit` never blocks and never fails: what goes wrong becomes an event of that id.
//! - every `Execute` ends in exactly one [`RuntimeEvent::Finished`], every other request in exactly one
//!   [`RuntimeEvent::Answered`]; nothing with that id follows it, and all its output precedes it.
//! - an interrupt goes through [`Interrupter`], beside the queue, never through it.
//! - a dead interpreter is an event ([`RuntimeEvent::Died`]), and the next `Execute` starts a new one.
//!
//! Absent on purpose: async, files, clocks. A gateway or a Jupyter kernel is another folder here and one arm in
//! `connect`.

pub mod connect;
pub mod python;
pub mod scripted;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::text::offset::CodePoints;

/// Names one submitted request; unique within a runtime's life, across restarts of its interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// Runs cells. Object-safe; owned by the session loop alone.
pub trait Runtime: Send {
    /// Queues a request and returns its id at once. Requests run one at a time, in order.
    fn submit(&mut self, request: RuntimeRequest) -> RequestId;

    /// A handle that interrupts or kills the running cell from any thread; stays valid across restarts.
    fn interrupter(&self) -> Arc<dyn Interrupter>;

    /// The terminal the cells own, where the runtime was started with one; stays valid across restarts.
    fn terminal(&self) -> Option<Arc<dyn CellTerminal>>;
}

/// What a session asks of a runtime.
#[derive(Debug, Clone)]
pub enum RuntimeRequest {
    /// Runs a cell. Answer: `Started`, its output in order, `Finished`.
    Execute(Execute),
    /// Completes at `position`. Answer: [`Answer::Completions`].
    Complete {
        /// The text being edited.
        code: String,
        /// The cursor, in code points from the start of `code`.
        position: CodePoints,
        /// Whether the slower, deeper engine may be asked.
        deep: bool,
    },
    /// Describes what stands at `position`, or the function in whose brackets it is. Answer: [`Answer::Inspection`],
    /// whose bundle has an entry [`LOOK`].
    Inspect {
        /// The text being edited.
        code: String,
        /// The cursor, in code points from the start of `code`.
        position: CodePoints,
        /// True for sources too (`??`).
        detailed: bool,
    },
    /// Schemas of callables in the namespace. Answer: [`Answer::Tools`].
    DescribeTools {
        /// Names to look up.
        names: Vec<String>,
    },
    /// Calls a callable of the namespace. Output it prints is this id's output. Answer: [`Answer::ToolResult`].
    CallTool {
        /// Name in the namespace.
        name: String,
        /// A JSON object of keyword arguments.
        arguments: Value,
        /// Who answers `input()`; a tool owns no terminal, so never [`Stdin::Terminal`].
        stdin: Stdin,
    },
    /// Evaluates what a prompt refers to, each once: names and calls in the live namespace, other expressions in a copy
    /// of it that can change nothing. Answer: [`Answer::Evaluated`].
    Evaluate {
        /// Any text; what is no expression gives a value that failed.
        variables: Vec<String>,
        /// Shell commands, run in the interpreter's directory and environment.
        shells: Vec<String>,
    },
    /// Names that these cells bind at their top level and the namespace lacks; nothing is run. Answer:
    /// [`Answer::Missing`].
    Missing {
        /// Sources of cells, in the order they ran.
        sources: Vec<String>,
    },
    /// Runs code in a copy of the interpreter that can change nothing. Answer: [`Answer::Snapshot`].
    Snapshot {
        /// Python; the value of a last expression is the result.
        code: String,
        /// True: run even where writes cannot be prevented.
        unprotected: bool,
    },
    /// Sets strings in the namespace. Answer: [`Answer::Done`].
    SetVariables {
        /// Name and text of each.
        values: Vec<(String, String)>,
    },
    /// Answers [`RuntimeEvent::InputRequested`]; has no answer of its own.
    ReplyInput {
        /// The `call` of the request.
        call: u64,
        /// What was typed.
        reply: InputReply,
    },
    /// Answers [`RuntimeEvent::RecordRequested`]; has no answer of its own.
    ReplyRecord {
        /// The `call` of the request.
        call: u64,
        /// Where the inputs are; `None`: nothing is recorded.
        place: Option<RecordPlace>,
    },
    /// Ends the interpreter in an orderly way (at-exit functions run). Answer: [`Answer::Done`].
    Shutdown,
}

/// One cell to run.
#[derive(Debug, Clone)]
pub struct Execute {
    /// The source as typed; magics and top-level `await` included.
    pub code: String,
    /// Number shown as `In [n]`; also what `In`, `Out` and `_n` are filed under. `None`: not stored.
    pub execution_count: Option<u32>,
    /// No result display.
    pub silent: bool,
    /// Who answers `input()`.
    pub stdin: Stdin,
    /// Where the code stands; `None`: it was typed.
    pub place: Option<Place>,
}

/// Where in a script a cell stands: what its tracebacks name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
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
    /// The cell's own terminal ([`Runtime::terminal`]).
    Terminal,
    /// The front-end is asked by [`RuntimeEvent::InputRequested`].
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
pub struct RecordPlace {
    /// The file of the record.
    pub path: PathBuf,
    /// The session that runs.
    pub session: i64,
}

/// The MIME type under which a result of several parts (texts and pictures, in order) carries them: a list of bundles.
/// The other entries of such a bundle tell the whole as one text, and its first picture.
pub const PARTS: &str = "application/vnd.ipycodex.parts+json";

/// The MIME type under which an inspection carries its pieces: an object with `name`, `type`, `signature`, `mark` (start
/// and end, in code points of the signature, of the parameter the cursor is at; or null), `value` and `doc`.
pub const LOOK: &str = "application/vnd.ipycodex.inspection+json";

/// The MIME type under which help carries the source it shows: what stands before it, and the Python text.
pub const SOURCE: &str = "application/vnd.ipycodex.source+json";

/// The parts of a result, in order: itself alone unless it carries others.
pub fn parts(result: &MimeBundle) -> Vec<MimeBundle> {
    let Some(Value::Array(parts)) = result.get(PARTS) else {
        return vec![result.clone()];
    };
    let entries = parts.iter().filter_map(Value::as_object);
    let owned = |(mime, data): (&String, &Value)| (mime.clone(), data.clone());
    entries
        .map(|part| MimeBundle::new(part.iter().map(owned).collect()))
        .collect()
}

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
        display: Display,
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
    /// The cell asks for a line (only with [`Stdin::Ask`]).
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
    },
    /// `%load`, `%recall` and their like offer text for the next input.
    NextInput {
        /// Of the request.
        id: RequestId,
        /// The text.
        text: String,
    },
    /// The cell ended; the last event of its id.
    Finished {
        /// Of the request.
        id: RequestId,
        /// How.
        finish: Finish,
    },
    /// The end of any other request; the last event of its id.
    Answered {
        /// Of the request.
        id: RequestId,
        /// The answer.
        answer: Answer,
    },
    /// The interpreter is gone. Whatever was running has been finished as [`Ending::Died`] before this.
    Died {
        /// How it ended.
        death: Death,
        /// False when it died too often and is not started again before it is asked for.
        restarting: bool,
    },
    /// Something the user should know (an interpreter that printed garbage, a slow start).
    Notice(String),
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

/// A value shown by a cell.
#[derive(Debug, Clone)]
pub struct Display {
    /// The forms it comes in.
    pub bundle: MimeBundle,
    /// The value of the cell (`Out[n]`) with its number, or a display in passing.
    pub execution_count: Option<u32>,
    /// For updates of an earlier display.
    pub display_id: Option<String>,
    /// True when it replaces the earlier display of that id.
    pub update: bool,
}

/// How a cell ended.
#[derive(Debug, Clone)]
pub struct Finish {
    /// The ending.
    pub ending: Ending,
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
}

/// The answers to requests other than `Execute`.
#[derive(Debug, Clone)]
pub enum Answer {
    /// To `Complete`: at most 500, best first.
    Completions(Vec<Completion>),
    /// To `Inspect`; `None` when nothing was found.
    Inspection(Option<MimeBundle>),
    /// To `DescribeTools`: one for each name, in the order asked.
    Tools(Vec<ToolLookup>),
    /// To `CallTool`.
    ToolResult(Result<MimeBundle, CellError>),
    /// To `Evaluate`: one for each expression and each command, in the order asked.
    Evaluated {
        /// Of the expressions.
        variables: Vec<Variable>,
        /// Standard output of the commands without trailing white space, or `Error: …`.
        shells: Vec<String>,
    },
    /// To `Missing`: in the order in which they were bound first.
    Missing(Vec<String>),
    /// To `Snapshot`.
    Snapshot(Snapshot),
    /// Done, nothing to say.
    Done,
    /// The request could not be carried out.
    Failed(String),
}

/// One completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// First code point replaced.
    pub start: CodePoints,
    /// One past the last code point replaced.
    pub end: CodePoints,
    /// What stands there afterwards.
    pub text: String,
    /// `function`, `class`, `module`, `instance`, `property`, `keyword`, `param`, `key`, `magic`, `path`, … or empty.
    pub kind: String,
    /// Call signature or empty.
    pub signature: String,
    /// Name of an instance's type, or empty.
    pub type_name: String,
    /// There in every session: not a name the user has made.
    pub everywhere: bool,
}

/// What an expression of a prompt gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    /// It has a value.
    Value {
        /// As written.
        expression: String,
        /// Name of the value's type.
        type_name: String,
        /// `str()` of it, cut when it is huge; `Error: …` when it raised or took too long.
        text: String,
        /// A picture of it as a `data:` URL, for values that are pictures.
        image: Option<String>,
        /// True when the text says why there is none.
        failed: bool,
    },
    /// It uses names the namespace does not have.
    Undefined {
        /// As written.
        expression: String,
        /// Those names.
        names: Vec<String>,
    },
}

/// What came of a look at the namespace.
#[derive(Debug, Clone)]
pub enum Snapshot {
    /// The code ran in the copy.
    Ran {
        /// What it printed.
        printed: String,
        /// The value of its last expression (an empty bundle: none), or what it raised.
        result: Result<MimeBundle, CellError>,
    },
    /// Nothing ran: here nothing could keep it from changing files. Why, in one line.
    Unprotected(String),
}

/// What looking up a tool found.
#[derive(Debug, Clone)]
pub enum ToolLookup {
    /// A callable.
    Found {
        /// Name in the namespace.
        name: String,
        /// From its docstring; may be empty.
        description: String,
        /// JSON schema of its keyword arguments.
        schema: Value,
    },
    /// No such name.
    Missing(String),
    /// The name is bound to something that cannot be called.
    NotCallable(String),
}

/// What is known of a started interpreter.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeInfo {
    /// Process id.
    pub pid: u32,
    /// Path it was started from.
    pub executable: String,
    /// `3.11.7`.
    pub python: String,
    /// IPython's version, or `None` with the built-in engine.
    pub ipython: Option<String>,
    /// From spawn to ready, in ms.
    pub milliseconds: f64,
    /// False for the first one, true after a death.
    pub restarted: bool,
}

/// Why no interpreter runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFailure {
    /// One line, naming the interpreter.
    pub message: String,
    /// What the user can do.
    pub hint: String,
}

/// How an interpreter ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    /// With an exit code of its own.
    Exited(i32),
    /// By a signal (number).
    Signalled(i32),
    /// Killed on the user's request.
    Killed,
    /// It never came up.
    NotStarted(StartFailure),
    /// It broke the protocol; what it sent.
    Confused(String),
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Death::Exited(code) => write!(f, "exit code {code}"),
            Death::Signalled(9) => f.write_str("killed (SIGKILL: out of memory?)"),
            Death::Signalled(signal) => write!(f, "signal {}", signal_name(*signal)),
            Death::Killed => f.write_str("killed on request"),
            Death::NotStarted(failure) => f.write_str(&failure.message),
            Death::Confused(what) => write!(f, "it broke the protocol: {what}"),
        }
    }
}

/// `SIGSEGV` for 11; the number itself for signals without a common name.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        other => return other.to_string(),
    };
    name.to_owned()
}

/// Stops what runs, from any thread, without waiting in the request queue.
pub trait Interrupter: Send + Sync {
    /// Sends an interrupt (`KeyboardInterrupt`) to the running cell and its children; nothing when idle.
    fn interrupt(&self);

    /// Ends the interpreter at once; its variables are lost. The next cell gets a new one.
    fn kill(&self);
}

/// The terminal a cell owns while it runs.
pub trait CellTerminal: Send + Sync {
    /// Types bytes for the cell that runs and returns how many of them it took, from the front: none when no cell
    /// runs, fewer than all when its terminal is full. What was taken and not read comes back as
    /// [`Finish::typeahead`]; the rest is still the caller's. Never blocks.
    fn type_bytes(&self, bytes: &[u8]) -> usize;

    /// Takes back the whole lines that were typed for the cell and that it has not read; none when its terminal is
    /// not in line mode. The line being typed stays.
    fn take_lines(&self) -> Vec<u8>;

    /// True while there are such lines.
    fn has_lines(&self) -> bool;

    /// Tells the cell the new size.
    fn resize(&self, size: TerminalSize);

    /// How the cell's terminal treats input at this moment.
    fn mode(&self) -> TerminalMode;
}

/// Size in character cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Width.
    pub columns: u16,
    /// Height.
    pub rows: u16,
}

/// Input treatment of a terminal (termios local flags).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalMode {
    /// ISIG: control characters make signals.
    pub signals: bool,
    /// ICANON: input comes in lines. False while a full-screen program or a line editor runs.
    pub canonical: bool,
    /// A program started by the cell (`!vim`, `!less`) owns the terminal at this moment.
    pub foreground_program: bool,
}
