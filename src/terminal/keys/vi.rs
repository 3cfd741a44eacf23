//! vi's modes, as far as the keys have to know them: which one is on, what leaves it, what its selection takes.
//!
//! Absent on purpose: vi's commands (the line editor's own).

use crossterm::event::{Event, KeyCode, KeyModifiers};
use reedline::{PromptEditMode, PromptViMode, ReedlineEvent};

use crate::config::{Meaning, Stroke};
use crate::terminal::keys::Keys;
use crate::terminal::snapshot::look;

impl Keys {
    /// Lets the label know vi's mode.
    pub(super) fn tell_mode(&mut self) {
        look(&self.setup.snapshot).vi = self.vi();
    }

    /// vi's mode; `None` in emacs mode.
    pub(super) fn vi(&self) -> Option<PromptViMode> {
        match self.machine.edit_mode() {
            PromptEditMode::Vi(mode) => Some(mode),
            _ => None,
        }
    }

    pub(super) fn inserts(&self) -> bool {
        matches!(self.vi(), None | Some(PromptViMode::Insert))
    }

    /// True for what ends vi's insert mode. The editor carries all keys of one read out in the mode they end in: what
    /// was typed before has to be in the text already.
    pub(super) fn leaves_inserting(&self, event: &Event) -> bool {
        let Event::Key(key) = event else { return false };
        if self.vi() != Some(PromptViMode::Insert) {
            return false;
        }
        let stroke = Stroke::new(key.code, key.modifiers);
        stroke.is_escape()
            || (key.modifiers.contains(KeyModifiers::ALT)
                && self.meaning(stroke) == Meaning::Nothing)
    }

    /// Back to where characters are typed: the next input begins there.
    pub(super) fn insert_mode(&mut self) {
        if !self.inserts() {
            self.machine_key(KeyCode::Esc);
            self.machine_key(KeyCode::Char('i'));
        }
    }

    /// True for keys that change vi's selection.
    pub(super) fn selects_by_itself(&self, stroke: Stroke) -> bool {
        let bound = || self.visual.find_binding(stroke.modifiers(), stroke.code());
        self.vi() == Some(PromptViMode::Visual) && matches!(bound(), Some(ReedlineEvent::Edit(_)))
    }
}
