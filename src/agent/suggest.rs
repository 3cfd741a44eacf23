//! Requests outside of turns: a completion at the cursor, a question of code that the agent runs.

use std::path::PathBuf;

use serde_json::Value;

use super::failure::AgentFailure;
use super::settings::Effort;
use super::turn::Usage;

/// The model's text, unchanged, or the failure.
pub type SuggestReply = Result<String, AgentFailure>;

/// Everything one completion needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestRequest {
    /// System prompt of completions.
    pub instructions: String,
    /// Context, the text around the cursor, and the task.
    pub input: String,
    /// Name of the model; `None`: the agent's default.
    pub model: Option<String>,
    /// Directory of the session.
    pub cwd: PathBuf,
}

/// A question that is answered without the conversation and without tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsultRequest {
    /// The question, in the form of a completion request.
    pub question: SuggestRequest,
    /// Reasoning effort.
    pub effort: Effort,
    /// JSON schema that the answer must fit.
    pub schema: Option<Value>,
}

/// The answer, or the failure.
pub type ConsultReply = Result<ConsultAnswer, AgentFailure>;

/// An answer beside the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsultAnswer {
    /// The model's last message.
    pub text: String,
    /// Tokens used, if the agent reports them.
    pub usage: Option<Usage>,
}
