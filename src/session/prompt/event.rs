//! The words of a prompt's life: what happens to it, what is to be done.

use std::time::Instant;

use super::turn::TurnAction;
use crate::agent::{AgentEvent, QuestionAnswer, TurnRequest, Usage};
use crate::dialog::Dialog;
use crate::history::{PromptStart, RecordedThread};
use crate::runtime::{RuntimeAnswer, RuntimeCapabilities, RuntimeRequest};
use crate::session::attached::Attached;
use crate::session::events::{SessionEvent, TurnOutcome};
use crate::session::outputs::Outputs;
use crate::session::tool_return::ToolReturn;

/// What can happen to a prompt.
pub(in crate::session) enum PromptEvent {
    /// The conversation, as the record has it, without what the prompt replaces; and the files that the prompt names.
    RecordRead(Box<Dialog>, Attached),
    /// The runtime answered what was asked last.
    Answered(RuntimeAnswer),
    /// The user was asked whether it goes without its pictures, and has said so, or not.
    WithoutPictures(bool),
    /// The agent has ended the turn that was stopped.
    AgentFree,
    /// The agent said something of this turn.
    Agent(AgentEvent),
    /// The tool that was called returned.
    ToolReturned(ToolReturn),
    /// The user answered what the agent asked: its id of the question, and the answer.
    AgentAnswered(String, QuestionAnswer),
    /// Code of the turn asked something beside it, which has used this.
    UsedBeside(Usage),
    /// No code of the turn runs any more.
    ToolsAway,
    /// The user pressed Ctrl-C.
    Interrupted,
    /// The answer so far is to be saved when that is due.
    Tick,
    /// It is to be saved in any case.
    SaveNow,
}

/// What is to be done.
#[derive(Debug)]
pub(in crate::session) enum PromptAction {
    /// Show this.
    Show(SessionEvent),
    /// Say each of these once for every agent: what it cannot do.
    Lacking(Vec<(&'static str, String)>),
    /// Ask the runtime; [`PromptEvent::Answered`] is owed.
    AskRuntime(RuntimeRequest),
    /// Ask whether it goes without its pictures, which cannot be sent: why; [`PromptEvent::WithoutPictures`] is owed.
    AskAboutPictures(Vec<String>),
    /// The answer to that is not waited for any more.
    AskNoMore,
    /// Interrupt what the runtime does for it.
    InterruptRuntime,
    /// Record that it is sent.
    Begin(PromptStart),
    /// Hand it to the agent.
    Start(Box<TurnRequest>),
    /// What the turn wants; never its end.
    Turn(TurnAction),
    /// Record the answer so far.
    Save(String),
    /// Drop what is asked and called for it; [`PromptEvent::ToolsAway`] comes when nothing of it runs.
    PutAway,
    /// Record its end.
    Finish(Box<Finished>),
    /// It is over: the floor is free.
    Leave,
}

/// How a prompt that is in the record ended.
#[derive(Debug)]
pub(in crate::session) struct Finished {
    /// How.
    pub outcome: TurnOutcome,
    /// What the agent was sent and what it answered; `None` when it was stopped before it was sent.
    pub exchange: Option<Exchanged>,
    /// Tokens, when the agent told.
    pub usage: Option<Usage>,
}

/// What went to and fro.
#[derive(Debug)]
pub(in crate::session) struct Exchanged {
    /// The prompt, without its dot.
    pub prompt: String,
    /// The answer in its stored form.
    pub stored: String,
    /// The texts of the answer, in order.
    pub said: Vec<String>,
    /// The thread to go on with.
    pub thread: Option<RecordedThread>,
    /// All text that was sent, where it is logged.
    pub sent: Option<String>,
}

/// What a prompt may look at.
pub(in crate::session) struct Around<'a> {
    pub now: Instant,
    pub outputs: &'a Outputs,
    /// Each `SKILL.md` loaded since the prompt before.
    pub skills: &'a [String],
    /// What the runtime can do.
    pub able: &'a RuntimeCapabilities,
}
