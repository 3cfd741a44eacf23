//! Tab, Shift-Tab: what could stand at the cursor, and what stands there.
//!
//! `rules` decides from the text who knows; `completer` asks (the live interpreter, or `lookup` on a thread of its own)
//! and gives the editor what has come; `menu` shows it below the line, `doc` shows signature and doc there. In: keys of
//! the editor, answers of the session. Out: edits of the line, and rows below it. Invariants: the editor is never kept
//! waiting longer than [`wait::BRIEFLY`]; an answer counts only for the text and cursor it was asked for; what comes
//! from elsewhere is shown without control characters.
//!
//! Absent on purpose: what the interpreter knows, and keys (`terminal::keys` binds them to the names here).

mod completer;
mod doc;
mod files;
mod lookup;
mod menu;
mod place;
mod rules;
#[cfg(test)]
mod tests;
mod wait;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reedline::{Reedline, ReedlineEvent, ReedlineMenu};
use tokio::sync::oneshot;

use crate::environment::Environment;
use crate::runtime::{Answer, RuntimeRequest};
use crate::session::SessionHandle;
use crate::terminal::snapshot::Shared;
use crate::terminal::waiting::{Patient, Waiting};
use completer::Tab;
use doc::DocMenu;
use menu::TabMenu;
use rules::Source;

/// Name of the menu of completions.
const MENU: &str = "completion";

/// Name of the one that shows signature and doc.
const DOC: &str = "inspection";

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
    snapshot: Shared,
    colour: bool,
    waiting: Waiting,
) -> Reedline {
    let desk = Arc::new(Mutex::new(Desk::default()));
    let (asked, waker) = (sources.clone(), waiting.bell.waker());
    let tab = Patient {
        completer: Tab::new(asked, Arc::clone(&snapshot), Arc::clone(&desk), waker),
        waiting,
    };
    let menu = TabMenu::new(Arc::clone(&desk), Arc::clone(&snapshot));
    let doc = DocMenu::new(sources, snapshot, desk, colour);
    line.with_completer(Box::new(tab))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_persistent_menus(true)
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(doc)))
}

/// What the completer and the menus tell each other.
#[derive(Default)]
struct Desk {
    /// Tab has opened the menu: the next question is meant.
    opened: bool,
    /// Tab was pressed again in it: a deeper look is wanted.
    deeper: bool,
    /// What the doc waits for.
    looking: Option<oneshot::Receiver<Answer>>,
    /// What came of it.
    looked: Option<Answer>,
}

fn locked(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that can stand between `start` and the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// Bytes from the start of the text.
    start: usize,
    value: String,
    /// What it is, for the second column.
    detail: String,
}

/// Who can be asked.
#[derive(Clone)]
pub(super) struct Sources {
    session: SessionHandle,
    environment: Arc<Environment>,
}

impl Sources {
    /// The session, and the surroundings for home and search path.
    pub(super) fn new(session: SessionHandle, environment: Environment) -> Self {
        Sources {
            session,
            environment: Arc::new(environment),
        }
    }

    /// Asks the interpreter.
    fn ask(&self, request: RuntimeRequest) -> oneshot::Receiver<Answer> {
        self.session.ask(request)
    }

    /// Asks another source on a thread of its own; without a thread there is no answer.
    fn look_up(&self, source: Source, before: String) -> oneshot::Receiver<Vec<Found>> {
        let (tell, told) = oneshot::channel();
        let sources = self.clone();
        let look = move || {
            let found = lookup::look_up(&source, &before, &sources.session, &sources.environment);
            // Whoever asked may be elsewhere by now.
            let _ = tell.send(found);
        };
        let _ = std::thread::Builder::new()
            .name("completion".into())
            .spawn(look);
        told
    }
}
