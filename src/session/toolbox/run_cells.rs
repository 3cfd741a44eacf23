//! `run_cells`: cells of the agent in the live interpreter, asked first, shown and recorded as the cells they are.
//!
//! Invariants: no cell runs before the user (or the user's settings) allowed the whole call; each takes the next In
//! number and is in the record before it runs; the first that fails stops the rest; what the user asks the shell to
//! do (to leave it, to fill the editor) a cell of the agent cannot. A yes to all cells is no yes to a reset.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::arguments::Arguments;
use super::{Job, specs};
use crate::agent::InputPart;
use crate::config::RunCells;
use crate::input::is_ours;
use crate::output::MODEL_CHARACTERS;
use crate::runtime::{Death, Ending, Execute, RuntimeRequest};
use crate::session::asking::Asker;
use crate::session::cell::{CellRun, Remains, Whose};
use crate::session::events::SessionEvent;
use crate::session::outputs::Outputs;
use crate::session::question::{About, Choice, ProposedCell, Reply};
use crate::session::task::Session;
use crate::session::turn::ToolReturn;

/// Code points of a cell's output in the result at least, however many cells there are.
const LEAST_CHARACTERS: usize = 2_000;
/// Code points for what stands around the outputs.
const ROOM: usize = 400;
/// Pictures in one result.
const MOST_IMAGES: usize = 10;
/// How long an interrupted cell has before it is interrupted again.
const PATIENCE: Duration = Duration::from_secs(5);

/// A call that has not returned.
pub(super) struct Cells {
    cells: Vec<ProposedCell>,
    /// What each cell may take.
    timeout: Option<Duration>,
    done: Vec<Ran>,
    /// The In number of the cell that runs.
    line: u32,
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
    fn read(arguments: &Value) -> Result<Self, String> {
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
            let code = cell.text("code", "Python")?;
            if is_ours(code) {
                return Err(format!(
                    "`{path}.code` is a prompt or a command of the shell, which only the user gives; cells are Python"
                ));
            }
            cells.push(ProposedCell {
                code: code.trim_end_matches(['\n', '\r']).to_owned(),
                title: cell.text_or_empty("title")?.to_owned(),
                reset: cell.flag("reset")?,
            });
        }
        let timeout = arguments.number("timeout", 1.0, 3600.0)?;
        Ok(Cells {
            cells,
            timeout: timeout.map(Duration::from_secs_f64),
            done: Vec::new(),
            line: 0,
            due: None,
            paused: None,
            timed_out: false,
            restarting: false,
        })
    }

    /// The In numbers of the cells that ran.
    pub(super) fn lines(&self) -> Vec<u32> {
        self.done.iter().map(|ran| ran.line).collect()
    }

    /// A cell resets the interpreter.
    fn resets(&self) -> bool {
        self.cells.iter().any(|cell| cell.reset)
    }

    /// When something is to be done about the time.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The cell began: its time runs.
    pub(super) fn begun(&mut self) {
        self.due = self.timeout.map(|timeout| Instant::now() + timeout);
    }

    /// The cell asks for input: its time stands still.
    pub(super) fn pause(&mut self) {
        if !self.timed_out
            && let Some(due) = self.due.take()
        {
            self.paused = Some(due.saturating_duration_since(Instant::now()));
        }
    }

    /// It was answered.
    pub(super) fn resume(&mut self) {
        if let Some(left) = self.paused.take() {
            self.due = Some(Instant::now() + left);
        }
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

impl Session {
    pub(super) fn run_cells(&mut self, arguments: &Value) -> Option<ToolReturn> {
        let cells = match Cells::read(arguments) {
            Ok(cells) => Box::new(cells),
            Err(why) => return Some(ToolReturn::failed(&format!("{}: {why}", specs::RUN_CELLS))),
        };
        let allowed = match self.choices.run_cells {
            RunCells::Off => {
                return Some(ToolReturn::failed(
                    "the user has switched run_cells off; no cell was run. `%ipycodex run_cells ask` brings it back.",
                ));
            }
            RunCells::Auto => !(self.asking.resets_are_asked && cells.resets()),
            RunCells::Ask => false,
        };
        if allowed {
            return self.next_cell(cells);
        }
        if !self.asking.somebody() {
            return Some(ToolReturn::failed(
                "no cell was run: the user has to allow it and there is nobody here to ask. `\"run_cells\": \"auto\"` \
                 in config.json or `%ipycodex run_cells auto` allows it beforehand.",
            ));
        }
        let about = About::Cells(cells.cells.clone());
        self.toolbox.job = Some(Job::Cells(cells));
        self.ask_user(about, Asker::Tool);
        None
    }

    /// The user answered whether the cells may run.
    pub(super) fn cells_allowed(&mut self, cells: Box<Cells>, reply: &Reply) -> Option<ToolReturn> {
        match reply {
            Reply::Chosen(Choice::Once) => self.next_cell(cells),
            Reply::Chosen(Choice::Session | Choice::Remember) => {
                // Where `%ipycodex` shows it and can take it back. Variables were not given up with it.
                self.choices.run_cells = RunCells::Auto;
                self.asking.resets_are_asked = true;
                self.next_cell(cells)
            }
            _ => Some(ToolReturn::denied(
                "the user said no; no cell was run",
                reply,
            )),
        }
    }

    /// Runs the next cell, after a reset when it wants one; the result when none is left.
    fn next_cell(&mut self, mut cells: Box<Cells>) -> Option<ToolReturn> {
        let Some(cell) = cells.cells.get(cells.done.len()).cloned() else {
            return Some(self.finished(cells));
        };
        if cell.reset
            && !cells.restarting
            && self.toolbox.interpreter
            && let Some(interrupter) = self.runtime.interrupter()
        {
            interrupter.kill();
            cells.restarting = true;
            self.toolbox.job = Some(Job::Cells(cells));
            return None;
        }
        cells.restarting = false;
        let line = self.next_line;
        self.set_next_line(line + 1);
        self.recorded = true;
        self.history.input(line, &cell.code, &cell.code);
        let out = self.out_or_background().clone();
        out.send(SessionEvent::AgentCell {
            line,
            title: cell.title,
            source: cell.code.clone(),
        });
        let execute = Execute {
            code: cell.code.clone(),
            execution_count: Some(line),
            silent: false,
            stdin: self.stdin,
            place: None,
        };
        let id = self
            .connected_runtime()
            .submit(RuntimeRequest::Execute(execute));
        let run = CellRun::new(id, Whose::Agent(line), cell.code, out, self.outputs.clone());
        self.toolbox.live = Some(Box::new(run));
        cells.line = line;
        (cells.due, cells.paused, cells.timed_out) = (None, None, false);
        self.toolbox.job = Some(Job::Cells(cells));
        None
    }

    fn finished(&mut self, cells: Box<Cells>) -> ToolReturn {
        let result = self.cut_result(cells.result(&self.outputs));
        // Its lines are asked for when the turn has taken the result.
        self.toolbox.job = Some(Job::Cells(cells));
        result
    }

    /// A cell has ended: the next one, or the result.
    pub(super) fn cell_ran(
        &mut self,
        mut cells: Box<Cells>,
        remains: Box<Remains>,
    ) -> Option<ToolReturn> {
        let ran = Ran {
            line: cells.line,
            remains,
            timed_out: std::mem::take(&mut cells.timed_out),
        };
        (cells.due, cells.paused) = (None, None);
        let failed = ran.failure(cells.timeout).is_some();
        cells.done.push(ran);
        if failed {
            return Some(self.finished(cells));
        }
        self.next_cell(cells)
    }

    /// True while an old interpreter is on its way out for a reset.
    pub(super) fn resets_interpreter(&self) -> bool {
        matches!(&self.toolbox.job, Some(Job::Cells(cells)) if cells.restarting)
    }

    /// It is gone.
    pub(super) fn go_on_after_reset(&mut self) -> Option<ToolReturn> {
        match self.toolbox.job.take() {
            Some(Job::Cells(cells)) => self.next_cell(cells),
            job => {
                self.toolbox.job = job;
                None
            }
        }
    }

    /// The time of the running cell is over: it is interrupted, and again while that has no effect. Where nobody sees
    /// it, the interpreter is ended then: nothing else would ever end it.
    pub(in crate::session) fn on_cell_due(&mut self) {
        let somebody = self.asking.somebody();
        let Some(Job::Cells(cells)) = &mut self.toolbox.job else {
            return;
        };
        let now = Instant::now();
        if cells.due.is_none_or(|due| due > now) || self.toolbox.live.is_none() {
            return;
        }
        let again = std::mem::replace(&mut cells.timed_out, true);
        cells.due = Some(now + PATIENCE);
        if let Some(interrupter) = self.runtime.interrupter() {
            if again && !somebody {
                interrupter.kill();
            } else {
                interrupter.interrupt();
            }
        }
    }
}
