//! What the menus below the line have in common, and the state that they share with the completer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use nu_ansi_term::Style;
use reedline::{MenuSettings, Painter};
use tokio::sync::oneshot;

use crate::runtime::RuntimeReply;
use crate::text::Line;

pub(super) const MENU: &str = "completion";

pub(super) const DOC: &str = "inspection";

#[derive(Default)]
pub(super) struct MenuState {
    /// Tab has opened the menu: the next query of the editor is a request.
    pub(super) opened: bool,
    /// Tab was pressed again in the menu: a deeper look is requested.
    pub(super) deeper: bool,
    pub(super) looking: Option<oneshot::Receiver<RuntimeReply>>,
    pub(super) looked: Option<RuntimeReply>,
}

pub(super) fn locked(menu_state: &Mutex<MenuState>) -> MutexGuard<'_, MenuState> {
    menu_state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The screen around a menu, and whether the menu is open.
pub(super) struct Below {
    pub(super) settings: MenuSettings,
    pub(super) active: bool,
    pub(super) columns: usize,
    rows: usize,
    /// Rows the text takes.
    text_rows: usize,
}

impl Default for Below {
    fn default() -> Self {
        Below {
            settings: MenuSettings::default(),
            active: false,
            columns: 80,
            rows: 24,
            text_rows: 1,
        }
    }
}

impl Below {
    /// Counts the rows of the text; `width` returns the columns of a line.
    pub(super) fn measure(&mut self, text: &str, width: fn(&str) -> usize) {
        let rows_of = |line| (width(line) + 10) / self.columns.max(1) + 1;
        self.text_rows = text.split('\n').map(rows_of).sum();
    }

    /// Returns the rows beside the text, less those that are `kept`.
    pub(super) fn free(&self, kept: usize) -> usize {
        self.rows.saturating_sub(self.text_rows + kept)
    }

    pub(super) fn resize(&mut self, painter: &Painter) {
        self.columns = painter.screen_width().into();
        self.rows = painter.screen_height().into();
    }
}

/// Returns a row about the menu itself.
pub(super) fn note(text: &str, colour: bool) -> String {
    Line::styled(Style::new().dimmed(), text).to_ansi(colour)
}

/// The methods of `reedline::Menu` that are the same for each menu with a field `below`.
macro_rules! below_the_line {
    ($name:expr) => {
        fn settings(&self) -> &MenuSettings {
            &self.below.settings
        }

        fn name(&self) -> &str {
            $name
        }

        fn indicator(&self) -> &str {
            ""
        }

        fn is_active(&self) -> bool {
            self.below.active
        }

        fn set_active(&mut self, active: bool) {
            self.below.active = active;
        }

        fn clear_input(&mut self) {}

        fn min_rows(&self) -> u16 {
            self.menu_required_lines(0)
        }
    };
}

pub(super) use below_the_line;
