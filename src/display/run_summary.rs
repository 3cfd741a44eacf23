//! The summary of a run: its outcome, and what the front-end has to do after it.

use crate::runtime::Ending;
use crate::session::{ReplayStop, ReplaySummary, TurnOutcome};

/// The outcome of a run, and what the front-end has to do after it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Text for the editor.
    pub refill: String,
    /// How it went: what was typed ahead runs after what went well.
    pub ended: Ended,
    /// The user asked to leave with this status.
    pub leave: Option<i32>,
    /// The last thing that was shown shortened, whole, ready to print.
    pub folded: Option<String>,
    /// Help too long for the screen, safe to write: to be shown by [`page`](super::page).
    pub pages: Vec<String>,
}

/// How a run went.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// As it was meant to.
    #[default]
    Well,
    /// With an error.
    Failed,
    /// Stopped by the user.
    Interrupted,
}

impl RunSummary {
    pub(super) fn cell_ended(&mut self, ending: &Ending) {
        self.ended = match ending {
            Ending::Ok => self.ended,
            Ending::Interrupted => Ended::Interrupted,
            Ending::Error | Ending::Died(_) | Ending::Lost(_) => Ended::Failed,
        };
    }

    pub(super) fn turn_ended(&mut self, outcome: &TurnOutcome) {
        self.ended = match outcome {
            TurnOutcome::Complete => Ended::Well,
            TurnOutcome::Interrupted => Ended::Interrupted,
            TurnOutcome::Failed(_) => Ended::Failed,
        };
    }

    /// The outcome of single cells does not count.
    pub(super) fn replay_ended(&mut self, replayed: &ReplaySummary) {
        self.ended = match &replayed.stopped {
            None => Ended::Well,
            Some(ReplayStop::Interrupted { .. }) => Ended::Interrupted,
            Some(ReplayStop::Failed { .. } | ReplayStop::Died { .. }) => Ended::Failed,
        };
    }
}
