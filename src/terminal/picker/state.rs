//! The picker as a pure state machine: rows and keys in, [`PickerEffect`]s out.
//!
//! Invariant: the chosen session stays chosen while rows come in; when the filter changes, the best match is chosen.

use std::collections::HashMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32String};

use crate::keys::entry::Entry;
use crate::record::{Scope, SearchHit, SessionPreview, SessionRow};
use crate::session::report_notice;
use crate::terminal::list::{ListView, is_cancel_key, steps_of};
use crate::text::needle::Needle;
use crate::text::report::Report;

/// Characters of a prompt that are matched: a whole one would match nearly every filter.
const LOOKED_AT: usize = 240;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PickerEffect {
    Nothing,
    Resume(i64),
    Cancel,
    Delete(i64),
    Rename(i64, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PickerMode {
    /// Keys narrow the list and choose.
    Choice,
    /// Confirm the deletion of this session.
    Delete(i64),
    /// Edit the name of this session.
    Name(i64, Entry),
}

struct Search {
    needle: Needle,
    /// Sessions below this number have not been searched yet.
    before: i64,
    complete: bool,
    found: HashMap<i64, Vec<SearchHit>>,
}

pub(super) struct Picker {
    near: Scope,
    all: bool,
    pub(super) rows: Vec<SessionRow>,
    texts: Vec<(i64, Utf32String)>,
    complete: bool,
    matcher: Matcher,
    /// Score and index of the sessions shown, best first.
    pub(super) shown: Vec<(u32, usize)>,
    pub(super) list: ListView,
    pub(super) filter: Entry,
    search: Option<Search>,
    pub(super) mode: PickerMode,
    pub(super) message: Option<String>,
    pub(super) glance: Option<(i64, SessionPreview)>,
}

impl Picker {
    pub(super) fn new(near: Scope) -> Self {
        Picker {
            near,
            all: false,
            rows: Vec::new(),
            texts: Vec::new(),
            complete: false,
            matcher: Matcher::new(Config::DEFAULT),
            shown: Vec::new(),
            list: ListView::default(),
            filter: Entry::default(),
            search: None,
            mode: PickerMode::Choice,
            message: None,
            glance: None,
        }
    }

    pub(super) fn scope(&self) -> &Scope {
        if self.all { &Scope::All } else { &self.near }
    }

    /// Returns true when there are sessions to read.
    pub(super) fn has_more(&self) -> bool {
        self.next_page().is_some() || self.next_search().is_some()
    }

    /// Returns the number below which the next page begins, if there is one.
    pub(super) fn next_page(&self) -> Option<i64> {
        (!self.complete).then(|| self.rows.last().map_or(i64::MAX, |row| row.id))
    }

    /// Returns the needle and the number below which to continue the search; `None` when the search is over.
    pub(super) fn next_search(&self) -> Option<(&Needle, i64)> {
        let search = self.search.as_ref()?;
        (!search.complete).then_some((&search.needle, search.before))
    }

    pub(super) fn add(&mut self, rows: Vec<SessionRow>, complete: bool) {
        let from = self.rows.len();
        self.texts
            .extend(rows.iter().map(|row| (row.id, text_of(row))));
        self.rows.extend(rows);
        self.complete = complete;
        self.show_from(from);
    }

    /// Adds hits and the last session that was searched; returns true when there is a change to show.
    pub(super) fn add_found(&mut self, found: Vec<SearchHit>, last: Option<i64>) -> bool {
        let Some(search) = &mut self.search else {
            return false;
        };
        match last {
            Some(last) => search.before = last,
            None => search.complete = true,
        }
        let news = !found.is_empty() || search.complete;
        for entry in found {
            search.found.entry(entry.session).or_default().push(entry);
        }
        if news {
            let chosen = self.chosen().map(|row| row.id);
            self.show_anew();
            self.choose(chosen);
        }
        news
    }

    /// Returns the session whose preview is missing.
    pub(super) fn wants_glance(&self) -> Option<i64> {
        let id = self.chosen()?.id;
        (self.glance.as_ref().map(|(known, _)| *known) != Some(id)).then_some(id)
    }

    pub(super) fn chosen(&self) -> Option<&SessionRow> {
        let (_, index) = self.shown.get(self.list.chosen)?;
        self.rows.get(*index)
    }

    pub(super) fn glance(&self) -> Option<&SessionPreview> {
        let id = self.chosen()?.id;
        let (known, glance) = self.glance.as_ref()?;
        (*known == id).then_some(glance)
    }

    /// Returns the session shown at this index.
    pub(super) fn at(&self, place: usize) -> &SessionRow {
        &self.rows[self.shown[place].1]
    }

    /// Returns the hits in a session; `None` when there is no search.
    pub(super) fn found(&self, id: i64) -> Option<&[SearchHit]> {
        let search = self.search.as_ref()?;
        Some(search.found.get(&id).map_or(&[], Vec::as_slice))
    }

    pub(super) fn on_key(&mut self, key: &KeyEvent) -> PickerEffect {
        self.message = None;
        match std::mem::replace(&mut self.mode, PickerMode::Choice) {
            PickerMode::Choice => self.on_choice_key(key),
            PickerMode::Delete(id) => {
                if matches!(key.code, KeyCode::Char('y' | 'Y'))
                    && key.modifiers.difference(KeyModifiers::SHIFT).is_empty()
                {
                    return PickerEffect::Delete(id);
                }
                self.message = Some(format!("session {id} is kept"));
                PickerEffect::Nothing
            }
            PickerMode::Name(id, mut name) => {
                if is_cancel_key(key) {
                    return PickerEffect::Nothing;
                }
                if key.code == KeyCode::Enter {
                    return PickerEffect::Rename(id, name.text().trim().to_owned());
                }
                name.on_key(key);
                self.mode = PickerMode::Name(id, name);
                PickerEffect::Nothing
            }
        }
    }

    pub(super) fn on_paste(&mut self, text: &str) -> PickerEffect {
        match &mut self.mode {
            PickerMode::Choice => {
                self.filter.paste(text);
                self.filter_changed();
            }
            PickerMode::Name(_, name) => name.paste(text),
            PickerMode::Delete(_) => {}
        }
        PickerEffect::Nothing
    }

    fn on_choice_key(&mut self, key: &KeyEvent) -> PickerEffect {
        if is_cancel_key(key) {
            return PickerEffect::Cancel;
        }
        if let Some(by) = steps_of(key, "pk", "nj") {
            self.list.step(by, self.shown.len());
            return PickerEffect::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let id = self.chosen().map(|row| row.id);
        match key.code {
            KeyCode::Enter => return id.map_or(PickerEffect::Nothing, PickerEffect::Resume),
            KeyCode::Char('d') if control && self.filter.text().is_empty() => {
                return PickerEffect::Cancel;
            }
            KeyCode::Home => self.list.chosen = 0,
            KeyCode::End => self.list.chosen = self.shown.len().saturating_sub(1),
            KeyCode::Tab => self.toggle_scope(),
            KeyCode::Char('a') if control => self.toggle_scope(),
            KeyCode::Delete => self.mode = id.map_or(PickerMode::Choice, PickerMode::Delete),
            KeyCode::Char('x') if control => {
                self.mode = id.map_or(PickerMode::Choice, PickerMode::Delete);
            }
            KeyCode::Char('r') if control => {
                if let Some(row) = self.chosen() {
                    let name = Entry::with(row.name.as_deref().unwrap_or_default());
                    self.mode = PickerMode::Name(row.id, name);
                }
            }
            KeyCode::Char('f') if control => self.toggle_search(),
            _ => {
                if self.filter.on_key(key) {
                    self.filter_changed();
                }
            }
        }
        PickerEffect::Nothing
    }

    pub(super) fn on_deleted(&mut self, id: i64, deleted: Result<(), Report>) {
        match deleted {
            Ok(()) => {
                let chosen = self.list.chosen;
                self.rows.retain(|row| row.id != id);
                self.texts.retain(|(known, _)| *known != id);
                self.show_anew();
                self.list.chosen = chosen.min(self.shown.len().saturating_sub(1));
                self.message = Some(format!("session {id} deleted"));
            }
            Err(report) => self.failed("deleted", &report),
        }
    }

    pub(super) fn on_renamed(&mut self, id: i64, name: &str, renamed: Result<(), Report>) {
        if let Err(report) = renamed {
            return self.failed("renamed", &report);
        }
        if let Some(index) = self.rows.iter().position(|row| row.id == id) {
            self.rows[index].name = (!name.is_empty()).then(|| name.to_owned());
            self.texts[index].1 = text_of(&self.rows[index]);
        }
        self.message = Some(match name {
            "" => format!("session {id} has no name now"),
            name => format!("session {id} is named `{name}`"),
        });
    }

    fn failed(&mut self, verb: &str, report: &Report) {
        self.message = Some(format!("not {verb}: {}", report_notice(report).message));
    }

    fn toggle_scope(&mut self) {
        self.all = !self.all;
        (self.rows, self.texts) = (Vec::new(), Vec::new());
        self.complete = false;
        self.search = None;
        self.show_anew();
    }

    fn toggle_search(&mut self) {
        if self.search.take().is_none() {
            let text = self.filter.text().trim();
            if text.is_empty() {
                self.message = Some("type what to look for, then Ctrl-F".into());
                return;
            }
            self.search = Some(Search {
                needle: Needle::new(text),
                before: i64::MAX,
                complete: false,
                found: HashMap::new(),
            });
        }
        self.show_anew();
    }

    fn filter_changed(&mut self) {
        self.search = None;
        self.show_anew();
    }

    fn show_anew(&mut self) {
        self.shown.clear();
        self.list.chosen = 0;
        self.show_from(0);
    }

    /// Sorts the rows from this index on into the list.
    fn show_from(&mut self, from: usize) {
        let chosen = self.chosen().map(|row| row.id);
        if let Some(search) = &self.search {
            let new = (from..self.rows.len())
                .filter(|index| search.found.contains_key(&self.rows[*index].id));
            self.shown.extend(new.map(|index| (0, index)));
            return;
        }
        let fitting = fitting(&mut self.matcher, self.filter.text(), &self.texts[from..]);
        self.shown.extend(
            fitting
                .into_iter()
                .map(|(score, index)| (score, from + index)),
        );
        self.shown
            .sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
        // At the top the best match is chosen as rows come in; below, the user's choice stays.
        if self.list.chosen > 0 {
            self.choose(chosen);
        }
    }

    fn choose(&mut self, id: Option<i64>) {
        let place = self
            .shown
            .iter()
            .position(|(_, index)| Some(self.rows[*index].id) == id);
        self.list.chosen = place.unwrap_or(0);
    }
}

/// Returns the scores of the `texts` that match by letters in their order, words in any order, each with its index;
/// for a blank filter all of them, with equal scores.
fn fitting(matcher: &mut Matcher, filter: &str, texts: &[(i64, Utf32String)]) -> Vec<(u32, usize)> {
    let pattern = Pattern::new(
        filter,
        CaseMatching::Smart,
        Normalization::Smart,
        AtomKind::Fuzzy,
    );
    let number = filter.trim().parse::<i64>().ok();
    let score = |(index, (id, text)): (usize, &(i64, Utf32String))| {
        let score = pattern.score(text.slice(..), matcher)?;
        // A typed number selects that session.
        let score = if number == Some(*id) { u32::MAX } else { score };
        Some((score, index))
    };
    texts.iter().enumerate().filter_map(score).collect()
}

/// Returns the text of a session that is matched.
fn text_of(row: &SessionRow) -> Utf32String {
    let start: String = row.start.chars().take(16).collect();
    let cut = |text: &str| text.chars().take(LOOKED_AT).collect::<String>();
    let name = row.name.as_deref().unwrap_or_default();
    let mut text = format!("{} {start} {name} {}", row.id, cut(&row.last_prompt));
    if row.first_prompt != row.last_prompt {
        text.push(' ');
        text.push_str(&cut(&row.first_prompt));
    }
    if row.last_prompt.is_empty() {
        text.push_str(&cut(&row.last_input));
    }
    text.push(' ');
    text.push_str(&row.cwd);
    Utf32String::from(text)
}

#[cfg(test)]
mod tests;
