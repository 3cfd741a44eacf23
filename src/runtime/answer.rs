//! The answers to requests other than cells.

use serde_json::Value;

use super::checkpoints::{CheckpointStep, Checkpoints};
use super::variables::SavedVariables;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::text::offset::CodePoints;

/// The MIME type under which a result of several parts (texts and pictures, in order) carries them: a list of bundles.
/// The other entries of such a bundle tell the whole as one text, and its first picture.
pub const PARTS_MIME: &str = "application/vnd.ipycodex.parts+json";

/// The MIME type under which an inspection carries its pieces: an object with `name`, `type`, `signature`, `mark`
/// (start and end, in code points of the signature, of the parameter the cursor is at; or null), `value` and `doc`.
pub const INSPECTION_MIME: &str = "application/vnd.ipycodex.inspection+json";

/// The MIME type under which help carries the source it shows: what stands before it, and the Python text.
pub const SOURCE_MIME: &str = "application/vnd.ipycodex.source+json";

/// The parts of a result, in order: itself alone unless it carries others.
pub fn split_parts(result: &MimeBundle) -> Vec<MimeBundle> {
    let Some(Value::Array(parts)) = result.get(PARTS_MIME) else {
        return vec![result.clone()];
    };
    let entries = parts.iter().filter_map(Value::as_object);
    let owned = |(mime, data): (&String, &Value)| (mime.clone(), data.clone());
    entries
        .map(|part| MimeBundle::new(part.iter().map(owned).collect()))
        .collect()
}

/// The answers to requests other than `Execute`.
#[derive(Debug, Clone)]
pub enum RuntimeReply {
    /// To `Complete`: at most 500, best first.
    Completions(Vec<Completion>),
    /// To `Inspect`; `None` when nothing was found.
    Inspection(Option<MimeBundle>),
    /// To `IsComplete`.
    Completeness(Completeness),
    /// To `DescribeTools`: one for each name, in the order asked.
    Tools(Vec<ToolLookup>),
    /// To `CallTool`.
    ToolResult(Result<MimeBundle, CellError>),
    /// To `Evaluate`: one for each expression and each command, in the order asked.
    Evaluated {
        /// Of the expressions.
        variables: Vec<ReferenceValue>,
        /// Standard output of the commands without trailing white space, or `Error: …`.
        shells: Vec<String>,
    },
    /// To `Express`: one for each expression, in the order asked.
    Expressed(Vec<Result<MimeBundle, CellError>>),
    /// To `Missing`: in the order in which they were bound first.
    Missing(Vec<String>),
    /// To `Snapshot`.
    Snapshot(Snapshot),
    /// To `Checkpoints` that ask which there are.
    Checkpoints(Checkpoints),
    /// To `Checkpoints` that ask for a step.
    Stepped(Box<CheckpointStep>),
    /// To `Variables`.
    Variables(SavedVariables),
    /// Done, nothing to say.
    Done,
    /// The request could not be carried out.
    Failed(String),
    /// This runtime cannot carry out such requests at all: why, for the user and the model.
    Unsupported(String),
}

/// Whether a text could be run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completeness {
    /// Yes.
    Complete,
    /// It goes on; the next line begins with this.
    Incomplete(String),
    /// It never will be.
    Invalid,
    /// Nobody knows.
    Unknown,
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
pub enum ReferenceValue {
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
