//! Capabilities of a runtime beside running cells, and the reply where one is missing.
//!
//! Invariant: a session respects every field. A missing capability is not offered, and reported plainly where a
//! user asks for it.

use super::answer::RuntimeReply;
use super::request::{RuntimeRequest, Stdin};

/// Capabilities of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeCapabilities {
    /// Language of its cells, as a display name: `Python`, `R`.
    pub language: String,
    /// Syntax that cells accept beside the language, in a sentence for a model; may be empty.
    pub cells: String,
    /// Level of completion.
    pub completion: CompletionSupport,
    /// Describes the object at the cursor.
    pub inspection: bool,
    /// Describes and calls functions of the namespace as tools.
    pub tools: bool,
    /// Evaluates the references of prompts, finds missing names, and sets variables.
    pub references: bool,
    /// Evaluates expressions and returns their values as cells would show them.
    pub expressions: bool,
    /// Runs code in a copy of the interpreter that can change nothing.
    pub snapshot: bool,
    /// Steps back to the state before a cell.
    pub checkpoints: bool,
    /// Saves variables in a file and restores them.
    pub saved_variables: bool,
    /// Accepts a [`StartupPlan`](super::StartupPlan) before the first cell.
    pub startup: bool,
    /// Cells may ask for input.
    pub input: bool,
    /// Cells may own a terminal.
    pub terminal: bool,
    /// A running cell can be interrupted.
    pub interrupt: bool,
    /// The interpreter can be shut down and replaced by a new one.
    pub restart: bool,
    /// Objects of the interpreter exchange comm messages with a front-end.
    pub comms: bool,
    /// The interpreter existed before the session, and outlives it.
    pub attached: bool,
}

/// Levels of completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionSupport {
    /// No completion.
    None,
    /// Completion fast enough for every keystroke.
    Quick,
    /// As `Quick`, and a slower, deeper engine on request.
    Deep,
}

impl RuntimeCapabilities {
    /// Returns every capability, for this language.
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

    /// Returns the capability to run cells of this language, and no other.
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

    /// Returns who answers the `input()` of a cell: `wanted`, or the nearest that the runtime supports.
    pub fn stdin(&self, wanted: Stdin) -> Stdin {
        match wanted {
            _ if !self.input => Stdin::Refuse,
            Stdin::Terminal if !self.terminal => Stdin::Ask,
            wanted => wanted,
        }
    }

    /// Returns the reply to a request that the runtime does not support; `None` when it does.
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
            RuntimeRequest::LookBack(_) => (
                self.checkpoints,
                self.unable("does not support checkpoints, so it cannot look back"),
            ),
            RuntimeRequest::Fork { .. } => (
                self.checkpoints,
                self.unable("does not support checkpoints, so no agent can work beside it"),
            ),
            RuntimeRequest::HandOff { .. }
            | RuntimeRequest::TakeBack(_)
            | RuntimeRequest::Background(_) => (
                self.checkpoints,
                self.unable("does not support checkpoints, so no cell can go to the background"),
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
