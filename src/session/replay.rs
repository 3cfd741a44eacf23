//! Replay: cells run again and exchanges recorded again, step by step.
//!
//! In: a [`Replay`]; out: a run with a [`ReplayStep`](BeginEvent::Step) before each step, the cell's own events and one
//! [`EndEvent::Replay`]. Invariants: one step at a time and nothing between two; the first cell that fails stops the
//! replay, except when the user skipped it; a cell that runs under its old number is not recorded again. Nobody answers
//! `input()` here, and requests of a cell to leave the shell or to fill the editor are ignored: they were served when
//! the cell was typed.
//!
//! Absent on purpose: where steps come from (a notebook, a record) and how they are shown.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use crate::dialog::Dialog;
use crate::input::{is_ipycodex_input, prompt_source};
use crate::record::{CellStatus, PromptStart, RecordHandle, RecordedOutcome};

use crate::output::shown::Layout;
use crate::runtime::{DarkRendering, Ending, Execute, SourceLocation};
use crate::session::cell::{CellOrigin, CellResult, CellRun};
use crate::session::events::{BeginEvent, EndEvent, RunKind, TextEvent};
use crate::session::numbering::Numbering;
use crate::session::outputs::Outputs;
use crate::session::replay_summary::{ReplayStop, ReplaySummary};
use crate::session::run::RunSender;
use crate::session::runtimes::RuntimePeer;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Its source, for messages: `startup.ipynb`, `session 43`.
    pub name: String,
    /// In this order.
    pub steps: Vec<ReplayStep>,
    /// Only the output of a cell that fails is shown.
    pub quiet: bool,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayStep {
    /// A cell is run.
    Cell {
        /// Code, as typed.
        source: String,
        /// A cell of this session's record: it runs under this In number and is not recorded again. `None`: it takes
        /// the next number and is recorded like one that was typed.
        again: Option<u32>,
        /// Where it stands in a script.
        place: Option<SourceLocation>,
        /// Metadata of its notebook cell.
        metadata: Map<String, Value>,
    },
    /// An exchange becomes part of the conversation: it takes the next number, nothing is sent.
    Prompt {
        /// As typed, without the dot.
        prompt: String,
        /// The stored answer.
        response: String,
        /// The last code line before it; `None`: the last one of this session.
        after: Option<u32>,
        /// Metadata of its notebook cell.
        metadata: Map<String, Value>,
    },
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
    purpose: ReplayPurpose,
    so_far: ReplaySummary,
    out: RunSender,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplayPurpose {
    /// Cells run again.
    Again {
        /// With it every cell of the record has run in this interpreter.
        all: bool,
    },
    /// A file is run; this is said in place of how it ended when all of it went well, unless it is empty.
    File { said: String },
}

impl ReplayRun {
    pub(super) fn new(
        replay: Replay,
        last_code: u32,
        purpose: ReplayPurpose,
        out: RunSender,
    ) -> Self {
        ReplayRun {
            so_far: ReplaySummary {
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
    pub(super) fn on_cell(&mut self, result: &CellResult) {
        let line = self.line;
        let skipped = std::mem::take(&mut self.skipping);
        self.so_far.stopped = match &result.ending {
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
                error: result.raised.clone().unwrap_or_default(),
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
            ReplayPurpose::File { said } if whole && so_far.skipped == 0 => {
                if !said.is_empty() {
                    out.send(TextEvent::Text(said));
                }
                false
            }
            purpose => {
                out.send(EndEvent::Replay(so_far));
                whole && purpose == ReplayPurpose::Again { all: true }
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

/// The parts of the session that steps use.
pub(super) struct ReplayContext<'a> {
    pub numbering: &'a mut Numbering,
    pub record: &'a RecordHandle,
    pub runtime: &'a mut RuntimePeer,
    pub outputs: &'a Outputs,
    pub dark: DarkRendering,
}

impl ReplayContext<'_> {
    /// Gives a number to a step that is recorded like one that was typed.
    fn number(&mut self, source: &str) -> u32 {
        let line = self.numbering.take_ahead();
        self.record.record_input(line, source, source);
        line
    }
}

impl ReplayRun {
    /// Does the steps up to the next cell, which comes back running; `None`: that was the end of it.
    pub(super) fn go_on(
        mut self: Box<Self>,
        context: &mut ReplayContext<'_>,
    ) -> Option<(CellRun, Box<Self>)> {
        while let Some(step) = self.next() {
            match step {
                ReplayStep::Cell {
                    source,
                    again,
                    place,
                    metadata,
                } => {
                    let mut run = self.cell(source, again, place, context);
                    run.loaded_with(metadata);
                    return Some((run, self));
                }
                ReplayStep::Prompt {
                    prompt,
                    response,
                    after,
                    metadata,
                } => self.exchange(&prompt, &response, after, metadata, context),
            }
        }
        context.numbering.expect(0);
        if self.end() {
            context.numbering.clear_interpreter_lost();
        }
        None
    }

    fn cell(
        &mut self,
        source: String,
        again: Option<u32>,
        place: Option<SourceLocation>,
        context: &mut ReplayContext<'_>,
    ) -> CellRun {
        let line = again.unwrap_or_else(|| context.number(&source));
        self.line = line;
        if again.is_none() {
            self.last_code = line;
        }
        self.tell(line, RunKind::Cell, &source);
        let id = context.runtime.execute(Execute {
            location: place,
            dark: context.dark,
            ..Execute::numbered(source, line)
        });
        let origin = CellOrigin::Replay {
            line,
            recorded: again.is_none(),
        };
        let mut run = CellRun::new(id, origin, self.out.clone(), context.outputs.clone());
        if self.quiet {
            run.show_only_on_error();
        }
        run
    }

    fn exchange(
        &mut self,
        prompt: &str,
        response: &str,
        after: Option<u32>,
        metadata: Map<String, Value>,
        context: &mut ReplayContext<'_>,
    ) {
        let source = prompt_source(prompt);
        let line = context.number(&source);
        if !metadata.is_empty() {
            let mut layout = Layout::default();
            layout.loaded_with(metadata);
            context.record.record_output_with_layout(
                line,
                "",
                Vec::new(),
                &layout,
                CellStatus::Complete,
                0,
            );
        }
        self.tell(line, RunKind::Prompt, &source);
        let after = after.unwrap_or(self.last_code);
        let key = context
            .record
            .begin_prompt(PromptStart::new(line, after, prompt));
        // An exchange without an answer was stopped before its first word.
        let outcome = match response.is_empty() {
            true => RecordedOutcome::Interrupted,
            false => RecordedOutcome::Complete,
        };
        context.record.finish_prompt(key, outcome, response, None);
        self.so_far.ran += 1;
    }

    /// Where its events go.
    pub(super) fn out(&self) -> &RunSender {
        &self.out
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

/// The last line that is code.
pub(super) fn last_code(dialog: &Dialog) -> u32 {
    let mut newest_first = dialog.cells.iter().rev();
    newest_first
        .find(|cell| !is_ipycodex_input(&cell.source))
        .map_or(0, |cell| cell.line)
}
