//! What the completer and the menus tell each other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::runtime::RuntimeAnswer;

/// Name of the menu of completions.
pub(super) const MENU: &str = "completion";

/// Name of the one that shows signature and doc.
pub(super) const DOC: &str = "inspection";

/// What the completer and the menus tell each other.
#[derive(Default)]
pub(super) struct MenuState {
    /// Tab has opened the menu: the next question is meant.
    pub(super) opened: bool,
    /// Tab was pressed again in it: a deeper look is wanted.
    pub(super) deeper: bool,
    /// What the doc waits for.
    pub(super) looking: Option<oneshot::Receiver<RuntimeAnswer>>,
    /// What came of it.
    pub(super) looked: Option<RuntimeAnswer>,
}

pub(super) fn locked(desk: &Mutex<MenuState>) -> MutexGuard<'_, MenuState> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}
