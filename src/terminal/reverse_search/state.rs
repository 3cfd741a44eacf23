//! The reverse search as a pure state machine: inputs and keys in, [`SearchEffect`]s out.
//!
//! Invariants: the chosen input stays chosen while it matches a longer needle, else the newest older match is
//! chosen. No text occurs twice. Inputs older than those in memory are added on demand.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::keys::entry::Entry;
use crate::record::{InputInfo, RecordedInput};
use crate::terminal::list::{ListView, is_cancel_key, steps_of};
use crate::text::escape::editable;
use crate::text::needle::Needle;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::terminal) struct FoundInput {
    pub(in crate::terminal) text: String,
    /// The cursor's position: bytes from the start.
    pub(in crate::terminal) cursor: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SearchEffect {
    Nothing,
    Back,
    Take(FoundInput),
}

/// Matches to look up beyond the chosen one.
const AHEAD: usize = 200;

struct Candidate {
    typed: RecordedInput,
    /// As shown in the editor.
    text: Arc<str>,
    /// `None`: not looked up yet.
    facts: Option<Option<InputInfo>>,
}

impl Candidate {
    fn from_recorded(typed: RecordedInput) -> Self {
        let text = match editable(&typed.text) {
            Cow::Borrowed(_) => Arc::clone(&typed.text),
            Cow::Owned(text) => text.into(),
        };
        Candidate {
            typed,
            text,
            facts: None,
        }
    }
}

pub(super) struct ReverseSearch {
    /// Newest first.
    inputs: Vec<Candidate>,
    /// The number of inputs that were in memory at the start.
    first: usize,
    /// The record may have older inputs.
    more: bool,
    pub(super) complete: bool,
    typed: Entry,
    pub(super) needle: Needle,
    /// Indices of the matches, newest first.
    pub(super) fitting: Vec<usize>,
    /// From the newest match to the oldest.
    pub(super) list: ListView,
}

impl ReverseSearch {
    /// Starts with these inputs, newest first; `more`: the record may have older ones.
    pub(super) fn new(inputs: Vec<RecordedInput>, more: bool) -> Self {
        ReverseSearch {
            fitting: (0..inputs.len()).collect(),
            first: inputs.len(),
            more,
            complete: !more,
            inputs: inputs.into_iter().map(Candidate::from_recorded).collect(),
            typed: Entry::default(),
            needle: Needle::new(""),
            list: ListView::default(),
        }
    }

    /// Returns true when older inputs have to be looked up.
    pub(super) fn wants_more(&self) -> bool {
        !self.complete && self.fitting.len() < self.list.chosen + AHEAD
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        self.needle.text().is_empty() || self.needle.find(text).is_some()
    }

    /// Adds older inputs; `None`: there are no more. Returns true when there is a change to show.
    pub(super) fn add(&mut self, found: Option<Vec<RecordedInput>>) -> bool {
        let Some(found) = found else {
            self.complete = true;
            return true;
        };
        let before = self.inputs.len();
        let known = self
            .inputs
            .iter()
            .map(|input| Arc::clone(&input.typed.text));
        let mut known: HashSet<Arc<str>> = if found.is_empty() {
            HashSet::new()
        } else {
            known.collect()
        };
        let new = found
            .into_iter()
            .filter(|typed| known.insert(Arc::clone(&typed.text)));
        self.inputs.extend(new.map(Candidate::from_recorded));
        self.fitting.extend(before..self.inputs.len());
        self.inputs.len() > before
    }

    /// Returns the matches at these indices whose facts have not been looked up.
    pub(super) fn unknown(&self, places: Range<usize>) -> Vec<(usize, RecordedInput)> {
        let places = places.start.min(self.fitting.len())..places.end.min(self.fitting.len());
        let indices = self.fitting[places].iter();
        let unknown = indices.filter(|index| self.inputs[**index].facts.is_none());
        unknown
            .map(|index| (*index, self.inputs[*index].typed.clone()))
            .collect()
    }

    pub(super) fn learn(&mut self, index: usize, facts: Option<InputInfo>) {
        self.inputs[index].facts = Some(facts);
    }

    pub(super) fn facts(&self, place: usize) -> Option<&InputInfo> {
        let index = self.fitting.get(place)?;
        self.inputs.get(*index)?.facts.as_ref()?.as_ref()
    }

    /// Returns the match at this index; 0 is the newest.
    pub(super) fn at(&self, place: usize) -> Option<&str> {
        let index = self.fitting.get(place)?;
        self.inputs.get(*index).map(|input| &*input.text)
    }

    /// Returns the match that Enter accepts.
    pub(super) fn chosen(&self) -> Option<&str> {
        self.at(self.list.chosen)
    }

    /// Returns true for a key that edits the needle, or has no meaning.
    pub(super) fn narrows(&self, key: &KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char(_) => !control,
            KeyCode::Backspace | KeyCode::Esc => true,
            _ => false,
        }
    }

    pub(super) fn on_key(&mut self, key: &KeyEvent) -> SearchEffect {
        if is_cancel_key(key) {
            return SearchEffect::Back;
        }
        if let Some(down) = steps_of(key, "rp", "sn") {
            // The newest match is at the bottom.
            self.list.step(-down, self.fitting.len());
            return SearchEffect::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
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
        SearchEffect::Nothing
    }

    pub(super) fn on_paste(&mut self, text: &str) {
        self.typed.paste(text);
        self.look();
    }

    /// Returns the chosen match, with the cursor at its end or at the match.
    fn take(&self, at_end: bool) -> SearchEffect {
        let Some(text) = self.chosen() else {
            return SearchEffect::Back;
        };
        let found = self.needle.find(text).map_or(0, |at| at.start);
        SearchEffect::Take(FoundInput {
            cursor: if at_end { text.len() } else { found },
            text: text.to_owned(),
        })
    }

    fn look(&mut self) {
        let before = self.fitting.get(self.list.chosen).copied();
        let longer = self.typed.text().starts_with(self.needle.text());
        self.needle = Needle::new(self.typed.text());
        if !longer || self.needle.text().is_empty() {
            self.inputs.truncate(self.first);
        }
        // A record searched for a shorter text has no further matches for a longer one.
        self.complete = !self.more || self.complete && longer;
        self.fitting = (0..self.inputs.len())
            .filter(|index| self.fits(&self.inputs[*index].text))
            .collect();
        // A shorter needle starts again at the newest, as users expect of a correction.
        self.list.chosen = match before {
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

    fn typed(script: &[&str]) -> (ReverseSearch, SearchEffect) {
        let inputs = [
            "x = Alpha",
            "def f():\n    return beta",
            "beta = 2",
            "alpha = 1",
        ];
        let inputs = inputs.map(|text| RecordedInput {
            text: text.into(),
            row: 0,
        });
        let mut search = ReverseSearch::new(inputs.to_vec(), false);
        let mut wish = SearchEffect::Nothing;
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

    fn places(search: &ReverseSearch) -> (usize, usize) {
        (search.list.chosen, search.fitting.len())
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
    fn older_inputs_are_loaded_on_demand() {
        let typed = |text: &str| RecordedInput {
            text: text.into(),
            row: 7,
        };
        let key = |search: &mut ReverseSearch, c| {
            search.on_key(&KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        };
        let mut search = ReverseSearch::new(vec![typed("a = 1"), typed("b = 2")], true);
        key(&mut search, 'a');
        assert!(search.wants_more());
        assert!(search.add(Some(vec![
            typed("a = 1"),
            typed("data = 3"),
            typed("a = 4")
        ])));
        assert_eq!((places(&search), search.at(2)), ((0, 3), Some("a = 4")));
        assert!(!search.add(Some(Vec::new())), "nothing new");
        search.list.step(1, search.fitting.len());
        key(&mut search, ' ');
        assert_eq!(
            (search.chosen(), places(&search)),
            (Some("data = 3"), (1, 3))
        );
        assert!(search.wants_more() && search.add(None) && !search.wants_more());
        key(&mut search, '=');
        assert!(search.complete, "all that fit less fit more");
        search.on_key(&KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
        assert_eq!((places(&search), search.wants_more()), ((0, 1), true));
    }

    #[test]
    fn a_match_is_taken_or_the_buffer_is_unchanged() {
        let taken = |text: &str, cursor| {
            SearchEffect::Take(FoundInput {
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
            (vec!["= 2", "Esc"], SearchEffect::Back),
            (vec!["= 2", "^g"], SearchEffect::Back),
            (vec!["= 2", "^c"], SearchEffect::Back),
            (vec!["zzz", "Enter"], SearchEffect::Back),
        ] {
            assert_eq!(typed(&script).1, wish, "{script:?}");
        }
    }
}
