//! What was typed before, for the editor: a shared list in memory, oldest first, filled by the history thread.
//!
//! Never touches the database; holds the newest few thousand inputs of all sessions plus what is typed now.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// Inputs loaded from the record.
pub(super) const LOADED: u32 = 5_000;

/// Typed inputs; cheap to clone, all clones are one list.
#[derive(Debug, Clone, Default)]
pub struct Recall {
    inputs: Arc<RwLock<Vec<Arc<str>>>>,
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
    }
}
