//! Serves the session's requests to the editor: pick a session, toggle prompt or shell mode, show themes, copy, log
//! in.

use std::path::PathBuf;
use std::sync::Arc;

use crate::display::{copy_to_clipboard, print_notice, theme_rows};
use crate::input::Mode;
use crate::markdown::Theme;
use crate::record::Archive;
use crate::screen::Screen;
use crate::screen::guard::TerminalGuard;
use crate::session::{EditorRequest, EditorRequests, SessionPick};
use crate::terminal::editor::Editor;
use crate::terminal::picker::{self, PickerOutcome};
use crate::text::report::Report;

/// What is left to do for a request that was served.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ServedRequest {
    Done,
    /// The user picked this session.
    Session(i64),
    /// The editor begins with this text, which replaces the prompt with this In number.
    Prompt(u32, String),
}

pub(super) struct EditorRequestHandler {
    pub(super) requests: EditorRequests,
    pub(super) screen: Screen,
    pub(super) guard: Option<Arc<TerminalGuard>>,
    /// The record, and the directory of texts too long for it.
    pub(super) record: [PathBuf; 2],
}

impl EditorRequestHandler {
    pub(super) fn take(&mut self) -> Option<EditorRequest> {
        self.requests.take()
    }

    /// Serves a request. `theme` is that of answers.
    pub(super) fn handle(
        &self,
        wish: EditorRequest,
        editor: &mut Editor,
        theme: Theme,
    ) -> Result<ServedRequest, Report> {
        match wish {
            EditorRequest::TogglePrompts => {
                editor.toggle(Mode::Prompts);
                let on = editor.mode() == Mode::Prompts;
                self.print(&format!("Prompt mode {}\n", if on { "ON" } else { "OFF" }))?;
            }
            EditorRequest::ToggleShell => {
                editor.toggle(Mode::Shell);
                let on = editor.mode() == Mode::Shell;
                self.print(&format!("Shell mode {}\n", if on { "ON" } else { "OFF" }))?;
            }
            EditorRequest::ShowThemes(in_force) => {
                let shown = Theme::named(&in_force).unwrap_or_default().like(theme);
                let rows = theme_rows(shown, self.screen.colour()).join("\n");
                self.print(&format!("{rows}\n"))?;
            }
            EditorRequest::Copy { what, text } => {
                self.print(&format!(
                    "{}\n",
                    copy_to_clipboard(&self.screen, &what, &text)
                ))?;
            }
            EditorRequest::LogIn(program) => {
                self.print(&format!("{}\n", editor.log_in(&program)))?
            }
            EditorRequest::EditPrompt { line, text } => {
                if editor.mode() == Mode::Shell {
                    editor.toggle(Mode::Shell);
                }
                return Ok(ServedRequest::Prompt(line, text));
            }
            EditorRequest::PickSession(among) => {
                let picked = self.pick(&among)?;
                return Ok(picked.map_or(ServedRequest::Done, ServedRequest::Session));
            }
        }
        Ok(ServedRequest::Done)
    }

    fn print(&self, text: &str) -> Result<(), Report> {
        Ok(self.screen.write_trusted(text.as_bytes())?)
    }

    /// Serves `%ipycodex resume` without a number: returns the session the user picks; prints why there is none to
    /// pick.
    fn pick(&self, among: &SessionPick) -> Result<Option<i64>, Report> {
        let [record, artifacts] = &self.record;
        let guard = self.guard.as_deref();
        let current = Some(among.current);
        let picked = Archive::open(record, artifacts).and_then(|archive| match archive {
            Some(mut archive) => {
                picker::pick(&self.screen, guard, &mut archive, &among.cwd, current)
            }
            None => Ok(PickerOutcome::Nothing),
        });
        match picked {
            Ok(PickerOutcome::Session(id)) => return Ok(Some(id)),
            Ok(PickerOutcome::Cancelled) => {}
            Ok(PickerOutcome::Nothing) => self.print("No sessions found for this directory.\n")?,
            Err(report) => print_notice(&self.screen, &crate::session::report_notice(&report))?,
        }
        Ok(None)
    }
}
