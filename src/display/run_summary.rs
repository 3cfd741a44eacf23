//! The summary of a run: its outcome, and what the front-end has to do after it.

use crate::runtime::Ending;
use crate::session::{ReplayStop, ReplaySummary, TurnOutcome};

/// The outcome of a run, and what the front-end has to do after it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Text for the editor.
    pub refill: String,
    /// Outcome: queued typeahead runs only after success.
    pub outcome: RunOutcome,
    /// Set when the user asked to leave with this status.
    pub exit_status: Option<i32>,
    /// Full text of the last output that was shown folded, ready to print.
    pub folded: Option<String>,
    /// Help too long for the screen, safe to write: to be shown by [`page`](super::page).
    pub pages: Vec<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    #[default]
    Succeeded,
    Failed,
    Interrupted,
}

impl RunSummary {
    pub(super) fn cell_ended(&mut self, ending: &Ending) {
        self.outcome = match ending {
            Ending::Ok => self.outcome,
            Ending::Interrupted => RunOutcome::Interrupted,
            Ending::Error | Ending::Died(_) | Ending::Lost(_) => RunOutcome::Failed,
        };
    }

    pub(super) fn turn_ended(&mut self, outcome: &TurnOutcome) {
        self.outcome = match outcome {
            TurnOutcome::Complete => RunOutcome::Succeeded,
            TurnOutcome::Interrupted => RunOutcome::Interrupted,
            TurnOutcome::Failed(_) => RunOutcome::Failed,
        };
    }

    /// Takes the outcome of a replay; those of single cells do not count.
    pub(super) fn replay_ended(&mut self, replayed: &ReplaySummary) {
        self.outcome = match &replayed.stopped {
            None => RunOutcome::Succeeded,
            Some(ReplayStop::Interrupted { .. }) => RunOutcome::Interrupted,
            Some(ReplayStop::Failed { .. } | ReplayStop::Died { .. }) => RunOutcome::Failed,
        };
    }
}
