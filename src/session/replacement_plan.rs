//! Plans a replacement: what leaves the conversation, and how far the interpreter can step back. Pure.
//!
//! In: the dialog, and the interpreter's checkpoints. Out: a [`Replacement`], which a question shows. Absent on
//! purpose: the replacement itself (`commands/replace.rs`), how an interpreter steps.

use std::ops::RangeInclusive;

use crate::Submission;
use crate::dialog::{AnswerPart, Dialog, answer_parts};
use crate::input::is_ipycodex_input;
use crate::numbering::in_words;
use crate::replacement::{InterpreterStep, LeavingEntry, Replacement, ReplacementPurpose};
use crate::runtime::{CellStep, Checkpoints};
use crate::undo::InterpreterSessions;

/// A replacement that waits for the interpreter's answer, then for the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplacementRequest {
    pub(crate) plan: Replacement,
    /// The cells that go and that have run in the interpreter.
    pub(crate) cells: Vec<u32>,
    pub(crate) then: ReplacementFollowUp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReplacementFollowUp {
    /// Begins this input.
    Begin(Box<Submission>),
    /// Forks the session, and puts this text into the editor.
    Fork(String),
}

impl ReplacementRequest {
    /// Plans to replace the exchange at `line` and all that came after it; `None` where nothing would go but that
    /// exchange, whose answer was text alone.
    pub(crate) fn replace(dialog: &Dialog, line: u32, submission: Submission) -> Option<Self> {
        let leaves = leaving(dialog, line..=u32::MAX);
        let is_plain = match leaves.as_slice() {
            [] => true,
            [only] => only.line == line && only.is_exchange && answers_in_text(dialog, line),
            _ => false,
        };
        let request = || ReplacementRequest {
            cells: ran(dialog, line..=u32::MAX),
            plan: Replacement {
                line,
                purpose: ReplacementPurpose::Replace,
                leaves,
                interpreter: InterpreterStep::Untouched,
                files: None,
            },
            then: ReplacementFollowUp::Begin(Box::new(submission)),
        };
        (!is_plain).then(request)
    }

    /// Plans to fork the session before the exchange at `line`.
    pub(crate) fn fork(dialog: &Dialog, line: u32, text: String) -> Self {
        ReplacementRequest {
            plan: Replacement {
                line,
                purpose: ReplacementPurpose::Fork,
                leaves: Vec::new(),
                interpreter: InterpreterStep::Untouched,
                files: None,
            },
            cells: ran(dialog, line..=u32::MAX),
            then: ReplacementFollowUp::Fork(text),
        }
    }

    pub(crate) fn is_fork(&self) -> bool {
        self.plan.purpose == ReplacementPurpose::Fork
    }

    /// Returns whether a user can answer questions about it; `None`: as in the whole session.
    pub(crate) fn can_ask(&self) -> Option<bool> {
        match &self.then {
            ReplacementFollowUp::Begin(submission) => submission.asks,
            ReplacementFollowUp::Fork(_) => None,
        }
    }

    /// The interpreter stays where it is, for this reason.
    pub(crate) fn stays(&mut self, why: String) {
        self.plan.interpreter = InterpreterStep::Stays(why);
    }

    /// Drops the cells that ran before this session had the interpreter that runs now.
    pub(crate) fn since(mut self, gone_before: u32) -> Self {
        let gone: Vec<u32> = self
            .cells
            .iter()
            .copied()
            .filter(|line| *line < gone_before)
            .collect();
        self.cells.retain(|line| *line >= gone_before);
        if self.cells.is_empty() && !gone.is_empty() {
            let gone = in_words(gone.into_iter());
            self.plan.interpreter = InterpreterStep::Stays(format!(
                "{gone} ran in an earlier one, or before this session was taken up"
            ));
        }
        self
    }

    /// Finds out how far the interpreter can step back.
    pub(crate) fn find_step(&mut self, there: &Checkpoints, sessions: &InterpreterSessions) {
        let Some(first) = self.cells.first().copied() else {
            return;
        };
        let here = |step: &CellStep| sessions.is_here(step).then_some(step.number);
        let known = there.rows.iter().filter_map(|row| here(&row.before));
        let nearest = known.filter(|number| *number >= first).min();
        let why = sessions.why_no_checkpoint(there, first);
        self.plan.interpreter = match (nearest, why) {
            (Some(to), _) if to == first => InterpreterStep::Whole(to),
            (Some(to), why) => InterpreterStep::Part {
                to,
                keeps: self
                    .cells
                    .iter()
                    .copied()
                    .filter(|line| *line < to)
                    .collect(),
                why,
            },
            (None, why) => InterpreterStep::Stays(why),
        };
    }
}

/// Returns the entries of the conversation in `lines`, in order.
fn leaving(dialog: &Dialog, lines: RangeInclusive<u32>) -> Vec<LeavingEntry> {
    let first = |text: &str| text.trim().lines().next().unwrap_or_default().to_owned();
    let cells = dialog.cells.iter();
    let cells = cells.filter(|cell| !cell.is_excluded() && !is_ipycodex_input(&cell.source));
    let cells = cells.map(|cell| (cell.line, first(&cell.source), false));
    let prompts = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
    let prompts = prompts.map(|prompt| (prompt.line, first(&prompt.prompt), true));
    let mut all: Vec<LeavingEntry> = cells
        .chain(prompts)
        .filter(|(line, ..)| lines.contains(line) && *line > dialog.reset_line)
        .map(|(line, text, is_exchange)| LeavingEntry {
            line,
            text,
            is_exchange,
        })
        .collect();
    all.sort_by_key(|entry| entry.line);
    all
}

/// Returns the cells in `lines` that have run in the user's interpreter and were not stepped over, in order.
fn ran(dialog: &Dialog, lines: RangeInclusive<u32>) -> Vec<u32> {
    let cells = dialog
        .cells
        .iter()
        .filter(|cell| lines.contains(&cell.line));
    let cells = cells.filter(|cell| !cell.stepped_over && cell.shell.is_none());
    let cells = cells.filter(|cell| !is_ipycodex_input(&cell.source));
    cells.map(|cell| cell.line).collect()
}

/// Returns true when the answer holds no work: no call, no command, no plan.
fn answers_in_text(dialog: &Dialog, line: u32) -> bool {
    let prompt = dialog.prompts.iter().find(|prompt| prompt.line == line);
    let parts = prompt.map(|prompt| answer_parts(&prompt.response));
    let is_work = |part: &AnswerPart| !matches!(part, AnswerPart::Text(_) | AnswerPart::Thought(_));
    !parts.is_some_and(|parts| parts.iter().any(is_work))
}
