//! The text and reasoning of a running turn: items and deltas in, pieces with our own numbers out.
//!
//! Pure. Invariants: the pieces of a message that is not restarted join to its whole text; a message that was cut
//! by a retry is restarted once the text begins again (until then the partial text stays). Model responses send
//! their messages one after the other, so a message that begins while another is open means that the other was cut. A
//! plan is part of a message, and the message goes on behind it under a number of its own.

use std::collections::HashMap;

use crate::{AgentEvent, TurnId};

#[derive(Debug)]
pub(super) struct TurnAnswer {
    turn: TurnId,
    messages: HashMap<String, Message>,
    next_message: u64,
    parts: HashMap<(String, ReasoningSource, u64), u64>,
    next_part: u64,
}

#[derive(Debug)]
struct Message {
    number: u64,
    text: String,
    finished: bool,
    /// A retry was announced while the message was open.
    cut: bool,
    /// A plan has begun since the last piece.
    behind_plan: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ReasoningSource {
    Summary,
    /// The raw chain, sent only when the user's configuration asks for it.
    Raw,
}

impl TurnAnswer {
    pub(super) fn new(turn: TurnId) -> Self {
        TurnAnswer {
            turn,
            messages: HashMap::new(),
            next_message: 0,
            parts: HashMap::new(),
            next_part: 0,
        }
    }

    /// Begins a message, unless a piece of it has begun it already.
    pub(super) fn begin(&mut self, id: &str, out: &mut Vec<AgentEvent>) {
        if self.messages.contains_key(id) {
            return;
        }
        self.discard(|_| true, out);
        self.insert(id);
    }

    fn insert(&mut self, id: &str) {
        let message = Message {
            number: self.next_message,
            text: String::new(),
            finished: false,
            cut: false,
            behind_plan: false,
        };
        self.next_message += 1;
        self.messages.insert(id.into(), message);
    }

    /// Begins a plan inside of the open message. A plan that was cut by a retry begins again under its id.
    pub(super) fn begin_plan(&mut self, id: &str, out: &mut Vec<AgentEvent>) {
        match self.messages.get(id) {
            Some(plan) if !plan.cut => return,
            Some(_) => self.discard(|message| message.cut, out),
            None => {}
        }
        for message in self.messages.values_mut() {
            message.behind_plan = !message.text.is_empty();
        }
        self.insert(id);
    }

    pub(super) fn extend(&mut self, id: &str, delta: String, out: &mut Vec<AgentEvent>) {
        self.begin(id, out);
        let turn = self.turn;
        if let Some(message) = self.messages.get_mut(id)
            && !message.finished
            && !delta.is_empty()
        {
            if std::mem::take(&mut message.behind_plan) {
                message.number = self.next_message;
                self.next_message += 1;
            }
            message.text.push_str(&delta);
            out.push(AgentEvent::Text {
                turn,
                message: message.number,
                delta,
            });
        }
    }

    /// Ends a message; sends the part that was not streamed.
    pub(super) fn finish(&mut self, id: &str, text: &str, out: &mut Vec<AgentEvent>) {
        self.begin(id, out);
        if let Some(message) = self.messages.get(id)
            && let Some(rest) = text.strip_prefix(message.text.as_str())
        {
            let rest = rest.to_owned();
            self.extend(id, rest, out);
        }
        if let Some(message) = self.messages.get_mut(id) {
            message.finished = true;
            message.text = String::new();
        }
    }

    /// The stream is retried: open messages are marked as cut, and their text stays until new text follows.
    pub(super) fn retry(&mut self) {
        for message in self.messages.values_mut() {
            message.cut = !message.finished;
        }
    }

    /// The turn completed: messages that were cut and not begun again are no part of the answer.
    pub(super) fn close(&mut self, out: &mut Vec<AgentEvent>) {
        self.discard(|message| message.cut, out);
    }

    pub(super) fn think(
        &mut self,
        id: &str,
        source: ReasoningSource,
        index: u64,
        delta: String,
        out: &mut Vec<AgentEvent>,
    ) {
        let other = match source {
            ReasoningSource::Summary => ReasoningSource::Raw,
            ReasoningSource::Raw => ReasoningSource::Summary,
        };
        // Summary and raw chain have the same content; the first to arrive is shown.
        let known = |source| {
            self.parts
                .keys()
                .any(|(item, from, _)| item == id && *from == source)
        };
        if delta.is_empty() || known(other) {
            return;
        }
        let part = *self
            .parts
            .entry((id.into(), source, index))
            .or_insert_with(|| {
                self.next_part += 1;
                self.next_part - 1
            });
        out.push(AgentEvent::Thought {
            turn: self.turn,
            part,
            delta,
        });
    }

    /// Ends reasoning; sends the parts of its summary that were not streamed.
    pub(super) fn thought(&mut self, id: &str, summary: Vec<String>, out: &mut Vec<AgentEvent>) {
        if self.parts.keys().any(|(item, _, _)| item == id) {
            return;
        }
        for (index, text) in (0..).zip(summary) {
            self.think(id, ReasoningSource::Summary, index, text, out);
        }
    }

    fn discard(&mut self, which: impl Fn(&Message) -> bool, out: &mut Vec<AgentEvent>) {
        let mut cut: Vec<u64> = Vec::new();
        for message in self.messages.values_mut() {
            if message.finished || !which(message) {
                continue;
            }
            message.finished = true;
            if !message.text.is_empty() {
                message.text = String::new();
                cut.push(message.number);
            }
        }
        cut.sort_unstable();
        let turn = self.turn;
        out.extend(
            cut.into_iter()
                .map(|message| AgentEvent::TextRestarted { turn, message }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{ReasoningSource, TurnAnswer};
    use crate::{AgentEvent, TurnId};

    const TURN: TurnId = TurnId(1);

    fn text(message: u64, delta: &str) -> AgentEvent {
        AgentEvent::Text {
            turn: TURN,
            message,
            delta: delta.into(),
        }
    }

    fn check(play: impl FnOnce(&mut TurnAnswer, &mut Vec<AgentEvent>), expected: &[AgentEvent]) {
        let mut answer = TurnAnswer::new(TURN);
        let mut out = Vec::new();
        play(&mut answer, &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn a_plan_stands_inside_of_its_message() {
        check(
            |answer, out| {
                answer.begin("a", out);
                answer.extend("a", "before".into(), out);
                answer.begin_plan("plan", out);
                answer.extend("plan", "1. on".into(), out);
                answer.finish("plan", "1. one", out);
                answer.extend("a", "beh".into(), out);
                answer.finish("a", "beforebehind", out);
                answer.begin("b", out);
            },
            &[
                text(0, "before"),
                text(1, "1. on"),
                text(1, "e"),
                text(2, "beh"),
                text(2, "ind"),
            ],
        );
        let restarted = |message| AgentEvent::TextRestarted {
            turn: TURN,
            message,
        };
        check(
            |answer, out| {
                answer.begin_plan("plan", out);
                answer.extend("plan", "1. o".into(), out);
                answer.retry();
                answer.begin_plan("plan", out);
                answer.extend("plan", "1. two".into(), out);
            },
            &[text(0, "1. o"), restarted(0), text(1, "1. two")],
        );
    }

    #[test]
    fn text_not_streamed_comes_at_the_end() {
        check(
            |answer, out| {
                answer.begin("a", out);
                answer.extend("a", "he".into(), out);
                answer.finish("a", "hello", out);
                answer.finish("b", "whole", out);
                answer.close(out);
            },
            &[text(0, "he"), text(0, "llo"), text(1, "whole")],
        );
    }

    #[test]
    fn commentary_and_answer_are_two_messages() {
        check(
            |answer, out| {
                answer.extend("a", "looking".into(), out);
                answer.finish("a", "looking", out);
                answer.extend("b", "found".into(), out);
                answer.finish("b", "found", out);
            },
            &[text(0, "looking"), text(1, "found")],
        );
    }

    #[test]
    fn a_message_that_was_cut_is_restarted_once() {
        check(
            |answer, out| {
                answer.extend("a", "hal".into(), out);
                answer.begin("b", out);
                answer.extend("a", "late".into(), out);
                answer.extend("b", "whole".into(), out);
                answer.finish("b", "whole", out);
                answer.close(out);
            },
            &[
                text(0, "hal"),
                AgentEvent::TextRestarted {
                    turn: TURN,
                    message: 0,
                },
                text(1, "whole"),
            ],
        );
    }

    #[test]
    fn an_open_message_counts_unless_a_retry_cut_it() {
        check(
            |answer, out| {
                answer.extend("a", "all".into(), out);
                answer.close(out);
            },
            &[text(0, "all")],
        );
        check(
            |answer, out| {
                answer.extend("a", "hal".into(), out);
                answer.retry();
                answer.close(out);
            },
            &[
                text(0, "hal"),
                AgentEvent::TextRestarted {
                    turn: TURN,
                    message: 0,
                },
            ],
        );
    }

    #[test]
    fn reasoning_is_shown_once_by_parts() {
        let thought = |part, delta: &str| AgentEvent::Thought {
            turn: TURN,
            part,
            delta: delta.into(),
        };
        check(
            |answer, out| {
                answer.think("r", ReasoningSource::Summary, 0, "a".into(), out);
                answer.think("r", ReasoningSource::Raw, 0, "raw".into(), out);
                answer.think("r", ReasoningSource::Summary, 1, "b".into(), out);
                answer.think("r", ReasoningSource::Summary, 0, "a".into(), out);
                answer.thought("r", vec!["again".into()], out);
                answer.thought("s", vec!["c".into(), String::new(), "d".into()], out);
            },
            &[
                thought(0, "a"),
                thought(1, "b"),
                thought(0, "a"),
                thought(2, "c"),
                thought(3, "d"),
            ],
        );
    }
}
