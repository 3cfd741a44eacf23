//! The key map: chords and their actions, the user's chords over the defaults.
//!
//! In: the setting `keys` (`{action: chord or list of chords}`, an empty value for none). Out: a [`Keymap`], and the
//! faults of the setting, which are otherwise ignored. The editor looks up the strokes pressed so far;
//! `%ipycodex help keys` lists all. Invariant: no chord is a prefix of another, except that an action that gives way
//! shares a chord with one that does not.

mod chord;
mod table;

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::{Map, Value};

pub use chord::{Chord, Stroke};
pub use table::{ActionRow, ChordPriority, GROUPS, KeyAction};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub action: KeyAction,
    pub chord: Chord,
    pub own: bool,
}

/// The meaning of a sequence of strokes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyMatch {
    /// A whole chord; its actions in order of priority: the first that applies runs.
    Actions(Vec<KeyAction>),
    Prefix,
    NoMatch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongKey {
    pub action: String,
    pub value: Value,
    /// The values allowed, in words.
    pub allowed: String,
}

impl Default for Keymap {
    fn default() -> Self {
        let mut bindings = Vec::new();
        for row in KeyAction::rows() {
            for chord in row.chords {
                bindings.push(Binding {
                    action: row.action,
                    chord: chord.parse().expect("the table's chords are checked"),
                    own: false,
                });
            }
        }
        Keymap { bindings }
    }
}

impl Keymap {
    pub fn new(setting: &Map<String, Value>) -> (Self, Vec<WrongKey>) {
        let mut wrong = Vec::new();
        let mut keymap = Keymap::default();
        let mut said = Vec::new();
        for (name, value) in setting {
            let mut refuse = |allowed: String| {
                wrong.push(WrongKey {
                    action: name.clone(),
                    value: value.clone(),
                    allowed,
                });
            };
            let Some(action) = KeyAction::from_name(name) else {
                refuse(known_actions(name));
                continue;
            };
            match chords(value) {
                Err(allowed) => refuse(allowed),
                Ok(None) => {}
                Ok(Some(chords)) => {
                    said.push(action);
                    keymap.bindings.retain(|binding| binding.action != action);
                    for chord in chords {
                        match keymap.owner(action, &chord) {
                            Some(owner) => {
                                refuse(format!("a chord that `{}` does not use", owner.name()));
                            }
                            None => keymap.bindings.push(Binding {
                                action,
                                chord,
                                own: true,
                            }),
                        }
                    }
                }
            }
        }
        for (action, name, taker) in keymap.drop_shadowed_defaults(&said) {
            wrong.push(WrongKey {
                action: taker.name().to_owned(),
                value: setting.get(taker.name()).cloned().unwrap_or_default(),
                allowed: format!(
                    "another chord: this one leaves `{name}` without a key. Give `{name}` another chord, or set \
                     \"{}\": \"\" if it needs none",
                    action.name()
                ),
            });
        }
        (keymap, wrong)
    }

    /// Another action to which the user gave this chord, or one that conflicts with it.
    fn owner(&self, action: KeyAction, chord: &Chord) -> Option<KeyAction> {
        self.bindings
            .iter()
            .filter(|binding| binding.own && binding.action != action)
            .find(|binding| binding.chord.conflicts_with(chord) && !shared(binding, action, chord))
            .map(|binding| binding.action)
    }

    /// Removes the defaults that conflict with the user's chords. Returns the actions without an entry in the setting
    /// that lost their last chord, each with its name and the action that took the chord.
    fn drop_shadowed_defaults(
        &mut self,
        said: &[KeyAction],
    ) -> Vec<(KeyAction, &'static str, KeyAction)> {
        let own: Vec<Binding> = self
            .bindings
            .iter()
            .filter(|binding| binding.own)
            .cloned()
            .collect();
        let mut lost = Vec::new();
        self.bindings.retain(|binding| {
            let taker = own.iter().find(|own| {
                own.chord.conflicts_with(&binding.chord)
                    && !shared(own, binding.action, &binding.chord)
            });
            let taker = taker.filter(|_| !binding.own);
            lost.extend(taker.map(|taker| (binding.action, taker.action)));
            taker.is_none()
        });
        lost.retain(|(action, _)| {
            let has = |binding: &Binding| binding.action == *action;
            !said.contains(action) && !self.bindings.iter().any(has)
        });
        lost.dedup_by_key(|(action, _)| *action);
        lost.into_iter()
            .map(|(action, taker)| (action, action.name(), taker))
            .collect()
    }

    /// The byte of an action that has a letter with Ctrl as its chord.
    pub fn control_byte(&self, action: KeyAction) -> Option<u8> {
        self.bindings_of(action)
            .find_map(|binding| match binding.chord.strokes() {
                [stroke] if stroke.modifiers() == KeyModifiers::CONTROL => match stroke.code() {
                    KeyCode::Char(letter @ 'a'..='z') => {
                        u8::try_from(letter).ok().map(|it| it & 0x1f)
                    }
                    _ => None,
                },
                _ => None,
            })
    }

    /// The meaning of these strokes in the editor, pressed one after the other.
    pub fn lookup(&self, strokes: &[Stroke]) -> KeyMatch {
        let mut actions = Vec::new();
        let mut begun = false;
        let in_editor =
            |binding: &&Binding| binding.action.shares() != ChordPriority::WhileACellRuns;
        for binding in self.bindings.iter().filter(in_editor) {
            let of_binding = binding.chord.strokes();
            if of_binding == strokes {
                actions.push(binding.action);
            } else {
                begun |= of_binding.starts_with(strokes);
            }
        }
        actions.sort_by_key(|action| !action.gives_way());
        match (actions.is_empty(), begun) {
            (false, _) => KeyMatch::Actions(actions),
            (true, true) => KeyMatch::Prefix,
            (true, false) => KeyMatch::NoMatch,
        }
    }

    pub fn bindings_of(&self, action: KeyAction) -> impl Iterator<Item = &Binding> {
        self.bindings
            .iter()
            .filter(move |binding| binding.action == action)
    }
}

/// True when two actions may have this chord: one of them gives way.
fn shared(binding: &Binding, action: KeyAction, chord: &Chord) -> bool {
    binding.action == action
        || (binding.chord == *chord && binding.action.gives_way() != action.gives_way())
}

/// The chords that a value names; `None`: the defaults.
fn chords(value: &Value) -> Result<Option<Vec<Chord>>, String> {
    let one = |text: &str| match text.trim() {
        "" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|wrong: super::InvalidValue| wrong.allowed),
    };
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(one(text)?.into_iter().collect())),
        Value::Array(values) => {
            let chords = values.iter().filter_map(|value| match value {
                Value::String(text) => one(text).transpose(),
                _ => Some(Err("a chord or a list of chords".to_owned())),
            });
            chords.collect::<Result<_, _>>().map(Some)
        }
        _ => Err("a chord or a list of chords".to_owned()),
    }
}

/// The allowed names, for a name that is unknown.
fn known_actions(name: &str) -> String {
    let alike = KeyAction::rows()
        .map(|row| (row.name, shared_length(row.name, name)))
        .max_by_key(|(_, common)| *common)
        .filter(|(_, common)| *common > 2);
    match alike {
        Some((alike, _)) => format!("`{alike}`, …: `%ipycodex help keys` lists the actions"),
        None => "the actions `%ipycodex help keys` lists".to_owned(),
    }
}

/// The length of the common prefix and suffix of two names.
fn shared_length(a: &str, b: &str) -> usize {
    let start = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a.as_bytes()[start..], &b.as_bytes()[start..]);
    let end = a.iter().rev().zip(b.iter().rev());
    start + end.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests;
