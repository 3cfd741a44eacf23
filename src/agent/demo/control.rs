//! What the reading side of the offline agent tells the side that answers: an interrupt, an answer, the end.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::rpc::{RpcError, RpcId};

/// Pause between deltas for a prompt that says "slowly".
const PAUSE: Duration = Duration::from_millis(50);

/// State shared by both sides. A turn has any name that no other one has at the same time.
#[derive(Clone, Default)]
pub(super) struct Control(Arc<(Mutex<Shared>, Condvar)>);

#[derive(Default)]
struct Shared {
    /// Turns that wait or run.
    open: HashSet<String>,
    interrupted: HashSet<String>,
    /// Input that the user added during a turn.
    steered: Vec<String>,
    answers: HashMap<RpcId, Result<Value, RpcError>>,
    disconnected: bool,
}

/// The turn was interrupted, or the client has disconnected.
pub(super) struct Stopped;

impl Control {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes the side that answers.
    fn update<T>(&self, change: impl FnOnce(&mut Shared) -> T) -> T {
        let changed = change(&mut self.lock());
        self.0.1.notify_all();
        changed
    }

    /// Allows a turn to be interrupted from now on.
    pub(super) fn register(&self, turn: &str) {
        self.update(|shared| shared.open.insert(turn.to_owned()));
    }

    /// Interrupts a turn; false when it does not run.
    pub(super) fn interrupt(&self, turn: &str) -> bool {
        self.update(|shared| {
            let open = shared.open.contains(turn);
            shared.interrupted.extend(open.then(|| turn.to_owned()));
            open
        })
    }

    /// Adds input to a turn; false when it does not run.
    pub(super) fn steer(&self, turn: &str, text: String) -> bool {
        let mut shared = self.lock();
        let open = shared.open.contains(turn);
        if open {
            shared.steered.push(text);
        }
        open
    }

    /// The input that was added, once.
    pub(super) fn steered(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().steered)
    }

    pub(super) fn on_answer(&self, id: RpcId, outcome: Result<Value, RpcError>) {
        self.update(|shared| shared.answers.insert(id, outcome));
    }

    /// Ends all turns, since the client has disconnected.
    pub(super) fn disconnect(&self) {
        self.update(|shared| shared.disconnected = true);
    }

    /// The turn is over.
    pub(super) fn end(&self, turn: &str) {
        let mut shared = self.lock();
        shared.open.remove(turn);
        shared.interrupted.remove(turn);
    }

    /// Pauses if `slowly`; fails once the turn was stopped.
    pub(super) fn pause(&self, turn: &str, slowly: bool) -> Result<(), Stopped> {
        let pause = if slowly { PAUSE } else { Duration::ZERO };
        let goes_on = |shared: &mut Shared| !shared.has_stopped(turn);
        let waited = self.0.1.wait_timeout_while(self.lock(), pause, goes_on);
        let (shared, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match shared.has_stopped(turn) {
            true => Err(Stopped),
            false => Ok(()),
        }
    }

    /// Waits for the answer to a request of this turn.
    pub(super) fn answer_to(
        &self,
        turn: &str,
        id: &RpcId,
    ) -> Result<Result<Value, RpcError>, Stopped> {
        let goes_on =
            |shared: &mut Shared| !shared.has_stopped(turn) && !shared.answers.contains_key(id);
        let waited = self.0.1.wait_while(self.lock(), goes_on);
        let mut shared = waited.unwrap_or_else(PoisonError::into_inner);
        shared.answers.remove(id).ok_or(Stopped)
    }
}

impl Shared {
    fn has_stopped(&self, turn: &str) -> bool {
        self.disconnected || self.interrupted.contains(turn)
    }
}
