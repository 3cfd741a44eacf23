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

use crate::cell::{CellOrigin, CellResult, CellRun};
use crate::dialog::Dialog;
use crate::effect::{Effect, RecordWrite, RecordedOutput};
use crate::events::{BeginEvent, EndEvent, RunKind, TextEvent};
use crate::input::{is_ipycodex_input, prompt_source};
use crate::numbering::Numbering;
use crate::output::shown::Layout;
use crate::record::CellStatus;
use crate::replay_summary::{ReplayStop, ReplaySummary};
use crate::run::RunSender;
use crate::runtime::{DarkRendering, Ending, Execute};

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

/// The next cell of a replay, and what it runs.
pub(super) struct ReplayCell {
    pub(super) run: CellRun,
    pub(super) replay: Box<ReplayRun>,
    pub(super) execute: Execute,
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

    /// Returns the report on how the replay ended, and whether every recorded cell has run now.
    pub(super) fn end(mut self) -> (Option<Effect>, bool) {
        self.so_far.rest = rest(&self.steps);
        let so_far = self.so_far;
        let whole = so_far.stopped.is_none();
        match self.purpose {
            ReplayPurpose::File { said } if whole && so_far.skipped == 0 => {
                let said = (!said.is_empty()).then_some(TextEvent::Text(said));
                (said.map(Effect::show), false)
            }
            purpose => {
                let all = whole && purpose == ReplayPurpose::Again { all: true };
                (Some(Effect::show(EndEvent::Replay(so_far))), all)
            }
        }
    }

    fn begun(&self, line: u32, kind: RunKind, source: &str) -> Effect {
        Effect::show(BeginEvent::Step {
            step: self.so_far.of - self.steps.len(),
            of: self.so_far.of,
            line,
            kind,
            source: source.to_owned(),
            quiet: self.quiet,
        })
    }

    /// Takes the steps up to the next cell; returns their effects, and that cell, `None` when the replay is over.
    pub(super) fn go_on(
        mut self: Box<Self>,
        numbering: &mut Numbering,
        dark: DarkRendering,
    ) -> (Vec<Effect>, Option<ReplayCell>) {
        let mut effects = Vec::new();
        while let Some(step) = self.next() {
            match step {
                ReplayStep::Cell {
                    source,
                    again,
                    place,
                    metadata,
                } => {
                    let line = again.unwrap_or_else(|| number(&source, numbering, &mut effects));
                    self.line = line;
                    if again.is_none() {
                        self.last_code = line;
                    }
                    effects.push(self.begun(line, RunKind::Cell, &source));
                    let recorded = again.is_none();
                    let origin = CellOrigin::Replay { line, recorded };
                    let mut run = CellRun::new(origin, self.out.clone());
                    if self.quiet {
                        run.show_only_on_error();
                    }
                    run.loaded_with(metadata);
                    let execute = Execute {
                        location: place,
                        dark,
                        ..Execute::numbered(source, line)
                    };
                    let cell = ReplayCell {
                        run,
                        replay: self,
                        execute,
                    };
                    return (effects, Some(cell));
                }
                ReplayStep::Prompt {
                    prompt,
                    response,
                    after,
                    metadata,
                } => {
                    let source = prompt_source(&prompt);
                    let line = number(&source, numbering, &mut effects);
                    if !metadata.is_empty() {
                        effects.push(Effect::Record(output_with(metadata, line)));
                    }
                    effects.push(self.begun(line, RunKind::Prompt, &source));
                    effects.push(Effect::Record(RecordWrite::Exchange {
                        line,
                        after: after.unwrap_or(self.last_code),
                        prompt,
                        response,
                    }));
                    self.so_far.ran += 1;
                }
            }
        }
        numbering.expect(0);
        let (told, all) = self.end();
        effects.extend(told);
        if all {
            numbering.clear_interpreter_lost();
        }
        (effects, None)
    }

    pub(super) fn out(&self) -> &RunSender {
        &self.out
    }
}

/// Numbers a step that is recorded as if typed.
fn number(source: &str, numbering: &mut Numbering, effects: &mut Vec<Effect>) -> u32 {
    let line = numbering.take_ahead();
    let source = source.to_owned();
    effects.push(Effect::Record(RecordWrite::Input { line, source }));
    line
}

/// Returns the row of an exchange that a file gives metadata for.
fn output_with(metadata: Map<String, Value>, line: u32) -> RecordWrite {
    let mut layout = Layout::default();
    layout.loaded_with(metadata);
    RecordWrite::Output(Box::new(RecordedOutput {
        line,
        text: String::new(),
        bundles: Vec::new(),
        layout,
        state: CellStatus::Complete,
        took: 0,
    }))
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
