//! Requests to the editor, and the messages shown where there is no editor.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use crate::agent::LoginProgram;
use crate::events::{AfterEvent, Notice, SessionEvent, TextEvent};
use crate::markdown::Theme;
use crate::run::RunSender;

/// Something only an editor can do. The request comes before the end of the run that sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorRequest {
    /// Let the user pick the session to continue.
    PickSession(SessionPick),
    TogglePrompts,
    /// Let the user edit this prompt; a prompt that is sent from there replaces it and what came after it.
    EditPrompt {
        /// In number of the prompt.
        line: u32,
        /// With its dot.
        text: String,
    },
    /// Put this text into the clipboard.
    Copy {
        /// The name of the text in the confirmation.
        what: String,
        /// The text as it will be pasted.
        text: String,
    },
    /// Switch shell mode on or off.
    ToggleShell,
    /// Let this program ask the user in the terminal.
    LogIn(LoginProgram),
    /// Show the themes for code; this one is in force.
    ShowThemes(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPick {
    /// The current session, which the list leaves out; 0 when unknown.
    pub current: i64,
    /// The directory whose sessions come first.
    pub cwd: PathBuf,
}

#[derive(Debug)]
pub struct EditorRequests(Receiver<EditorRequest>);

impl EditorRequests {
    pub fn take(&self) -> Option<EditorRequest> {
        self.0.try_recv().ok()
    }
}

#[derive(Default)]
pub(super) struct EditorRequestSender(Mutex<Option<Sender<EditorRequest>>>);

impl EditorRequestSender {
    /// Directs later requests to the receiver that it returns.
    pub(super) fn subscribe(&self) -> EditorRequests {
        let (sender, receiver) = channel();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        EditorRequests(receiver)
    }

    /// Sends a request; without an editor, `out` gets the message about the alternative, and the In number of a prompt
    /// to be edited is returned.
    pub(super) fn request(&self, wish: EditorRequest, out: &RunSender) -> Option<u32> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unheard = match &*held {
            Some(editor) => editor.send(wish).err().map(|unsent| unsent.0),
            None => Some(wish),
        };
        let told = match unheard {
            None => return None,
            Some(EditorRequest::EditPrompt { line, text }) => {
                let message = next_replaces_message(line);
                out.send(SessionEvent::Notice(Notice::note(message)));
                out.send(SessionEvent::After(AfterEvent::Refill(text)));
                return Some(line);
            }
            Some(EditorRequest::PickSession(_)) => {
                SessionEvent::Notice(Notice::warning(PICK_USAGE))
            }
            Some(EditorRequest::TogglePrompts) => SessionEvent::Notice(Notice::warning(
                "there is no prompt mode here: a line that starts with `.` is a prompt",
            )),
            Some(EditorRequest::Copy { .. }) => {
                SessionEvent::Notice(Notice::warning("there is no clipboard here"))
            }
            Some(EditorRequest::LogIn(program)) => {
                SessionEvent::Notice(Notice::warning(no_terminal_message(&program)))
            }
            Some(EditorRequest::ToggleShell) => SessionEvent::Notice(Notice::warning(NO_SHELL)),
            Some(EditorRequest::ShowThemes(in_force)) => {
                let names: Vec<&str> = Theme::names().collect();
                SessionEvent::Text(TextEvent::Text(format!(
                    "code_theme: {in_force}\n{}",
                    names.join(", ")
                )))
            }
        };
        out.send(told);
        None
    }
}

pub const NO_SHELL: &str = "there is no shell mode here: a line that starts with `!` is a command";

pub fn no_terminal_message(program: &LoginProgram) -> String {
    let line = program.line();
    format!("there is no terminal here: run `{line}` in one; the next prompt uses the new login")
}

/// The message about a prompt to be edited where there is no line editor.
pub fn next_replaces_message(line: u32) -> String {
    format!("the next input, if it is a prompt, replaces In [{line}] and what came after it")
}

pub const PICK_USAGE: &str = "Usage: %ipycodex resume ID (`%ipycodex sessions` lists them)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{NextEvent, stream};

    #[test]
    fn a_request_goes_to_the_editor_or_is_answered_with_a_message() {
        let sender = EditorRequestSender::default();
        let (out, run) = stream();
        let held = sender.subscribe();
        sender.request(EditorRequest::TogglePrompts, &out);
        assert_eq!(held.take(), Some(EditorRequest::TogglePrompts));
        assert_eq!(held.take(), None);
        drop(held);
        let pick = SessionPick {
            current: 1,
            cwd: "/".into(),
        };
        for request in [
            EditorRequest::TogglePrompts,
            EditorRequest::ToggleShell,
            EditorRequest::PickSession(pick),
            EditorRequest::ShowThemes("monokai".into()),
        ] {
            sender.request(request, &out);
            let NextEvent::Event(event) = run.next_blocking(None) else {
                panic!("nothing is said");
            };
            assert!(matches!(
                *event,
                SessionEvent::Notice(_) | SessionEvent::Text(TextEvent::Text(_))
            ));
        }
    }
}
