//! Requests outside of turns: a completion at the cursor, a question of code that the agent runs.

use std::path::PathBuf;

use serde_json::Value;

use super::failure::AgentFailure;
use super::settings::Effort;
use super::turn::Usage;

/// The text the model gave, as it came, or why there is none.
pub type SuggestReply = Result<String, AgentFailure>;

/// Everything one completion needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestRequest {
    /// System prompt of completions.
    pub instructions: String,
    /// Context, the text around the cursor, and what to do with it.
    pub input: String,
    /// `None`: the agent's own default.
    pub model: Option<String>,
    /// Directory of the session.
    pub cwd: PathBuf,
}

/// A question that is answered without the conversation and without tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsultRequest {
    /// The question, as a completion would be asked for.
    pub question: SuggestRequest,
    /// How much to think.
    pub effort: Effort,
    /// JSON schema the answer shall fit.
    pub schema: Option<Value>,
}

/// The answer, or why there is none.
pub type ConsultReply = Result<ConsultAnswer, AgentFailure>;

/// An answer beside the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsultAnswer {
    /// The last thing the model said.
    pub text: String,
    /// Tokens, when the agent told.
    pub usage: Option<Usage>,
}
