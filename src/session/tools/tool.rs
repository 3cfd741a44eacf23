//! The contract of tools: a state machine that takes a [`ToolEvent`] and returns a [`ToolEffect`].
//!
//! Absent on purpose: the list of tools (`table.rs`), and the code that carries effects out (`driver.rs`).

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::notebook::{NotebookJob, NotebookJobResult};
use super::skill_registry::SkillRegistry;
use crate::agent::{InputPart, PlanStep};
use crate::approvals::ApprovalPolicy;
use crate::cell::CellResult;
use crate::kernels::{KernelPlacement, OpenedKernel};
use crate::outputs::{OutputKind, Outputs};
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::runtime::{RuntimeCapabilities, RuntimeReply, RuntimeRequest, Stdin};
use crate::saving::NotebookPlaces;
use crate::skills::Activation;
use crate::tool_return::ToolReturn;
use crate::undo::InterpreterSessions;

pub(crate) enum ToolEvent {
    RuntimeAnswered(RuntimeReply),
    UserReplied(Reply),
    CodeStarted,
    InputRequested,
    InputAnswered,
    /// The code ended; `line` is its In number, 0 for none.
    CodeEnded {
        line: u32,
        remains: Box<CellResult>,
    },
    /// The interpreter has ended after [`ToolEffect::Kill`].
    Restarted,
    SkillRead(Result<Box<Activation>, String>),
    /// The kernel is ready, or the reason why there is none.
    KernelOpened(Result<OpenedKernel, String>),
    NotebookJobDone(NotebookJobResult),
    DeadlineReached,
}

pub(crate) enum ToolEffect {
    Wait,
    /// Ask the runtime; [`ToolEvent::RuntimeAnswered`] follows.
    Submit(RuntimeRequest),
    /// Ask the user; [`ToolEvent::UserReplied`] follows.
    Ask(QuestionSubject),
    /// Show text and pictures (`data:` URLs), then carry out `then`.
    Show {
        text: String,
        pictures: Vec<String>,
        then: Box<ToolEffect>,
    },
    /// Report the progress of the cells, then carry out `then`.
    ReportProgress {
        cells: Vec<PlanStep>,
        then: Box<ToolEffect>,
    },
    /// Prepare directory and kernel for the next cell; [`ToolEvent::KernelOpened`] follows.
    OpenKernel(KernelPlacement),
    /// Run code; [`ToolEvent::CodeEnded`] follows.
    Run(ToolCode),
    Interrupt,
    /// End the interpreter at once, and its code.
    Kill {
        /// The code exceeded its time limit.
        over_time: bool,
    },
    /// Read the skill at this path; [`ToolEvent::SkillRead`] follows.
    ReadSkill(String),
    /// Read or write a notebook file; [`ToolEvent::NotebookJobDone`] follows.
    Notebook(NotebookJob),
    Done(ToolReturn),
}

pub(crate) struct ToolCode {
    pub(super) source: String,
    pub(super) display: CodeDisplay,
    /// Directory to change to first; `None`: the current one.
    pub(super) directory: Option<PathBuf>,
}

pub(super) enum CodeDisplay {
    /// As a cell of the agent, numbered and recorded.
    Cell { title: String },
    /// As code of a skill, neither numbered nor recorded.
    Skill { name: String },
    /// As a cell in the agent's own kernel, neither numbered nor recorded.
    Own { kernel: u32, heading: String },
}

pub(crate) trait Tool: Send {
    /// Returns the next effect; ignores events that the tool did not ask for.
    fn on(&mut self, event: ToolEvent, context: &mut ToolContext<'_>) -> ToolEffect;

    /// Returns the time at which the tool expects [`ToolEvent::DeadlineReached`].
    fn due(&self) -> Option<Instant> {
        None
    }

    fn reported_cells(&self) -> Vec<u32> {
        Vec::new()
    }
}

pub(crate) struct ToolContext<'a> {
    pub now: Instant,
    /// The user's interpreter runs and may hold variables.
    pub interpreter_up: bool,
    /// A running cell of the user waits for this turn, so no other cell can run.
    pub cell_waiting: bool,
    pub runtime: &'a RuntimeCapabilities,
    pub stdin: Stdin,
    /// Each call gets a fresh kernel of its own, also where it asks for a kept one.
    pub kernels_per_call: bool,
    pub policy: ApprovalPolicy<'a>,
    pub skills: &'a mut SkillRegistry,
    pub outputs: &'a Outputs,
    pub cwd: &'a Path,
    /// Resolves names of notebooks.
    pub notebooks: &'a NotebookPlaces,
    /// Whose cells the user's interpreter has run.
    pub sessions: &'a InterpreterSessions,
    /// The user approves each change of a file, or `sandbox` allows none.
    pub approve_changes: bool,
    pub prompt_line: u32,
    /// Plan mode is on: no code runs that may change anything.
    pub plans: bool,
}

impl ToolContext<'_> {
    /// Shortens the result to the model's limit, and keeps the whole text as an artifact.
    pub(super) fn finish(&self, mut result: ToolReturn) -> ToolEffect {
        let cut = self
            .outputs
            .cut(OutputKind::Tool, self.prompt_line, &result.text);
        for part in &mut result.content {
            if let InputPart::Text(text) = part
                && *text == result.text
            {
                text.clone_from(&cut);
            }
        }
        result.text = cut;
        ToolEffect::Done(result)
    }
}

impl ToolEffect {
    pub(super) fn failed(why: &str) -> Self {
        ToolEffect::Done(ToolReturn::failed(why))
    }
}

/// The machine and its first effect, or the result of a call that is over at once.
pub(super) type BeginResult = Result<(Box<dyn Tool>, ToolEffect), ToolReturn>;

/// Checks the arguments and begins the call.
pub(super) type Begin = fn(&Value, &mut ToolContext<'_>) -> BeginResult;

pub(super) fn is_yes(reply: &Reply) -> bool {
    use QuestionChoice::{Once, Remember, Session};
    matches!(reply, Reply::Chosen(Once | Session | Remember))
}
