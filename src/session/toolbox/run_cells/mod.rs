//! `run_cells`: cells of the agent, in the live interpreter or in a kernel of its own.
//!
//! In the live interpreter they are asked for first, shown and recorded as the cells they are; in a kernel of the
//! agent's own they are shown and recorded as the work of the agent, and asked for only where nothing keeps them from
//! what the sandbox forbids; in a copy of the live interpreter, which the turn keeps, as work of the agent, too, and
//! asked for where nothing keeps the copy from changing files.
//!
//! Invariants: no cell runs before the user (or the user's settings) allowed the whole call; each takes the next In
//! number and is in the record before it runs; the first that fails stops the rest; what the user asks the shell to
//! do (to leave it, to fill the editor) a cell of the agent cannot. A yes to all cells is no yes to a reset. A place
//! that is none is found out before anything runs.

mod copied;
mod ran;
mod wanted;

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Begun, Code, Desk, ShownAs, Tool, ToolEvent, ToolStep, specs};
use crate::agent::{PlanStep, WorkStatus};
use crate::config::RunCells;
use crate::runtime::{BranchWish, RuntimeAnswer, RuntimeRequest, Snapshot};
use crate::session::cell::Remains;
use crate::session::kernels::{Opened, Opening, Which};
use crate::session::question::{About, QuestionChoice, Reply};
use crate::session::tool_return::ToolReturn;

use ran::{Done, Ran};
use wanted::Wanted;

/// How long an interrupted cell has before it is interrupted again, or ended where that is its own loss alone.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is raised in place of a copy that has ended.
const GIVEN_UP: &str = "ChildProcessError";

/// A call that has not returned.
struct Cells {
    wanted: Wanted,
    /// Where the next cell runs, once that is known.
    opened: Option<Opened>,
    /// The user's yes has been given, or is not needed.
    allowed: bool,
    done: Done,
    /// When the cell that runs is interrupted, again if need be.
    due: Option<Instant>,
    /// What was left of its time when it asked for input.
    paused: Option<Duration>,
    timed_out: bool,
    /// The old interpreter is gone, or on its way out: the next cell has been given its reset.
    restarted: bool,
    /// In a copy it runs also where nothing keeps that from changing files.
    bare: bool,
}

impl Cells {
    /// A cell resets the interpreter.
    fn resets(&self) -> bool {
        self.wanted.cells.iter().any(|cell| cell.reset)
    }

    /// What the next cell needs; the result when none is left.
    fn next(&mut self, desk: &Desk<'_>) -> ToolStep {
        let Some(cell) = self.wanted.cells.get(self.done.cells.len()) else {
            return desk.done(self.result(desk));
        };
        let which = self.wanted.which;
        if which == Which::Copy {
            let then = ToolStep::Show {
                text: format!("{}\n{}", self.heading(&cell.title), cell.code.trim_end()),
                pictures: Vec::new(),
                then: Box::new(self.submit(desk)),
            };
            return self.marked(then);
        }
        let reset = cell.reset && !std::mem::take(&mut self.restarted);
        if which == Which::Live {
            if reset && desk.interpreter {
                self.restarted = true;
                return ToolStep::Kill { over_time: false };
            }
        } else if reset || self.opened.is_none() {
            // The first cell of a call may find the kernel as an earlier call left it.
            self.restarted = cell.reset;
            self.opened = None;
            return ToolStep::Open(self.opening(reset));
        }
        (self.due, self.paused, self.timed_out) = (None, None, false);
        let kernel = self.opened.as_ref().and_then(|opened| opened.number);
        let shown_as = match kernel {
            None => ShownAs::Cell {
                title: cell.title.clone(),
            },
            Some(kernel) => ShownAs::Own {
                kernel,
                heading: self.heading(&cell.title),
            },
        };
        self.marked(ToolStep::Run(Code {
            source: cell.code.clone(),
            shown_as,
            directory: match kernel {
                None => self.opened.as_ref().map(|opened| opened.cwd.clone()),
                Some(_) => None,
            },
        }))
    }

    /// Tells how far the cells of a call are, of several, where the next one begins.
    fn marked(&self, then: ToolStep) -> ToolStep {
        let at = self.done.cells.len();
        let cells = self.wanted.cells.iter().enumerate();
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
            _ => ToolStep::Tell {
                cells,
                then: Box::new(then),
            },
        }
    }

    /// Runs the next cell in the copy.
    fn submit(&mut self, desk: &Desk<'_>) -> ToolStep {
        (self.due, self.timed_out) = (self.wanted.timeout.map(|time| desk.now + time), false);
        let first = self.done.cells.is_empty();
        let cell = &self.wanted.cells[self.done.cells.len()];
        let folder = self.wanted.cwd.as_ref().filter(|_| first);
        ToolStep::Submit(RuntimeRequest::Branch(BranchWish::Run {
            code: cell.code.clone(),
            directory: folder.map(|folder| desk.cwd.join(folder)),
            anew: cell.reset,
            unprotected: self.bare,
        }))
    }

    /// What came of it.
    fn copied(&mut self, answer: RuntimeAnswer, desk: &Desk<'_>) -> ToolStep {
        match answer {
            RuntimeAnswer::Snapshot(Snapshot::Ran { printed, result }) => {
                // Its end may be told by what gave it up: then nothing of it is kept.
                self.timed_out &= !result.as_ref().is_err_and(|error| error.name == GIVEN_UP);
                let (remains, rest) = copied::remains(&printed, result);
                let pictures = remains.images.clone();
                let next = self.ran(0, Box::new(remains), desk);
                match rest.is_empty() && pictures.is_empty() {
                    true => next,
                    false => ToolStep::Show {
                        text: rest,
                        pictures,
                        then: Box::new(next),
                    },
                }
            }
            RuntimeAnswer::Snapshot(Snapshot::Unprotected(why)) => {
                self.due = None;
                self.unprotected(why, desk)
            }
            RuntimeAnswer::Failed(why) | RuntimeAnswer::Unable(why) => self.stopped(&why, desk),
            _ => self.stopped("the interpreter gave no result", desk),
        }
    }

    /// Nothing protects from the cells: they run if the user allows it.
    fn unprotected(&self, why: String, desk: &Desk<'_>) -> ToolStep {
        if !desk.somebody {
            return ToolStep::failed(&format!(
                "no cell was run: {why}, so nothing keeps it from changing files, and there is nobody here to \
                 allow it without that protection. `\"run_cells\": \"auto\"` in config.json or \
                 `%ipycodex run_cells auto` allows it beforehand."
            ));
        }
        let codes = self.wanted.cells.iter().map(|cell| cell.code.as_str());
        let code = codes.collect::<Vec<_>>().join("\n\n");
        ToolStep::Ask(About::Unprotected { code, why })
    }

    /// The next cell could not be run.
    fn stopped(&mut self, why: &str, desk: &Desk<'_>) -> ToolStep {
        if self.done.cells.is_empty() {
            return ToolStep::failed(why);
        }
        let number = self.done.cells.len() + 1;
        self.done
            .said
            .push(format!("cell {number} was not run: {why}"));
        desk.done(ToolReturn {
            success: false,
            ..self.result(desk)
        })
    }

    fn result(&self, desk: &Desk<'_>) -> ToolReturn {
        let all = self.wanted.cells.len();
        self.done
            .result(all, self.wanted.timeout, desk.outputs, desk.line)
    }

    fn opening(&self, reset: bool) -> Opening {
        Opening {
            which: self.wanted.which,
            cwd: self.wanted.cwd.clone(),
            reset,
        }
    }

    /// The line above a cell in a kernel of the agent's own.
    fn heading(&self, title: &str) -> String {
        let kernel = match self.wanted.which {
            Which::Fresh => "a fresh kernel",
            Which::Copy => "a copy of your session",
            _ => "the agent's kernel",
        };
        let count = match self.wanted.cells.len() {
            1 => String::new(),
            all => format!(" {} of {all}", self.done.cells.len() + 1),
        };
        match title {
            "" => format!("{kernel} runs{count}:"),
            title => format!("{kernel} runs{count}: {title}"),
        }
    }

    /// The place is there, and the kernel is up.
    fn opened(&mut self, opened: Opened, desk: &Desk<'_>) -> ToolStep {
        if let Some(how) = &opened.lost {
            self.done.said.push(format!(
                "the kernel had ended ({how}): this is a new one, without the variables of before"
            ));
        }
        let unprotected = opened.unprotected.clone();
        self.opened = Some(opened);
        match unprotected {
            Some(why) if !self.allowed && !desk.allowed.unprotected => self.unprotected(why, desk),
            _ => self.begin(desk),
        }
    }

    /// The first cell, or the question whether it may run.
    fn begin(&mut self, desk: &Desk<'_>) -> ToolStep {
        if self.allowed || self.wanted.which != Which::Live {
            self.allowed = true;
            return self.next(desk);
        }
        ToolStep::Ask(About::Cells(self.wanted.cells.clone()))
    }

    fn ran(&mut self, line: u32, remains: Box<Remains>, desk: &Desk<'_>) -> ToolStep {
        let ran = Ran {
            line,
            remains,
            timed_out: std::mem::take(&mut self.timed_out),
        };
        (self.due, self.paused) = (None, None);
        let failed = ran.failure(self.wanted.timeout).is_some();
        self.done.cells.push(ran);
        if failed {
            return desk.done(self.result(desk));
        }
        self.next(desk)
    }
}

pub(super) fn begin(arguments: &Value, desk: &mut Desk<'_>) -> Begun {
    let mut wanted = Wanted::read(arguments, desk.able)
        .map_err(|why| ToolReturn::failed(&format!("{}: {why}", specs::RUN_CELLS)))?;
    if wanted.which == Which::Scratch && desk.kernels_per_call {
        wanted.which = Which::Fresh;
    }
    let live = wanted.which == Which::Live;
    if live && desk.cell_waits {
        return Err(ToolReturn::failed(
            "no cell was run: a cell of the user has asked this and waits for the answer, and the live interpreter \
             runs one cell at a time. `\"kernel\": \"scratch\"` or `\"copy\"` runs cells beside it; functions of the \
             user can be called.",
        ));
    }
    let mut cells = Cells {
        wanted,
        opened: None,
        allowed: false,
        done: Done::default(),
        due: None,
        paused: None,
        timed_out: false,
        restarted: false,
        bare: desk.allowed.unprotected,
    };
    cells.allowed = match desk.run_cells {
        RunCells::Off => {
            return Err(ToolReturn::failed(
                "the user has switched run_cells off; no cell was run. `%ipycodex run_cells ask` brings it back.",
            ));
        }
        RunCells::Auto => !(live && desk.allowed.resets_are_asked && cells.resets()),
        RunCells::Ask | RunCells::Preview => false,
    };
    if live && !cells.allowed && !desk.somebody {
        return Err(ToolReturn::failed(
            "no cell was run: the user has to allow it and there is nobody here to ask. `\"run_cells\": \"auto\"` \
             in config.json or `%ipycodex run_cells auto` allows it beforehand. `\"kernel\": \"copy\"` and \
             `\"scratch\"` need no leave where they can be confined.",
        ));
    }
    cells.bare |= cells.allowed;
    let step = match cells.wanted.which {
        Which::Copy => cells.begin(desk),
        Which::Live if cells.wanted.cwd.is_none() => cells.begin(desk),
        _ => {
            let reset = cells.wanted.cells[0].reset && !live;
            cells.restarted = reset;
            ToolStep::Open(cells.opening(reset))
        }
    };
    Ok((Box::new(cells), step))
}

impl Tool for Cells {
    fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> ToolStep {
        match event {
            ToolEvent::Opened(Ok(opened)) => self.opened(opened, desk),
            ToolEvent::Opened(Err(why)) => self.stopped(&why, desk),
            ToolEvent::Answered(answer) if self.wanted.which == Which::Copy => {
                self.copied(answer, desk)
            }
            ToolEvent::Restarted => self.next(desk),
            ToolEvent::Replied(Reply::Chosen(
                choice
                @ (QuestionChoice::Once | QuestionChoice::Session | QuestionChoice::Remember),
            )) => {
                if choice != QuestionChoice::Once && self.wanted.which == Which::Live {
                    // Where `%ipycodex` shows it and can take it back. Variables were not given up with it.
                    *desk.run_cells = RunCells::Auto;
                    desk.allowed.resets_are_asked = true;
                } else if choice != QuestionChoice::Once {
                    desk.allowed.unprotected = true;
                }
                self.allowed = true;
                if self.wanted.which == Which::Copy {
                    self.bare = true;
                    return self.submit(desk);
                }
                self.next(desk)
            }
            ToolEvent::Replied(reply) => ToolStep::Done(ToolReturn::denied(
                "the user said no; no cell was run",
                &reply,
            )),
            ToolEvent::CodeBegan => {
                self.due = self.wanted.timeout.map(|timeout| desk.now + timeout);
                ToolStep::Wait
            }
            ToolEvent::InputAsked => {
                if !self.timed_out
                    && let Some(due) = self.due.take()
                {
                    self.paused = Some(due.saturating_duration_since(desk.now));
                }
                ToolStep::Wait
            }
            ToolEvent::InputAnswered => {
                if let Some(left) = self.paused.take() {
                    self.due = Some(desk.now + left);
                }
                ToolStep::Wait
            }
            ToolEvent::CodeEnded { line, remains } => self.ran(line, remains, desk),
            // Its time is over: it is interrupted, and again while that has no effect. A kernel of the agent's own is
            // ended then, and so is the user's where nobody sees it: nothing else would ever end it.
            ToolEvent::Due if self.due.is_some_and(|due| due <= desk.now) => {
                let again = std::mem::replace(&mut self.timed_out, true);
                self.due = Some(desk.now + PATIENCE);
                let own = match self.wanted.which {
                    // It is the user's interpreter that gives the copy up.
                    Which::Copy => false,
                    Which::Live => !desk.somebody,
                    Which::Scratch | Which::Fresh => true,
                };
                if again && own {
                    ToolStep::Kill { over_time: true }
                } else {
                    ToolStep::Interrupt
                }
            }
            _ => ToolStep::Wait,
        }
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }

    fn told_cells(&self) -> Vec<u32> {
        let lines = self.done.cells.iter().map(|ran| ran.line);
        lines.filter(|line| *line > 0).collect()
    }
}
