//! `run_cells`: runs cells of the agent in the live interpreter, in a copy of it, or in the agent's own kernel.
//!
//! Cells in the live interpreter need approval, and are shown and recorded as cells. Cells in the agent's own kernel
//! are shown and recorded as work of the agent; they need approval only where the sandbox cannot confine them. The same
//! holds for cells in a copy, which the turn keeps, where nothing keeps the copy from changing files.
//!
//! Invariants: no cell runs before the user or the settings allowed the whole call; a cell in the live interpreter
//! takes the next In number and is recorded before it runs; the first cell that fails stops the rest; a cell of the
//! agent can neither leave the shell nor fill the editor. An approval of all cells does not approve a reset. A
//! directory that does not exist is an error before anything runs.

mod request;
mod results;

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{BeginResult, CodeDisplay, Tool, ToolCode, ToolContext, ToolEffect, ToolEvent, specs};
use crate::agent::{PlanStep, WorkStatus};
use crate::approvals::Verdict;
use crate::cell::CellResult;
use crate::kernels::{KernelChoice, KernelPlacement, OpenedKernel};
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::runtime::{BranchRequest, RuntimeReply, RuntimeRequest, Snapshot};
use crate::tool_return::ToolReturn;

use request::CellsRequest;
use results::{FinishedCell, FinishedCells, from_copy};

/// Time after an interrupt before the cell is interrupted again, or its kernel is killed where only the agent loses it.
const INTERRUPT_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// The exception that stands for a copy that has ended.
const COPY_ENDED: &str = "ChildProcessError";

struct CellsCall {
    request: CellsRequest,
    opened: Option<OpenedKernel>,
    /// The call is approved, or needs no approval.
    allowed: bool,
    finished: FinishedCells,
    /// The time of the next interrupt.
    due: Option<Instant>,
    /// The time left when the cell asked for input.
    paused: Option<Duration>,
    timed_out: bool,
    /// The reset of the next cell is done, or in progress.
    restarted: bool,
    /// Cells may run in a copy that nothing keeps from changing files.
    unprotected: bool,
}

impl CellsCall {
    fn resets(&self) -> bool {
        self.request.cells.iter().any(|cell| cell.reset)
    }

    /// Starts the next cell, or returns the result when none is left.
    fn next(&mut self, context: &ToolContext<'_>) -> ToolEffect {
        let Some(cell) = self.request.cells.get(self.finished.cells.len()) else {
            return context.finish(self.result(context));
        };
        let which = self.request.which;
        if which == KernelChoice::Copy {
            let then = ToolEffect::Show {
                text: format!("{}\n{}", self.heading(&cell.title), cell.code.trim_end()),
                pictures: Vec::new(),
                then: Box::new(self.submit(context)),
            };
            return self.with_progress(then);
        }
        let reset = cell.reset && !std::mem::take(&mut self.restarted);
        if which == KernelChoice::Live {
            if reset && context.interpreter_up {
                self.restarted = true;
                return ToolEffect::Kill { over_time: false };
            }
        } else if reset || self.opened.is_none() {
            // The kernel may still have the state of an earlier call, so a reset applies to the first cell, too.
            self.restarted = cell.reset;
            self.opened = None;
            return ToolEffect::OpenKernel(self.opening(reset));
        }
        (self.due, self.paused, self.timed_out) = (None, None, false);
        let kernel = self.opened.as_ref().and_then(|opened| opened.number);
        let display = match kernel {
            None => CodeDisplay::Cell {
                title: cell.title.clone(),
            },
            Some(kernel) => CodeDisplay::Own {
                kernel,
                heading: self.heading(&cell.title),
            },
        };
        self.with_progress(ToolEffect::Run(ToolCode {
            source: cell.code.clone(),
            display,
            directory: match kernel {
                None => self.opened.as_ref().map(|opened| opened.cwd.clone()),
                Some(_) => None,
            },
        }))
    }

    /// Puts a progress report before the next cell of a call with several cells.
    fn with_progress(&self, then: ToolEffect) -> ToolEffect {
        let at = self.finished.cells.len();
        let cells = self.request.cells.iter().enumerate();
        let cells: Vec<PlanStep> = cells
            .map(|(index, cell)| PlanStep {
                text: match cell.title.as_str() {
                    "" => (index + 1).to_string(),
                    title => title.to_owned(),
                },
                status: match index.cmp(&at) {
                    Ordering::Less => WorkStatus::Done,
                    Ordering::Equal => WorkStatus::Running,
                    Ordering::Greater => WorkStatus::Waiting,
                },
            })
            .collect();
        match cells.len() {
            ..2 => then,
            _ => ToolEffect::ReportProgress {
                cells,
                then: Box::new(then),
            },
        }
    }

    fn submit(&mut self, context: &ToolContext<'_>) -> ToolEffect {
        (self.due, self.timed_out) = (self.request.timeout.map(|time| context.now + time), false);
        let first = self.finished.cells.is_empty();
        let cell = &self.request.cells[self.finished.cells.len()];
        let folder = self.request.cwd.as_ref().filter(|_| first);
        ToolEffect::Submit(RuntimeRequest::Branch(BranchRequest::Run {
            code: cell.code.clone(),
            directory: folder.map(|folder| context.cwd.join(folder)),
            anew: cell.reset,
            unprotected: self.unprotected,
        }))
    }

    fn on_copy_answer(&mut self, answer: RuntimeReply, context: &ToolContext<'_>) -> ToolEffect {
        match answer {
            RuntimeReply::Snapshot(Snapshot::Ran { printed, result }) => {
                // A copy that ended by itself lost its variables, so the result must not say that they are kept.
                self.timed_out &= !result.as_ref().is_err_and(|error| error.name == COPY_ENDED);
                let (remains, rest) = from_copy(&printed, result);
                let pictures = remains.images.clone();
                let next = self.on_cell_ended(0, Box::new(remains), context);
                match rest.is_empty() && pictures.is_empty() {
                    true => next,
                    false => ToolEffect::Show {
                        text: rest,
                        pictures,
                        then: Box::new(next),
                    },
                }
            }
            RuntimeReply::Snapshot(Snapshot::Unprotected(why)) => {
                self.due = None;
                self.ask_unprotected(why, context)
            }
            RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why) => {
                self.on_not_run(&why, context)
            }
            _ => self.on_not_run("the interpreter gave no result", context),
        }
    }

    fn ask_unprotected(&self, why: String, context: &ToolContext<'_>) -> ToolEffect {
        if !context.policy.can_ask {
            return ToolEffect::failed(&format!(
                "no cell was run: {why}, so nothing keeps it from changing files, and there is nobody here to \
                 allow it without that protection. `\"run_cells\": \"auto\"` in config.json or \
                 `%ipycodex run_cells auto` allows it beforehand."
            ));
        }
        let codes = self.request.cells.iter().map(|cell| cell.code.as_str());
        let code = codes.collect::<Vec<_>>().join("\n\n");
        ToolEffect::Ask(QuestionSubject::Unprotected { code, why })
    }

    fn on_not_run(&mut self, why: &str, context: &ToolContext<'_>) -> ToolEffect {
        if self.finished.cells.is_empty() {
            return ToolEffect::failed(why);
        }
        let number = self.finished.cells.len() + 1;
        self.finished
            .notes
            .push(format!("cell {number} was not run: {why}"));
        context.finish(ToolReturn {
            success: false,
            ..self.result(context)
        })
    }

    fn result(&self, context: &ToolContext<'_>) -> ToolReturn {
        let all = self.request.cells.len();
        self.finished.result(
            all,
            self.request.timeout,
            context.outputs,
            context.prompt_line,
        )
    }

    fn opening(&self, reset: bool) -> KernelPlacement {
        KernelPlacement {
            which: self.request.which,
            cwd: self.request.cwd.clone(),
            reset,
        }
    }

    /// Returns the line above a cell in a kernel of the agent.
    fn heading(&self, title: &str) -> String {
        let kernel = match self.request.which {
            KernelChoice::Fresh => "a fresh kernel",
            KernelChoice::Copy => "a copy of your session",
            _ => "the agent's kernel",
        };
        let count = match self.request.cells.len() {
            1 => String::new(),
            all => format!(" {} of {all}", self.finished.cells.len() + 1),
        };
        match title {
            "" => format!("{kernel} runs{count}:"),
            title => format!("{kernel} runs{count}: {title}"),
        }
    }

    fn on_opened(&mut self, opened: OpenedKernel, context: &ToolContext<'_>) -> ToolEffect {
        if let Some(how) = &opened.lost {
            self.finished.notes.push(format!(
                "the kernel had ended ({how}): this is a new one, without the variables of before"
            ));
        }
        let unprotected = opened.unprotected.clone();
        self.opened = Some(opened);
        match unprotected {
            Some(why) if !self.allowed && !context.policy.grants.unprotected => {
                self.ask_unprotected(why, context)
            }
            _ => self.begin(context),
        }
    }

    /// Runs the first cell, or asks for approval.
    fn begin(&mut self, context: &ToolContext<'_>) -> ToolEffect {
        if self.allowed || self.request.which != KernelChoice::Live {
            self.allowed = true;
            return self.next(context);
        }
        ToolEffect::Ask(QuestionSubject::Cells(self.request.cells.clone()))
    }

    fn on_cell_ended(
        &mut self,
        line: u32,
        remains: Box<CellResult>,
        context: &ToolContext<'_>,
    ) -> ToolEffect {
        let cell = FinishedCell {
            line,
            remains,
            timed_out: std::mem::take(&mut self.timed_out),
        };
        (self.due, self.paused) = (None, None);
        let failed = cell.failure(self.request.timeout).is_some();
        self.finished.cells.push(cell);
        if failed {
            return context.finish(self.result(context));
        }
        self.next(context)
    }
}

pub(super) fn begin(arguments: &Value, context: &mut ToolContext<'_>) -> BeginResult {
    let mut request = CellsRequest::parse(arguments, context.runtime)
        .map_err(|why| ToolReturn::failed(&format!("{}: {why}", specs::RUN_CELLS)))?;
    if request.which == KernelChoice::Scratch && context.kernels_per_call {
        request.which = KernelChoice::Fresh;
    }
    let live = request.which == KernelChoice::Live;
    if live && context.cell_waiting {
        return Err(ToolReturn::failed(
            "no cell was run: a cell of the user has asked this and waits for the answer, and the live interpreter \
             runs one cell at a time. `\"kernel\": \"scratch\"` or `\"copy\"` runs cells beside it; functions of the \
             user can be called.",
        ));
    }
    let mut call = CellsCall {
        request,
        opened: None,
        allowed: false,
        finished: FinishedCells::default(),
        due: None,
        paused: None,
        timed_out: false,
        restarted: false,
        unprotected: context.policy.grants.unprotected,
    };
    call.allowed = match context.policy.cells(live, call.resets()) {
        Verdict::Off => {
            return Err(ToolReturn::failed(
                "the user has switched run_cells off; no cell was run. `%ipycodex run_cells ask` brings it back.",
            ));
        }
        Verdict::NobodyToAsk => {
            return Err(ToolReturn::failed(
                "no cell was run: the user has to allow it and there is nobody here to ask. `\"run_cells\": \"auto\"` \
                 in config.json or `%ipycodex run_cells auto` allows it beforehand. `\"kernel\": \"copy\"` and \
                 `\"scratch\"` need no leave where they can be confined.",
            ));
        }
        verdict => verdict == Verdict::Allowed,
    };
    call.unprotected |= call.allowed;
    let step = match call.request.which {
        KernelChoice::Copy => call.begin(context),
        KernelChoice::Live if call.request.cwd.is_none() => call.begin(context),
        _ => {
            let reset = call.request.cells[0].reset && !live;
            call.restarted = reset;
            ToolEffect::OpenKernel(call.opening(reset))
        }
    };
    Ok((Box::new(call), step))
}

impl Tool for CellsCall {
    fn on(&mut self, event: ToolEvent, context: &mut ToolContext<'_>) -> ToolEffect {
        match event {
            ToolEvent::KernelOpened(Ok(opened)) => self.on_opened(opened, context),
            ToolEvent::KernelOpened(Err(why)) => self.on_not_run(&why, context),
            ToolEvent::RuntimeAnswered(answer) if self.request.which == KernelChoice::Copy => {
                self.on_copy_answer(answer, context)
            }
            ToolEvent::Restarted => self.next(context),
            ToolEvent::UserReplied(Reply::Chosen(
                choice
                @ (QuestionChoice::Once | QuestionChoice::Session | QuestionChoice::Remember),
            )) => {
                if choice != QuestionChoice::Once && self.request.which == KernelChoice::Live {
                    context.policy.grant_cells();
                } else if choice != QuestionChoice::Once {
                    context.policy.grants.unprotected = true;
                }
                self.allowed = true;
                if self.request.which == KernelChoice::Copy {
                    self.unprotected = true;
                    return self.submit(context);
                }
                self.next(context)
            }
            ToolEvent::UserReplied(reply) => ToolEffect::Done(ToolReturn::denied(
                "the user said no; no cell was run",
                &reply,
            )),
            ToolEvent::CodeStarted => {
                self.due = self.request.timeout.map(|timeout| context.now + timeout);
                ToolEffect::Wait
            }
            ToolEvent::InputRequested => {
                if !self.timed_out
                    && let Some(due) = self.due.take()
                {
                    self.paused = Some(due.saturating_duration_since(context.now));
                }
                ToolEffect::Wait
            }
            ToolEvent::InputAnswered => {
                if let Some(left) = self.paused.take() {
                    self.due = Some(context.now + left);
                }
                ToolEffect::Wait
            }
            ToolEvent::CodeEnded { line, remains } => self.on_cell_ended(line, remains, context),
            // The cell exceeded its time: interrupt it, repeatedly if needed. The agent's own kernel is killed at the
            // second time, and so is the user's where there is no user, since nothing else would ever end it.
            ToolEvent::DeadlineReached if self.due.is_some_and(|due| due <= context.now) => {
                let again = std::mem::replace(&mut self.timed_out, true);
                self.due = Some(context.now + INTERRUPT_AGAIN_AFTER);
                let own = match self.request.which {
                    // The user's interpreter ends its copy by itself.
                    KernelChoice::Copy => false,
                    KernelChoice::Live => !context.policy.can_ask,
                    KernelChoice::Scratch | KernelChoice::Fresh => true,
                };
                if again && own {
                    ToolEffect::Kill { over_time: true }
                } else {
                    ToolEffect::Interrupt
                }
            }
            _ => ToolEffect::Wait,
        }
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }

    fn reported_cells(&self) -> Vec<u32> {
        let lines = self.finished.cells.iter().map(|cell| cell.line);
        lines.filter(|line| *line > 0).collect()
    }
}
