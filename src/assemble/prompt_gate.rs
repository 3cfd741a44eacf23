//! Delays work until the first prompt is shown, where the user waits for nothing else.
//!
//! Work beside the prompt makes it later: processors may be few, and threads of one process wait for each other's
//! changes to its memory, most of all during the fork that starts an interpreter. Invariant: the delay is bounded,
//! even if no prompt appears.

use std::convert::Infallible;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Maximum delay: the prompt is shown long before, unless the terminal is slow.
const AT_MOST: Duration = Duration::from_millis(50);

/// Releases all waiting threads when it is dropped.
#[derive(Debug, Default)]
pub struct PromptGate(Vec<Sender<Infallible>>);

impl PromptGate {
    /// Returns a function that waits for the prompt; called by the thread whose work is delayed.
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
