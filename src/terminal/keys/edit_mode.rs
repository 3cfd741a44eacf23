//! reedline's own emacs or vi mode: gets the unbound keys, types characters, and knows vi's commands.
//!
//! In: keys of the terminal. Out: events of the editor, and vi's mode as far as the keys need it.

use crossterm::event::{Event, KeyCode};
use reedline::{
    EditMode, Emacs, Keybindings, PromptEditMode, PromptViMode, ReedlineEvent, ReedlineRawEvent,
    Vi, default_vi_normal_keybindings, default_vi_visual_keybindings,
};

use crate::config::{self, Stroke};

pub(super) struct InnerEditMode {
    mode: Box<dyn EditMode>,
    /// vi's own keys while text is selected.
    visual: Keybindings,
}

impl InnerEditMode {
    pub(super) fn new(edit_mode: config::EditMode) -> Self {
        let visual = default_vi_visual_keybindings();
        let none = Keybindings::empty;
        let mode: Box<dyn EditMode> = match edit_mode {
            config::EditMode::Emacs => Box::new(Emacs::new(none())),
            config::EditMode::Vi => Box::new(Vi::new(
                none(),
                default_vi_normal_keybindings(),
                visual.clone(),
            )),
        };
        InnerEditMode { mode, visual }
    }

    pub(super) fn edit_mode(&self) -> PromptEditMode {
        self.mode.edit_mode()
    }

    pub(super) fn event(&mut self, event: Event) -> ReedlineEvent {
        match ReedlineRawEvent::try_from(event) {
            Ok(raw) => self.mode.parse_event(raw),
            Err(()) => ReedlineEvent::None,
        }
    }

    pub(super) fn key(&mut self, code: KeyCode) -> ReedlineEvent {
        self.event(Event::Key(code.into()))
    }

    /// Returns vi's mode; `None` in emacs mode.
    pub(super) fn vi(&self) -> Option<PromptViMode> {
        match self.edit_mode() {
            PromptEditMode::Vi(mode) => Some(mode),
            _ => None,
        }
    }

    pub(super) fn inserts(&self) -> bool {
        matches!(self.vi(), None | Some(PromptViMode::Insert))
    }

    /// Returns to the mode that types characters, where the next input begins.
    pub(super) fn insert_mode(&mut self) {
        if !self.inserts() {
            self.key(KeyCode::Esc);
            self.key(KeyCode::Char('i'));
        }
    }

    /// Returns true for keys that change vi's selection.
    pub(super) fn selects_by_itself(&self, stroke: Stroke) -> bool {
        let bound = || self.visual.find_binding(stroke.modifiers(), stroke.code());
        self.vi() == Some(PromptViMode::Visual) && matches!(bound(), Some(ReedlineEvent::Edit(_)))
    }
}
