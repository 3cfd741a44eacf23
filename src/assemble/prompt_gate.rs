//! Who waits for the first prompt: where users wait for nothing else, nothing else works until it stands.
//!
//! What works beside it makes it come later: there may be few processors, and threads of one process wait for each
//! other's changes to its memory, most of all for the copy of it that starts an interpreter. Invariant: nobody waits
//! long, whatever becomes of the prompt.

use std::convert::Infallible;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// The prompt stands long before, or the terminal is slow.
const AT_MOST: Duration = Duration::from_millis(50);

/// Who waits, until this is dropped.
#[derive(Debug, Default)]
pub struct PromptGate(Vec<Sender<Infallible>>);

impl PromptGate {
    /// One more who waits: by calling this, on a thread of its own.
    pub(super) fn turn(&mut self) -> Box<dyn FnOnce() + Send> {
        let (held, stands) = channel();
        self.0.push(held);
        Box::new(move || {
            let _ = stands.recv_timeout(AT_MOST);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_go_on_when_the_prompt_stands_or_is_late() {
        let mut waiting = PromptGate::default();
        let turns = [waiting.turn(), waiting.turn()];
        let late = waiting.turn();
        late();
        drop(waiting);
        turns.into_iter().for_each(|turn| turn());
    }
}
