//! Tool calls of the agent: which built-in tools a turn offers, and the one call that is active.
//!
//! Each tool is a state machine in its own file: it takes a [`ToolEvent`] and returns a [`ToolEffect`]. A new tool
//! is such a file and a row of [`table::TOOLS`]; `driver.rs` carries the effects out.
//!
//! Invariants: one call at a time (the turn queues the others); a call of a name that the turn does not offer
//! reaches no function; a late answer reaches no later call; the code of a call ends before its turn does, so that
//! nothing else gets its terminal. Absent on purpose: the specifications of the user's functions
//! (`prompt/tool_mentions.rs`).

mod arguments;
pub(super) mod driver;
mod dry_run;
mod function;
mod load_skill;
mod look_back;
mod notebook;
mod pyrun;
mod run_cells;
mod skill_registry;
mod specs;
mod table;
mod tool;

#[cfg(test)]
pub(super) mod tests;

use std::time::Instant;

use crate::agent::ToolCall;
use crate::cell::{CellResult, CellRun};
use crate::config::RunCells;
use crate::ids::CallId;
use crate::runtime::RequestId;
use crate::runtimes::RuntimeRole;

use dry_run::DryRun;
pub(super) use notebook::{NotebookJob, NotebookJobResult, SeenFiles};
pub(super) use skill_registry::SkillRegistry;
pub use skill_registry::{FindSkills, Skills};
pub(super) use specs::{NESTED_CELLS, RUN_CELLS};
pub(super) use table::{ToolOffer, is_built_in, only_looks, shows_itself};
use tool::{BeginResult, CodeDisplay, Tool, ToolCode, ToolContext};
pub(super) use tool::{ToolEffect, ToolEvent};

#[derive(Default)]
pub(super) struct ToolRunner {
    calls: u64,
    active: ActiveCall,
    /// Notebook files as the agent has seen them.
    pub(super) seen_files: SeenFiles,
    /// This turn has asked for a copy of the user's interpreter.
    pub(super) has_branch: bool,
}

#[derive(Default)]
enum ActiveCall {
    #[default]
    None,
    Working {
        tool: Box<dyn Tool>,
        awaiting: Awaiting,
        code: Option<RunningCode>,
        dry_run: DryRun,
    },
    /// The call was cancelled, but its code still runs.
    Stopping(RunningCode),
}

/// What a tool waits for, apart from the user and its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaiting {
    Nothing,
    Answer,
    /// The end of the interpreter.
    Restart,
    Kernel,
}

enum RunningCode {
    Cell {
        line: u32,
        run: Box<CellRun>,
    },
    /// The interpreter died; the report of its end is still to come.
    Died {
        line: u32,
        role: RuntimeRole,
        remains: Box<CellResult>,
    },
}

impl ToolRunner {
    /// Numbers the calls from here on, so that ids of two runners do not collide.
    pub(super) fn with_first_call(calls: u64) -> Self {
        ToolRunner {
            calls,
            ..ToolRunner::default()
        }
    }

    pub(super) fn begin(&mut self, call: ToolCall, context: &mut ToolContext<'_>) -> ToolEffect {
        let row = table::TOOLS.iter().find(|row| row.name == call.name);
        let begun = match row {
            Some(row) => (row.begin)(&call.arguments, context),
            None => function::begin(call, context),
        };
        match begun {
            Err(result) => ToolEffect::Done(result),
            Ok((tool, effect)) => {
                self.calls += 1;
                self.active = ActiveCall::Working {
                    tool,
                    awaiting: Awaiting::for_effect(&effect),
                    code: None,
                    dry_run: DryRun::default(),
                };
                self.intercept(effect, context)
            }
        }
    }

    pub(super) fn call_id(&self) -> CallId {
        CallId(self.calls)
    }

    /// Returns the next effect of the tool; ignores events that the tool does not wait for.
    pub(super) fn on(&mut self, event: ToolEvent, context: &mut ToolContext<'_>) -> ToolEffect {
        let ActiveCall::Working {
            tool,
            awaiting,
            code,
            dry_run,
        } = &mut self.active
        else {
            return ToolEffect::Wait;
        };
        let awaited = match event {
            ToolEvent::RuntimeAnswered(_) => Some(Awaiting::Answer),
            ToolEvent::Restarted => Some(Awaiting::Restart),
            ToolEvent::KernelOpened(Ok(_)) => Some(Awaiting::Kernel),
            _ => None,
        };
        if awaited.is_some_and(|awaited| awaited != *awaiting) {
            return ToolEffect::Wait;
        }
        let event = match dry_run.on(event) {
            Ok(effect) => {
                *awaiting = Awaiting::for_effect(&effect);
                return effect;
            }
            Err(event) => *event,
        };
        let effect = tool.on(event, context);
        match Awaiting::for_effect(&effect) {
            Awaiting::Restart if code.is_some() => {}
            Awaiting::Nothing if awaited.is_none() => {}
            wanted => *awaiting = wanted,
        }
        self.intercept(effect, context)
    }

    /// Lets the dry run replace a question about cells.
    fn intercept(&mut self, effect: ToolEffect, context: &ToolContext<'_>) -> ToolEffect {
        let ActiveCall::Working {
            awaiting, dry_run, ..
        } = &mut self.active
        else {
            return effect;
        };
        let effect = dry_run.intercept(effect, *context.policy.run_cells == RunCells::Preview);
        if matches!(effect, ToolEffect::Submit(_)) {
            *awaiting = Awaiting::Answer;
        }
        effect
    }

    /// Ends the call; returns the In numbers of the cells in its result.
    fn finish_call(&mut self) -> Vec<u32> {
        match std::mem::take(&mut self.active) {
            ActiveCall::Working { tool, .. } => tool.reported_cells(),
            ActiveCall::None | ActiveCall::Stopping(_) => Vec::new(),
        }
    }

    /// Returns true when the code of the active call is this request of this runtime; false for a cancelled call.
    pub(super) fn is_running_request(&self, role: RuntimeRole, id: RequestId) -> bool {
        match &self.active {
            ActiveCall::Working {
                code: Some(RunningCode::Cell { run, .. }),
                ..
            } => (run.role, run.id) == (role, Some(id)),
            _ => false,
        }
    }

    /// Returns the code of the call, also of a cancelled one, if it is this request of this runtime.
    fn code(&mut self, role: RuntimeRole, id: RequestId) -> Option<&mut CellRun> {
        match &mut self.active {
            ActiveCall::Working {
                code: Some(RunningCode::Cell { run, .. }),
                ..
            }
            | ActiveCall::Stopping(RunningCode::Cell { run, .. })
                if (run.role, run.id) == (role, Some(id)) =>
            {
                Some(run)
            }
            _ => None,
        }
    }

    /// Returns the runtime that runs the code of the call; the user's when none runs.
    pub(super) fn role(&self) -> RuntimeRole {
        match &self.active {
            ActiveCall::Working {
                code: Some(running),
                ..
            }
            | ActiveCall::Stopping(running) => running.role(),
            ActiveCall::Working { code: None, .. } | ActiveCall::None => RuntimeRole::User,
        }
    }

    /// The runtime has the code of the call as this request.
    pub(super) fn submitted(&mut self, id: RequestId) {
        if let ActiveCall::Working {
            code: Some(RunningCode::Cell { run, .. }),
            ..
        }
        | ActiveCall::Stopping(RunningCode::Cell { run, .. }) = &mut self.active
        {
            run.id = Some(id);
        }
    }

    fn code_started(&mut self, line: u32, run: Box<CellRun>) {
        if let ActiveCall::Working { code, .. } = &mut self.active {
            *code = Some(RunningCode::Cell { line, run });
        }
    }

    fn code_died(&mut self, remains: Box<CellResult>) {
        if let ActiveCall::Working {
            code: Some(running),
            ..
        }
        | ActiveCall::Stopping(running) = &mut self.active
        {
            let (line, role) = (running.line(), running.role());
            *running = RunningCode::Died {
                line,
                role,
                remains,
            };
        }
    }

    fn take_code(&mut self) -> Option<RunningCode> {
        match &mut self.active {
            ActiveCall::Working { code, .. } => code.take(),
            ActiveCall::Stopping(_) => match std::mem::take(&mut self.active) {
                ActiveCall::Stopping(running) => Some(running),
                _ => None,
            },
            ActiveCall::None => None,
        }
    }

    fn code_has_died(&self) -> bool {
        matches!(
            &self.active,
            ActiveCall::Working {
                code: Some(RunningCode::Died { .. }),
                ..
            } | ActiveCall::Stopping(RunningCode::Died { .. })
        )
    }

    /// Returns true while the call waits for the end of the interpreter, which it reports itself.
    pub(super) fn awaits_restart(&self) -> bool {
        matches!(
            &self.active,
            ActiveCall::Working {
                awaiting: Awaiting::Restart,
                ..
            }
        )
    }

    /// Returns true when no call is active, and no code of one runs.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.active, ActiveCall::None)
    }

    /// Returns true when a request or code of the call runs in the interpreter and can be interrupted.
    pub(super) fn is_running(&self) -> bool {
        match &self.active {
            ActiveCall::Working { awaiting, code, .. } => {
                *awaiting == Awaiting::Answer || code.is_some()
            }
            ActiveCall::Stopping(_) => true,
            ActiveCall::None => false,
        }
    }

    /// Cancels the call; false while its code still runs.
    pub(super) fn cancel(&mut self) -> bool {
        self.active = match std::mem::take(&mut self.active) {
            ActiveCall::Working {
                code: Some(running),
                ..
            }
            | ActiveCall::Stopping(running) => ActiveCall::Stopping(running),
            ActiveCall::Working { code: None, .. } | ActiveCall::None => ActiveCall::None,
        };
        self.is_idle()
    }

    /// Forgets the call and its code, when the session ends.
    pub(super) fn abandon(&mut self) {
        self.active = ActiveCall::None;
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.active {
            ActiveCall::Working { tool, .. } => tool.due(),
            ActiveCall::None | ActiveCall::Stopping(_) => None,
        }
    }
}

impl Awaiting {
    fn for_effect(effect: &ToolEffect) -> Self {
        match effect {
            ToolEffect::Submit(_) => Awaiting::Answer,
            ToolEffect::OpenKernel(_) => Awaiting::Kernel,
            ToolEffect::Kill { .. } => Awaiting::Restart,
            ToolEffect::Show { then, .. } | ToolEffect::ReportProgress { then, .. } => {
                Awaiting::for_effect(then)
            }
            _ => Awaiting::Nothing,
        }
    }
}

impl RunningCode {
    fn role(&self) -> RuntimeRole {
        match self {
            RunningCode::Cell { run, .. } => run.role,
            RunningCode::Died { role, .. } => *role,
        }
    }

    fn line(&self) -> u32 {
        match self {
            RunningCode::Cell { line, .. } | RunningCode::Died { line, .. } => *line,
        }
    }
}
