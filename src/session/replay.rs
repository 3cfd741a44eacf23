//! Replay: cells run again and exchanges recorded again, step by step.
//!
//! In: a [`Replay`]; out: a run with a [`ReplayStep`](BeginEvent::Step) before each step, the cell's own events and
//! one [`EndEvent::Replay`]. Invariants: one step at a time, and nothing runs between two; the first cell that
//! fails stops the replay, except when the user skipped it; a cell that runs under its old number is not recorded
//! again. Nobody answers `input()` here, and requests of a cell to leave the shell or to fill the editor are
//! ignored: they were served when the cell was typed.
//!
//! Absent on purpose: where steps come from (a notebook, a record) and how they are shown.

mod steps;

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
use crate::session::replay_summary::{ReplayStop, ReplaySummary};
use crate::session::run::RunSender;
use crate::session::runtimes::RuntimePeer;

pub(super) use steps::ReplayPurpose;
pub use steps::{Replay, ReplayStep};

#[derive(Debug)]
pub(super) struct ReplayRun {
    steps: VecDeque<ReplayStep>,
    quiet: bool,
    last_code: u32,
    line: u32,
    skipping: bool,
    stopping: bool,
    purpose: ReplayPurpose,
    so_far: ReplaySummary,
    out: RunSender,
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

    pub(super) fn next(&mut self) -> Option<ReplayStep> {
        match self.so_far.stopped {
            Some(_) => None,
            None => self.steps.pop_front(),
        }
    }

    /// Takes the end of a step's cell; decides whether the replay goes on.
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

    pub(super) fn skip(&mut self) {
        self.skipping = true;
    }

    pub(super) fn stop(&mut self) {
        self.stopping = true;
    }

    /// Reports how the replay ended; returns true when every recorded cell has run now.
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
    pub dark: DarkRendering,
}

impl ReplayContext<'_> {
    /// Numbers a step that is recorded as if typed.
    fn number(&mut self, source: &str) -> u32 {
        let line = self.numbering.take_ahead();
        self.record.record_input(line, source, source);
        line
    }
}

impl ReplayRun {
    /// Carries out the steps up to the next cell, and returns that cell running; `None` when the replay is over.
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
        let mut run = CellRun::new(id, origin, self.out.clone());
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

    pub(super) fn out(&self) -> &RunSender {
        &self.out
    }
}

/// Returns the first and last number of the remaining recorded cells.
fn rest(steps: &VecDeque<ReplayStep>) -> Option<(u32, u32)> {
    let line = |step: &ReplayStep| match step {
        ReplayStep::Cell { again, .. } => *again,
        ReplayStep::Prompt { .. } => None,
    };
    Some((line(steps.front()?)?, line(steps.back()?)?))
}

/// Returns the last line that is code.
pub(super) fn last_code(dialog: &Dialog) -> u32 {
    let mut newest_first = dialog.cells.iter().rev();
    newest_first
        .find(|cell| !is_ipycodex_input(&cell.source))
        .map_or(0, |cell| cell.line)
}
