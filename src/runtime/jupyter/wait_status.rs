//! The status line of a cell that has waited long for its start; cleared when the wait is over.
//!
//! Invariant: no status is sent twice in a row for a cell, and none for one that has ended.

use std::time::Duration;

use crate::{RequestId, RuntimeEvent};

/// Waits shorter than this show nothing.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// The first kernel is starting.
    Start,
    /// Another kernel is starting.
    Restart,
    /// A kernel that was found has not identified itself yet.
    Answer,
    /// The kernel is busy with something else.
    Turn,
    /// The gateway does not report if the kernel runs; the reason.
    Word(String),
}

impl WaitReason {
    fn text(&self) -> String {
        let text = match self {
            WaitReason::Start => "the kernel is starting",
            WaitReason::Restart => "the kernel is starting again",
            WaitReason::Answer => "the kernel has not answered yet",
            WaitReason::Turn => "the kernel is busy with something else",
            WaitReason::Word(why) => return format!("{why}; the cell may still run"),
        };
        text.to_owned()
    }
}

/// The status last sent, and its cell.
#[derive(Debug, Default)]
pub(super) struct WaitStatus(Option<(RequestId, WaitReason)>);

impl WaitStatus {
    /// Sets what this cell waits for, `None` for no wait; returns the event to send, if the status changed.
    pub(super) fn now(&mut self, waits: Option<(RequestId, WaitReason)>) -> Option<RuntimeEvent> {
        if self.0 == waits {
            return None;
        }
        let before = std::mem::replace(&mut self.0, waits);
        let (id, text) = match &self.0 {
            Some((id, awaited)) => (*id, awaited.text()),
            None => (before?.0, String::new()),
        };
        Some(RuntimeEvent::Status { id, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_once_and_taken_back_once() {
        let mut waiting = WaitStatus::default();
        let mut told = |waits| match waiting.now(waits) {
            Some(RuntimeEvent::Status { id, text }) => format!("{} {text}", id.0),
            told => format!("{told:?}"),
        };
        let cell = |number, awaited| Some((RequestId(number), awaited));
        assert_eq!(told(None), "None");
        assert_eq!(told(cell(1, WaitReason::Start)), "1 the kernel is starting");
        assert_eq!(told(cell(1, WaitReason::Start)), "None");
        assert_eq!(told(None), "1 ");
        assert_eq!(told(None), "None");
        let busy = "2 the kernel is busy with something else";
        assert_eq!(told(cell(2, WaitReason::Turn)), busy);
        assert_eq!(
            told(cell(3, WaitReason::Restart)),
            "3 the kernel is starting again"
        );
    }
}
