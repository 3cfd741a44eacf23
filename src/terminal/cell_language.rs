//! What cells are written in, as the editor needs to know it: its name for colours, and whether a text is whole.
//!
//! Of Python the editor knows that itself; of another language the kernel is asked, and shortly. Where a kernel cannot
//! tell (that of Bash), the editor's own rules for shells decide, and in other languages an open bracket goes on, until
//! a blank line. Invariant: a text is whole where nobody says otherwise in time, so that Enter always does something.
//! Absent on purpose: indentation of languages whose kernel tells none.

use std::time::{Duration, Instant};

use tokio::sync::oneshot::error::TryRecvError;

use crate::input::{Completeness, Input, Mode, classify, completeness};
use crate::runtime::{self, RuntimeAnswer, RuntimeRequest};
use crate::session::SessionHandle;

/// How long Enter waits for the kernel.
const ASKED: Duration = Duration::from_millis(250);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(1);

/// The language of cells; without a session it is Python.
#[derive(Clone, Default)]
pub(super) struct CellLanguage(Option<SessionHandle>);

impl CellLanguage {
    /// That of this session.
    pub(super) fn of(session: SessionHandle) -> Self {
        CellLanguage(Some(session))
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
            (Some(session), Some(language)) if is_cell() => match asked(session, text) {
                Some(told) => told,
                None => untold(text, &language),
            },
            _ => completeness(text, mode),
        }
    }
}

/// What the kernel says; `None`: it cannot tell, or not in time.
fn asked(session: &SessionHandle, text: &str) -> Option<Completeness> {
    let code = text.to_owned();
    let mut answered = session.ask(RuntimeRequest::IsComplete { code });
    let until = Instant::now() + ASKED;
    while Instant::now() < until {
        match answered.try_recv() {
            Ok(RuntimeAnswer::Completeness(told)) => {
                return match told {
                    runtime::Completeness::Incomplete(indent) => Some(Completeness::Incomplete {
                        indent: indent.chars().count(),
                    }),
                    runtime::Completeness::Complete => Some(Completeness::Complete),
                    runtime::Completeness::Invalid => Some(Completeness::Invalid),
                    runtime::Completeness::Unknown => None,
                };
            }
            Ok(_) | Err(TryRecvError::Closed) => return None,
            Err(TryRecvError::Empty) => std::thread::sleep(LOOK),
        }
    }
    None
}

/// Of a text of which the kernel says nothing.
fn untold(text: &str, language: &str) -> Completeness {
    if ["bash", "sh", "zsh", "ksh"].contains(&language) {
        return completeness(text, Mode::Shell);
    }
    let blank_line = text.contains('\n') && text.ends_with(['\n', ' ', '\t']);
    match text.ends_with('\\') || (opens(text) && !blank_line) {
        true => Completeness::Incomplete { indent: 0 },
        false => Completeness::Complete,
    }
}

/// More brackets are opened than closed, strings and comments counted like code.
fn opens(text: &str) -> bool {
    let count = |brackets: [char; 3]| text.matches(brackets).count();
    count(['(', '[', '{']) > count([')', ']', '}'])
}

impl std::fmt::Debug for CellLanguage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Spoken").field(&self.other()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_kernel_tells_is_told_by_its_look() {
        for (language, text, whole) in [
            ("bash", "for x in 1 2; do", false),
            ("bash", "for x in 1 2; do\necho $x\ndone", true),
            ("bash", "cat <<E\na", false),
            ("bash", "echo 'a", false),
            ("bash", "echo a", true),
            ("calc", "f(1,", false),
            ("calc", "f(1,\n", true),
            ("calc", "f(1,\n2)", true),
            ("calc", "for x", true),
            ("calc", "a \\", false),
        ] {
            let told = untold(text, language);
            assert_eq!(
                told == Completeness::Complete,
                whole,
                "{language}: {text:?}"
            );
        }
    }
}
