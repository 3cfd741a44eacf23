//! What a runtime can do beside running cells, and the answer where it cannot.
//!
//! A session obeys every field: what is not there is not offered, and said plainly where a user asks for it.

use super::answer::RuntimeReply;
use super::request::{RuntimeRequest, Stdin};

/// What a runtime can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeCapabilities {
    /// What its cells are written in, as a reader of English knows it: `Python`, `R`.
    pub language: String,
    /// What cells take beside the language, in a sentence for a model; empty: nothing.
    pub cells: String,
    /// How it completes.
    pub completion: CompletionSupport,
    /// Describes what stands at the cursor.
    pub inspection: bool,
    /// Describes and calls functions of the namespace.
    pub tools: bool,
    /// Evaluates what prompts refer to, tells which names there are, and takes variables.
    pub references: bool,
    /// Evaluates expressions as cells show their values.
    pub expressions: bool,
    /// Runs code in a copy that can change nothing.
    pub snapshot: bool,
    /// Goes back to where it was before a cell.
    pub checkpoints: bool,
    /// Keeps variables in a file, and brings them back.
    pub saved_variables: bool,
    /// Takes what users have done before their first cell.
    pub startup: bool,
    /// Cells may ask for input.
    pub input: bool,
    /// Cells may own a terminal.
    pub terminal: bool,
    /// A running cell can be interrupted.
    pub interrupt: bool,
    /// The interpreter can be ended, and a new one takes its place.
    pub restart: bool,
    /// Objects of the interpreter and of a front-end exchange messages.
    pub comms: bool,
    /// The interpreter was there before the session, and stays after it.
    pub attached: bool,
}

/// How a runtime completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionSupport {
    /// Not at all.
    None,
    /// As fast as one types.
    Quick,
    /// That, and slower and deeper where it is asked to.
    Deep,
}

impl RuntimeCapabilities {
    /// All there is, for this language.
    pub fn all(language: &str) -> Self {
        RuntimeCapabilities {
            language: language.to_owned(),
            cells: String::new(),
            completion: CompletionSupport::Deep,
            inspection: true,
            tools: true,
            references: true,
            expressions: true,
            snapshot: true,
            checkpoints: true,
            saved_variables: true,
            startup: true,
            input: true,
            terminal: true,
            interrupt: true,
            restart: true,
            comms: true,
            attached: false,
        }
    }

    /// Runs cells of this language, and no more.
    pub fn cells_only(language: &str) -> Self {
        RuntimeCapabilities {
            language: language.to_owned(),
            cells: String::new(),
            completion: CompletionSupport::None,
            inspection: false,
            tools: false,
            references: false,
            expressions: false,
            snapshot: false,
            checkpoints: false,
            saved_variables: false,
            startup: false,
            input: false,
            terminal: false,
            interrupt: false,
            restart: false,
            comms: false,
            attached: false,
        }
    }

    /// Who answers the `input()` of a cell, where `wanted` would.
    pub fn stdin(&self, wanted: Stdin) -> Stdin {
        match wanted {
            _ if !self.input => Stdin::Refuse,
            Stdin::Terminal if !self.terminal => Stdin::Ask,
            wanted => wanted,
        }
    }

    /// The answer to a request that it cannot carry out; `None`: it can be asked.
    pub fn refusal(&self, request: &RuntimeRequest) -> Option<RuntimeReply> {
        let (able, answer) = match request {
            RuntimeRequest::Complete { .. } => (
                self.completion != CompletionSupport::None,
                RuntimeReply::Completions(Vec::new()),
            ),
            RuntimeRequest::Inspect { .. } => (self.inspection, RuntimeReply::Inspection(None)),
            RuntimeRequest::DescribeTools { .. } | RuntimeRequest::CallTool { .. } => {
                (self.tools, self.unable("cannot offer functions as tools"))
            }
            RuntimeRequest::Evaluate { .. } => (
                self.references,
                self.unable("cannot evaluate references (`$name`)"),
            ),
            RuntimeRequest::EvaluateExpressions { .. } => {
                (self.expressions, self.unable("evaluates no expressions"))
            }
            RuntimeRequest::FindMissingNames { .. } | RuntimeRequest::SetVariables { .. } => {
                (self.references, self.unable("cannot list its variables"))
            }
            RuntimeRequest::Comm(_) => (
                self.comms,
                self.unable("does not support widgets (comm messages)"),
            ),
            RuntimeRequest::Snapshot { .. } | RuntimeRequest::Branch(_) => (
                self.snapshot,
                self.unable("cannot run code in a read-only copy"),
            ),
            RuntimeRequest::Checkpoints(_) => (
                self.checkpoints,
                self.unable("does not support checkpoints, so it cannot step back"),
            ),
            RuntimeRequest::Variables { .. } => {
                (self.saved_variables, self.unable("cannot keep variables"))
            }
            RuntimeRequest::DryRun { .. } => (self.checkpoints, self.unable("cannot do dry runs")),
            RuntimeRequest::Execute(_)
            | RuntimeRequest::Startup(_)
            | RuntimeRequest::IsComplete { .. }
            | RuntimeRequest::ReplyInput { .. }
            | RuntimeRequest::ReplyRecord { .. }
            | RuntimeRequest::ReplyCall { .. }
            | RuntimeRequest::Shutdown { .. } => return None,
        };
        (!able).then_some(answer)
    }

    fn unable(&self, what: &str) -> RuntimeReply {
        RuntimeReply::Unsupported(format!("the {} runtime {what}", self.language))
    }
}
