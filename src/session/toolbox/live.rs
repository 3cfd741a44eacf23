//! Code of the agent in the live interpreter: its events, its end, the death of its interpreter.
//!
//! Invariant: a turn that was stopped waits here for the end of its code; the user's next cell finds the interpreter
//! and its terminal free.

use std::path::PathBuf;
use std::time::Instant;

use super::Job;
use super::load_skill::Loading;
use crate::runtime::{RequestId, RuntimeEvent};
use crate::session::cell::{CellStep, Remains};
use crate::session::task::Session;

impl Session {
    /// True for the request of code the agent runs.
    pub(in crate::session) fn is_live(&self, id: RequestId) -> bool {
        self.toolbox.live.as_ref().is_some_and(|cell| cell.id == id)
    }

    /// An event of that code.
    pub(in crate::session) fn on_live(&mut self, event: RuntimeEvent) {
        let Some(cell) = &mut self.toolbox.live else {
            return;
        };
        if let Some(Job::Cells(cells)) = &mut self.toolbox.job {
            match &event {
                RuntimeEvent::Started { .. } => cells.begun(),
                RuntimeEvent::InputRequested { .. } => cells.pause(),
                _ => {}
            }
        }
        match cell.on(event, &self.history) {
            CellStep::On => {}
            CellStep::Ended(remains) => {
                self.toolbox.live = None;
                self.live_ended(remains);
            }
            CellStep::Died(remains) => {
                self.toolbox.live = None;
                self.toolbox.died = Some(remains);
            }
        }
    }

    fn live_ended(&mut self, remains: Box<Remains>) {
        if let Some(cwd) = &remains.cwd {
            self.cwd = PathBuf::from(cwd);
        }
        if let Some(end) = self.toolbox.ended.take() {
            self.toolbox.job = None;
            return self.end_turn(&end);
        }
        let step = match self.toolbox.job.take() {
            Some(Job::Cells(cells)) => self.cell_ran(cells, remains),
            Some(Job::Skill(Loading::Running { skill, ran })) => {
                self.block_ran(skill, ran, *remains)
            }
            job => {
                self.toolbox.job = job;
                None
            }
        };
        self.settle(step);
    }

    /// An interpreter is up.
    pub(in crate::session) fn interpreter_is_up(&mut self) {
        self.toolbox.interpreter = true;
    }

    /// The interpreter is gone. True when a tool wanted that, and says so itself.
    pub(in crate::session) fn interpreter_is_gone(&mut self) -> bool {
        self.toolbox.interpreter = false;
        self.resets_interpreter()
    }

    /// What was to be said of its end has been said: the tools go on.
    pub(in crate::session) fn tools_go_on(&mut self) {
        if self.resets_interpreter() {
            let step = self.go_on_after_reset();
            self.settle(step);
        } else if let Some(remains) = self.toolbox.died.take() {
            self.live_ended(remains);
        }
    }

    /// Ctrl-C after the turn was stopped, while its code goes on: once more. True when there was such code.
    pub(in crate::session) fn interrupt_live_again(&mut self) -> bool {
        if self.toolbox.ended.is_none() {
            return false;
        }
        if let Some(interrupter) = self.runtime.interrupter() {
            interrupter.interrupt();
        }
        true
    }

    /// The session ends: a stopped turn waits for its code no longer, and is recorded.
    pub(in crate::session) fn end_stopped_turn(&mut self) {
        if let Some(end) = self.toolbox.ended.take() {
            (self.toolbox.job, self.toolbox.live) = (None, None);
            self.end_turn(&end);
        }
    }

    /// The code's question was answered: its time runs again.
    pub(in crate::session) fn input_answered(&mut self) {
        if let Some(Job::Cells(cells)) = &mut self.toolbox.job {
            cells.resume();
        }
    }

    /// When a tool wants the loop to look.
    pub(in crate::session) fn tool_due(&self) -> Option<Instant> {
        match &self.toolbox.job {
            Some(Job::Cells(cells)) => cells.due(),
            _ => None,
        }
    }
}
