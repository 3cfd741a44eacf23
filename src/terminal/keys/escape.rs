//! Esc in vi's modes: distinguishes Esc and a character from Alt and that character. Most terminals send the same
//! bytes for both.
//!
//! Absent on purpose: Esc before a key in emacs mode, which is Alt however slow.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use crate::config::{ChordPriority, KeyMatch};
use crate::terminal::keys::action_events;

/// Returns the character of Esc and a character that came in one read.
pub(super) fn behind(event: &Event) -> Option<KeyEvent> {
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
