//! Replaying: cells run again and exchanges recorded again, step by step, without anybody typing them.
//!
//! In: a [`Replay`]; out: a run with a [`ReplayStep`](BeginEvent::Step) before each step, the cell's own events
//! and one [`EndEvent::Replay`]. Invariants: one step at a time and nothing between two; the first
//! cell that does not end well stops it, except when the user skipped it; a cell that runs under its old number is
//! not recorded again. Nobody answers `input()` here, and a cell that asks to leave the shell or to fill the editor is
//! not heeded: it did so when it was typed.
//!
//! Absent on purpose: where steps come from (a notebook, a record) and what they look like.

use std::collections::VecDeque;

use crate::dialog::Dialog;
use crate::history::{PromptStart, RecordedOutcome};
use crate::input::{is_ours, prompt_source};
use crate::runtime::{Ending, Execute, Place, RuntimeRequest};
use crate::session::cell::{CellRun, Remains, Whose};
use crate::session::events::{BeginEvent, EndEvent, Notice, RunKind, ToldEvent};
use crate::session::floor::{Holder, UserCell};
use crate::session::run::RunSender;
use crate::session::task::Session;

/// What is to be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// What it comes from, for messages: `startup.ipynb`, `session 43`.
    pub name: String,
    /// In this order.
    pub steps: Vec<ReplayStep>,
    /// What cells show is told only of the one that fails.
    pub quiet: bool,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayStep {
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

/// A replay in progress: which step is next, and how it went so far.
#[derive(Debug)]
pub(super) struct ReplayRun {
    steps: VecDeque<ReplayStep>,
    quiet: bool,
    last_code: u32,
    /// In number of the cell that runs.
    line: u32,
    /// The user skips the cell that runs.
    skipping: bool,
    /// The user stops all of it.
    stopping: bool,
    /// What the end of it means.
    purpose: Purpose,
    so_far: Replayed,
    out: RunSender,
}

/// What a replay is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Cells run again.
    Again {
        /// With it every cell of the record has run in this interpreter.
        all: bool,
    },
    /// A file is run; this is said in place of how it ended when all of it went well, unless it is empty.
    File { said: String },
}

impl ReplayRun {
    pub(super) fn new(replay: Replay, last_code: u32, purpose: Purpose, out: RunSender) -> Self {
        ReplayRun {
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
            purpose,
            out,
        }
    }

    /// The next step; `None`: the replay is over.
    pub(super) fn next(&mut self) -> Option<ReplayStep> {
        match self.so_far.stopped {
            Some(_) => None,
            None => self.steps.pop_front(),
        }
    }

    /// The cell of the step ended: what it means for the rest.
    pub(super) fn on_cell(&mut self, remains: &Remains) {
        let line = self.line;
        let skipped = std::mem::take(&mut self.skipping);
        self.so_far.stopped = match &remains.ending {
            Ending::Died(_) => Some(ReplayStop::Died { line }),
            _ if self.stopping => Some(ReplayStop::Interrupted { line }),
            Ending::Ok => {
                self.so_far.ran += 1;
                None
            }
            Ending::Error | Ending::Interrupted if skipped => {
                self.so_far.skipped += 1;
                None
            }
            Ending::Interrupted => Some(ReplayStop::Interrupted { line }),
            Ending::Lost(why) => Some(ReplayStop::Failed {
                line,
                error: format!("the connection was lost: {why}"),
            }),
            Ending::Error => Some(ReplayStop::Failed {
                line,
                error: remains.raised.clone().unwrap_or_default(),
            }),
        };
    }

    /// The user leaves out the cell that runs.
    pub(super) fn skip(&mut self) {
        self.skipping = true;
    }

    /// The user stops what runs, and the replay with it.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
    }

    /// Says how it ended; true when every cell of the record has run now.
    pub(super) fn end(mut self) -> bool {
        self.so_far.rest = rest(&self.steps);
        let (so_far, out) = (self.so_far, self.out);
        let whole = so_far.stopped.is_none();
        match self.purpose {
            Purpose::File { said } if whole && so_far.skipped == 0 => {
                if !said.is_empty() {
                    out.send(ToldEvent::Text(said));
                }
                false
            }
            purpose => {
                out.send(EndEvent::Replay(so_far));
                whole && purpose == Purpose::Again { all: true }
            }
        }
    }

    fn tell(&self, line: u32, kind: RunKind, source: &str) {
        self.out.send(BeginEvent::Step {
            step: self.so_far.of - self.steps.len(),
            of: self.so_far.of,
            line,
            kind,
            source: source.to_owned(),
            quiet: self.quiet,
        });
    }
}

impl Session {
    /// Begins a replay of cells and exchanges.
    pub(super) fn begin_replay(&mut self, replay: Replay, purpose: Purpose, out: &RunSender) {
        let asks = |step: &ReplayStep| matches!(step, ReplayStep::Prompt { after: None, .. });
        if !replay.steps.iter().any(asks) {
            return self.go_on(ReplayRun::new(replay, 0, purpose, out.clone()).into());
        }
        let history = self.history.clone();
        let dialog = async move { history.dialog().await };
        self.later(out, dialog, |session, dialog, out| {
            let run = ReplayRun::new(replay, last_code(&dialog), purpose, out.clone());
            session.go_on(run.into());
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
        self.numbering.expect(replay.steps.len());
        let purpose = Purpose::File { said };
        let run = ReplayRun::new(replay, last_code(dialog), purpose, out.clone());
        self.go_on(run.into());
    }

    /// Does the steps of a replay up to the next cell, which takes the floor, or to its end.
    pub(super) fn go_on(&mut self, mut replay: Box<ReplayRun>) {
        while let Some(step) = replay.next() {
            match step {
                ReplayStep::Cell {
                    source,
                    again,
                    place,
                } => return self.replay_cell(replay, source, again, place),
                ReplayStep::Prompt {
                    prompt,
                    response,
                    after,
                } => self.replay_exchange(&mut replay, &prompt, &response, after),
            }
        }
        self.numbering.expect(0);
        if replay.end() {
            self.numbering.all_back();
        }
    }

    fn replay_cell(
        &mut self,
        mut replay: Box<ReplayRun>,
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
            place,
            dark: self.on_dark(),
            ..Execute::numbered(source.clone(), line)
        };
        let id = self
            .connected_runtime()
            .submit(RuntimeRequest::Execute(execute));
        let whose = Whose::Replay {
            line,
            recorded: again.is_none(),
        };
        let out = replay.out.clone();
        let mut run = CellRun::new(id, whose, out.clone(), self.outputs.clone());
        if replay.quiet {
            run.hush();
        }
        let cell = UserCell::new(run, Some(replay));
        self.floor.give(Holder::Cell(Box::new(cell)), out);
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
            .finish_prompt(key, RecordedOutcome::Complete, response, None);
        replay.so_far.ran += 1;
    }

    fn take_replayed_number(&mut self, source: &str) -> u32 {
        let line = self.numbering.take_ahead();
        self.history.input(line, source, source);
        line
    }
}

/// First and last number of steps that are cells of the record.
fn rest(steps: &VecDeque<ReplayStep>) -> Option<(u32, u32)> {
    let line = |step: &ReplayStep| match step {
        ReplayStep::Cell { again, .. } => *again,
        ReplayStep::Prompt { .. } => None,
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
