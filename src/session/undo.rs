//! An exchange to be undone, and the cells it has run in the interpreter. Pure.
//!
//! Absent on purpose: the undo itself (`commands/undo.rs`), how an interpreter steps.

use std::collections::BTreeMap;

use crate::Submission;
use crate::question::SteppedCell;
use crate::runtime::{CellStep, CheckpointRequest, LookBackRequest};

/// The cells and sessions that steps of the interpreter refer to.
#[derive(Debug, Default)]
pub(super) struct StepLog {
    /// In numbers of the agent's cells, and of the prompts they ran for.
    pub(super) ran_for: BTreeMap<u32, u32>,
    /// The sessions whose cells the interpreter has run.
    pub(super) sessions: InterpreterSessions,
}

/// The sessions that this interpreter has worked for. Cells refer to a session by its index here: the number of the
/// first one may not be known when its cells run.
#[derive(Debug, Clone)]
pub(super) struct InterpreterSessions {
    numbers: Vec<i64>,
    here: u32,
}

/// In numbers of cells that are stepped over.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SteppedLines {
    /// Of the current session.
    pub(super) here: Vec<u32>,
    /// Of other sessions, by session number.
    pub(super) elsewhere: BTreeMap<i64, Vec<u32>>,
}

impl StepLog {
    /// Makes another session current; returns its index.
    pub(super) fn change(&mut self, left: i64, begun: i64) -> u32 {
        self.ran_for.clear();
        let InterpreterSessions { numbers, here } = &mut self.sessions;
        numbers[*here as usize] = left;
        let known = numbers.iter().position(|number| *number == begun);
        let place = known.unwrap_or_else(|| {
            numbers.push(begun);
            numbers.len() - 1
        });
        *here = place as u32;
        *here
    }
}

impl Default for InterpreterSessions {
    fn default() -> Self {
        InterpreterSessions {
            numbers: vec![0],
            here: 0,
        }
    }
}

impl InterpreterSessions {
    /// Returns the request to step back before this cell of the current session.
    pub(super) fn back(&self, to: Option<u32>) -> CheckpointRequest {
        let session = self.here;
        CheckpointRequest::Back { to, session }
    }

    /// Returns the request to look back over these cells of the current session.
    pub(super) fn look_back(
        &self,
        code: String,
        from: Option<u32>,
        to: Option<u32>,
    ) -> LookBackRequest {
        LookBackRequest {
            code,
            from,
            to,
            session: self.here,
            unprotected: false,
        }
    }

    /// Returns true when the current session has run this cell.
    pub(super) fn is_here(&self, step: &CellStep) -> bool {
        step.session == self.here
    }

    pub(super) fn name(&self, step: &CellStep) -> String {
        let whose = self.elsewhere(step);
        let whose = whose.map(|session| format!(" of session {session}"));
        format!("In [{}]{}", step.number, whose.unwrap_or_default())
    }

    /// Returns the number of the session that has run this cell, unless that is the current one.
    fn elsewhere(&self, step: &CellStep) -> Option<i64> {
        let number = self.numbers.get(step.session as usize);
        number.copied().filter(|_| !self.is_here(step))
    }

    pub(super) fn parted(&self, over: &[CellStep]) -> SteppedLines {
        let (mut here, mut elsewhere) = (Vec::new(), BTreeMap::<i64, Vec<u32>>::new());
        for step in over {
            match self.elsewhere(step) {
                Some(session) => elsewhere.entry(session).or_default().push(step.number),
                None => here.push(step.number),
            }
        }
        SteppedLines { here, elsewhere }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UndoRequest {
    pub(super) line: u32,
    pub(super) prompt: String,
    pub(super) then: UndoFollowUp,
    /// The cells that a step back would be over, starting at the first one that the exchange ran; empty when it ran
    /// none.
    pub(super) over: Vec<SteppedCell>,
}

/// The input that replaces an undone exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UndoFollowUp {
    Nothing,
    /// Its own prompt.
    Resend,
    /// This prompt, which replaces the exchange and all that came after.
    Begin(Box<Submission>),
}

impl UndoRequest {
    pub(super) fn first(&self) -> Option<u32> {
        self.over.first().map(|cell| cell.line)
    }

    /// Drops the cells that ran in an interpreter that is gone.
    pub(super) fn since(mut self, gone_before: u32) -> Self {
        self.over.retain(|cell| cell.line >= gone_before);
        if !self.over.iter().any(|cell| cell.own) {
            self.over.clear();
        }
        self
    }

    pub(super) fn ran(&self) -> String {
        let own = self.over.iter().filter(|cell| cell.own);
        in_words(own.map(|cell| cell.line))
    }
}

pub(super) fn in_words(lines: impl Iterator<Item = u32>) -> String {
    let names: Vec<String> = lines.map(|line| format!("In [{line}]")).collect();
    match names.as_slice() {
        [first, _, .., last] => format!("{first} to {last}"),
        names => names.join(" and "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_of_the_session_that_it_ran_in() {
        let mut steps = StepLog::default();
        let step = |session, number| CellStep {
            number,
            session,
            ..CellStep::default()
        };
        // Session 7 runs In[1] and In[2], another one In[1], 7 again In[3], a third one In[1].
        assert_eq!(steps.change(7, 8), 1);
        assert_eq!(steps.change(8, 7), 0);
        let over = [step(0, 2), step(1, 1), step(0, 3)];
        let expected = |here: &[u32], elsewhere: &[(i64, &[u32])]| SteppedLines {
            here: here.into(),
            elsewhere: elsewhere
                .iter()
                .map(|(session, lines)| (*session, lines.to_vec()))
                .collect(),
        };
        let parted = steps.sessions.parted(&over);
        assert_eq!(parted, expected(&[2, 3], &[(8, &[1])]));
        assert_eq!(steps.change(7, 9), 2);
        let over = [&over[..], &[step(2, 1)]].concat();
        let parted = steps.sessions.parted(&over);
        assert_eq!(parted, expected(&[1], &[(7, &[2, 3]), (8, &[1])]));
    }
}
