//! A completion at the cursor, as an agent is asked for one.

use std::path::PathBuf;

use super::failure::AgentFailure;

/// The text the model gave, as it came, or why there is none.
pub type Suggested = Result<String, AgentFailure>;

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
