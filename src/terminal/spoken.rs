//! What cells are written in, as the editor needs to know it: its name for colours, and whether a text is whole.
//!
//! Of Python the editor knows that itself; of another language the kernel is asked, and shortly. Invariant: a text is
//! whole where nobody says otherwise in time, so that Enter always does something. Absent on purpose: indentation of
//! languages whose kernel tells none.

use std::time::{Duration, Instant};

use crate::input::{Completeness, Input, Mode, classify, completeness};
use crate::runtime::{self, RuntimeAnswer, RuntimeRequest};
use crate::session::SessionHandle;

/// How long Enter waits for the kernel.
const ASKED: Duration = Duration::from_millis(250);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(1);

/// The language of cells; without a session it is Python.
#[derive(Clone, Default)]
pub(super) struct Spoken(Option<SessionHandle>);

impl Spoken {
    /// That of this session.
    pub(super) fn of(session: SessionHandle) -> Self {
        Spoken(Some(session))
    }

    /// Its name, as those of code blocks; `None`: Python.
    pub(super) fn other(&self) -> Option<String> {
        let language = self.0.as_ref()?.language();
        (language != "Python").then(|| language.to_lowercase())
    }

    /// Whether a text could be run as it stands.
    pub(super) fn completeness(&self, text: &str, mode: Mode) -> Completeness {
        let is_cell = || {
            matches!(
                classify(text, mode),
                Input::Cell { .. } | Input::Note { .. }
            )
        };
        match (&self.0, self.other()) {
            (Some(session), Some(_)) if is_cell() => asked(session, text),
            _ => completeness(text, mode),
        }
    }
}

fn asked(session: &SessionHandle, text: &str) -> Completeness {
    let code = text.to_owned();
    let mut answered = session.ask(RuntimeRequest::IsComplete { code });
    let until = Instant::now() + ASKED;
    while Instant::now() < until {
        match answered.try_recv() {
            Ok(RuntimeAnswer::Completeness(runtime::Completeness::Incomplete(indent))) => {
                let indent = indent.chars().count();
                return Completeness::Incomplete { indent };
            }
            Ok(_) | Err(tokio::sync::oneshot::error::TryRecvError::Closed) => break,
            Err(tokio::sync::oneshot::error::TryRecvError::Empty) => std::thread::sleep(LOOK),
        }
    }
    match text.ends_with('\\') {
        true => Completeness::Incomplete { indent: 0 },
        false => Completeness::Complete,
    }
}

impl std::fmt::Debug for Spoken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Spoken").field(&self.other()).finish()
    }
}
