//! An exchange on its way out of the conversation, and the cells it has run in the interpreter.
//!
//! In: what an exchange ran, while it runs it. Out: what an exchange that is taken back would be stepped back over.
//! Pure. Absent on purpose: who takes it back (`commands/undo.rs`), how an interpreter steps.

use std::collections::BTreeMap;

use crate::runtime::{CellStep, RequestId};
use crate::session::Submission;
use crate::session::question::SteppedCell;

/// What steps of the interpreter have to do with the conversation.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// In numbers of the agent's cells, and of the prompts they ran for.
    pub(super) ran_for: BTreeMap<u32, u32>,
    /// Whose cells the interpreter has run.
    pub(super) sessions: Sessions,
}

/// The sessions that were left in this interpreter, in turn, each with the last cell that ran in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Sessions(Vec<(RequestId, i64)>);

impl Steps {
    /// Another session goes on; in this one, `last` ran last.
    pub(super) fn leave(&mut self, session: i64, last: RequestId) {
        self.ran_for.clear();
        self.sessions.0.push((last, session));
    }
}

impl Sessions {
    /// In numbers of `session`, which is at hand, and of others: the cells that were stepped over.
    pub(super) fn parted(&self, over: &[CellStep], session: i64) -> [Vec<u32>; 2] {
        let left_with = |step: &CellStep| self.0.iter().find(|(last, _)| step.request <= last.0);
        let is_here = |step: &&CellStep| left_with(step).is_none_or(|(_, left)| *left == session);
        let (here, elsewhere): (Vec<_>, Vec<_>) = over.iter().partition(is_here);
        [here, elsewhere].map(|cells| cells.iter().map(|step| step.number).collect())
    }
}

/// An exchange that is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TakenBack {
    /// Its In number.
    pub(super) line: u32,
    /// Its prompt, as typed.
    pub(super) prompt: String,
    /// What comes then.
    pub(super) then: Then,
    /// From the first cell that it ran on, all that a step back would be over; empty: it ran none.
    pub(super) over: Vec<SteppedCell>,
}

/// What comes in place of an exchange that is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing.
    Leave,
    /// Its own prompt.
    SendAgain,
    /// This prompt, which replaces it and all that came after.
    Begin(Box<Submission>),
}

impl TakenBack {
    /// Where the interpreter would step back to.
    pub(super) fn first(&self) -> Option<u32> {
        self.over.first().map(|cell| cell.line)
    }

    /// Without what ran in an interpreter that is gone.
    pub(super) fn since(mut self, gone_before: u32) -> Self {
        self.over.retain(|cell| cell.line >= gone_before);
        if !self.over.iter().any(|cell| cell.own) {
            self.over.clear();
        }
        self
    }

    /// The cells it ran, in words.
    pub(super) fn ran(&self) -> String {
        let own = self.over.iter().filter(|cell| cell.own);
        in_words(own.map(|cell| cell.line))
    }
}

/// In numbers as a text has them.
pub(super) fn in_words(lines: impl Iterator<Item = u32>) -> String {
    let names: Vec<String> = lines.map(|line| format!("In[{line}]")).collect();
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
        let mut steps = Steps::default();
        steps.leave(1, RequestId(4));
        steps.leave(2, RequestId(6));
        let step = |request, number| CellStep {
            number,
            request,
            ..CellStep::default()
        };
        let over = [step(3, 2), step(4, 3), step(6, 2), step(8, 4)];
        let parted = |session| steps.sessions.parted(&over, session);
        assert_eq!(parted(1), [vec![2, 3, 4], vec![2]]);
        assert_eq!(parted(3), [vec![4], vec![2, 3, 2]]);
    }
}
