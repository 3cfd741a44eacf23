//! Keys that came together with one that ends the editor's reading.
//!
//! The editor parses all keys of one read before it carries any out, and what comes after a key that ends its reading
//! is lost. So such keys are held ([`Gate::hold`]) and come first when it reads again. Whoever lets it read again looks
//! whether there are some ([`Gate::open`]) and wakes it with [`wake`].
//!
//! Invariant: a key is in the editor or here, once, in the order it was typed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossterm::event::Event;

/// Held keys, for the keys' side and the editor's.
#[derive(Debug, Default)]
pub(in crate::terminal) struct Gate {
    /// A key has ended the reading; what comes now belongs to the next.
    closed: bool,
    held: VecDeque<Event>,
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
        self.closed = true;
    }

    /// The reading begins, or goes on after all; true when keys are held.
    pub(in crate::terminal) fn open(&mut self) -> bool {
        self.closed = false;
        !self.held.is_empty()
    }

    /// True until the reading begins again.
    pub(in crate::terminal) fn is_closed(&self) -> bool {
        self.closed
    }

    /// True when keys are held.
    pub(in crate::terminal) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Holds a key, behind those that are held already.
    pub(in crate::terminal) fn hold(&mut self, event: Event) {
        self.held.push_back(event);
    }

    /// The oldest held key.
    pub(in crate::terminal) fn take(&mut self) -> Option<Event> {
        self.held.pop_front()
    }

    /// Drops the keys up to the last one that is `so`; false when none is.
    pub(in crate::terminal) fn drop_to(&mut self, so: impl Fn(&Event) -> bool) -> bool {
        let last = self.held.iter().rposition(so);
        self.held.drain(..last.map_or(0, |at| at + 1));
        last.is_some()
    }
}

/// Makes the terminal library report an event, as if the window had been resized: the editor parses what is held then.
pub(in crate::terminal) fn wake() {
    // Our own process is there.
    let _ =
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::WINCH);
}
