//! What only an editor can do: a session picked, prompt mode toggled, the themes for code shown.

use crate::display::{say, theme_rows};
use crate::history::Archive;
use crate::markdown::Theme;
use crate::report::Report;
use crate::session::{EditorWish, Pick};
use crate::terminal::Shell;
use crate::terminal::picker::{self, Picked};

impl Shell {
    /// Grants a wish; the session the user picked, when it was that.
    pub(super) fn grant(&mut self, wish: EditorWish) -> Result<Option<i64>, Report> {
        match wish {
            EditorWish::TogglePrompts => self.toggle_prompts()?,
            EditorWish::ShowThemes(in_force) => self.show_themes(&in_force)?,
            EditorWish::PickSession(among) => return self.pick(&among),
        }
        Ok(None)
    }

    /// `%ipycodex prompt`.
    fn toggle_prompts(&mut self) -> Result<(), Report> {
        self.editor.toggle_prompts();
        let state = if self.editor.prompts() { "ON" } else { "OFF" };
        self.screen
            .trusted(format!("Prompt mode {state}\n").as_bytes())?;
        Ok(())
    }

    /// `%ipycodex code_theme`: the themes with a line of code each.
    fn show_themes(&self, in_force: &str) -> Result<(), Report> {
        let theme = Theme::named(in_force).unwrap_or_default();
        let theme = theme.like(self.appearance().theme);
        let rows = theme_rows(theme, self.screen.colour()).join("\n");
        Ok(self.screen.trusted(format!("{rows}\n").as_bytes())?)
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
            Ok(Picked::Nothing) => self
                .screen
                .trusted(b"No sessions found for this directory.\n")?,
            Err(report) => say(&self.screen, &crate::session::report_notice(&report))?,
        }
        Ok(None)
    }
}
