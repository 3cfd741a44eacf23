//! State that the completer and the menus share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::runtime::RuntimeReply;

/// Name of the menu of completions.
pub(super) const MENU: &str = "completion";

/// Name of the one that shows signature and doc.
pub(super) const DOC: &str = "inspection";

#[derive(Default)]
pub(super) struct MenuState {
    /// Tab has opened the menu: the next question is meant.
    pub(super) opened: bool,
    /// Tab was pressed again in it: a deeper look is wanted.
    pub(super) deeper: bool,
    /// The pending inspection.
    pub(super) looking: Option<oneshot::Receiver<RuntimeReply>>,
    /// The answer to it.
    pub(super) looked: Option<RuntimeReply>,
}

pub(super) fn locked(menu_state: &Mutex<MenuState>) -> MutexGuard<'_, MenuState> {
    menu_state.lock().unwrap_or_else(PoisonError::into_inner)
}
