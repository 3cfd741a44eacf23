//! Prompts typed while an answer streams: sent into the running turn, one at a time.
//!
//! In: the queue of typed keys, and what the session says of a line that was sent. Out: lines for
//! [`SessionHandle::steer`]. Only a plain prompt at the front of the queue is sent: one that refers to a value, a
//! command's output or a file, one for a command of the shell's, code and commands wait for their turn, and so does all
//! that stands behind them. Invariant: the keys of a line are in the queue or here until the turn has taken it; else
//! they go back in front of the queue, and nothing more is sent into this turn.

use crossterm::event::Event;

use crate::input::{Completeness, Input, Mode, completeness, file_references, references};
use crate::session::SessionHandle;
use crate::terminal::keys::key_queue::KeyQueue;
use crate::terminal::typeahead::TypedLines;

pub(super) struct Steering {
    session: SessionHandle,
    mode: Mode,
    /// The keys of the line that was sent and not answered for.
    sent: Option<Vec<Event>>,
    /// The line at the front of the queue is to wait (Tab), or the turn takes nothing.
    paused: bool,
}

impl Steering {
    /// What waits already, in `key_queue`, does not belong to this turn.
    pub(super) fn new(session: SessionHandle, mode: Mode, key_queue: &KeyQueue) -> Self {
        Steering {
            session,
            mode,
            sent: None,
            paused: !key_queue.lines().ended.is_empty(),
        }
    }

    /// The line that was sent and not answered for.
    pub(super) fn sent_line(&self) -> Option<String> {
        let lines = TypedLines::from_events(self.sent.as_ref()?);
        lines.ended.into_iter().next()
    }

    /// True when `line` would be sent if it stood at the front.
    pub(super) fn is_for_turn(&self, line: &str) -> bool {
        prompt_for_turn(line, self.mode).is_some()
    }

    /// The next line was ended so that it waits.
    pub(super) fn pause(&mut self) {
        self.paused = true;
    }

    /// Sends the first line of the queue, if it is one for the turn.
    pub(super) fn send_next(&mut self, key_queue: &mut KeyQueue) {
        if self.paused || self.sent.is_some() {
            return;
        }
        let line = key_queue.first_line();
        let text = line.and_then(|line| prompt_for_turn(&line, self.mode));
        if let Some(text) = text {
            self.sent = Some(key_queue.take_first_line());
            self.session.steer(text);
        }
    }

    /// The turn has taken the line, or not.
    pub(super) fn on_answer(&mut self, taken: bool, key_queue: &mut KeyQueue) {
        if taken {
            self.sent = None;
            self.send_next(key_queue);
        } else {
            self.end(key_queue);
        }
    }

    /// Puts a line that was not taken back.
    pub(super) fn end(&mut self, key_queue: &mut KeyQueue) {
        self.paused = true;
        if let Some(line) = self.sent.take() {
            key_queue.put_back_line(line);
        }
    }
}

/// The text of a prompt that a turn can take as it is.
fn prompt_for_turn(line: &str, mode: Mode) -> Option<String> {
    let complete = completeness(line, mode) == Completeness::Complete;
    let Input::Prompt(prompt) = crate::input::classify(line, mode) else {
        return None;
    };
    let names = references(&prompt.text);
    let plain = names.tools.is_empty() && names.variables.is_empty() && names.shells.is_empty();
    let word = prompt.text.trim();
    let special = prompt.repeats() || word.starts_with('/') || matches!(word, "fix" | "explain");
    let typed = complete && prompt.hint.is_none() && !line.starts_with(' ');
    (typed && plain && !special && file_references(&prompt.text).is_empty()).then_some(prompt.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_prompts_go_into_a_turn() {
        for (line, mode, expected) in [
            (".use b instead", Mode::Cells, Some("use b instead")),
            (".one\ntwo", Mode::Cells, Some("one\ntwo")),
            ("use b instead", Mode::Cells, None),
            ("use b instead", Mode::Prompts, Some("use b instead")),
            (";a = 1", Mode::Prompts, None),
            ("%ipycodex usage", Mode::Prompts, None),
            ("a = 1", Mode::Cells, None),
            ("", Mode::Cells, None),
            (".", Mode::Cells, None),
            ("...", Mode::Cells, None),
            (".5", Mode::Cells, None),
            (".!", Mode::Cells, None),
            (".fix", Mode::Cells, None),
            ("./review", Mode::Cells, None),
            (".look at $`x`", Mode::Cells, None),
            (".use &`f`", Mode::Cells, None),
            (".see !`ls`", Mode::Cells, None),
            (".see @a.csv", Mode::Cells, None),
            (".goes on \\", Mode::Cells, None),
            ("ls", Mode::Shell, None),
        ] {
            let text = prompt_for_turn(line, mode);
            assert_eq!(text.as_deref(), expected, "{line:?} {mode:?}");
        }
    }
}
