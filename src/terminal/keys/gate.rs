//! Keys that came together with one that ends the editor's reading.
//!
//! The editor parses all keys of one read before it carries any out, and what comes after a key that ends its reading
//! is lost. So such keys are held ([`Gate::hold`]) and come first when it reads again. Whoever lets it read again looks
//! whether there are some ([`Gate::open`]) and wakes it with [`wake`].
//!
//! Invariant: a key is in the editor or here, once, in the order it was typed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossterm::event::Event;
use rustix::process::{Signal, getpid, kill_process};

/// How long the editor has to ask the terminal where the cursor is, before it is woken.
const FIRST: Duration = Duration::from_millis(5);

/// When it is woken again; longer than it waits after a change of size for more to come.
const AGAIN: Duration = Duration::from_millis(150);

/// Held keys, for the keys' side and the editor's.
#[derive(Debug, Default)]
pub(in crate::terminal) struct Gate {
    state: State,
    held: VecDeque<Event>,
}

/// What happens to the next key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// It is parsed.
    #[default]
    Open,
    /// It is held until the keys before it have been painted.
    Paused,
    /// It is held until the editor reads again.
    Closed,
}

/// A gate both sides hold.
pub(in crate::terminal) type SharedGate = Arc<Mutex<Gate>>;

/// Locks it.
pub(in crate::terminal) fn pass(gate: &SharedGate) -> MutexGuard<'_, Gate> {
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gate {
    /// The reading ends.
    pub(in crate::terminal) fn close(&mut self) {
        self.state = State::Closed;
    }

    /// What comes from here on has to meet what was painted.
    pub(in crate::terminal) fn pause(&mut self) {
        self.state = State::Paused;
    }

    /// The reading begins, or goes on after a paint; true when keys are held.
    pub(in crate::terminal) fn open(&mut self) -> bool {
        self.state = State::Open;
        self.holds()
    }

    /// True while keys are parsed.
    pub(in crate::terminal) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// True when keys are held.
    pub(in crate::terminal) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// True while the editor reads and has not taken what is held.
    fn waits(&self) -> bool {
        self.holds() && self.state != State::Closed
    }

    /// Holds a key, behind those that are held already.
    pub(in crate::terminal) fn hold(&mut self, event: Event) {
        self.held.push_back(event);
    }

    /// The oldest held key; none while keys are not parsed.
    pub(in crate::terminal) fn take(&mut self) -> Option<Event> {
        self.is_open().then(|| self.held.pop_front()).flatten()
    }

    /// The oldest held key, for who reads the keyboard while the editor does not.
    pub(in crate::terminal) fn take_early(&mut self) -> Option<Event> {
        self.held.pop_front()
    }

    /// Puts back what was taken last, for after the next paint.
    pub(in crate::terminal) fn put_back(&mut self, event: Event) {
        self.held.push_front(event);
        self.pause();
    }

    /// Drops the keys up to the last one that is `so`; false when none is.
    pub(in crate::terminal) fn drop_to(&mut self, so: impl Fn(&Event) -> bool) -> bool {
        let last = self.held.iter().rposition(so);
        self.held.drain(..last.map_or(0, |at| at + 1));
        last.is_some()
    }
}

/// Makes the terminal library report an event, as if the window had been resized: the editor parses what is held then.
/// The library loses a signal that comes at the same moment as bytes of the terminal, so it is told until it has heard.
pub(in crate::terminal) fn wake(gate: &SharedGate) {
    let gate = Arc::clone(gate);
    let tell = move || {
        std::thread::sleep(FIRST);
        while pass(&gate).waits() {
            // Our own process is there.
            let _ = kill_process(getpid(), Signal::WINCH);
            std::thread::sleep(AGAIN);
        }
    };
    // Without a thread the next key brings them.
    let _ = std::thread::Builder::new().name("wake".into()).spawn(tell);
}
