//! What a cell that has not begun waits for, told to it when the wait is long, and taken back when it is over.
//!
//! Invariant: nothing is told of a cell twice in a row, nor of one that has ended.

use std::time::Duration;

use crate::runtime::{RequestId, RuntimeEvent};

/// A wait shorter than this shows nothing.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The first kernel comes up.
    Start,
    /// Another one comes up.
    Restart,
    /// One that was there before says who it is.
    Answer,
    /// The kernel does something else.
    Turn,
    /// Whoever runs the kernel says whether it is there; why that is not said.
    Word(String),
}

impl Awaited {
    fn text(&self) -> String {
        let text = match self {
            Awaited::Start => "the kernel is starting",
            Awaited::Restart => "the kernel is starting again",
            Awaited::Answer => "the kernel has not answered yet",
            Awaited::Turn => "the kernel is busy with something else",
            Awaited::Word(why) => return format!("{why}; the cell may still run"),
        };
        text.to_owned()
    }
}

/// What was told last, and of which cell.
#[derive(Debug, Default)]
pub(super) struct Waiting(Option<(RequestId, Awaited)>);

impl Waiting {
    /// This cell waits for that from now on; `None`: none waits. What there is to tell.
    pub(super) fn now(&mut self, waits: Option<(RequestId, Awaited)>) -> Option<RuntimeEvent> {
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
        let mut waiting = Waiting::default();
        let mut told = |waits| match waiting.now(waits) {
            Some(RuntimeEvent::Status { id, text }) => format!("{} {text}", id.0),
            told => format!("{told:?}"),
        };
        let cell = |number, awaited| Some((RequestId(number), awaited));
        assert_eq!(told(None), "None");
        assert_eq!(told(cell(1, Awaited::Start)), "1 the kernel is starting");
        assert_eq!(told(cell(1, Awaited::Start)), "None");
        assert_eq!(told(None), "1 ");
        assert_eq!(told(None), "None");
        let busy = "2 the kernel is busy with something else";
        assert_eq!(told(cell(2, Awaited::Turn)), busy);
        assert_eq!(
            told(cell(3, Awaited::Restart)),
            "3 the kernel is starting again"
        );
    }
}
