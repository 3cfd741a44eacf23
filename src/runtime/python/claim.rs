//! The way back of a branch: its thread gives the interpreter to the one that it was split from.
//!
//! In: the wish, from the thread of that interpreter, which waits. Out: the interpreter, once nothing runs in it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::control::Control;
use super::interpreter::Interpreter;

/// Maximum wait for a branch to be given back.
const PATIENCE: Duration = Duration::from_secs(5);

/// Claims the interpreter of a branch back.
#[derive(Debug)]
pub(super) struct Claim {
    control: Arc<Control>,
    wanted: AtomicBool,
    given: Mutex<Option<Interpreter>>,
    came: Condvar,
}

impl Claim {
    pub(super) fn new(control: Arc<Control>) -> Self {
        Claim {
            control,
            wanted: AtomicBool::new(false),
            given: Mutex::new(None),
            came: Condvar::new(),
        }
    }

    /// Returns true once the branch is to be given back.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }

    pub(super) fn give(&self, interpreter: Interpreter) {
        let given = self.given.lock();
        *given.unwrap_or_else(PoisonError::into_inner) = Some(interpreter);
        self.came.notify_all();
    }

    /// Waits for the interpreter; `None` when the branch has ended or has work to do.
    pub(super) fn take(&self) -> Option<Interpreter> {
        self.wanted.store(true, Ordering::SeqCst);
        self.control.wake();
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .came
            .wait_timeout_while(given, PATIENCE, |given| given.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}
