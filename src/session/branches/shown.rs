//! What a turn beside the prompt has shown: kept, and shown on to whoever looks.
//!
//! Invariants: what is kept stays bounded however much its cells print; whoever looks gets all that comes from then on.

use crate::events::{AnswerEvent, CellEvent, SessionEvent};
use crate::run::RunSender;

/// Bytes of cells' output that are kept.
const KEPT: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Shown {
    events: Vec<SessionEvent>,
    output: usize,
    view: Option<RunSender>,
}

impl Shown {
    pub(super) fn add(&mut self, event: SessionEvent) {
        if let Some(view) = &self.view {
            view.send(event.clone());
        }
        if let SessionEvent::Cell(CellEvent::Output { bytes, .. }) = &event {
            self.output += bytes.len();
            if self.output > KEPT {
                return;
            }
        }
        if let Some(last) = self.events.last_mut()
            && joined(last, &event)
        {
            return;
        }
        self.events.push(event);
    }

    /// Returns what was shown so far.
    pub(super) fn events(&self) -> Vec<SessionEvent> {
        self.events.clone()
    }

    /// Shows what comes from now on there, too.
    pub(super) fn show_to(&mut self, out: RunSender) {
        self.view = Some(out);
    }

    /// Whoever looked has stopped, or nothing more comes.
    pub(super) fn hide(&mut self) {
        self.view = None;
    }

    /// Returns the last message of the answer.
    pub(super) fn last_message(&self) -> &str {
        let texts = self.events.iter().rev();
        let mut texts = texts.filter_map(|event| match event {
            SessionEvent::Answer(AnswerEvent::Text { delta, .. }) => Some(delta.as_str()),
            _ => None,
        });
        texts.next().unwrap_or_default()
    }
}

/// Appends a further piece of the same text.
fn joined(last: &mut SessionEvent, event: &SessionEvent) -> bool {
    match (last, event) {
        (
            SessionEvent::Answer(AnswerEvent::Text { message, delta }),
            SessionEvent::Answer(AnswerEvent::Text {
                message: same,
                delta: more,
            }),
        ) if message == same => delta.push_str(more),
        (
            SessionEvent::Answer(AnswerEvent::Thought { part, delta }),
            SessionEvent::Answer(AnswerEvent::Thought {
                part: same,
                delta: more,
            }),
        ) if part == same => delta.push_str(more),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::OutputStream;

    fn text(message: u64, delta: &str) -> SessionEvent {
        let delta = delta.to_owned();
        SessionEvent::Answer(AnswerEvent::Text { message, delta })
    }

    #[test]
    fn pieces_are_joined_and_output_is_bounded() {
        let mut shown = Shown::default();
        for piece in ["a", "b"] {
            shown.add(text(1, piece));
        }
        for _ in 0..40 {
            shown.add(SessionEvent::Cell(CellEvent::Output {
                stream: OutputStream::Stdout,
                bytes: vec![b'x'; KEPT / 10],
                foreign: false,
            }));
        }
        shown.add(text(2, "c"));
        assert_eq!(shown.events().len(), 1 + 10 + 1);
        assert_eq!(shown.last_message(), "c");
    }

    #[test]
    fn whoever_looks_gets_what_comes() {
        let mut shown = Shown::default();
        let (out, run) = crate::run::stream();
        shown.add(text(1, "a"));
        shown.show_to(out);
        shown.add(text(1, "b"));
        shown.hide();
        shown.add(text(1, "c"));
        let executor = tokio::runtime::Builder::new_current_thread().build();
        let next = executor.unwrap().block_on(run.next());
        assert!(
            matches!(next, Some(SessionEvent::Answer(AnswerEvent::Text { delta, .. })) if delta == "b")
        );
    }
}
