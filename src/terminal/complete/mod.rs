//! Tab and Shift-Tab: completions at the cursor, and the documentation of the name there.
//!
//! `rules` chooses the source from the text; `completer` sends the request (to the live interpreter, or to `lookup`
//! on a thread of its own) and hands the editor the answer; `menu` shows it below the line, `doc` shows signature
//! and documentation there. In: keys of the editor, answers of the session. Out: edits of the line, and rows below
//! it. Invariants: the editor never waits longer than [`sources::BRIEFLY`]; an answer counts only for the text and
//! cursor it was requested for; foreign text is shown without control characters.
//!
//! Absent on purpose: the interpreter's knowledge, and keys (`terminal::keys` binds them).

mod below;
mod code_context;
mod completer;
mod doc;
mod files;
mod lookup;
mod menu;
mod rules;
mod sources;
mod strings;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use reedline::{Reedline, ReedlineEvent, ReedlineMenu};

use crate::terminal::editor_wait::{EditorWait, WaitingCompleter};
use crate::terminal::snapshot::SharedSnapshot;
use below::{DOC, MENU, MenuState};
use completer::TabCompleter;
use doc::DocMenu;
use menu::CompletionMenu;
pub(super) use sources::Sources;

/// Returns the event of Tab: indents in white space, completes elsewhere, moves on in an open menu.
pub(super) fn tab() -> ReedlineEvent {
    ReedlineEvent::UntilFound(vec![
        ReedlineEvent::Menu(MENU.into()),
        ReedlineEvent::MenuNext,
    ])
}

/// Returns the event of Shift-Tab: moves back in an open menu, else shows the documentation of the name at the
/// cursor.
pub(super) fn back_tab() -> ReedlineEvent {
    ReedlineEvent::UntilFound(vec![
        ReedlineEvent::MenuPrevious,
        ReedlineEvent::Menu(DOC.into()),
    ])
}

/// Returns an event that accepts the chosen completion of an open menu, or `otherwise` without one.
pub(super) fn or_take(otherwise: ReedlineEvent) -> ReedlineEvent {
    ReedlineEvent::UntilFound(vec![ReedlineEvent::MenuAccept, otherwise])
}

/// Installs completion from these sources. `snapshot` holds the input mode.
pub(super) fn install(
    line: Reedline,
    sources: Sources,
    snapshot: SharedSnapshot,
    colour: bool,
    waiting: EditorWait,
) -> Reedline {
    let menu_state = Arc::new(Mutex::new(MenuState::default()));
    let (asked, waker) = (sources.clone(), waiting.editor_waker.task_waker());
    let tab = WaitingCompleter {
        completer: TabCompleter::new(asked, Arc::clone(&snapshot), Arc::clone(&menu_state), waker),
        waiting,
    };
    let menu = CompletionMenu::new(Arc::clone(&menu_state), Arc::clone(&snapshot));
    let doc = DocMenu::new(sources, snapshot, menu_state, colour);
    line.with_completer(Box::new(tab))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_persistent_menus(true)
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(doc)))
}
