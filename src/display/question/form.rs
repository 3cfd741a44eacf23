//! A form: one field after the other, options to choose from or text.
//!
//! Pure: keys in, outcomes out. No option is marked at first, so an Enter meant for something else chooses nothing;
//! Esc declines the whole form.

use crossterm::event::{Event, KeyCode};
use nu_ansi_term::Style;

use crate::agent::FormField;
use crate::display::rows::Rows;
use crate::keys::entry::Entry;
use crate::keys::plain;
use crate::session::Reply;
use crate::text::MARKED;
use crate::text::escape::visible;
use crate::text::{Line, columns};

const SHOWN: usize = 8;

#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::display) struct QuestionFrame {
    /// Top to bottom, none wider than the requested width.
    pub(in crate::display) rows: Vec<Line>,
    /// Position of the cursor, in columns before the end of the last row.
    pub(in crate::display) back: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FrameStep {
    Changed,
    /// A field was answered and the next one is open; this line stays.
    Next(String),
    /// The last field was answered; this line stays.
    Filled(String, Reply),
    Answered(Reply),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    fields: Vec<FormField>,
    given: Vec<(String, Vec<String>)>,
    typing: bool,
    entry: Entry,
    marked: Option<usize>,
    chosen: Vec<usize>,
    /// Why the last key was refused.
    hint: &'static str,
}

impl Form {
    pub(super) fn new(fields: Vec<FormField>) -> Self {
        let mut form = Form {
            fields,
            given: Vec::new(),
            typing: false,
            entry: Entry::default(),
            marked: None,
            chosen: Vec::new(),
            hint: "",
        };
        form.begin();
        form
    }

    fn begin(&mut self) {
        let (typing, secret) = self.field().map_or((true, false), |field| {
            (field.options.is_empty(), field.secret)
        });
        self.typing = typing;
        self.entry = Entry::new(secret);
        self.marked = None;
        self.chosen.clear();
        self.hint = "";
    }

    /// True while the typed text must not be shown.
    pub(super) fn secret(&self) -> bool {
        self.typing && self.field().is_some_and(|field| field.secret)
    }

    fn field(&self) -> Option<&FormField> {
        self.fields.get(self.given.len())
    }

    /// Number of options of the current field, plus one for free text.
    fn count(&self) -> usize {
        match self.field() {
            Some(field) if !field.options.is_empty() => {
                field.options.len() + usize::from(field.free_text)
            }
            _ => 0,
        }
    }

    pub(super) fn body(&self, width: usize) -> Vec<Line> {
        let mut rows = Rows::new(width);
        let Some(field) = self.field() else {
            return rows.into_rows();
        };
        let place = if self.fields.len() > 1 {
            format!("[{}/{}] ", self.given.len() + 1, self.fields.len())
        } else {
            String::new()
        };
        let name = visible(&field.header).into_owned();
        let colon = if name.is_empty() || field.question.is_empty() {
            ""
        } else {
            ": "
        };
        let text = format!("{place}{name}{colon}{}", field.question);
        rows.text(2, &text, Style::new().bold());
        for (number, (value, meaning)) in field.options.iter().enumerate() {
            let label = format!("  {}. ", number + 1);
            let dash = if meaning.trim().is_empty() { "" } else { ": " };
            let text = format!("{}{dash}{meaning}", visible(value));
            rows.labelled((&label, Style::new().dimmed()), &text, Style::new());
        }
        rows.into_rows()
    }

    pub(super) fn frame(&self, width: usize) -> QuestionFrame {
        let mut rows = Rows::new(width);
        let Some(field) = self.field() else {
            rows.text(0, "y accepts, Esc declines", Style::new().dimmed());
            return QuestionFrame {
                rows: rows.into_rows(),
                back: 0,
            };
        };
        let mut back = 0;
        let keys = match (self.typing, field.multiple) {
            (true, _) if field.optional => {
                "Enter accepts, Enter on an empty line skips, Esc declines"
            }
            (true, _) => "Enter accepts, Esc declines",
            (false, true) => "Space selects, Enter accepts, Esc declines",
            (false, false) if field.optional => "a number or arrows, Enter skips, Esc declines",
            (false, false) => "a number or arrows and Enter, Esc declines",
        };
        let hint = if self.hint.is_empty() {
            keys
        } else {
            self.hint
        };
        rows.text(0, hint, Style::new().dimmed());
        if !self.typing {
            self.options(field, &mut rows);
        } else {
            let (shown, behind) = self.entry.window(width.saturating_sub(columns("> ")));
            back = behind;
            let runs = [(shown.to_owned(), Style::new())];
            rows.runs(("> ", Style::new()), "", &runs);
        }
        QuestionFrame {
            rows: rows.into_rows(),
            back,
        }
    }

    pub(super) fn line(&self) -> String {
        match self.field() {
            None => "[y] accepts  [Esc] declines ".to_owned(),
            Some(_) if self.typing => format!("> {}", self.entry.shown()),
            Some(_) => {
                let chosen: Vec<String> =
                    self.chosen.iter().map(|at| (at + 1).to_string()).collect();
                let marked = self
                    .marked
                    .map_or(String::new(), |at| format!("{}", at + 1));
                format!("number (chosen: {}) {marked}", chosen.join(" "))
            }
        }
    }

    /// The question of the first field.
    pub(super) fn first_question(&self) -> &str {
        self.fields.first().map_or("", |field| {
            if field.header.trim().is_empty() {
                &field.question
            } else {
                &field.header
            }
        })
    }

    fn options(&self, field: &FormField, rows: &mut Rows) {
        let count = self.count();
        let middle = self.marked.unwrap_or(0).saturating_sub(SHOWN / 2);
        let first = middle.min(count.saturating_sub(SHOWN));
        for number in first..count.min(first + SHOWN) {
            let marked = self.marked == Some(number);
            let pointer = if marked { "▸ " } else { "  " };
            let box_ = match (field.multiple, self.chosen.contains(&number)) {
                (false, _) => "",
                (true, true) => "[x] ",
                (true, false) => "[ ] ",
            };
            let value = field
                .options
                .get(number)
                .map_or("something else…", |(value, _)| value);
            let text = format!("{pointer}{box_}{}. {}", number + 1, visible(value));
            let style = if marked { MARKED.bold() } else { Style::new() };
            rows.text(0, &text, style);
        }
        if count > SHOWN {
            let text = format!("  {} of {count} shown", SHOWN);
            rows.text(0, &text, Style::new().dimmed());
        }
    }

    pub(super) fn take(&mut self, key: &Event) -> FrameStep {
        self.hint = "";
        match plain(key) {
            KeyCode::Char('y' | 'Y') if self.fields.is_empty() => {
                FrameStep::Filled("✓ accepted".to_owned(), Reply::Filled(Vec::new()))
            }
            KeyCode::Char('n' | 'N') if self.fields.is_empty() => {
                FrameStep::Answered(Reply::Declined)
            }
            KeyCode::Esc if self.typing && self.count() > 0 => {
                self.typing = false;
                FrameStep::Changed
            }
            KeyCode::Esc => FrameStep::Answered(Reply::Declined),
            _ if self.typing => self.type_key(key),
            code => self.choose_key(code),
        }
    }

    fn type_key(&mut self, key: &Event) -> FrameStep {
        if plain(key) != KeyCode::Enter || self.field().is_none() {
            self.entry.take(key);
            return FrameStep::Changed;
        }
        let text = self.entry.text().to_owned();
        let optional = self.field().is_some_and(|field| field.optional);
        let mut values = self.values();
        if !text.is_empty() {
            values.push(text);
        }
        if values.is_empty() && !optional {
            self.hint = "an answer is needed; Esc declines";
            return FrameStep::Changed;
        }
        self.give(values)
    }

    fn choose_key(&mut self, key: KeyCode) -> FrameStep {
        let count = self.count();
        let several = self.field().is_some_and(|field| field.multiple);
        match key {
            KeyCode::Up | KeyCode::Left | KeyCode::BackTab => {
                self.marked = Some(self.marked.map_or(count - 1, |at| (at + count - 1) % count));
            }
            KeyCode::Down | KeyCode::Right | KeyCode::Tab => {
                self.marked = Some(self.marked.map_or(0, |at| (at + 1) % count));
            }
            KeyCode::Char(' ') if several => {
                if let Some(at) = self.marked {
                    return self.pick(at);
                }
            }
            KeyCode::Char(c) => {
                let number = c.to_digit(10).and_then(|digit| digit.checked_sub(1));
                match number.and_then(|number| usize::try_from(number).ok()) {
                    // With ten or more options a digit only marks: it may be the first of two.
                    Some(at) if at < count && count <= 9 => return self.pick(at),
                    Some(at) if at < count => self.marked = Some(at),
                    _ => {}
                }
            }
            KeyCode::Enter => return self.enter(several),
            _ => {}
        }
        FrameStep::Changed
    }

    fn pick(&mut self, at: usize) -> FrameStep {
        self.marked = Some(at);
        let Some(field) = self.field() else {
            return FrameStep::Changed;
        };
        if at == field.options.len() {
            self.typing = true;
        } else if field.multiple {
            match self.chosen.iter().position(|known| *known == at) {
                Some(place) => {
                    self.chosen.remove(place);
                }
                None => self.chosen.push(at),
            }
        } else {
            let value = field.options[at].0.clone();
            return self.give(vec![value]);
        }
        FrameStep::Changed
    }

    fn enter(&mut self, several: bool) -> FrameStep {
        let optional = self.field().is_some_and(|field| field.optional);
        match (several, self.marked) {
            (true, _) if !self.chosen.is_empty() || optional => {
                let values = self.values();
                self.give(values)
            }
            (_, Some(at)) => self.pick(at),
            (_, None) if optional => self.give(Vec::new()),
            _ => {
                self.hint = "choose one first; Esc declines";
                FrameStep::Changed
            }
        }
    }

    /// Values of the chosen options, in the order offered.
    fn values(&self) -> Vec<String> {
        let Some(field) = self.field() else {
            return Vec::new();
        };
        field
            .options
            .iter()
            .enumerate()
            .filter(|(at, _)| self.chosen.contains(at))
            .map(|(_, (value, _))| value.clone())
            .collect()
    }

    fn give(&mut self, values: Vec<String>) -> FrameStep {
        let Some(field) = self.field() else {
            return FrameStep::Changed;
        };
        let shown = match (field.secret, values.is_empty()) {
            (_, true) => "nothing".to_owned(),
            (true, _) => "(hidden)".to_owned(),
            (false, _) => values.join(", "),
        };
        let name = if field.header.trim().is_empty() {
            &field.question
        } else {
            &field.header
        };
        let verdict = format!("✓ {}: {}", visible(name), visible(&shown));
        self.given.push((field.id.clone(), values));
        if self.given.len() == self.fields.len() {
            return FrameStep::Filled(verdict, Reply::Filled(std::mem::take(&mut self.given)));
        }
        self.begin();
        FrameStep::Next(verdict)
    }
}
