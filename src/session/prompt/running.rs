//! A turn in progress: the machine of the turn, what it was sent, and how much of its answer is saved.

use std::time::{Duration, Instant};

use super::event::PromptAction;
use super::request::Sent;
use super::turn::Turn;

/// The answer is saved when this much of it is new, in bytes.
const SAVE_EVERY: usize = 4096;
/// And at least this often while it grows.
const SAVE_AT_LEAST: Duration = Duration::from_secs(1);

/// The state of a turn in progress.
pub(super) struct Running {
    pub(super) turn: Turn,
    pub(super) sent: Sent,
    saved_bytes: usize,
    saved_at: Instant,
}

impl Running {
    pub(super) fn new(sent: Sent, now: Instant) -> Self {
        Running {
            turn: Turn::default(),
            sent,
            saved_bytes: 0,
            saved_at: now,
        }
    }

    /// When the answer has to be saved at the latest; `None` while nothing of it is new.
    pub(super) fn save_deadline(&self) -> Option<Instant> {
        (self.turn.size() > self.saved_bytes).then(|| self.saved_at + SAVE_AT_LEAST)
    }

    /// The answer so far, to be saved when enough of it is new, enough time has passed, or it `must` be.
    pub(super) fn save(&mut self, now: Instant, must: bool) -> Option<PromptAction> {
        let grown = self.turn.size().saturating_sub(self.saved_bytes);
        let due =
            grown >= SAVE_EVERY || now.saturating_duration_since(self.saved_at) >= SAVE_AT_LEAST;
        if !must && (grown == 0 || !due) {
            return None;
        }
        self.saved_bytes = self.turn.size();
        self.saved_at = now;
        Some(PromptAction::Save(self.turn.stored()))
    }
}
