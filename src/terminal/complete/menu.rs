//! The completion menu below the line: one completion a row, its detail beside it.
//!
//! In: the completer's suggestions. Out: rows that fit the width, edits of the line. Invariants: the chosen
//! completion stays chosen while more arrive; an empty menu closes; rows are cut at whole characters. Absent on
//! purpose: the choice of completions.

use std::sync::{Arc, Mutex};

use nu_ansi_term::Style;
use reedline::{
    Completer, CompletionResult, Editor, Menu, MenuBuilder, MenuEvent, MenuSettings, Painter,
    Suggestion, Suggestions, UndoBehavior,
};

use crate::terminal::complete::menu_state::{MENU, MenuState, locked};
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};
use crate::text::{columns, cut};

/// The most rows of the menu, including the row with the count.
const ROWS: usize = 11;

const INDENT: usize = 4;

pub(super) struct CompletionMenu {
    settings: MenuSettings,
    menu_state: Arc<Mutex<MenuState>>,
    snapshot: SharedSnapshot,
    active: bool,
    values: Suggestions,
    provisional: bool,
    chosen: usize,
    first: usize,
    size: (usize, usize),
    /// Rows the text takes.
    text_rows: usize,
    deepened: bool,
}

impl MenuBuilder for CompletionMenu {
    fn settings_mut(&mut self) -> &mut MenuSettings {
        &mut self.settings
    }
}

impl CompletionMenu {
    pub(super) fn new(menu_state: Arc<Mutex<MenuState>>, snapshot: SharedSnapshot) -> Self {
        CompletionMenu {
            settings: MenuSettings::default(),
            menu_state,
            snapshot,
            active: false,
            values: Vec::new().into(),
            provisional: false,
            chosen: 0,
            first: 0,
            size: (80, 24),
            text_rows: 1,
            deepened: false,
        }
        .with_name(MENU)
        .with_marker("")
    }

    fn close(&mut self) {
        self.active = false;
        self.provisional = false;
        self.values = Vec::new().into();
        let mut menu_state = locked(&self.menu_state);
        (menu_state.opened, menu_state.deeper) = (false, false);
    }

    fn deepen(&mut self) {
        if !std::mem::replace(&mut self.deepened, true) {
            locked(&self.menu_state).deeper = true;
        }
    }

    fn room(&self) -> usize {
        let free = self.size.1.saturating_sub(self.text_rows + 1);
        let most = ROWS.min(free).max(1);
        if self.values.len() <= most {
            self.values.len()
        } else {
            most.saturating_sub(1).max(1)
        }
    }

    fn counts(&self) -> bool {
        self.values.len() > self.room() && self.size.1 > self.text_rows + 2
    }

    fn choose(&mut self, chosen: usize) {
        self.chosen = chosen;
        let room = self.room();
        if chosen < self.first {
            self.first = chosen;
        } else if chosen >= self.first + room {
            self.first = chosen + 1 - room;
        }
    }

    /// Moves the choice, wrapping around at the ends.
    fn step(&mut self, by: isize) {
        let count = self.values.len() as isize;
        let to = (self.chosen as isize + by).rem_euclid(count);
        self.choose(to as usize);
    }

    /// Moves the choice by a page, without wrapping around.
    fn page(&mut self, by: isize) {
        let to = self.chosen as isize + by * self.room() as isize;
        self.choose(to.clamp(0, self.values.len() as isize - 1) as usize);
    }

    fn row(&self, index: usize, names: usize, colour: bool) -> String {
        let value = &self.values[index];
        let width = self.size.0.saturating_sub(1);
        let name = cut(value.display_value(), names);
        let pad = " ".repeat(names.saturating_sub(columns(&name)));
        let rest = width.saturating_sub(names + 4);
        let detail = value.description.as_deref().unwrap_or("");
        let detail = if rest < 4 {
            "".into()
        } else {
            cut(detail, rest)
        };
        let chosen = index == self.chosen;
        let (mark, style) = match (chosen, colour) {
            (true, true) => (" ", Style::new().reverse()),
            (true, false) => (">", Style::new()),
            (false, _) => (" ", Style::new()),
        };
        let name = format!("{mark}{name}{pad} ");
        if !colour {
            return format!("{name}  {detail}").trim_end().to_owned();
        }
        let detail = Style::new().dimmed().paint(detail.into_owned());
        format!("{}  {detail}", style.paint(name))
    }
}

/// Returns the common prefix of all completions, when it is longer than the typed text.
fn common<'a>(values: &'a [Suggestion], typed: &str) -> Option<&'a str> {
    let first = values.first()?.value.as_str();
    let length = values.iter().fold(first.len(), |length, each| {
        let same = first[..length]
            .char_indices()
            .zip(each.value.chars())
            .find(|((_, a), b)| a != b);
        same.map_or(length.min(each.value.len()), |((at, _), _)| at)
    });
    let common = &first[..length];
    (common.len() > typed.len() && common.starts_with(typed)).then_some(common)
}

impl Menu for CompletionMenu {
    fn settings(&self) -> &MenuSettings {
        &self.settings
    }

    fn is_active(&self) -> bool {
        self.active
    }

    fn set_active(&mut self, active: bool) {
        self.active = active;
    }

    fn clear_input(&mut self) {}

    fn menu_event(&mut self, event: MenuEvent) {
        match event {
            MenuEvent::Activate(_) => {
                self.close();
                self.active = true;
                self.deepened = false;
                locked(&self.menu_state).opened = true;
            }
            MenuEvent::Deactivate => self.close(),
            // Tab came twice before there was an answer: the deeper look is requested.
            MenuEvent::NextElement if self.provisional && self.values.is_empty() => self.deepen(),
            _ if self.values.is_empty() => {}
            MenuEvent::NextElement => {
                self.deepen();
                self.step(1);
            }
            MenuEvent::MoveDown => self.step(1),
            MenuEvent::PreviousElement | MenuEvent::MoveUp => self.step(-1),
            MenuEvent::MoveRight | MenuEvent::NextPage => self.page(1),
            MenuEvent::MoveLeft | MenuEvent::PreviousPage => self.page(-1),
            MenuEvent::Edit(_) => {}
        }
    }

    fn can_quick_complete(&self) -> bool {
        true
    }

    fn can_partially_complete(
        &mut self,
        values_updated: bool,
        editor: &mut Editor,
        completer: &mut dyn Completer,
    ) -> bool {
        if !values_updated {
            self.update_values(editor, completer);
        }
        if self.provisional {
            return false;
        }
        let cursor = editor.line_buffer().insertion_point();
        let Some(start) = self.values.first().map(|value| value.span.start) else {
            return false;
        };
        let typed = editor.get_buffer().get(start..cursor).unwrap_or_default();
        let Some(common) = common(&self.values, typed).map(str::to_owned) else {
            return false;
        };
        replace(editor, start, cursor, &common);
        self.update_values(editor, completer);
        true
    }

    fn update_values(&mut self, editor: &mut Editor, completer: &mut dyn Completer) {
        if !self.active {
            return;
        }
        let cursor = editor.line_buffer().insertion_point();
        if let Some(spaces) = indentation(editor.get_buffer(), cursor) {
            if std::mem::take(&mut locked(&self.menu_state).opened) {
                replace(editor, cursor, cursor, &" ".repeat(spaces));
            }
            self.close();
            return;
        }
        self.text_rows = editor
            .get_buffer()
            .split('\n')
            .map(|line| (columns(line) + 10) / self.size.0.max(1) + 1)
            .sum();
        let result = completer.complete(editor.get_buffer(), cursor);
        self.provisional = result.is_provisional();
        let CompletionResult::Fresh { suggestions, .. } = result else {
            return;
        };
        if suggestions.is_empty() {
            return self.close();
        }
        let chosen = self
            .values
            .get(self.chosen)
            .map(|value| value.value.clone());
        let at = chosen.and_then(|chosen| suggestions.iter().position(|each| each.value == chosen));
        self.values = suggestions;
        self.first = self
            .first
            .min(self.values.len().saturating_sub(self.room()));
        self.choose(at.unwrap_or(0));
    }

    fn reset_position(&mut self) {
        self.chosen = 0;
        self.first = 0;
    }

    fn update_working_details(
        &mut self,
        _editor: &mut Editor,
        _completer: &mut dyn Completer,
        painter: &Painter,
    ) {
        self.size = (
            usize::from(painter.screen_width()),
            usize::from(painter.screen_height()),
        );
        if !self.values.is_empty() {
            self.choose(self.chosen);
        }
    }

    fn replace_in_buffer(&self, editor: &mut Editor) {
        if let Some(value) = self.values.get(self.chosen) {
            // The key that accepts the completion would have submitted the text.
            lock_snapshot(&self.snapshot).submitted = false;
            let cursor = editor.line_buffer().insertion_point();
            replace(editor, value.span.start, cursor, &value.value);
        }
    }

    fn menu_required_lines(&self, _terminal_columns: u16) -> u16 {
        (self.room() + usize::from(self.counts())) as u16
    }

    fn menu_string(&self, available_lines: u16, use_ansi_coloring: bool) -> String {
        let room = self.room().min(usize::from(available_lines));
        let first = self.first.max((self.chosen + 1).saturating_sub(room));
        let shown = first..(first + room).min(self.values.len());
        let widest = self
            .values
            .iter()
            .map(|value| columns(value.display_value()));
        let most = if self.values.iter().any(|value| value.description.is_some()) {
            self.size.0 * 3 / 5
        } else {
            self.size.0.saturating_sub(4)
        };
        let names = widest.max().unwrap_or(0).min(most.max(8));
        let mut rows: Vec<String> = shown
            .clone()
            .map(|index| self.row(index, names, use_ansi_coloring))
            .collect();
        if self.counts() && usize::from(available_lines) > room {
            let text = format!(
                " {}-{} of {}",
                shown.start + 1,
                shown.end,
                self.values.len()
            );
            rows.push(if use_ansi_coloring {
                Style::new().dimmed().paint(text).to_string()
            } else {
                text
            });
        }
        rows.join("\r\n")
    }

    fn min_rows(&self) -> u16 {
        self.menu_required_lines(0)
    }

    fn get_values(&self) -> &[Suggestion] {
        &self.values
    }

    fn results_are_provisional(&self) -> bool {
        self.provisional
    }

    fn is_awaiting_first_answer(&self) -> bool {
        self.values.is_empty()
    }
}

/// Returns the number of spaces that Tab inserts in leading white space, up to the next multiple of four.
fn indentation(text: &str, cursor: usize) -> Option<usize> {
    let line = text[..cursor].rsplit('\n').next().unwrap_or_default();
    line.trim()
        .is_empty()
        .then(|| INDENT - line.chars().count() % INDENT)
}

/// Replaces the bytes from `start` to `end`, the cursor, by `with` and moves the cursor behind it; one step of
/// undo.
fn replace(editor: &mut Editor, start: usize, end: usize, with: &str) {
    editor.edit_buffer(
        |line| {
            line.replace_range(start..end, with);
            line.set_insertion_point(start + with.len());
        },
        UndoBehavior::CreateUndoPoint,
    );
}
