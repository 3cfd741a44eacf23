//! An exchange to be undone, and the cells it has run in the interpreter. Pure.
//!
//! Absent on purpose: the undo itself (`commands/undo.rs`), how an interpreter steps.

use std::collections::BTreeMap;

use crate::numbering::in_words;
use crate::question::SteppedCell;
use crate::runtime::{CellStep, CheckpointRequest, Checkpoints, LookBackRequest};

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
    /// Where each was forked from another one: the index of that one, and the In number below which they share cells.
    origins: BTreeMap<u32, (u32, u32)>,
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
        let InterpreterSessions { numbers, here, .. } = &mut self.sessions;
        numbers[*here as usize] = left;
        let known = numbers.iter().position(|number| *number == begun);
        let place = known.unwrap_or_else(|| {
            numbers.push(begun);
            numbers.len() - 1
        });
        *here = place as u32;
        *here
    }

    /// Makes a session current that was forked from the current one: both share the cells below `before`.
    pub(super) fn fork(&mut self, left: i64, begun: i64, before: u32) -> u32 {
        let shared = self.ran_for.clone();
        let parent = self.sessions.here;
        let here = self.change(left, begun);
        self.sessions.origins.insert(here, (parent, before));
        let shared = shared.into_iter().filter(|(line, _)| *line < before);
        self.ran_for.extend(shared);
        here
    }
}

impl Default for InterpreterSessions {
    fn default() -> Self {
        InterpreterSessions {
            numbers: vec![0],
            origins: BTreeMap::new(),
            here: 0,
        }
    }
}

impl InterpreterSessions {
    /// Returns the request to step back before this cell of the current session.
    pub(super) fn back(&self, to: Option<u32>) -> CheckpointRequest {
        let session = to.map_or(self.here, |line| self.ran(line));
        CheckpointRequest::Back { to, session }
    }

    /// Returns the index of the session that ran this cell of the current one: itself, or one that it was forked from.
    pub(super) fn ran(&self, line: u32) -> u32 {
        let mut session = self.here;
        while let Some((parent, before)) = self.origins.get(&session)
            && line < *before
        {
            session = *parent;
        }
        session
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
            shared: self.shared(),
            unprotected: false,
        }
    }

    /// Returns the sessions that the current one was forked from, with the In number below which they share cells.
    fn shared(&self) -> Vec<(u32, u32)> {
        let mut all: Vec<(u32, u32)> = Vec::new();
        let mut session = self.here;
        while let Some((parent, before)) = self.origins.get(&session) {
            let below = all.last().map_or(*before, |(_, below)| *before.min(below));
            all.push((*parent, below));
            session = *parent;
        }
        all
    }

    /// Returns true when this is a cell of the current session.
    pub(super) fn is_here(&self, step: &CellStep) -> bool {
        step.session == self.ran(step.number)
    }

    /// Returns true when there is a checkpoint before this cell of the current session.
    pub(super) fn has_checkpoint(&self, there: &Checkpoints, before: u32) -> bool {
        let mut rows = there.rows.iter().map(|row| &row.before);
        rows.any(|step| step.number == before && self.is_here(step))
    }

    /// Returns why there is no checkpoint before this cell of the current session.
    pub(super) fn why_no_checkpoint(&self, there: &Checkpoints, before: u32) -> String {
        let is_it = |step: &CellStep| step.number == before && self.is_here(step);
        let mut missing = there.missing.iter();
        let why = match missing.find(|none| is_it(&none.before)) {
            _ if there.most == 0 => "none are kept (`%ipycodex checkpoints 10` keeps ten)",
            Some(none) => &none.why,
            None => "it is no longer kept",
        };
        format!("there is no checkpoint before In [{before}]: {why}")
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
    /// The index of the session that it ran in.
    pub(super) session: u32,
}

/// The input that replaces an undone exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UndoFollowUp {
    Nothing,
    /// Its own prompt.
    Resend,
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
        // A fork of 7 before In[3] holds In[1] and In[2] of it.
        let mut forked = StepLog::default();
        forked.change(7, 8);
        forked.change(8, 7);
        assert_eq!(forked.fork(7, 9, 3), 2);
        let shared = |steps: &StepLog| steps.sessions.look_back(String::new(), None, None).shared;
        assert_eq!(shared(&forked), [(0, 3)]);
        assert_eq!(shared(&steps), []);
        // Forks of a fork share no more of the first session than it does.
        for (before, below) in [(2, 2), (9, 3)] {
            let mut twice = StepLog {
                sessions: forked.sessions.clone(),
                ..StepLog::default()
            };
            twice.fork(9, 10, before);
            assert_eq!(shared(&twice), [(2, before), (0, below)]);
        }
        let parted = forked.sessions.parted(&over);
        let others: &[(i64, &[u32])] = &[(7, &[3]), (8, &[1])];
        assert_eq!(parted, expected(&[2], others));
        let back = |to| forked.sessions.back(Some(to));
        let session = |session, to| CheckpointRequest::Back {
            to: Some(to),
            session,
        };
        assert_eq!([back(2), back(3)], [session(0, 2), session(2, 3)]);
        assert_eq!(steps.change(7, 9), 2);
        let over = [&over[..], &[step(2, 1)]].concat();
        let parted = steps.sessions.parted(&over);
        assert_eq!(parted, expected(&[1], &[(7, &[2, 3]), (8, &[1])]));
    }
}
