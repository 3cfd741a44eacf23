//! What one machine of the session wants of another: an event of the queue, never a call.

use crate::runtime::{HostRequest, RuntimeEvent};
use crate::session::approvals::ApprovalRequester;
use crate::session::effect::Effect;
use crate::session::ids::{CallId, JobId, ToolCaller};
use crate::session::prompt::PromptEvent;
use crate::session::question::Reply;
use crate::session::run::RunSender;
use crate::session::runtimes::RuntimeRole;
use crate::session::tool_return::ToolReturn;
use crate::session::tools::ToolEvent;

pub(super) enum Event {
    /// The user stops what is active.
    Interrupted,
    /// The end of an interpreter was reported to the user.
    DeathTold,
    /// No job is active, or a queued one has begun: begin the next.
    Advance,
    /// For the active prompt.
    Prompt(PromptEvent),
    /// For this prompt, while it is active.
    PromptOf(JobId, PromptEvent),
    /// For the active call of this caller.
    Tool(ToolCaller, ToolEvent),
    /// For this call, while it is active.
    ToolOf(CallId, ToolEvent),
    ToolDone(ToolCaller, ToolReturn),
    /// The active job, a call, is over.
    CallReturned(ToolReturn),
    /// The result that the turn just got holds the output of these cells.
    CellsReported(Vec<u32>),
    Replied(ApprovalRequester, Reply),
    /// The consequences of a reply are over: show the next question.
    NextQuestion,
    /// An event of a cell that is not suspended.
    CellEvent(RuntimeRole, RuntimeEvent),
    /// The cell has ended that the active prompt or call ran for.
    CallsAbandoned,
    /// Begin the next call of the agent's code.
    NextAgentCall,
    AgentCallShown(HostRequest),
    Effects(Vec<Effect>, RunSender),
}
