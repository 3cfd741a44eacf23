//! Replies to requests other than cells, as [`RuntimeEvent::Replied`](super::RuntimeEvent::Replied) carries them.
//!
//! Invariant: on success each request is answered by one variant, named in `request.rs`; `Failed` and `Unsupported`
//! may answer any of them.

use serde_json::Value;

use super::handoff::{BackgroundReply, Branch};
use super::look_back::LookBack;
use super::saved_state::{CheckpointStep, Checkpoints, SavedVariables};
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::text::offset::CodePoints;

/// MIME type of a result of several parts (texts and pictures, in order): a list of bundles. The other entries of
/// such a bundle render the whole as one text, and its first picture.
pub const PARTS_MIME: &str = "application/vnd.ipycodex.parts+json";

/// MIME type of the pieces of an inspection: an object with `name`, `type`, `signature`, `mark` (start and end, in
/// code points of the signature, of the parameter at the cursor; or null), `value` and `doc`.
pub const INSPECTION_MIME: &str = "application/vnd.ipycodex.inspection+json";

/// MIME type of the source that help shows: the text before the source, and the Python text.
pub const SOURCE_MIME: &str = "application/vnd.ipycodex.source+json";

/// Returns the parts of a result, in order; a result without [`PARTS_MIME`] is its own single part.
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

/// Replies to requests other than `Execute`.
#[derive(Debug, Clone)]
pub enum RuntimeReply {
    /// To `Complete`: at most 500 completions, best first.
    Completions(Vec<Completion>),
    /// To `Inspect`; `None` when nothing was found.
    Inspection(Option<MimeBundle>),
    /// To `IsComplete`.
    Completeness(Completeness),
    /// To `DescribeTools`: one lookup for each name, in the order of the request.
    Tools(Vec<ToolLookup>),
    /// To `CallTool`: the result, or the exception the function raised.
    ToolResult(Result<MimeBundle, CellError>),
    /// To `Evaluate`: one value for each expression and each command, in the order of the request.
    Evaluated {
        /// Values of the expressions.
        variables: Vec<ReferenceValue>,
        /// Standard output of the commands without trailing white space, or `Error: …`.
        shells: Vec<String>,
    },
    /// To `EvaluateExpressions`: one for each expression, in the order of the request.
    Expressed(Vec<Result<MimeBundle, CellError>>),
    /// To `FindMissingNames`: the names in the order in which they were first bound.
    Missing(Vec<String>),
    /// To `Snapshot`, `DryRun` and `Branch`.
    Snapshot(Snapshot),
    /// To `Checkpoints` requests that set the limit or list the checkpoints.
    Checkpoints(Checkpoints),
    /// To `Checkpoints` requests that step.
    Stepped(Box<CheckpointStep>),
    /// To `LookBack`.
    LookedBack(LookBack),
    /// To `Variables`.
    Variables(SavedVariables),
    /// To `HandOff`: the cell goes on there. To `Fork`: the new interpreter.
    Branch(Branch),
    /// To `Background`.
    Background(Box<BackgroundReply>),
    /// The request was carried out and has no result.
    Done,
    /// The request could not be carried out; the reason.
    Failed(String),
    /// This runtime supports no such request; the reason, for the user and the model.
    Unsupported(String),
}

/// Result of asking if a text can be run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completeness {
    /// The text can be run.
    Complete,
    /// The text goes on; holds the indentation of the next line.
    Incomplete(String),
    /// No further line can make the text valid.
    Invalid,
    /// The runtime cannot tell.
    Unknown,
}

/// One completion, with the range it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// First code point to replace.
    pub start: CodePoints,
    /// One past the last code point to replace.
    pub end: CodePoints,
    /// Replacement text.
    pub text: String,
    /// `function`, `class`, `module`, `instance`, `property`, `keyword`, `param`, `key`, `magic`, `path`, … or empty.
    pub kind: String,
    /// Call signature, or empty.
    pub signature: String,
    /// Type name of an instance, or empty.
    pub type_name: String,
    /// The name exists in every session (a builtin, a keyword): the user did not define it.
    pub everywhere: bool,
}

/// Value of an expression that a prompt refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceValue {
    /// The expression was evaluated, or failed.
    Value {
        /// The expression as written in the prompt.
        expression: String,
        /// Name of the value's type.
        type_name: String,
        /// `str()` of the value, cut when it is huge; `Error: …` when it raised or took too long.
        text: String,
        /// The value as a `data:` URL, for values that are pictures.
        image: Option<String>,
        /// True when `text` says why there is no value.
        failed: bool,
    },
    /// The expression uses names that the namespace lacks.
    Undefined {
        /// The expression as written in the prompt.
        expression: String,
        /// The missing names.
        names: Vec<String>,
    },
}

/// Result of running code in a copy of the interpreter.
#[derive(Debug, Clone)]
pub enum Snapshot {
    /// The code ran in the copy.
    Ran {
        /// Text that the code printed.
        printed: String,
        /// Value of the last expression (an empty bundle when there is none), or the exception.
        result: Result<MimeBundle, CellError>,
    },
    /// Nothing ran, because this system cannot keep the code from changing files; the reason, in one line.
    Unprotected(String),
}

/// Result of looking up a tool by name.
#[derive(Debug, Clone)]
pub enum ToolLookup {
    /// A callable.
    Found {
        /// Name in the namespace.
        name: String,
        /// Description from its docstring; may be empty.
        description: String,
        /// JSON schema of its keyword arguments.
        schema: Value,
    },
    /// The namespace has no such name.
    Missing(String),
    /// The name is bound to something that cannot be called.
    NotCallable(String),
}
