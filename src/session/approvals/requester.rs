//! Who asks the user a question and gets the reply.

use std::path::PathBuf;

use crate::agent::{QuestionAnswer, QuestionOption};
use crate::ids::ToolCaller;
use crate::question::Reply;
use crate::replacement_plan::ReplacementRequest;
use crate::rewind_plan::RewindRequest;
use crate::undo::UndoRequest;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApprovalRequester {
    Agent {
        /// The agent's id of the question.
        question: String,
        /// The answers that the agent accepts.
        options: Vec<QuestionOption>,
        /// A no may carry its reason.
        reasons: bool,
        /// It only wants to read.
        reads: bool,
    },
    /// The active tool call of this caller.
    Tool(ToolCaller),
    Startup,
    /// A command that undoes an exchange.
    Undo(UndoRequest),
    /// A prompt that replaces earlier entries, or a fork of the session.
    Replacement(ReplacementRequest),
    /// Files that steps have changed.
    Rewind(Box<RewindRequest>),
    /// The merge of a branch: about this name.
    Merge {
        branch: u32,
        name: String,
    },
    /// What the turn beside the prompt with this number has left.
    Offer(u32),
    /// A resumed session; the file holds its variables.
    RestoreVariables(PathBuf),
    /// The active prompt, before the agent gets it.
    Prompt,
    /// The end of a turn in plan mode that gave these steps.
    Plan(Vec<String>),
}

impl ApprovalRequester {
    /// Returns the answers that the requester lists; empty where it lists none.
    pub(super) fn options(&self) -> &[QuestionOption] {
        match self {
            ApprovalRequester::Agent { options, .. } => options,
            ApprovalRequester::Tool(_)
            | ApprovalRequester::Startup
            | ApprovalRequester::Undo(_)
            | ApprovalRequester::Replacement(_)
            | ApprovalRequester::Rewind(_)
            | ApprovalRequester::Merge { .. }
            | ApprovalRequester::Offer(_)
            | ApprovalRequester::RestoreVariables(_)
            | ApprovalRequester::Plan(_)
            | ApprovalRequester::Prompt => &[],
        }
    }

    /// Returns true when an option of the requester grants no more than this reply.
    pub(super) fn takes(&self, reply: &Reply) -> bool {
        match self {
            ApprovalRequester::Agent { options, .. } => {
                reply.for_agent(options) != QuestionAnswer::Declined
            }
            ApprovalRequester::Tool(_)
            | ApprovalRequester::Startup
            | ApprovalRequester::Undo(_)
            | ApprovalRequester::Replacement(_)
            | ApprovalRequester::Rewind(_)
            | ApprovalRequester::Merge { .. }
            | ApprovalRequester::Offer(_)
            | ApprovalRequester::RestoreVariables(_)
            | ApprovalRequester::Plan(_)
            | ApprovalRequester::Prompt => true,
        }
    }
}
