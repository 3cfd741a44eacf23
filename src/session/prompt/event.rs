//! Events of the prompt machine, and the session state a prompt may read.

use std::time::Instant;

use crate::agent::{AgentEvent, QuestionAnswer, TurnId, Usage};
use crate::attachments::Attachments;
use crate::dialog::Dialog;
use crate::events::TurnOutcome;
use crate::ids::JobId;
use crate::outputs::Outputs;
use crate::record::RecordedThread;
use crate::runtime::{RuntimeCapabilities, RuntimeReply};
use crate::runtimes::RuntimeRole;
use crate::tool_return::ToolReturn;

pub(crate) enum PromptEvent {
    /// The conversation from the record without the entries that the prompt replaces, and the files that the prompt
    /// names; for a preview the tokens of the last turn that told the size of the model's window.
    RecordRead(Box<Dialog>, Attachments, Option<Usage>),
    /// The answer to the last request to the runtime.
    RuntimeAnswered(RuntimeReply),
    /// The answer to the question about pictures; true: send the prompt without its pictures.
    PictureQuestionAnswered(bool),
    /// The agent has ended the interrupted turn.
    AgentIdle,
    TurnStarted(TurnId),
    Agent(AgentEvent),
    /// The result of the call, and the cells whose output it holds.
    ToolReturned(ToolReturn, Vec<u32>),
    /// The user answered a question of the agent: the agent's id of the question, and the answer.
    AgentQuestionAnswered(String, QuestionAnswer),
    /// Tokens of a request that code of the turn made beside it.
    SideUsage(Usage),
    /// No code of the turn runs any more.
    ToolsStopped,
    Interrupted,
    /// More input for the running turn.
    Steer(String),
    /// Save the answer so far if due.
    Tick,
}

/// How a prompt that is in the record ended.
#[derive(Debug)]
pub(crate) struct PromptOutcome {
    pub outcome: TurnOutcome,
    /// `None` when the prompt was interrupted before it was sent.
    pub exchange: Option<CompletedExchange>,
    pub usage: Option<Usage>,
}

/// The prompt as sent, and the answer.
#[derive(Debug)]
pub(crate) struct CompletedExchange {
    pub prompt: String,
    /// The answer in its stored form.
    pub stored: String,
    /// The texts of the answer, in order.
    pub texts: Vec<String>,
    /// The thread to continue.
    pub thread: Option<RecordedThread>,
    /// All text that was sent, when exact logging is on.
    pub sent: Option<String>,
    /// The steps of the plan, where the user is to decide about one.
    pub plan: Vec<String>,
}

pub(crate) struct PromptContext<'a> {
    /// The prompt's own id.
    pub job: JobId,
    /// The runtime that runs code of the prompt's tools; else the user's.
    pub role: RuntimeRole,
    pub now: Instant,
    pub outputs: &'a Outputs,
    /// Each `SKILL.md` loaded since the previous prompt.
    pub skills: &'a [String],
    pub runtime: &'a RuntimeCapabilities,
}
