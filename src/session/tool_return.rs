//! The result of a tool, for the agent's turn and for the record.

use crate::agent::InputPart;
use crate::question::Reply;

#[derive(Debug, Clone)]
pub(super) struct ToolReturn {
    /// For the record and for display.
    pub text: String,
    /// For the model.
    pub content: Vec<InputPart>,
    /// False for exceptions and refusals.
    pub success: bool,
    /// The user has just refused it.
    pub denied: bool,
}

impl ToolReturn {
    pub(super) fn text(text: String) -> Self {
        ToolReturn {
            content: vec![InputPart::Text(text.clone())],
            text,
            success: true,
            denied: false,
        }
    }

    pub(super) fn failed(why: &str) -> Self {
        ToolReturn {
            success: false,
            ..ToolReturn::text(format!("Error: {why}"))
        }
    }

    /// Creates a refusal by the user: `what` did not happen, and why.
    pub(super) fn denied(what: &str, reply: &Reply) -> Self {
        ToolReturn {
            denied: true,
            ..ToolReturn::failed(&format!("{what}{}", reply.reason()))
        }
    }
}
