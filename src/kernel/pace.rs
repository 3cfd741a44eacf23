//! How often an answer that grows is shown again: front-ends draw the whole of it each time.
//!
//! Pure: the clock is the caller's. Invariant: in any second there are at most 15 states of an answer, the whole one at
//! its end included, which does not wait.

use std::time::Duration;

use tokio::time::Instant;

/// Two states of an answer are so far apart.
const BETWEEN: Duration = Duration::from_millis(80);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pace {
    sent: Option<Instant>,
}

impl Pace {
    /// When the next state may be sent.
    pub(super) fn due(&self, now: Instant) -> Instant {
        self.sent.map_or(now, |sent| sent + BETWEEN)
    }

    /// A state was sent.
    pub(super) fn sent(&mut self, now: Instant) {
        self.sent = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_15_states_are_sent_in_a_second() {
        let start = Instant::now();
        // Pieces of the answer come this often, in ms; the last one ends it.
        for every in [1, 7, 40, 79, 80, 81, 200] {
            let mut pace = Pace::default();
            let mut sent: Vec<Instant> = Vec::new();
            let end = 5_000;
            let mut grown = 0;
            for at in 0..=end {
                let now = start + Duration::from_millis(at);
                grown += u64::from(at % every == 0);
                if (grown > 0 && pace.due(now) <= now) || at == end {
                    pace.sent(now);
                    sent.push(now);
                    grown = 0;
                }
            }
            for first in &sent {
                let within =
                    |it: &&Instant| (*first..*first + Duration::from_secs(1)).contains(*it);
                let count = sent.iter().filter(within).count();
                assert!(
                    count <= 15,
                    "{count} states in a second, pieces every {every} ms"
                );
            }
            let most = sent.windows(2).map(|pair| pair[1] - pair[0]).max();
            let wait = Duration::from_millis(every.max(80) + every);
            assert!(
                most.is_some_and(|most| most <= wait),
                "{most:?} between two, every {every} ms"
            );
        }
    }
}
