//! The state of a session: its machines and what they share. It knows no channel, no peer and no file.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::config::Choices;
use crate::markdown::Background;
use crate::runtime::RequestId;
use crate::session::approvals::ApprovalQueue;
use crate::session::deps::StartupFiles;
use crate::session::effect::{Effect, To};
use crate::session::events::Notice;
use crate::session::external_calls::ExternalCalls;
use crate::session::host_calls::{AgentHostCalls, CellHostCalls};
use crate::session::kernels::Kernels;
use crate::session::numbering::Numbering;
use crate::session::run::RunSender;
use crate::session::scheduler::Scheduler;
use crate::session::tools::{SkillRegistry, ToolRunner};
use crate::session::turns::Turns;
use crate::session::undo::StepLog;

pub(super) struct SessionState {
    pub(super) scheduler: Scheduler,
    pub(super) numbering: Numbering,
    pub(super) turns: Turns,
    pub(super) tool_runner: ToolRunner,
    pub(super) kernels: Kernels,
    pub(super) cell_calls: CellHostCalls,
    pub(super) agent_calls: AgentHostCalls,
    pub(super) external_calls: ExternalCalls,
    pub(super) approvals: ApprovalQueue,
    pub(super) step_log: StepLog,
    pub(super) skill_registry: SkillRegistry,
    /// Until they have run.
    pub(super) startup: StartupFiles,
    pub(super) choices: Choices,
    pub(super) cwd: PathBuf,
    pub(super) terminal_background: Option<Background>,
    /// Why no interpreter could be started, kept until an input can report it.
    pub(super) unreported: Option<Notice>,
    /// In numbers of cells of the user's interpreter that have ended, for output of their tasks and threads.
    pub(super) ended_cells: HashMap<RequestId, u32>,
    /// The stream of events outside of runs.
    pub(super) background: RunSender,
}

impl SessionState {
    /// Puts streams in the place of names, `out` for the job's; `None` for an effect that is for nobody.
    pub(super) fn bind(&self, mut effect: Effect, out: &RunSender) -> Option<Effect> {
        if let Some(to) = effect.to_mut() {
            match to {
                To::Job => *to = To::Run(out.clone()),
                To::Caller => *to = To::Run(self.scheduler.caller_out()?.clone()),
                To::Run(_) => {}
            }
        }
        Some(effect)
    }

    /// Returns the stream of the active job, else the background.
    pub(super) fn out_or_background(&self) -> &RunSender {
        self.scheduler.out().unwrap_or(&self.background)
    }
}
