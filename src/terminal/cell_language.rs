//! The language of cells, as far as the editor needs it: its name for colours, and the completeness of a text.
//!
//! Python is checked here; for other languages the kernel is asked (`is_complete_request`), for 250 ms at most.
//! Where a kernel cannot tell (that of Bash), the editor's own rules for shells decide; in other languages an open
//! bracket continues the text until a blank line. Invariant: without an answer in time a text counts as complete,
//! so that Enter always has an effect. Absent on purpose: indentation for languages whose kernel reports none.

use std::time::{Duration, Instant};

use tokio::sync::oneshot::error::TryRecvError;

use crate::input::{Completeness, Input, Mode, classify, completeness};
use crate::runtime::{self, RuntimeReply, RuntimeRequest};
use crate::session::SessionHandle;

/// Longest wait of Enter for the kernel.
const ASKED: Duration = Duration::from_millis(250);
/// Polling interval of that wait.
const LOOK: Duration = Duration::from_millis(1);

/// The language of cells; Python without a session.
#[derive(Clone, Default)]
pub(super) struct CellLanguage(Option<SessionHandle>);

impl CellLanguage {
    pub(super) fn new(session: SessionHandle) -> Self {
        CellLanguage(Some(session))
    }

    /// Returns the language's name as in code blocks; `None` for Python.
    pub(super) fn other(&self) -> Option<String> {
        let language = self.0.as_ref()?.language();
        (language != "Python").then(|| language.to_lowercase())
    }

    pub(super) fn completeness(&self, text: &str, mode: Mode) -> Completeness {
        let is_cell = || {
            matches!(
                classify(text, mode),
                Input::Cell { .. } | Input::Note { .. }
            )
        };
        match (&self.0, self.other()) {
            (Some(session), Some(language)) if is_cell() => match ask_kernel(session, text) {
                Some(told) => told,
                None => guess_completeness(text, &language),
            },
            _ => completeness(text, mode),
        }
    }
}

/// Asks the kernel; `None` when it cannot tell, or not in time.
fn ask_kernel(session: &SessionHandle, text: &str) -> Option<Completeness> {
    let code = text.to_owned();
    let mut answered = session.ask(RuntimeRequest::IsComplete { code });
    let until = Instant::now() + ASKED;
    while Instant::now() < until {
        match answered.try_recv() {
            Ok(RuntimeReply::Completeness(told)) => {
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

/// Returns the completeness without an answer of the kernel.
fn guess_completeness(text: &str, language: &str) -> Completeness {
    if ["bash", "sh", "zsh", "ksh"].contains(&language) {
        return completeness(text, Mode::Shell);
    }
    let blank_line = text.contains('\n') && text.ends_with(['\n', ' ', '\t']);
    match text.ends_with('\\') || (has_open_bracket(text) && !blank_line) {
        true => Completeness::Incomplete { indent: 0 },
        false => Completeness::Complete,
    }
}

/// Returns true when more brackets are opened than closed; strings and comments count like code.
fn has_open_bracket(text: &str) -> bool {
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
    fn completeness_without_a_kernel_is_guessed() {
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
            let told = guess_completeness(text, language);
            assert_eq!(
                told == Completeness::Complete,
                whole,
                "{language}: {text:?}"
            );
        }
    }
}
