//! What every tool is: a machine that takes a [`ToolEvent`] and says what it wants next, a [`ToolStep`].
//!
//! Absent on purpose: which tools there are (`table.rs`), and who does what they say (`work.rs`).

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::notebook::{NotebookJob, NotebookNews};
use super::shelf::Shelf;
use crate::agent::{InputPart, PlanStep};
use crate::config::RunCells;
use crate::runtime::{RuntimeAnswer, RuntimeCapabilities, RuntimeRequest, Stdin};
use crate::session::asking::Allowed;
use crate::session::cell::Remains;
use crate::session::kernels::{Opened, Opening};
use crate::session::outputs::{OutputKind, Outputs};
use crate::session::question::{About, Reply};
use crate::session::saving::NotebookPlaces;
use crate::session::tool_return::ToolReturn;
use crate::skills::Activation;

/// What can happen to a call.
pub(in crate::session) enum ToolEvent {
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
pub(in crate::session) enum ToolStep {
    /// Nothing: what it asked for is still to come.
    Wait,
    /// Asks the runtime; [`ToolEvent::Answered`] comes.
    Submit(RuntimeRequest),
    /// Asks the user; [`ToolEvent::Replied`] comes.
    Ask(About),
    /// Shows what a dry run gave, then goes on.
    Show {
        text: String,
        pictures: Vec<String>,
        then: Box<ToolStep>,
    },
    /// Tells how far its cells are, then goes on.
    Tell {
        cells: Vec<PlanStep>,
        then: Box<ToolStep>,
    },
    /// Finds the place and the kernel for the next cell; [`ToolEvent::Opened`] comes.
    Open(Opening),
    /// Runs code; [`ToolEvent::CodeEnded`] comes.
    Run(Code),
    /// Interrupts the code.
    Interrupt,
    /// Ends the interpreter at once, the code with it.
    Kill {
        /// It ran longer than it may.
        over_time: bool,
    },
    /// Reads the skill at this path; [`ToolEvent::SkillRead`] comes.
    ReadSkill(String),
    /// Works on a notebook file; [`ToolEvent::Notebook`] comes.
    Notebook(NotebookJob),
    /// The result; nothing follows it.
    Done(ToolReturn),
}

/// Code a tool wants run.
pub(in crate::session) struct Code {
    pub(super) source: String,
    pub(super) shown_as: ShownAs,
    /// Where it goes first; `None`: it stays where it is.
    pub(super) directory: Option<PathBuf>,
}

/// How the user sees it.
pub(super) enum ShownAs {
    /// A cell of the agent: numbered and recorded.
    Cell { title: String },
    /// Code of this skill: neither.
    Skill { name: String },
    /// A cell in a kernel of the agent's own: neither.
    Own { kernel: u32, heading: String },
}

/// One kind of call.
pub(in crate::session) trait Tool: Send {
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
pub(in crate::session) struct Desk<'a> {
    pub now: Instant,
    /// There is somebody to ask.
    pub somebody: bool,
    /// An interpreter is up: it may hold variables.
    pub interpreter: bool,
    /// A cell of the user waits for what is going on, and holds it up.
    pub cell_waits: bool,
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
    pub(super) fn done(&self, mut result: ToolReturn) -> ToolStep {
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

impl ToolStep {
    /// Why there is no result.
    pub(super) fn failed(why: &str) -> Self {
        ToolStep::Done(ToolReturn::failed(why))
    }
}

/// What a call of a tool begins with: its machine and its first step, or the result where that is all.
pub(super) type Begun = Result<(Box<dyn Tool>, ToolStep), ToolReturn>;

/// Checks the arguments of a call and begins it.
pub(super) type Begin = fn(&Value, &mut Desk<'_>) -> Begun;
