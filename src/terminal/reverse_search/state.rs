//! The search as a pure machine: inputs and keys in, wishes out.
//!
//! Invariant: while what is chosen still fits a longer text, it stays chosen; else the newest older one that fits is.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::terminal::field::Field;
use crate::terminal::reverse_search::Taken;
use crate::text::needle::Needle;

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    /// The text that was there before.
    Back,
    Take(Taken),
}

/// The machine.
pub(super) struct Search {
    /// Newest first.
    inputs: Vec<Arc<str>>,
    typed: Field,
    needle: Needle,
    /// Indices of those that fit, newest first.
    fitting: Vec<usize>,
    /// Place in `fitting`.
    chosen: usize,
}

impl Search {
    /// Over these inputs, newest first.
    pub(super) fn new(inputs: Vec<Arc<str>>) -> Self {
        Search {
            fitting: (0..inputs.len()).collect(),
            inputs,
            typed: Field::default(),
            needle: Needle::new(""),
            chosen: 0,
        }
    }

    /// What is looked for.
    pub(super) fn needle(&self) -> &Needle {
        &self.needle
    }

    /// Place of the chosen one among those that fit, and how many these are.
    pub(super) fn places(&self) -> (usize, usize) {
        (self.chosen, self.fitting.len())
    }

    /// The one at this place, 0 being the newest that fits.
    pub(super) fn at(&self, place: usize) -> Option<&str> {
        let index = self.fitting.get(place)?;
        self.inputs.get(*index).map(AsRef::as_ref)
    }

    /// The one that Enter takes.
    pub(super) fn chosen(&self) -> Option<&str> {
        self.at(self.chosen)
    }

    /// Takes a key.
    pub(super) fn on_key(&mut self, key: &KeyEvent) -> Wish {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Wish::Back,
            KeyCode::Char('c' | 'g') if control => return Wish::Back,
            KeyCode::Char('r' | 'p') if control => self.step(1),
            KeyCode::Up => self.step(1),
            KeyCode::Char('s' | 'n') if control => self.step(-1),
            KeyCode::Down => self.step(-1),
            KeyCode::PageUp => (0..8).for_each(|_| self.step(1)),
            KeyCode::PageDown => (0..8).for_each(|_| self.step(-1)),
            KeyCode::Enter | KeyCode::Tab | KeyCode::Right | KeyCode::End => {
                return self.take(true);
            }
            KeyCode::Char('e' | 'f' | 'j') if control => return self.take(true),
            KeyCode::Left | KeyCode::Home => return self.take(false),
            KeyCode::Char('a' | 'b') if control => return self.take(false),
            _ => {
                if self.typed.on_key(key) {
                    self.look();
                }
            }
        }
        Wish::Nothing
    }

    /// Takes pasted text.
    pub(super) fn on_paste(&mut self, text: &str) -> Wish {
        self.typed.insert(text);
        self.look();
        Wish::Nothing
    }

    /// The chosen one, with the cursor at its end or where it was found.
    fn take(&self, at_end: bool) -> Wish {
        let Some(text) = self.chosen() else {
            return Wish::Back;
        };
        let found = self.needle.find(text).map_or(0, |at| at.start);
        Wish::Take(Taken {
            cursor: if at_end { text.len() } else { found },
            text: text.to_owned(),
        })
    }

    fn step(&mut self, by: isize) {
        let last = self.fitting.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }

    fn look(&mut self) {
        let before = self.fitting.get(self.chosen).copied();
        let longer = self.typed.text().starts_with(self.needle.text());
        self.needle = Needle::new(self.typed.text());
        let fits = |text: &str| self.typed.text().is_empty() || self.needle.find(text).is_some();
        self.fitting = (0..self.inputs.len())
            .filter(|index| fits(&self.inputs[*index]))
            .collect();
        // A shorter text begins anew, as people expect of a corrected one.
        self.chosen = match before {
            Some(before) if longer => {
                let older = self.fitting.partition_point(|index| *index < before);
                if older < self.fitting.len() { older } else { 0 }
            }
            _ => 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(script: &[&str]) -> (Search, Wish) {
        let inputs = [
            "x = Alpha",
            "def f():\n    return beta",
            "beta = 2",
            "alpha = 1",
        ];
        let mut search = Search::new(inputs.map(Arc::from).to_vec());
        let mut wish = Wish::Nothing;
        for word in script {
            let keys: Vec<(KeyCode, KeyModifiers)> = match *word {
                "Up" => vec![(KeyCode::Up, KeyModifiers::NONE)],
                "Down" => vec![(KeyCode::Down, KeyModifiers::NONE)],
                "Left" => vec![(KeyCode::Left, KeyModifiers::NONE)],
                "Right" => vec![(KeyCode::Right, KeyModifiers::NONE)],
                "Enter" => vec![(KeyCode::Enter, KeyModifiers::NONE)],
                "Esc" => vec![(KeyCode::Esc, KeyModifiers::NONE)],
                "Back" => vec![(KeyCode::Backspace, KeyModifiers::NONE)],
                word => match word.strip_prefix('^') {
                    Some(key) => vec![(
                        KeyCode::Char(key.chars().next().unwrap()),
                        KeyModifiers::CONTROL,
                    )],
                    None => word
                        .chars()
                        .map(|c| (KeyCode::Char(c), KeyModifiers::NONE))
                        .collect(),
                },
            };
            for (code, modifiers) in keys {
                wish = search.on_key(&KeyEvent::new(code, modifiers));
            }
        }
        (search, wish)
    }

    fn check(script: &[&str], chosen: Option<&str>) {
        assert_eq!(typed(script).0.chosen(), chosen, "{script:?}");
    }

    #[test]
    fn typing_finds_the_newest_and_ctrl_r_older_ones() {
        check(&[], Some("x = Alpha"));
        check(&["beta"], Some("def f():\n    return beta"));
        check(&["beta", "^r"], Some("beta = 2"));
        check(&["beta", "^r", "^r", "Up"], Some("beta = 2"));
        check(&["beta", "^r", "^s"], Some("def f():\n    return beta"));
        check(
            &["beta", "Up", "Down", "Down"],
            Some("def f():\n    return beta"),
        );
        check(&["beta", "^r", " "], Some("beta = 2"));
        check(&["a", "^r", "^r", "l"], Some("alpha = 1"));
        check(&["a", "^r", "^r", "l", "Back"], Some("x = Alpha"));
        check(&["Alpha"], Some("x = Alpha"));
        check(&["alpha", "^r"], Some("alpha = 1"));
        check(&["zzz"], None);
        check(&["zzz", "Back", "Back", "Back"], Some("x = Alpha"));
    }

    #[test]
    fn what_was_found_is_taken_or_all_is_as_before() {
        let taken = |text: &str, cursor| {
            Wish::Take(Taken {
                text: text.into(),
                cursor,
            })
        };
        for (script, wish) in [
            (vec!["= 2", "Enter"], taken("beta = 2", 8)),
            (vec!["= 2", "Right"], taken("beta = 2", 8)),
            (vec!["= 2", "^e"], taken("beta = 2", 8)),
            (vec!["= 2", "Left"], taken("beta = 2", 5)),
            (vec!["= 2", "^a"], taken("beta = 2", 5)),
            (vec!["= 2", "Esc"], Wish::Back),
            (vec!["= 2", "^g"], Wish::Back),
            (vec!["= 2", "^c"], Wish::Back),
            (vec!["zzz", "Enter"], Wish::Back),
        ] {
            assert_eq!(typed(&script).1, wish, "{script:?}");
        }
    }
}
