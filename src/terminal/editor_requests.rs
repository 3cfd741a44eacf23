//! What only an editor can do: a session picked, prompt mode toggled, the themes for code shown.

use std::path::PathBuf;
use std::sync::Arc;

use crate::display::{copied, say, theme_rows};
use crate::history::Archive;
use crate::input::Mode;
use crate::markdown::Theme;
use crate::report::Report;
use crate::screen::Screen;
use crate::screen::guard::TerminalGuard;
use crate::session::{EditorWish, EditorWishes, Pick};
use crate::terminal::editor::Editor;
use crate::terminal::picker::{self, Picked};

/// Takes wishes of the session and grants them.
pub(super) struct EditorRequestHandler {
    pub(super) coming: EditorWishes,
    pub(super) screen: Screen,
    pub(super) guard: Option<Arc<TerminalGuard>>,
    /// The record, and the directory of what was too long for it.
    pub(super) record: [PathBuf; 2],
}

impl EditorRequestHandler {
    pub(super) fn take(&mut self) -> Option<EditorWish> {
        self.coming.take()
    }

    /// Grants a wish; the session the user picked, when it was that. `theme` is the one of answers.
    pub(super) fn grant(
        &self,
        wish: EditorWish,
        editor: &mut Editor,
        theme: Theme,
    ) -> Result<Option<i64>, Report> {
        match wish {
            EditorWish::TogglePrompts => {
                editor.toggle(Mode::Prompts);
                let on = editor.mode() == Mode::Prompts;
                self.print(&format!("Prompt mode {}\n", if on { "ON" } else { "OFF" }))?;
            }
            EditorWish::ToggleShell => {
                editor.toggle(Mode::Shell);
                let on = editor.mode() == Mode::Shell;
                self.print(&format!("Shell mode {}\n", if on { "ON" } else { "OFF" }))?;
            }
            EditorWish::ShowThemes(in_force) => {
                let shown = Theme::named(&in_force).unwrap_or_default().like(theme);
                let rows = theme_rows(shown, self.screen.colour()).join("\n");
                self.print(&format!("{rows}\n"))?;
            }
            EditorWish::Copy { what, text } => {
                self.print(&format!("{}\n", copied(&self.screen, &what, &text)))?;
            }
            EditorWish::LogIn(program) => self.print(&format!("{}\n", editor.log_in(&program)))?,
            EditorWish::PickSession(among) => return self.pick(&among),
        }
        Ok(None)
    }

    fn print(&self, text: &str) -> Result<(), Report> {
        Ok(self.screen.trusted(text.as_bytes())?)
    }

    /// `%ipycodex resume` alone: the session the user picks. What cannot be picked from is said.
    fn pick(&self, among: &Pick) -> Result<Option<i64>, Report> {
        let [record, artifacts] = &self.record;
        let guard = self.guard.as_deref();
        let current = Some(among.current);
        let picked = Archive::open(record, artifacts).and_then(|archive| match archive {
            Some(mut archive) => {
                picker::pick(&self.screen, guard, &mut archive, &among.cwd, current)
            }
            None => Ok(Picked::Nothing),
        });
        match picked {
            Ok(Picked::Session(id)) => return Ok(Some(id)),
            Ok(Picked::Cancelled) => {}
            Ok(Picked::Nothing) => self.print("No sessions found for this directory.\n")?,
            Err(report) => say(&self.screen, &crate::session::report_notice(&report))?,
        }
        Ok(None)
    }
}
