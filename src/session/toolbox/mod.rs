//! The agent's calls: which of our tools a turn offers, and the one call that is being worked off.
//!
//! In: a [`ToolCall`] of the turn. Out: one [`ToolReturn`], at once or when the runtime or the user has answered.
//! Invariants: one call at a time (the turn keeps the others back); a call of a name the turn does not offer reaches
//! no function; a cell of a call ends before its turn does, so that nobody else gets its terminal.
//! Absent on purpose: what functions of the user look like to the model (`session/tools.rs`).

mod arguments;
mod live;
mod load_skill;
mod pyrun;
mod run_cells;
mod specs;

#[cfg(test)]
mod tests;

use crate::agent::{InputPart, ToolCall};
use crate::runtime::{Answer, RequestId, RuntimeRequest, Stdin};
use crate::session::cell::{CellRun, Remains};
use crate::session::outputs::{Kind, READ_OUTPUT};
use crate::session::question::{Choice, Reply};
use crate::session::task::Session;
use crate::session::tools::returned;
use crate::session::turn::{ToolReturn, TurnEnd, TurnEvent};

pub(super) use load_skill::Shelf;
pub use load_skill::{FindSkills, Skills};
pub(super) use specs::{Offer, is_built_in, shows_itself};

use load_skill::Loading;
use pyrun::Look;
use run_cells::Cells;

/// What works for the agent at this moment.
#[derive(Default)]
pub(super) struct Toolbox {
    job: Option<Job>,
    /// Code of the job in the live interpreter.
    live: Option<Box<CellRun>>,
    /// What is left of such code whose interpreter died; how is about to be said.
    died: Option<Box<Remains>>,
    /// The turn is over for the agent; for the user when its code has ended.
    ended: Option<Box<TurnEnd>>,
    /// An interpreter is up: it may hold variables.
    interpreter: bool,
}

/// A call that has not returned.
enum Job {
    /// A function of the user.
    Function(RequestId),
    /// `pyrun`.
    Look(Look),
    /// `run_cells`.
    Cells(Box<Cells>),
    /// `load_skill`.
    Skill(Loading),
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

impl Session {
    /// Begins a call; its result when that is all.
    pub(super) fn call_tool(&mut self, call: ToolCall) -> Option<ToolReturn> {
        if !self.turn_offers(&call.name) {
            let why = format!("tool `{}` is not defined", call.name);
            return Some(ToolReturn::failed(&why));
        }
        match call.name.as_str() {
            specs::PYRUN => self.pyrun(&call.arguments),
            specs::RUN_CELLS => self.run_cells(&call.arguments),
            specs::LOAD_SKILL => self.load_skill(&call.arguments),
            READ_OUTPUT => Some(self.outputs.read(&call.arguments)),
            _ => {
                let request = RuntimeRequest::CallTool {
                    name: call.name,
                    arguments: call.arguments,
                    stdin: self.tool_stdin(),
                };
                let id = self.connected_runtime().submit(request);
                self.toolbox.job = Some(Job::Function(id));
                None
            }
        }
    }

    /// Who answers a tool's `input()`: it owns no terminal.
    fn tool_stdin(&self) -> Stdin {
        match self.stdin {
            Stdin::Refuse => Stdin::Refuse,
            Stdin::Terminal | Stdin::Ask => Stdin::Ask,
        }
    }

    /// True for the request a tool waits for.
    pub(super) fn is_tools(&self, id: RequestId) -> bool {
        match &self.toolbox.job {
            Some(Job::Function(asked)) => *asked == id,
            Some(Job::Look(look)) => look.waits_for(id),
            _ => false,
        }
    }

    /// Its answer.
    pub(super) fn on_tool_answer(&mut self, answer: Answer) {
        let step = match &self.toolbox.job {
            Some(Job::Function(_)) => Some(match answer {
                Answer::ToolResult(result) => self.cut_result(returned(result)),
                Answer::Failed(why) => ToolReturn::failed(&why),
                _ => ToolReturn::failed("the interpreter gave no result"),
            }),
            Some(Job::Look(_)) => self.looked(answer),
            _ => None,
        };
        self.settle(step);
    }

    /// The user answered what the job asked.
    pub(super) fn on_tool_reply(&mut self, reply: &Reply) {
        if matches!(reply, Reply::Chosen(Choice::Stop)) {
            return self.interrupt_prompt();
        }
        let step = match self.toolbox.job.take() {
            Some(Job::Look(look)) => self.look_allowed(look, reply),
            Some(Job::Cells(cells)) => self.cells_allowed(cells, reply),
            Some(Job::Skill(loading)) => self.skill_allowed(loading, reply),
            job => {
                self.toolbox.job = job;
                return;
            }
        };
        self.settle(step);
    }

    /// The result within the model's limit; what is left out of it is kept.
    fn cut_result(&mut self, mut result: ToolReturn) -> ToolReturn {
        let line = self.prompt().map_or(0, |prompt| prompt.line);
        let cut = self.outputs.cut(Kind::Tool, line, &result.text);
        for part in &mut result.content {
            if let InputPart::Text(text) = part
                && *text == result.text
            {
                text.clone_from(&cut);
            }
        }
        result.text = cut;
        result
    }

    /// Hands the result to the turn, when there is one.
    fn settle(&mut self, step: Option<ToolReturn>) {
        let Some(result) = step else {
            return;
        };
        let lines = match self.toolbox.job.take() {
            Some(Job::Cells(cells)) => cells.lines(),
            _ => Vec::new(),
        };
        self.save_outputs();
        self.on_turn(TurnEvent::ToolReturned(result));
        self.record_as_told(&lines);
    }

    /// Nobody waits for the job any more: what it runs is interrupted.
    pub(super) fn interrupt_tool(&mut self) {
        let runs = match &self.toolbox.job {
            Some(Job::Function(_)) => true,
            Some(Job::Look(look)) => look.runs(),
            Some(Job::Cells(_) | Job::Skill(_)) => self.toolbox.live.is_some(),
            None => false,
        };
        if runs && let Some(interrupter) = self.runtime.interrupter() {
            interrupter.interrupt();
        }
    }

    /// The turn has ended: forgets its call. False while code of it goes on: `end` is carried out after that.
    pub(super) fn put_tools_away(&mut self, end: &TurnEnd) -> bool {
        if self.toolbox.live.is_some() || self.toolbox.died.is_some() {
            self.toolbox.ended = Some(Box::new(end.clone()));
            return false;
        }
        self.toolbox.job = None;
        true
    }
}
