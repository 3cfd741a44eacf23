//! Events and effects of the prompt machine, and the session state a prompt may read.

use std::time::Instant;

use super::turn::TurnEffect;
use crate::agent::{AgentEvent, QuestionAnswer, TurnRequest, Usage};
use crate::attachments::Attachments;
use crate::dialog::Dialog;
use crate::events::{SessionEvent, TurnOutcome};
use crate::outputs::Outputs;
use crate::record::{PromptStart, RecordedThread};
use crate::runtime::{RuntimeCapabilities, RuntimeReply, RuntimeRequest};
use crate::tool_return::ToolReturn;

pub(crate) enum PromptEvent {
    /// The conversation from the record without the entries that the prompt replaces, and the files that the prompt
    /// names.
    RecordRead(Box<Dialog>, Attachments),
    /// The answer to the last [`PromptEffect::AskRuntime`].
    RuntimeAnswered(RuntimeReply),
    /// The answer to [`PromptEffect::AskAboutPictures`]; true: send the prompt without its pictures.
    PictureQuestionAnswered(bool),
    /// The agent has ended the interrupted turn.
    AgentIdle,
    Agent(AgentEvent),
    ToolReturned(ToolReturn),
    /// The user answered a question of the agent: the agent's id of the question, and the answer.
    AgentQuestionAnswered(String, QuestionAnswer),
    /// Tokens of a request that code of the turn made beside it.
    SideUsage(Usage),
    /// No code of the turn runs any more.
    ToolsStopped,
    Interrupted,
    /// Save the answer so far if due.
    Tick,
    /// Save the answer so far in any case.
    SaveNow,
}

#[derive(Debug)]
pub(crate) enum PromptEffect {
    Show(SessionEvent),
    /// Warn once per agent about features the agent does not support: a key, and the text.
    WarnUnsupported(Vec<(&'static str, String)>),
    /// [`PromptEvent::RuntimeAnswered`] follows.
    AskRuntime(RuntimeRequest),
    /// Ask whether to send the prompt without its pictures: the reasons why they cannot be sent.
    /// [`PromptEvent::PictureQuestionAnswered`] follows.
    AskAboutPictures(Vec<String>),
    WithdrawPictureQuestion,
    /// Interrupt the evaluation of the prompt's references.
    InterruptRuntime,
    RecordStart(PromptStart),
    StartTurn(Box<TurnRequest>),
    /// An effect of the turn; never [`TurnEffect::End`].
    Turn(TurnEffect),
    /// Record the answer so far, in its stored form.
    SaveAnswer(String),
    /// Withdraw questions and cancel tool calls; [`PromptEvent::ToolsStopped`] follows when no code of the turn runs.
    CancelTools,
    RecordEnd(Box<PromptOutcome>),
    /// The prompt is over: the scheduler may start the next job.
    Done,
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
}

pub(crate) struct PromptContext<'a> {
    pub now: Instant,
    pub outputs: &'a Outputs,
    /// Each `SKILL.md` loaded since the previous prompt.
    pub skills: &'a [String],
    pub runtime: &'a RuntimeCapabilities,
}
