//! Replaying: cells run again and exchanges recorded again, step by step, without anybody typing them.
//!
//! In: a [`Replay`]; out: a run with a [`Replaying`](SessionEvent::Replaying) before each step, the cell's own events
//! and one [`ReplayEnded`](SessionEvent::ReplayEnded). Invariants: one step at a time and nothing between two; the first
//! cell that does not end well stops it, except when the user skipped it; a cell that runs under its old number is
//! not recorded again. Nobody answers `input()` here, and a cell that asks to leave the shell or to fill the editor is
//! not heeded: it did so when it was typed.
//!
//! Absent on purpose: where steps come from (a notebook, a record) and what they look like.

use std::collections::VecDeque;

use crate::dialog::Dialog;
use crate::history::{Outcome, PromptStart};
use crate::input::{is_ours, prompt_source};
use crate::runtime::{Ending, Execute, Place, RuntimeRequest, Stdin};
use crate::session::cell::{CellRun, Remains, Whose};
use crate::session::events::{Notice, RunKind, RunSender, SessionEvent};
use crate::session::task::{Current, Session};

/// What is to be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// What it comes from, for messages: `startup.ipynb`, `session 43`.
    pub name: String,
    /// In this order.
    pub steps: Vec<Step>,
    /// What cells show is told only of the one that fails.
    pub quiet: bool,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A cell is run.
    Cell {
        /// Python, as typed.
        source: String,
        /// A cell of this session's record: it runs under this In number and is not recorded again. `None`: it takes
        /// the next number and is recorded like one that was typed.
        again: Option<u32>,
        /// Where it stands in a script.
        place: Option<Place>,
    },
    /// An exchange becomes part of the conversation: it takes the next number, nothing is sent.
    Prompt {
        /// As typed, without the dot.
        prompt: String,
        /// The stored answer.
        response: String,
        /// The last code line before it; `None`: the last one of this session.
        after: Option<u32>,
    },
}

/// Why a replay ended before its last step; `line` is the In number of the step it ended at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayStop {
    /// A cell raised.
    Failed {
        /// Its number.
        line: u32,
        /// `Name: value`.
        error: String,
    },
    /// The user stopped it.
    Interrupted {
        /// Of the cell that ran.
        line: u32,
    },
    /// The interpreter ended.
    Died {
        /// Of the cell that ran.
        line: u32,
    },
}

/// How a replay ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// What was replayed.
    pub name: String,
    /// Steps that went well.
    pub ran: usize,
    /// Cells the user skipped.
    pub skipped: usize,
    /// Steps in all.
    pub of: usize,
    /// Why not all of them had their turn.
    pub stopped: Option<ReplayStop>,
    /// First and last In number of the cells of the record that had none.
    pub rest: Option<(u32, u32)>,
}

impl Replayed {
    /// Says how it ended, in one line.
    pub fn notice(&self) -> Notice {
        let mut parts = vec![match (self.ran, self.of) {
            (ran, of) if ran == of => format!("{}: {ran} replayed", self.name),
            (ran, of) => format!("{}: {ran} of {of} replayed", self.name),
        }];
        if self.skipped > 0 {
            parts.push(format!("{} skipped", self.skipped));
        }
        let Some(stopped) = &self.stopped else {
            return Notice::note(parts.join(", "));
        };
        parts.push(match stopped {
            ReplayStop::Failed { line, error } => format!("stopped at In [{line}] ({error})"),
            ReplayStop::Interrupted { line } => format!("stopped by you at In [{line}]"),
            ReplayStop::Died { line } => {
                format!("stopped at In [{line}] (the interpreter ended)")
            }
        });
        let left = self.of.saturating_sub(self.ran + self.skipped + 1);
        if left > 0 {
            parts.push(format!("{left} more not run"));
        }
        let notice = Notice::warning(parts.join(", "));
        match self.rest {
            Some((from, to)) if from == to => {
                notice.hint(format!("`%ipycodex replay {from}` runs the last one"))
            }
            Some((from, to)) => {
                notice.hint(format!("`%ipycodex replay {from}-{to}` goes on after it"))
            }
            None => notice,
        }
    }
}

/// A replay in progress.
pub(super) struct ReplayRun {
    steps: VecDeque<Step>,
    quiet: bool,
    last_code: u32,
    /// In number of the cell that runs.
    line: u32,
    /// The user skips the cell that runs.
    skipping: bool,
    /// The user stops all of it.
    stopping: bool,
    /// With it every cell of the record has run in this interpreter.
    all: bool,
    so_far: Replayed,
    /// Said in place of how it ended when all of it went well.
    said: Option<String>,
    out: RunSender,
}

impl Session {
    /// Begins a replay: its first step runs when what is being worked on is over.
    pub(super) fn begin_replay(&mut self, replay: Replay, out: &RunSender) {
        let asks = |step: &Step| matches!(step, Step::Prompt { after: None, .. });
        if !replay.steps.iter().any(asks) {
            return self.replay_after(replay, 0, out);
        }
        let history = self.history.clone();
        let dialog = async move { history.dialog().await };
        self.later(out, dialog, |session, dialog, out| {
            session.replay_after(replay, last_code(&dialog), out);
        });
    }

    /// Begins the replay of a file, all of whose steps take numbers: the next input's is known at once, if all goes
    /// well. `said` is told in the end; empty: nothing.
    pub(super) fn begin_file(
        &mut self,
        replay: Replay,
        dialog: &Dialog,
        said: String,
        out: &RunSender,
    ) {
        self.ahead = u32::try_from(replay.steps.len()).unwrap_or(u32::MAX);
        self.set_next_line(self.next_line);
        self.replay_after(replay, last_code(dialog), out);
        if let Some(replay) = &mut self.replay {
            replay.said = Some(said);
        }
    }

    fn replay_after(&mut self, replay: Replay, last_code: u32, out: &RunSender) {
        self.replay = Some(Box::new(ReplayRun {
            so_far: Replayed {
                name: replay.name,
                ran: 0,
                skipped: 0,
                of: replay.steps.len(),
                stopped: None,
                rest: None,
            },
            steps: replay.steps.into(),
            quiet: replay.quiet,
            last_code,
            line: 0,
            skipping: false,
            stopping: false,
            all: false,
            said: None,
            out: out.clone(),
        }));
    }

    /// Does the next step of the replay, or ends it; false when there is none.
    pub(super) fn replay_step(&mut self) -> bool {
        let Some(mut replay) = self.replay.take() else {
            return false;
        };
        let next = match replay.so_far.stopped {
            Some(_) => None,
            None => replay.steps.pop_front(),
        };
        match next {
            None => {
                self.ahead = 0;
                self.set_next_line(self.next_line);
                if replay.all && replay.so_far.stopped.is_none() {
                    self.cells_are_back();
                }
                replay.so_far.rest = rest(&replay.steps);
                replay.end();
            }
            Some(Step::Cell {
                source,
                again,
                place,
            }) => {
                self.replay_cell(&mut replay, source, again, place);
                self.replay = Some(replay);
            }
            Some(Step::Prompt {
                prompt,
                response,
                after,
            }) => {
                self.replay_exchange(&mut replay, &prompt, &response, after);
                self.replay = Some(replay);
            }
        }
        true
    }

    fn replay_cell(
        &mut self,
        replay: &mut ReplayRun,
        source: String,
        again: Option<u32>,
        place: Option<Place>,
    ) {
        let line = match again {
            Some(line) => line,
            None => self.take_replayed_number(&source),
        };
        replay.line = line;
        if again.is_none() {
            replay.last_code = line;
        }
        replay.tell(line, RunKind::Cell, &source);
        let execute = Execute {
            code: source.clone(),
            execution_count: Some(line),
            silent: false,
            stdin: Stdin::Refuse,
            place,
        };
        let id = self
            .connected_runtime()
            .submit(RuntimeRequest::Execute(execute));
        let whose = Whose::Replay {
            line,
            recorded: again.is_none(),
        };
        let mut run = CellRun::new(id, whose, source, replay.out.clone(), self.outputs.clone());
        if replay.quiet {
            run.hush();
        }
        self.current = Some(Current::Cell(Box::new(run)));
    }

    fn replay_exchange(
        &mut self,
        replay: &mut ReplayRun,
        prompt: &str,
        response: &str,
        after: Option<u32>,
    ) {
        let source = prompt_source(prompt);
        let line = self.take_replayed_number(&source);
        replay.tell(line, RunKind::Prompt, &source);
        let after = after.unwrap_or(replay.last_code);
        let start = PromptStart::new(line, after, prompt);
        let key = self.history.begin_prompt(start);
        self.history
            .finish_prompt(key, Outcome::Complete, response, None);
        replay.so_far.ran += 1;
    }

    fn take_replayed_number(&mut self, source: &str) -> u32 {
        self.ahead = self.ahead.saturating_sub(1);
        self.take_number(source)
    }

    /// The cell of the replay ended: what it means for the rest.
    pub(super) fn replayed(&mut self, remains: &Remains) {
        let Some(replay) = &mut self.replay else {
            return;
        };
        let line = replay.line;
        let skipped = std::mem::take(&mut replay.skipping);
        let stopped = match &remains.ending {
            Ending::Died(_) => Some(ReplayStop::Died { line }),
            _ if replay.stopping => Some(ReplayStop::Interrupted { line }),
            Ending::Ok => {
                replay.so_far.ran += 1;
                return;
            }
            Ending::Error | Ending::Interrupted if skipped => {
                replay.so_far.skipped += 1;
                return;
            }
            Ending::Interrupted => Some(ReplayStop::Interrupted { line }),
            Ending::Error => Some(ReplayStop::Failed {
                line,
                error: remains.raised.clone().unwrap_or_default(),
            }),
        };
        replay.so_far.stopped = stopped;
    }

    /// Says whether the replay that begins holds all cells an interpreter that is gone has run.
    pub(super) fn replays_all(&mut self, all: bool) {
        if let Some(replay) = &mut self.replay {
            replay.all = all;
        }
    }

    /// Leaves out the cell of the replay that runs.
    pub(super) fn skip_step(&mut self) {
        let (Some(replay), Some(Current::Cell(cell))) = (&mut self.replay, &mut self.current)
        else {
            return;
        };
        replay.skipping = true;
        cell.skip();
        if let Some(interrupter) = self.runtime.interrupter() {
            interrupter.interrupt();
        }
    }

    /// The user stops what runs: with it the replay, if it is one.
    pub(super) fn stop_replay(&mut self) {
        if let Some(replay) = &mut self.replay {
            replay.stopping = true;
        }
    }
}

impl ReplayRun {
    fn end(self) {
        let so_far = self.so_far;
        match self.said {
            Some(said) if so_far.stopped.is_none() && so_far.skipped == 0 => {
                if !said.is_empty() {
                    self.out.send(SessionEvent::Text(said));
                }
            }
            _ => self.out.send(SessionEvent::ReplayEnded(so_far)),
        }
    }

    fn tell(&self, line: u32, kind: RunKind, source: &str) {
        self.out.send(SessionEvent::Replaying {
            step: self.so_far.of - self.steps.len(),
            of: self.so_far.of,
            line,
            kind,
            source: source.to_owned(),
            quiet: self.quiet,
        });
    }
}

/// First and last number of steps that are cells of the record.
fn rest(steps: &VecDeque<Step>) -> Option<(u32, u32)> {
    let line = |step: &Step| match step {
        Step::Cell { again, .. } => *again,
        Step::Prompt { .. } => None,
    };
    Some((line(steps.front()?)?, line(steps.back()?)?))
}

/// The last line that is Python.
fn last_code(dialog: &Dialog) -> u32 {
    let mut newest_first = dialog.cells.iter().rev();
    newest_first
        .find(|cell| !is_ours(&cell.source))
        .map_or(0, |cell| cell.line)
}
