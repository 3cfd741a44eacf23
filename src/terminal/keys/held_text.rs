//! Text and Enter that were typed before the editor reads, taken without it.
//!
//! reedline takes held keys from a resize event only, and waits for 100 ms after each of those. So those keys that mean
//! the same in an empty buffer, whoever reads them, are read here, up to an Enter that submits. The keys behind them,
//! and all others, come to reedline.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossterm::event::{Event, KeyCode, KeyModifiers};
use reedline::{EditMode, PromptEditMode, ReedlineEvent, ReedlineRawEvent};

use crate::config::{KeyAction, KeyMatch, Stroke};
use crate::terminal::keys::KeyHandler;
use crate::terminal::keys::key_queue::lock_queue;
use crate::terminal::keys::typed_text::TypedText;

/// What held keys make of an empty buffer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::terminal) struct HeldText {
    pub(in crate::terminal) text: String,
    /// An Enter behind it submits it.
    pub(in crate::terminal) submitted: bool,
}

/// The keys, for reedline and for the text that was typed before it reads.
#[derive(Clone)]
pub(in crate::terminal) struct SharedKeys(Arc<Mutex<KeyHandler>>);

impl SharedKeys {
    pub(in crate::terminal) fn new(keys: KeyHandler) -> Self {
        SharedKeys(Arc::new(Mutex::new(keys)))
    }

    fn keys(&self) -> MutexGuard<'_, KeyHandler> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the held keys that are plain text; the buffer has to be empty.
    pub(in crate::terminal) fn take_held_text(&self) -> HeldText {
        let keys = &mut *self.keys();
        let mut held = HeldText::default();
        // A key may be the second one of a chord.
        if !keys.begun.is_empty() || keys.escaped.is_some() {
            return held;
        }
        keys.typed = Some(TypedText::new(String::new(), 0));
        while !held.submitted
            && let Some(event) = next_plain(keys)
        {
            if is_bound_to(keys, &event, KeyAction::Enter) {
                held.text = text(keys);
                let enter = keys.enter();
                held.submitted = enter == ReedlineEvent::Submit;
                keys.follow(&enter);
            } else {
                keys.one(event);
            }
        }
        if !held.submitted {
            held.text = text(keys);
        }
        keys.publish_mode();
        held
    }
}

impl EditMode for SharedKeys {
    fn parse_event(&mut self, raw: ReedlineRawEvent) -> ReedlineEvent {
        self.keys().parse_event(raw)
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys().edit_mode()
    }
}

fn text(keys: &KeyHandler) -> String {
    let typed = keys.typed.as_ref();
    typed.map_or_else(String::new, |typed| typed.text.clone())
}

/// Takes the next held key, where it is one that inserts, Backspace or Enter.
fn next_plain(keys: &KeyHandler) -> Option<Event> {
    lock_queue(&keys.setup.key_queue).take_if(|event| match event {
        Event::Paste(_) | Event::FocusGained | Event::FocusLost => true,
        Event::Key(key) if keys.machine.inserts() => {
            let typed = (key.modifiers - KeyModifiers::SHIFT).is_empty();
            let bound = [KeyAction::Enter, KeyAction::Backspace];
            let character = typed && matches!(key.code, KeyCode::Char(_));
            match keys.meaning(Stroke::new(key.code, key.modifiers)) {
                KeyMatch::NoMatch => character,
                KeyMatch::Actions(actions) => {
                    matches!(actions[..], [action] if bound.contains(&action))
                }
                KeyMatch::Prefix => false,
            }
        }
        _ => false,
    })
}

fn is_bound_to(keys: &KeyHandler, event: &Event, action: KeyAction) -> bool {
    matches!(event, Event::Key(key)
        if matches!(keys.meaning(Stroke::new(key.code, key.modifiers)),
            KeyMatch::Actions(actions) if actions == [action]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::input::Mode;
    use crate::keys::Decoder;
    use crate::terminal::keys::key_queue::SharedKeyQueue;
    use crate::terminal::keys::{KeyOptions, SharedKillRing};
    use crate::terminal::snapshot::Snapshot;

    fn keys(edit_mode: config::EditMode, typed: &str) -> (SharedKeys, SharedKeyQueue) {
        let key_queue = SharedKeyQueue::default();
        for event in Decoder::all(typed.as_bytes()) {
            lock_queue(&key_queue).push(event);
        }
        let keys = KeyHandler::new(KeyOptions {
            keymap: Arc::default(),
            edit_mode,
            snapshot: Snapshot::new(Mode::Cells),
            key_queue: Arc::clone(&key_queue),
            ring: SharedKillRing::default(),
            guard: None,
        });
        (SharedKeys::new(keys), key_queue)
    }

    #[test]
    fn plain_text_is_taken_up_to_an_enter_that_submits() {
        for (typed, text, submitted, rest) in [
            ("1+1\r2+2\r", "1+1", true, 4),
            ("\rx", "", true, 1),
            ("abc", "abc", false, 0),
            ("abx\x7fc", "abc", false, 0),
            ("ab\x01c", "ab", false, 2),
            ("\x1b[Aab", "", false, 3),
            (
                "def f():\rreturn 1\r\rf()",
                "def f():\n    return 1\n",
                true,
                3,
            ),
            ("if x:\ry\relse:\rz", "if x:\n    y\nelse:\n    z", false, 0),
            ("\x1b[200~a\nb\x1b[201~\r", "a\nb", true, 0),
        ] {
            for edit_mode in [config::EditMode::Emacs, config::EditMode::Vi] {
                let (keys, key_queue) = keys(edit_mode, typed);
                let held = keys.take_held_text();
                assert_eq!(
                    (&*held.text, held.submitted),
                    (text, submitted),
                    "{typed:?}"
                );
                let left = std::iter::from_fn(|| lock_queue(&key_queue).pop_early());
                assert_eq!(left.count(), rest, "{typed:?}");
            }
        }
    }

    #[test]
    fn the_second_key_of_a_chord_is_no_text() {
        for (first, second) in [("\x18", "\x05"), ("\x1b", "b")] {
            let (keys, key_queue) = keys(config::EditMode::Emacs, second);
            for event in Decoder::all(first.as_bytes()) {
                keys.keys().one(event);
            }
            assert_eq!(keys.take_held_text(), HeldText::default(), "{first:?}");
            assert!(lock_queue(&key_queue).has_keys());
        }
    }

    #[test]
    fn keys_of_vis_normal_mode_are_commands() {
        let (keys, key_queue) = keys(config::EditMode::Vi, "dd");
        keys.keys().machine.key(KeyCode::Esc);
        assert_eq!(keys.take_held_text(), HeldText::default());
        assert!(lock_queue(&key_queue).has_keys());
    }
}
