//! reedline's own emacs or vi mode: gets the unbound keys, types characters, and knows vi's commands.
//!
//! In: keys of the terminal. Out: events of the editor, and vi's mode as far as the keys need it. In vi's modes Esc and
//! a character are told from Alt and that character, for which most terminals send the same bytes. Absent on purpose:
//! Esc before a key in emacs mode, which is Alt however slow.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use reedline::{
    EditMode, Emacs, Keybindings, PromptEditMode, PromptViMode, ReedlineEvent, ReedlineRawEvent,
    Vi, default_vi_normal_keybindings, default_vi_visual_keybindings,
};

use crate::config::{self, ChordPriority, KeyMatch, Stroke};
use crate::terminal::keys::action_events;

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

/// Returns the character of Esc and a character that came in one read.
pub(super) fn behind_escape(event: &Event) -> Option<KeyEvent> {
    let Event::Key(key) = event else { return None };
    let same = key.modifiers - KeyModifiers::SHIFT == KeyModifiers::ALT
        && matches!(key.code, KeyCode::Char(_));
    same.then(|| KeyEvent::new(key.code, key.modifiers - KeyModifiers::ALT))
}

/// Returns true when a chord with this meaning has an effect that vi has no key for; `empty`: the buffer is empty.
pub(super) fn is_chord(meaning: &KeyMatch, empty: bool) -> bool {
    match meaning {
        KeyMatch::Prefix => true,
        KeyMatch::Actions(actions) => actions.iter().any(|action| {
            let means = empty || action.shares() != ChordPriority::WhereNothingIsTyped;
            means && !action_events::is_of_vi(*action)
        }),
        KeyMatch::NoMatch => false,
    }
}
