//! `run_cells`: cells of the agent in the live interpreter, asked first, shown and recorded as the cells they are.
//!
//! Invariants: no cell runs before the user (or the user's settings) allowed the whole call; each takes the next In
//! number and is in the record before it runs; the first that fails stops the rest; what the user asks the shell to
//! do (to leave it, to fill the editor) a cell of the agent cannot. A yes to all cells is no yes to a reset.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::arguments::Arguments;
use super::{Begun, Code, Desk, ShownAs, Step, Tool, ToolEvent, specs};
use crate::agent::InputPart;
use crate::config::RunCells;
use crate::input::is_ours;
use crate::output::MODEL_CHARACTERS;
use crate::runtime::{Capabilities, Death, Ending};
use crate::session::cell::Remains;
use crate::session::outputs::Outputs;
use crate::session::prompt::ToolReturn;
use crate::session::question::{About, Choice, ProposedCell, Reply};

/// Code points of a cell's output in the result at least, however many cells there are.
const LEAST_CHARACTERS: usize = 2_000;
/// Code points for what stands around the outputs.
const ROOM: usize = 400;
/// Pictures in one result.
const MOST_IMAGES: usize = 10;
/// How long an interrupted cell has before it is interrupted again.
const PATIENCE: Duration = Duration::from_secs(5);

/// A call that has not returned.
struct Cells {
    cells: Vec<ProposedCell>,
    /// What each cell may take.
    timeout: Option<Duration>,
    done: Vec<Ran>,
    /// When the cell that runs is interrupted, again if need be.
    due: Option<Instant>,
    /// What was left of its time when it asked for input.
    paused: Option<Duration>,
    timed_out: bool,
    /// The old interpreter is on its way out; the next cell waits for its end.
    restarting: bool,
}

/// A cell that has run.
struct Ran {
    line: u32,
    remains: Box<Remains>,
    timed_out: bool,
}

impl Cells {
    fn read(arguments: &Value, able: &Capabilities) -> Result<Self, String> {
        let language = &able.language;
        let arguments = Arguments::of(arguments, "", &["cells", "timeout"])?;
        let what = "a list of at least one cell, {code, title?, reset?}";
        let list = match arguments.required("cells", what)? {
            Value::Array(list) if !list.is_empty() => list,
            other => return Err(arguments.wrong("cells", what, other)),
        };
        let mut cells = Vec::with_capacity(list.len());
        for (index, cell) in list.iter().enumerate() {
            let path = format!("cells[{index}]");
            let cell = Arguments::of(cell, &path, &["code", "title", "reset"])?;
            let code = cell.text("code", language)?;
            if is_ours(code) {
                return Err(format!(
                    "`{path}.code` is a prompt or a command of the shell, which only the user gives; cells are \
                     {language}"
                ));
            }
            let reset = cell.flag("reset")?;
            if reset && !able.restart {
                return Err(format!(
                    "`{path}.reset` cannot be had: the {language} runtime cannot be restarted from here"
                ));
            }
            cells.push(ProposedCell {
                code: code.trim_end_matches(['\n', '\r']).to_owned(),
                title: cell.text_or_empty("title")?.to_owned(),
                reset,
            });
        }
        let timeout = arguments.number("timeout", 1.0, 3600.0)?;
        Ok(Cells {
            cells,
            timeout: timeout.map(Duration::from_secs_f64),
            done: Vec::new(),
            due: None,
            paused: None,
            timed_out: false,
            restarting: false,
        })
    }

    /// A cell resets the interpreter.
    fn resets(&self) -> bool {
        self.cells.iter().any(|cell| cell.reset)
    }

    /// What the next cell needs; the result when none is left.
    fn next(&mut self, desk: &Desk<'_>) -> Step {
        let Some(cell) = self.cells.get(self.done.len()) else {
            return desk.done(self.result(desk.outputs));
        };
        let restarted = std::mem::take(&mut self.restarting);
        if cell.reset && !restarted && desk.interpreter {
            self.restarting = true;
            return Step::Kill;
        }
        (self.due, self.paused, self.timed_out) = (None, None, false);
        Step::Run(Code {
            source: cell.code.clone(),
            shown_as: ShownAs::Cell {
                title: cell.title.clone(),
            },
        })
    }

    fn ran(&mut self, line: u32, remains: Box<Remains>, desk: &Desk<'_>) -> Step {
        let ran = Ran {
            line,
            remains,
            timed_out: std::mem::take(&mut self.timed_out),
        };
        (self.due, self.paused) = (None, None);
        let failed = ran.failure(self.timeout).is_some();
        self.done.push(ran);
        if failed {
            return desk.done(self.result(desk.outputs));
        }
        self.next(desk)
    }

    /// The result of the call.
    fn result(&self, outputs: &Outputs) -> ToolReturn {
        let last = self.done.last();
        let failure = last.and_then(|ran| ran.failure(self.timeout));
        let budget = ((MODEL_CHARACTERS - ROOM) / self.done.len().max(1))
            .saturating_sub(ROOM)
            .max(LEAST_CHARACTERS);
        let mut text = match (&failure, last) {
            (Some(why), Some(ran)) => {
                let (number, all) = (self.done.len(), self.cells.len());
                let rest = match all - number {
                    0 => String::new(),
                    1 => format!("; cell {all} was not run"),
                    _ => format!("; cells {} to {all} were not run", number + 1),
                };
                format!(
                    "cell {number} of {all} (In[{}]) failed: {why}{rest}",
                    ran.line
                )
            }
            _ => "ran".to_owned(),
        };
        for ran in &self.done {
            let shown = outputs.cut_cell(ran.line, &ran.remains.shown, budget);
            let shown = shown.trim_end_matches('\n');
            text.push_str(&match shown {
                "" => format!("\nIn[{}]: no output", ran.line),
                shown => format!("\nIn[{}]:\n{shown}", ran.line),
            });
            if ran.remains.leaving {
                text.push_str(
                    "\n[exit was ignored: only the user leaves the shell; reset starts the interpreter anew]",
                );
            }
        }
        let images = self.done.iter().flat_map(|ran| &ran.remains.images);
        let images = images.take(MOST_IMAGES).cloned().map(InputPart::Image);
        ToolReturn {
            content: std::iter::once(InputPart::Text(text.clone()))
                .chain(images)
                .collect(),
            text,
            success: failure.is_none(),
            denied: false,
        }
    }
}

pub(super) fn begin(arguments: &Value, desk: &mut Desk<'_>) -> Begun {
    let mut cells = Cells::read(arguments, desk.able)
        .map_err(|why| ToolReturn::failed(&format!("{}: {why}", specs::RUN_CELLS)))?;
    let allowed = match desk.run_cells {
        RunCells::Off => {
            return Err(ToolReturn::failed(
                "the user has switched run_cells off; no cell was run. `%ipycodex run_cells ask` brings it back.",
            ));
        }
        RunCells::Auto => !(desk.allowed.resets_are_asked && cells.resets()),
        RunCells::Ask => false,
    };
    let step = if allowed {
        cells.next(desk)
    } else if desk.somebody {
        Step::Ask(About::Cells(cells.cells.clone()))
    } else {
        return Err(ToolReturn::failed(
            "no cell was run: the user has to allow it and there is nobody here to ask. `\"run_cells\": \"auto\"` \
             in config.json or `%ipycodex run_cells auto` allows it beforehand.",
        ));
    };
    Ok((Box::new(cells), step))
}

impl Tool for Cells {
    fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> Step {
        match event {
            ToolEvent::Replied(Reply::Chosen(Choice::Once)) | ToolEvent::Restarted => {
                self.next(desk)
            }
            ToolEvent::Replied(Reply::Chosen(Choice::Session | Choice::Remember)) => {
                // Where `%ipycodex` shows it and can take it back. Variables were not given up with it.
                *desk.run_cells = RunCells::Auto;
                desk.allowed.resets_are_asked = true;
                self.next(desk)
            }
            ToolEvent::Replied(reply) => Step::Done(ToolReturn::denied(
                "the user said no; no cell was run",
                &reply,
            )),
            ToolEvent::CodeBegan => {
                self.due = self.timeout.map(|timeout| desk.now + timeout);
                Step::Wait
            }
            ToolEvent::InputAsked => {
                if !self.timed_out
                    && let Some(due) = self.due.take()
                {
                    self.paused = Some(due.saturating_duration_since(desk.now));
                }
                Step::Wait
            }
            ToolEvent::InputAnswered => {
                if let Some(left) = self.paused.take() {
                    self.due = Some(desk.now + left);
                }
                Step::Wait
            }
            ToolEvent::CodeEnded { line, remains } => self.ran(line, remains, desk),
            // Its time is over: it is interrupted, and again while that has no effect. Where nobody sees it, the
            // interpreter is ended then: nothing else would ever end it.
            ToolEvent::Due if self.due.is_some_and(|due| due <= desk.now) => {
                let again = std::mem::replace(&mut self.timed_out, true);
                self.due = Some(desk.now + PATIENCE);
                if again && !desk.somebody {
                    Step::Kill
                } else {
                    Step::Interrupt
                }
            }
            _ => Step::Wait,
        }
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }

    fn told_cells(&self) -> Vec<u32> {
        self.done.iter().map(|ran| ran.line).collect()
    }
}

impl Ran {
    /// Why the cell failed, if it did.
    fn failure(&self, timeout: Option<Duration>) -> Option<String> {
        let after = timeout.map_or(0.0, |timeout| timeout.as_secs_f64());
        Some(match &self.remains.ending {
            Ending::Ok if self.timed_out => {
                format!(
                    "timed out after {after} s; it was interrupted and ended, variables are kept"
                )
            }
            Ending::Ok => return None,
            Ending::Error | Ending::Interrupted if self.timed_out => {
                format!("timed out after {after} s; it was interrupted, variables are kept")
            }
            Ending::Error => match &self.remains.raised {
                Some(summary) => summary.clone(),
                None => "it raised".to_owned(),
            },
            Ending::Interrupted => "it was interrupted; variables are kept".to_owned(),
            Ending::Lost(why) => format!(
                "the connection to the interpreter was lost ({why}); the cell may still run, and variables may be \
                 there"
            ),
            Ending::Died(Death::NotStarted(failure)) => failure.message.clone(),
            Ending::Died(Death::Killed) if self.timed_out => format!(
                "timed out after {after} s and did not react to the interrupt; the interpreter was killed, all \
                 variables are lost"
            ),
            Ending::Died(death) => format!(
                "the interpreter ended ({death}), all variables are lost; the next cell gets a new one"
            ),
        })
    }
}
