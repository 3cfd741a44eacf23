//! The agent's calls: which of our tools a turn offers, and the one call that is being worked off.
//!
//! Each tool is a machine in a file of its own: it takes a [`ToolEvent`] and says what it wants next, a [`ToolStep`]. A
//! new tool is such a file and a row of [`table::TOOLS`]. `work.rs` does what the steps say.
//!
//! Invariants: one call at a time (the turn keeps the others back); a call of a name the turn does not offer reaches
//! no function; an answer that comes after its call reaches no other; a cell of a call ends before its turn does, so
//! that nobody else gets its terminal. Absent on purpose: what functions of the user look like to the model
//! (`prompt/offered.rs`).

mod arguments;
mod function;
mod load_skill;
mod notebook;
mod pyrun;
mod run_cells;
mod shelf;
mod specs;
mod table;
mod tool;
mod trial;
mod work;

#[cfg(test)]
pub(super) mod tests;

use std::time::Instant;

use crate::agent::ToolCall;
use crate::config::RunCells;
use crate::runtime::RequestId;
use crate::session::cell::{CellRun, Remains};
use crate::session::runtimes::Role;
use crate::session::ticket::CallId;

pub(super) use notebook::{NotebookJob, NotebookNews, Seen};
pub(super) use shelf::Shelf;
pub use shelf::{FindSkills, Skills};
pub(super) use specs::RUN_CELLS;
pub(super) use table::{Offer, is_built_in, shows_itself};
use tool::{Begun, Code, Desk, ShownAs, Tool};
pub(super) use tool::{ToolEvent, ToolStep};
use trial::Trial;
pub(super) use work::RUNS_CELLS;

/// What works for the agent at this moment.
#[derive(Default)]
pub(super) struct Toolbox {
    calls: u64,
    bench: Bench,
    /// Notebook files as the agent has seen them.
    pub(super) seen: Seen,
    /// A copy of the user's interpreter has been asked for in this turn.
    pub(super) branched: bool,
}

/// The call that has not returned.
#[derive(Default)]
enum Bench {
    #[default]
    Free,
    Working {
        tool: Box<dyn Tool>,
        waits: Waits,
        code: Option<Running>,
        trial: Trial,
    },
    /// Nobody waits for the call any more, but its code still runs.
    Leaving(Running),
}

/// What a tool waits for beside the user and its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    Nothing,
    /// The runtime's answer.
    Answer,
    /// The end of the interpreter.
    Restart,
    /// A kernel of the agent's own.
    Kernel,
}

/// Code of a tool in an interpreter.
enum Running {
    Cell {
        line: u32,
        run: Box<CellRun>,
    },
    /// Its interpreter died; how is about to be said.
    Died {
        line: u32,
        role: Role,
        remains: Box<Remains>,
    },
}

impl Toolbox {
    /// One whose calls have numbers from here on.
    pub(super) fn counting_from(calls: u64) -> Self {
        Toolbox {
            calls,
            ..Toolbox::default()
        }
    }

    /// Begins a call; its first step.
    pub(super) fn begin(&mut self, call: ToolCall, desk: &mut Desk<'_>) -> ToolStep {
        let row = table::TOOLS.iter().find(|row| row.name == call.name);
        let begun = match row {
            Some(row) => (row.begin)(&call.arguments, desk),
            None => function::begin(call, desk),
        };
        match begun {
            Err(result) => ToolStep::Done(result),
            Ok((tool, step)) => {
                self.calls += 1;
                self.bench = Bench::Working {
                    tool,
                    waits: Waits::of(&step),
                    code: None,
                    trial: Trial::default(),
                };
                self.passed(step, desk)
            }
        }
    }

    /// The call that is worked off.
    pub(super) fn call(&self) -> CallId {
        CallId(self.calls)
    }

    /// Takes an event; says what the tool wants next.
    pub(super) fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> ToolStep {
        let Bench::Working {
            tool,
            waits,
            code,
            trial,
        } = &mut self.bench
        else {
            return ToolStep::Wait;
        };
        let came = match event {
            ToolEvent::Answered(_) => Some(Waits::Answer),
            ToolEvent::Restarted => Some(Waits::Restart),
            ToolEvent::Opened(Ok(_)) => Some(Waits::Kernel),
            _ => None,
        };
        if came.is_some_and(|came| came != *waits) {
            return ToolStep::Wait;
        }
        let event = match trial.on(event) {
            Ok(step) => {
                *waits = Waits::of(&step);
                return step;
            }
            Err(event) => *event,
        };
        let step = tool.on(event, desk);
        match Waits::of(&step) {
            Waits::Restart if code.is_some() => {}
            Waits::Nothing if came.is_none() => {}
            wanted => *waits = wanted,
        }
        self.passed(step, desk)
    }

    /// What becomes of a step: cells that are asked for may be tried first.
    fn passed(&mut self, step: ToolStep, desk: &Desk<'_>) -> ToolStep {
        let Bench::Working { waits, trial, .. } = &mut self.bench else {
            return step;
        };
        let step = trial.pass(step, *desk.run_cells == RunCells::Preview);
        if matches!(step, ToolStep::Submit(_)) {
            *waits = Waits::Answer;
        }
        step
    }

    /// The call returned: the cells its result tells of.
    fn put_back(&mut self) -> Vec<u32> {
        match std::mem::take(&mut self.bench) {
            Bench::Working { tool, .. } => tool.told_cells(),
            Bench::Free | Bench::Leaving(_) => Vec::new(),
        }
    }

    /// The code of the call is this request of this runtime, and somebody waits for it.
    pub(super) fn works_on(&self, role: Role, id: RequestId) -> bool {
        matches!(
            &self.bench,
            Bench::Working { code: Some(Running::Cell { run, .. }), .. } if (run.role, run.id) == (role, id)
        )
    }

    /// The code of the call, if it is this request of this runtime.
    fn code(&mut self, role: Role, id: RequestId) -> Option<&mut CellRun> {
        match &mut self.bench {
            Bench::Working {
                code: Some(Running::Cell { run, .. }),
                ..
            }
            | Bench::Leaving(Running::Cell { run, .. })
                if run.id == id && run.role == role =>
            {
                Some(run)
            }
            _ => None,
        }
    }

    /// Whose runtime runs the code of the call; the user's when none runs.
    pub(super) fn role(&self) -> Role {
        match &self.bench {
            Bench::Working {
                code: Some(running),
                ..
            }
            | Bench::Leaving(running) => running.role(),
            Bench::Working { code: None, .. } | Bench::Free => Role::User,
        }
    }

    /// The code of the call runs now.
    fn runs(&mut self, line: u32, run: Box<CellRun>) {
        if let Bench::Working { code, .. } = &mut self.bench {
            *code = Some(Running::Cell { line, run });
        }
    }

    /// The code ended with its interpreter.
    fn code_died(&mut self, remains: Box<Remains>) {
        if let Bench::Working {
            code: Some(running),
            ..
        }
        | Bench::Leaving(running) = &mut self.bench
        {
            let (line, role) = (running.line(), running.role());
            *running = Running::Died {
                line,
                role,
                remains,
            };
        }
    }

    /// Takes the code that ended: its In number.
    fn take_code(&mut self) -> Option<Running> {
        match &mut self.bench {
            Bench::Working { code, .. } => code.take(),
            Bench::Leaving(_) => match std::mem::take(&mut self.bench) {
                Bench::Leaving(running) => Some(running),
                _ => None,
            },
            Bench::Free => None,
        }
    }

    /// The code died with its interpreter, and how has been said.
    fn is_dead(&self) -> bool {
        matches!(
            &self.bench,
            Bench::Working {
                code: Some(Running::Died { .. }),
                ..
            } | Bench::Leaving(Running::Died { .. })
        )
    }

    /// The call wants the interpreter to end, and says so itself.
    pub(super) fn awaits_restart(&self) -> bool {
        matches!(
            &self.bench,
            Bench::Working {
                waits: Waits::Restart,
                ..
            }
        )
    }

    /// No call is worked off, and no code of one runs.
    pub(super) fn is_free(&self) -> bool {
        matches!(self.bench, Bench::Free)
    }

    /// Something of the call runs in the interpreter: it can be interrupted.
    pub(super) fn is_running(&self) -> bool {
        match &self.bench {
            Bench::Working { waits, code, .. } => *waits == Waits::Answer || code.is_some(),
            Bench::Leaving(_) => true,
            Bench::Free => false,
        }
    }

    /// The turn has ended: forgets its call. False while code of it goes on.
    pub(super) fn put_away(&mut self) -> bool {
        self.bench = match std::mem::take(&mut self.bench) {
            Bench::Working {
                code: Some(running),
                ..
            }
            | Bench::Leaving(running) => Bench::Leaving(running),
            Bench::Working { code: None, .. } | Bench::Free => Bench::Free,
        };
        self.is_free()
    }

    /// The session ends: nobody waits for code that is leaving.
    pub(super) fn abandon(&mut self) {
        self.bench = Bench::Free;
    }

    /// When the call wants [`ToolEvent::Due`].
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.bench {
            Bench::Working { tool, .. } => tool.due(),
            Bench::Free | Bench::Leaving(_) => None,
        }
    }
}

impl Waits {
    fn of(step: &ToolStep) -> Self {
        match step {
            ToolStep::Submit(_) => Waits::Answer,
            ToolStep::Open(_) => Waits::Kernel,
            ToolStep::Kill { .. } => Waits::Restart,
            ToolStep::Show { then, .. } | ToolStep::Tell { then, .. } => Waits::of(then),
            _ => Waits::Nothing,
        }
    }
}

impl Running {
    fn role(&self) -> Role {
        match self {
            Running::Cell { run, .. } => run.role,
            Running::Died { role, .. } => *role,
        }
    }

    fn line(&self) -> u32 {
        match self {
            Running::Cell { line, .. } | Running::Died { line, .. } => *line,
        }
    }
}
