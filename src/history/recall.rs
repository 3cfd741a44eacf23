//! What was typed before, for the editor: a shared list in memory, oldest first, filled by the history thread.
//!
//! Never touches the database; holds the newest few thousand inputs of all sessions plus what is typed now.

use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

/// Inputs loaded from the record.
pub(super) const LOADED: u32 = 5_000;

/// Typed inputs; cheap to clone, all clones are one list.
#[derive(Debug, Clone, Default)]
pub struct Recall {
    inputs: Arc<RwLock<Vec<Arc<str>>>>,
    loaded: Arc<(Mutex<bool>, Condvar)>,
}

impl Recall {
    fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<str>>> {
        self.inputs.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many inputs are known.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// True before anything was typed or loaded.
    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// The input at `index`, 0 being the oldest. Indices move up once, when the record has been loaded.
    pub fn get(&self, index: usize) -> Option<Arc<str>> {
        self.read().get(index).cloned()
    }

    /// Waits until the record has been loaded, at most `patience`.
    pub fn wait_loaded(&self, patience: Duration) {
        let (loaded, changed) = &*self.loaded;
        let guard = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it came or not, what is there is used.
        drop(changed.wait_timeout_while(guard, patience, |loaded| !*loaded));
    }

    /// Adds an input; one equal to the newest is not added again.
    pub fn push(&self, text: &str) {
        let mut inputs = self.inputs.write().unwrap_or_else(PoisonError::into_inner);
        if inputs.last().is_none_or(|last| **last != *text) {
            inputs.push(text.into());
        }
    }

    /// Puts `older` (oldest first) before what was typed in the meantime.
    pub(super) fn load(&self, older: Vec<Arc<str>>) {
        let mut inputs = self.inputs.write().unwrap_or_else(PoisonError::into_inner);
        inputs.splice(..0, older);
        let (loaded, changed) = &*self.loaded;
        *loaded.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }
}
