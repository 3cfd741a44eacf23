//! State that the completer and the menus share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::runtime::RuntimeReply;

pub(super) const MENU: &str = "completion";

pub(super) const DOC: &str = "inspection";

#[derive(Default)]
pub(super) struct MenuState {
    /// Tab has opened the menu: the next query of the editor is a request.
    pub(super) opened: bool,
    /// Tab was pressed again in the menu: a deeper look is requested.
    pub(super) deeper: bool,
    pub(super) looking: Option<oneshot::Receiver<RuntimeReply>>,
    pub(super) looked: Option<RuntimeReply>,
}

pub(super) fn locked(menu_state: &Mutex<MenuState>) -> MutexGuard<'_, MenuState> {
    menu_state.lock().unwrap_or_else(PoisonError::into_inner)
}
