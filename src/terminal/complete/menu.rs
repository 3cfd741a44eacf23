//! The completion menu below the line: one completion a row, its detail beside it.
//!
//! In: the completer's suggestions. Out: rows that fit the width, edits of the line. Invariants: the chosen
//! completion stays chosen while more arrive; an empty menu closes; rows are cut at whole characters. Absent on
//! purpose: the choice of completions.

use std::sync::{Arc, Mutex};

use nu_ansi_term::Style;
use reedline::{
    Completer, CompletionResult, Editor, Menu, MenuEvent, MenuSettings, Painter, Suggestion,
    Suggestions, UndoBehavior,
};

use crate::terminal::complete::below::{Below, MENU, MenuState, below_the_line, locked, note};
use crate::terminal::list::ListView;
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};
use crate::text::{Line, columns, cut};

/// The most rows of the menu, including the row with the count.
const ROWS: usize = 11;

const INDENT: usize = 4;

pub(super) struct CompletionMenu {
    below: Below,
    menu_state: Arc<Mutex<MenuState>>,
    snapshot: SharedSnapshot,
    values: Suggestions,
    provisional: bool,
    list: ListView,
    deepened: bool,
}

impl CompletionMenu {
    pub(super) fn new(menu_state: Arc<Mutex<MenuState>>, snapshot: SharedSnapshot) -> Self {
        CompletionMenu {
            below: Below::default(),
            menu_state,
            snapshot,
            values: Vec::new().into(),
            provisional: false,
            list: ListView::default(),
            deepened: false,
        }
    }

    fn close(&mut self) {
        self.below.active = false;
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
        let most = ROWS.min(self.below.free(1)).max(1);
        if self.values.len() <= most {
            self.values.len()
        } else {
            most.saturating_sub(1).max(1)
        }
    }

    fn counts(&self) -> bool {
        self.values.len() > self.room() && self.below.free(2) > 0
    }

    /// Moves the choice, wrapping around at the ends.
    fn step(&mut self, by: isize) {
        self.list.wrap(by, self.values.len());
        self.list.scroll(self.room());
    }

    /// Moves the choice by a page, without wrapping around.
    fn page(&mut self, by: isize) {
        let room = self.room();
        self.list.step(by * room as isize, self.values.len());
        self.list.scroll(room);
    }

    fn row(&self, index: usize, names: usize, colour: bool) -> String {
        let value = &self.values[index];
        let width = self.below.columns.saturating_sub(1);
        let name = cut(value.display_value(), names);
        let pad = " ".repeat(names.saturating_sub(columns(&name)));
        let rest = width.saturating_sub(names + 4);
        let detail = value.description.as_deref().unwrap_or("");
        let detail = if rest < 4 {
            "".into()
        } else {
            cut(detail, rest)
        };
        let (mark, style) = match (index == self.list.chosen, colour) {
            (true, true) => (" ", Style::new().reverse()),
            (true, false) => (">", Style::new()),
            (false, _) => (" ", Style::new()),
        };
        let row = Line::styled(style, format!("{mark}{name}{pad} "))
            .and(Style::new(), "  ")
            .and(Style::new().dimmed(), detail)
            .to_ansi(colour);
        match colour {
            true => row,
            false => row.trim_end().to_owned(),
        }
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
    below_the_line!(MENU);

    fn menu_event(&mut self, event: MenuEvent) {
        match event {
            MenuEvent::Activate(_) => {
                self.close();
                self.below.active = true;
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
        if !self.below.active {
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
        self.below.measure(editor.get_buffer(), columns);
        let result = completer.complete(editor.get_buffer(), cursor);
        self.provisional = result.is_provisional();
        let CompletionResult::Fresh { suggestions, .. } = result else {
            return;
        };
        if suggestions.is_empty() {
            return self.close();
        }
        let chosen = self.values.get(self.list.chosen);
        let at = chosen.and_then(|chosen| {
            let mut values = suggestions.iter();
            values.position(|each| each.value == chosen.value)
        });
        self.values = suggestions;
        let last = self.values.len().saturating_sub(self.room());
        self.list.first = self.list.first.min(last);
        self.list.chosen = at.unwrap_or(0);
        self.list.scroll(self.room());
    }

    fn reset_position(&mut self) {
        self.list = ListView::default();
    }

    fn update_working_details(
        &mut self,
        _editor: &mut Editor,
        _completer: &mut dyn Completer,
        painter: &Painter,
    ) {
        self.below.resize(painter);
        if !self.values.is_empty() {
            self.list.scroll(self.room());
        }
    }

    fn replace_in_buffer(&self, editor: &mut Editor) {
        if let Some(value) = self.values.get(self.list.chosen) {
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
        let shown = self.list.in_sight(self.values.len(), room);
        let widest = self
            .values
            .iter()
            .map(|value| columns(value.display_value()));
        let most = if self.values.iter().any(|value| value.description.is_some()) {
            self.below.columns * 3 / 5
        } else {
            self.below.columns.saturating_sub(4)
        };
        let names = widest.max().unwrap_or(0).min(most.max(8));
        let mut rows: Vec<String> = shown
            .clone()
            .map(|index| self.row(index, names, use_ansi_coloring))
            .collect();
        if self.counts() && usize::from(available_lines) > room {
            let count = self.values.len();
            let text = format!(" {}-{} of {count}", shown.start + 1, shown.end);
            rows.push(note(&text, use_ansi_coloring));
        }
        rows.join("\r\n")
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
