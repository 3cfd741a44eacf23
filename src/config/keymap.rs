//! Which chord does what: the defaults, with the user's own over them.
//!
//! In goes the setting `keys` (`{action: chord or list of chords}`, an empty one for none), out come a [`Keymap`] and
//! what was wrong with the setting; what was wrong counts as not written. The editor asks what the keys pressed so far
//! mean, `%ipycodex help keys` lists all. Invariant: no chord begins with another one, except that an action that gives
//! way shares a chord with one that does not.

mod chord;
mod table;

use serde_json::{Map, Value};

pub use chord::{Chord, Stroke};
pub use table::{ActionRow, ChordPriority, GROUPS, KeyAction};

/// Chords and their actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

/// A chord that does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// What.
    pub action: KeyAction,
    /// The keys.
    pub chord: Chord,
    /// Said so by the user.
    pub own: bool,
}

/// What keys pressed one after the other mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyMatch {
    /// These actions, the first that has something to do.
    Actions(Vec<KeyAction>),
    /// Nothing yet.
    Prefix,
    /// Nothing.
    NoMatch,
}

/// Something wrong with the setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongKey {
    /// The action as written.
    pub action: String,
    /// Its value.
    pub value: Value,
    /// What may stand there, in words.
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
    /// The defaults with the user's own over them.
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

    /// Another action the user gave this chord to, or one that begins like it.
    fn owner(&self, action: KeyAction, chord: &Chord) -> Option<KeyAction> {
        self.bindings
            .iter()
            .filter(|binding| binding.own && binding.action != action)
            .find(|binding| binding.chord.conflicts_with(chord) && !shared(binding, action, chord))
            .map(|binding| binding.action)
    }

    /// The user's own chords take the place of the defaults they meet. Gives the actions nobody spoke of that have no
    /// chord any more, and who took the last one.
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

    /// What these keys, pressed one after the other, mean.
    pub fn lookup(&self, strokes: &[Stroke]) -> KeyMatch {
        let mut actions = Vec::new();
        let mut begun = false;
        for binding in &self.bindings {
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

    /// The chords of an action.
    pub fn bindings_of(&self, action: KeyAction) -> impl Iterator<Item = &Binding> {
        self.bindings
            .iter()
            .filter(move |binding| binding.action == action)
    }
}

/// Two actions may have this chord: one of them gives way.
fn shared(binding: &Binding, action: KeyAction, chord: &Chord) -> bool {
    binding.action == action
        || (binding.chord == *chord && binding.action.gives_way() != action.gives_way())
}

/// The chords a value stands for; `None`: the defaults.
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

/// What may stand in place of a name that is none.
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

/// How many characters two names begin and end with alike.
fn shared_length(a: &str, b: &str) -> usize {
    let start = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a.as_bytes()[start..], &b.as_bytes()[start..]);
    let end = a.iter().rev().zip(b.iter().rev());
    start + end.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests;
