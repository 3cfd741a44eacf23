//! The agent's calls: which of our tools a turn offers, and the one call that is being worked off.
//!
//! Each tool is a machine in a file of its own: it takes a [`ToolEvent`] and says what it wants next, a [`ToolStep`]. A
//! new tool is such a file and a row of [`specs::TOOLS`]. `work.rs` does what the steps say.
//!
//! Invariants: one call at a time (the turn keeps the others back); a call of a name the turn does not offer reaches
//! no function; an answer that comes after its call reaches no other; a cell of a call ends before its turn does, so
//! that nobody else gets its terminal. Absent on purpose: what functions of the user look like to the model
//! (`session/tools.rs`).

mod arguments;
mod function;
mod load_skill;
mod notebook;
mod pyrun;
mod run_cells;
mod shelf;
mod specs;
mod work;

#[cfg(test)]
pub(super) mod tests;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use crate::agent::{InputPart, ToolCall};
use crate::config::RunCells;
use crate::runtime::{RequestId, RuntimeAnswer, RuntimeCapabilities, RuntimeRequest, Stdin};
use crate::session::asking::Allowed;
use crate::session::cell::{CellRun, Remains};
use crate::session::kernels::{Opened, Opening};
use crate::session::outputs::{OutputKind, Outputs};
use crate::session::prompt::ToolReturn;
use crate::session::question::{About, Reply};
use crate::session::runtimes::Role;
use crate::session::saving::NotebookPlaces;
use crate::session::ticket::CallId;
use crate::skills::Activation;

pub(super) use notebook::{NotebookJob, NotebookNews, Seen};
pub(super) use shelf::Shelf;
pub use shelf::{FindSkills, Skills};
pub(super) use specs::{Offer, is_built_in, shows_itself};

/// What can happen to a call.
pub(super) enum ToolEvent {
    /// The runtime answered what was submitted.
    Answered(RuntimeAnswer),
    /// The user answered what was asked.
    Replied(Reply),
    /// The code began.
    CodeBegan,
    /// The code asks for input.
    InputAsked,
    /// It was answered.
    InputAnswered,
    /// The code ended; `line` is the In number it had, 0 for none.
    CodeEnded { line: u32, remains: Box<Remains> },
    /// The interpreter that was to be ended is gone.
    Restarted,
    /// The skill was read, or could not be.
    SkillRead(Result<Box<Activation>, String>),
    /// The kernel that was wanted is up, or why there is none.
    Opened(Result<Opened, String>),
    /// What came of work on a notebook file.
    Notebook(NotebookNews),
    /// The time that [`Tool::due`] named has come.
    Due,
}

/// What a tool wants next.
pub(super) enum ToolStep {
    /// Nothing: what it asked for is still to come.
    Wait,
    /// Asks the runtime; [`ToolEvent::Answered`] comes.
    Submit(RuntimeRequest),
    /// Asks the user; [`ToolEvent::Replied`] comes.
    Ask(About),
    /// Finds the place and the kernel for the next cell; [`ToolEvent::Opened`] comes.
    Open(Opening),
    /// Runs code; [`ToolEvent::CodeEnded`] comes.
    Run(Code),
    /// Interrupts the code.
    Interrupt,
    /// Ends the interpreter at once, the code with it.
    Kill,
    /// Reads the skill at this path; [`ToolEvent::SkillRead`] comes.
    ReadSkill(String),
    /// Works on a notebook file; [`ToolEvent::Notebook`] comes.
    Notebook(NotebookJob),
    /// The result; nothing follows it.
    Done(ToolReturn),
}

/// Code a tool wants run.
pub(super) struct Code {
    source: String,
    shown_as: ShownAs,
    /// Where it goes first; `None`: it stays where it is.
    directory: Option<PathBuf>,
}

/// How the user sees it.
enum ShownAs {
    /// A cell of the agent: numbered and recorded.
    Cell { title: String },
    /// Code of this skill: neither.
    Skill { name: String },
    /// A cell in a kernel of the agent's own: neither.
    Own { kernel: u32, heading: String },
}

/// One kind of call.
pub(super) trait Tool: Send {
    /// Takes an event; says what is wanted next. What it did not ask for, it ignores.
    fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> ToolStep;

    /// When it wants [`ToolEvent::Due`].
    fn due(&self) -> Option<Instant> {
        None
    }

    /// The In numbers of the cells whose output is in its result.
    fn told_cells(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// What a tool may look at and change.
pub(super) struct Desk<'a> {
    pub now: Instant,
    /// There is somebody to ask.
    pub somebody: bool,
    /// An interpreter is up: it may hold variables.
    pub interpreter: bool,
    /// What the runtime can do.
    pub able: &'a RuntimeCapabilities,
    /// Who answers a tool's `input()`.
    pub stdin: Stdin,
    pub run_cells: &'a mut RunCells,
    /// A kernel of the agent's own lives for one call, whatever is wanted.
    pub kernels_per_call: bool,
    pub allowed: &'a mut Allowed,
    pub shelf: &'a mut Shelf,
    pub outputs: &'a Outputs,
    /// The interpreter's directory.
    pub cwd: &'a Path,
    /// What names of files mean.
    pub places: &'a NotebookPlaces,
    /// The user wants to see each change of a file first.
    pub approvals: bool,
    /// The prompt's In number.
    pub line: u32,
}

impl Desk<'_> {
    /// The result within the model's limit; what is left out of it is kept.
    fn done(&self, mut result: ToolReturn) -> ToolStep {
        let cut = self.outputs.cut(OutputKind::Tool, self.line, &result.text);
        for part in &mut result.content {
            if let InputPart::Text(text) = part
                && *text == result.text
            {
                text.clone_from(&cut);
            }
        }
        result.text = cut;
        ToolStep::Done(result)
    }
}

/// What works for the agent at this moment.
#[derive(Default)]
pub(super) struct Toolbox {
    calls: u64,
    bench: Bench,
    /// Notebook files as the agent has seen them.
    pub(super) seen: Seen,
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

impl ToolReturn {
    /// A text, as it is.
    pub(super) fn text(text: String) -> Self {
        ToolReturn {
            content: vec![InputPart::Text(text.clone())],
            text,
            success: true,
            denied: false,
        }
    }

    /// Why there is no result.
    pub(super) fn failed(why: &str) -> Self {
        ToolReturn {
            success: false,
            ..ToolReturn::text(format!("Error: {why}"))
        }
    }

    /// The user does not want it: what did not happen, and why.
    pub(super) fn denied(what: &str, reply: &Reply) -> Self {
        ToolReturn {
            denied: true,
            ..ToolReturn::failed(&format!("{what}{}", reply.reason()))
        }
    }
}

impl ToolStep {
    /// Why there is no result.
    fn failed(why: &str) -> Self {
        ToolStep::Done(ToolReturn::failed(why))
    }
}

/// What a call of a tool begins with: its machine and its first step, or the result where that is all.
type Begun = Result<(Box<dyn Tool>, ToolStep), ToolReturn>;

impl Toolbox {
    /// Begins a call; its first step.
    pub(super) fn begin(&mut self, call: ToolCall, desk: &mut Desk<'_>) -> ToolStep {
        let row = specs::TOOLS.iter().find(|row| row.name == call.name);
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
                };
                step
            }
        }
    }

    /// The call that is worked off.
    pub(super) fn call(&self) -> CallId {
        CallId(self.calls)
    }

    /// Takes an event; says what the tool wants next.
    pub(super) fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> ToolStep {
        let Bench::Working { tool, waits, code } = &mut self.bench else {
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
        let step = tool.on(event, desk);
        match &step {
            ToolStep::Submit(_) => *waits = Waits::Answer,
            ToolStep::Open(_) => *waits = Waits::Kernel,
            ToolStep::Kill if code.is_none() => *waits = Waits::Restart,
            _ if came.is_some() => *waits = Waits::Nothing,
            _ => {}
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
            ToolStep::Kill => Waits::Restart,
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

/// Checks the arguments of a call and begins it.
type Begin = fn(&Value, &mut Desk<'_>) -> Begun;
