//! Tab, Shift-Tab: what could stand at the cursor, and what stands there.
//!
//! `rules` decides from the text who knows; `completer` asks (the live interpreter, or `lookup` on a thread of its own)
//! and gives the editor what has come; `menu` shows it below the line, `doc` shows signature and doc there. In: keys of
//! the editor, answers of the session. Out: edits of the line, and rows below it. Invariants: the editor is never kept
//! waiting longer than [`wait::BRIEFLY`]; an answer counts only for the text and cursor it was asked for; what comes
//! from elsewhere is shown without control characters.
//!
//! Absent on purpose: what the interpreter knows, and keys (`terminal::keys` binds them to the names here).

mod code_context;
mod completer;
mod doc;
mod files;
mod found;
mod lookup;
mod menu;
mod menu_state;
mod question;
mod rules;
mod sources;
mod strings;
#[cfg(test)]
mod tests;
mod wait;

use std::sync::{Arc, Mutex};

use reedline::{Reedline, ReedlineEvent, ReedlineMenu};

use crate::terminal::editor_wait::{EditorWait, WaitingCompleter};
use crate::terminal::snapshot::SharedSnapshot;
use completer::TabCompleter;
use doc::DocMenu;
use menu::CompletionMenu;
use menu_state::{DOC, MENU, MenuState};
pub(super) use sources::Sources;

/// What Tab is to the editor: indents in white space, completes elsewhere, goes on in an open menu.
pub(super) fn tab() -> ReedlineEvent {
    ReedlineEvent::UntilFound(vec![
        ReedlineEvent::Menu(MENU.into()),
        ReedlineEvent::MenuNext,
    ])
}

/// What Shift-Tab is: back in an open menu, else signature and doc of what stands at the cursor.
pub(super) fn back_tab() -> ReedlineEvent {
    ReedlineEvent::UntilFound(vec![
        ReedlineEvent::MenuPrevious,
        ReedlineEvent::Menu(DOC.into()),
    ])
}

/// What a key is that takes what is chosen in an open menu, and is `otherwise` when there is none.
pub(super) fn or_take(otherwise: ReedlineEvent) -> ReedlineEvent {
    ReedlineEvent::UntilFound(vec![ReedlineEvent::MenuAccept, otherwise])
}

/// Makes an editor complete from these sources. `snapshot` says how its text is read.
pub(super) fn install(
    line: Reedline,
    sources: Sources,
    snapshot: SharedSnapshot,
    colour: bool,
    waiting: EditorWait,
) -> Reedline {
    let desk = Arc::new(Mutex::new(MenuState::default()));
    let (asked, waker) = (sources.clone(), waiting.bell.waker());
    let tab = WaitingCompleter {
        completer: TabCompleter::new(asked, Arc::clone(&snapshot), Arc::clone(&desk), waker),
        waiting,
    };
    let menu = CompletionMenu::new(Arc::clone(&desk), Arc::clone(&snapshot));
    let doc = DocMenu::new(sources, snapshot, desk, colour);
    line.with_completer(Box::new(tab))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_persistent_menus(true)
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(doc)))
}
