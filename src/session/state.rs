//! The state of a session: its machines and what they share. It knows no channel, no peer and no file.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::approvals::ApprovalQueue;
use crate::branches::Branches;
use crate::config::Choices;
use crate::deps::StartupFiles;
use crate::effect::{Effect, To};
use crate::events::Notice;
use crate::external_calls::ExternalCalls;
use crate::host_calls::{AgentHostCalls, CellHostCalls};
use crate::kernels::Kernels;
use crate::markdown::Background;
use crate::numbering::Numbering;
use crate::run::RunSender;
use crate::runtime::RequestId;
use crate::scheduler::Scheduler;
use crate::tools::{SkillRegistry, ToolRunner};
use crate::turns::Turns;
use crate::undo::StepLog;

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
    /// The cells in the background.
    pub(super) branches: Branches,
    /// In number of the prompt that the next input replaces, if that is a prompt, where no editor knows it.
    pub(super) replaced_next: Option<u32>,
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
