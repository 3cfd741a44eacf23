//! Signature and documentation of the name at the cursor, shown below the line while it is typed.
//!
//! A reedline menu without choices: drawn below the cursor and removed again; line, cursor and undo are unchanged.
//! In: an inspection by the interpreter. Out: rows that fit. Shift-Tab again shows the whole text, which Up and
//! Down then scroll; Esc, typing and moving close the menu. Absent on purpose: the look-up.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use nu_ansi_term::Style;
use reedline::{Completer, Editor, Menu, MenuEvent, MenuSettings, Painter, Suggestion};
use serde_json::Value;

use crate::input::Mode;
use crate::output::mime::MimeBundle;
use crate::runtime::{INSPECTION_MIME, RuntimeReply, RuntimeRequest};
use crate::terminal::complete::below::{Below, DOC, MenuState, below_the_line, locked, note};
use crate::terminal::complete::rules::{CompletionSource, source};
use crate::terminal::complete::sources::{AnswerPoll, Sources, wait_briefly};
use crate::terminal::panel::PanelStyle;
use crate::terminal::snapshot::{self, SharedSnapshot};
use crate::text::escape::{visible, visible_lines};
use crate::text::offset::CodePoints;
use crate::text::{Break, Room, cut, expand_tabs, rows, styled_rows};

/// Rows shown at first.
const FIRST: usize = 7;

pub(super) struct DocMenu {
    below: Below,
    sources: Sources,
    snapshot: SharedSnapshot,
    menu_state: Arc<Mutex<MenuState>>,
    colour: bool,
    waiting: bool,
    name: String,
    shown: Option<DocText>,
    whole: bool,
    first: usize,
}

/// The text shown: a head with a highlighted part (bytes), and lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DocText {
    head: String,
    mark: Option<Range<usize>>,
    lines: Vec<String>,
}

impl DocText {
    /// Lays the text out for this width; continuation rows are indented below their line.
    fn rows(&self, width: usize, colour: bool) -> Vec<String> {
        let mark = self.mark.clone().unwrap_or(0..0);
        let head = [
            (Style::new(), &self.head[..mark.start]),
            (PanelStyle::Match.into(), &self.head[mark.clone()]),
            (Style::new(), &self.head[mark.end..]),
        ];
        let head = styled_rows(&head, width, Break::BehindBlanks);
        let mut shown_rows: Vec<String> = head.iter().map(|row| row.to_ansi(colour)).collect();
        for line in &self.lines {
            let lead = line.len() - line.trim_start_matches(' ').len();
            let lead = if lead * 2 <= width { lead } else { 0 };
            let room = Room {
                first: width,
                rest: width - lead,
            };
            let of_line = rows(line, room, Break::BehindBlanks).into_iter();
            shown_rows.extend(of_line.enumerate().map(|(n, piece)| match n {
                0 => line[piece].to_owned(),
                _ => " ".repeat(lead) + &line[piece],
            }));
        }
        shown_rows
    }
}

impl DocMenu {
    pub(super) fn new(
        sources: Sources,
        snapshot: SharedSnapshot,
        menu_state: Arc<Mutex<MenuState>>,
        colour: bool,
    ) -> Self {
        DocMenu {
            below: Below::default(),
            sources,
            snapshot,
            menu_state,
            colour,
            waiting: false,
            name: String::new(),
            shown: None,
            whole: false,
            first: 0,
        }
    }

    fn close(&mut self) {
        self.below.active = false;
        self.waiting = false;
        self.shown = None;
        locked(&self.menu_state).looking = None;
    }

    fn ask(&mut self, text: &str, cursor: usize) {
        self.name = name_at(text, cursor).to_owned();
        let mode = snapshot::lock_snapshot(&self.snapshot).mode;
        let Some((code, position)) = asked(text, cursor, mode) else {
            self.shown = Some(nothing(&self.name));
            return;
        };
        let mut answer = self.sources.ask(RuntimeRequest::Inspect {
            code,
            position,
            detailed: false,
        });
        match wait_briefly(&mut answer) {
            AnswerPoll::Waiting => {
                self.waiting = true;
                locked(&self.menu_state).looking = Some(answer);
            }
            AnswerPoll::Closed => self.shown = Some(nothing(&self.name)),
            AnswerPoll::Answer(answer) => self.shown = Some(shown(&answer, &self.name)),
        }
    }

    /// Returns the columns of a row, less one blank on each side.
    fn width(&self) -> usize {
        self.below.columns.saturating_sub(2).max(8)
    }

    fn rows(&self) -> Vec<String> {
        let shown = self.shown.as_ref();
        shown.map_or_else(Vec::new, |shown| shown.rows(self.width(), self.colour))
    }

    fn room(&self) -> usize {
        let free = self.below.free(2).max(1);
        if self.whole {
            free
        } else {
            free.min(FIRST + 1)
        }
    }

    /// Returns the visible rows, and the line that counts the others.
    fn visible_rows(&self) -> (Vec<String>, Option<String>) {
        let rows = self.rows();
        let room = self.room();
        if rows.len() <= room {
            return (rows, None);
        }
        let room = room.saturating_sub(1).max(1);
        let first = self.first.min(rows.len() - room);
        let (last, count) = (first + room, rows.len());
        let more = if self.whole {
            format!("{}-{last} of {count} · Up/Down, Esc closes", first + 1)
        } else {
            format!("{} more · Shift-Tab shows all", count - room)
        };
        let shown = rows.into_iter().skip(first).take(room).collect();
        (shown, Some(cut(&more, self.width()).into_owned()))
    }

    fn scroll(&mut self, by: isize) {
        let (rows, more) = self.visible_rows();
        if !self.whole || more.is_none() {
            return self.close();
        }
        let last = self.rows().len().saturating_sub(rows.len());
        self.first = self.first.saturating_add_signed(by).min(last);
    }
}

fn asked(text: &str, cursor: usize, mode: Mode) -> Option<(String, CodePoints)> {
    let part = match source(text, cursor, mode) {
        CompletionSource::Interpreter { part, .. } => part,
        // In a string of a cell, inspect the call around the string.
        CompletionSource::Files { .. } => {
            let begin = text.len() - text.trim_start().len();
            let marked = usize::from(mode == Mode::Prompts && text[begin..].starts_with(';'));
            begin + marked..text.len()
        }
        _ => return None,
    };
    let code = &text[part.clone()];
    let position = CodePoints::from_bytes(code, cursor.checked_sub(part.start)?);
    Some((code.to_owned(), position))
}

/// Returns the dotted name that the cursor is in or behind; may be empty.
fn name_at(text: &str, cursor: usize) -> &str {
    let of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let (before, after) = text.split_at_checked(cursor).unwrap_or((text, ""));
    let start = before.trim_end_matches(of_name).len();
    let end = text.len()
        - after
            .trim_start_matches(|c: char| of_name(c) && c != '.')
            .len();
    text[start..end].trim_matches('.')
}

/// Returns the text for a name that the interpreter does not know.
fn nothing(name: &str) -> DocText {
    let head = match name.split_once('.') {
        Some((module, _)) => format!("No documentation for `{name}`: is `{module}` imported?"),
        None if name.is_empty() => "No documentation: there is no name at the cursor.".into(),
        None => format!("No documentation for `{name}`: has the cell that defines it been run?"),
    };
    DocText {
        head,
        mark: None,
        lines: Vec::new(),
    }
}

fn shown(answer: &RuntimeReply, name: &str) -> DocText {
    let RuntimeReply::Inspection(Some(bundle)) = answer else {
        return nothing(name);
    };
    read(bundle).unwrap_or_else(|| DocText {
        head: String::new(),
        mark: None,
        lines: lines(&bundle.for_model()),
    })
}

fn read(bundle: &MimeBundle) -> Option<DocText> {
    let look = bundle.get(INSPECTION_MIME)?.as_object()?;
    let text = |name: &str| look.get(name).and_then(Value::as_str).unwrap_or_default();
    let signature = text("signature");
    let name = visible(text("name")).into_owned();
    let (head, mark) = if signature.is_empty() {
        let mut head = format!("{name}: {}", visible(text("type")));
        if !text("value").is_empty() {
            head.push_str(" = ");
            head.push_str(&visible(text("value")));
        }
        (head, None)
    } else {
        let number = |value: &Value| value.as_u64().map(|number| CodePoints(number as usize));
        let mark = look.get("mark").and_then(Value::as_array);
        let ends = mark.and_then(|mark| Some((number(mark.first()?)?, number(mark.get(1)?)?)));
        // Sanitised part by part, so that the offsets of the highlighted part stay correct.
        let (from, to) = ends.map_or((0, 0), |(from, to)| {
            let from = from.to_bytes(signature);
            (from, to.to_bytes(signature).max(from))
        });
        let mut head = name;
        head.push_str(&visible(&signature[..from]));
        let start = head.len();
        head.push_str(&visible(&signature[from..to]));
        let end = head.len();
        head.push_str(&visible(&signature[to..]));
        (head, ends.map(|_| start..end))
    };
    Some(DocText {
        head,
        mark,
        lines: lines(text("doc")),
    })
}

fn lines(text: &str) -> Vec<String> {
    let safe = expand_tabs(&visible_lines(text.trim_end()), 0);
    safe.lines().map(str::to_owned).collect()
}

impl Menu for DocMenu {
    below_the_line!(DOC);

    fn menu_event(&mut self, event: MenuEvent) {
        match event {
            MenuEvent::Activate(_) => {
                self.close();
                self.below.active = true;
                self.whole = false;
                self.first = 0;
            }
            MenuEvent::PreviousElement if !self.whole => self.whole = true,
            MenuEvent::MoveDown => self.scroll(1),
            MenuEvent::MoveUp => self.scroll(-1),
            MenuEvent::NextPage => self.scroll(self.room() as isize),
            MenuEvent::PreviousPage => self.scroll(-(self.room() as isize)),
            MenuEvent::PreviousElement
            | MenuEvent::NextElement
            | MenuEvent::Deactivate
            | MenuEvent::Edit(_)
            | MenuEvent::MoveLeft
            | MenuEvent::MoveRight => self.close(),
        }
    }

    fn can_quick_complete(&self) -> bool {
        false
    }

    fn can_partially_complete(
        &mut self,
        _values_updated: bool,
        editor: &mut Editor,
        completer: &mut dyn Completer,
    ) -> bool {
        self.update_values(editor, completer);
        false
    }

    fn update_values(&mut self, editor: &mut Editor, _completer: &mut dyn Completer) {
        if !self.below.active {
            return;
        }
        let told = locked(&self.menu_state).looked.take();
        if let (true, Some(answer)) = (self.waiting, told) {
            self.waiting = false;
            self.shown = Some(shown(&answer, &self.name));
        }
        if self.shown.is_none() && !self.waiting {
            let text = editor.get_buffer().to_owned();
            self.below.measure(&text, str::len);
            self.ask(&text, editor.line_buffer().insertion_point());
        }
    }

    fn reset_position(&mut self) {}

    fn update_working_details(
        &mut self,
        _editor: &mut Editor,
        _completer: &mut dyn Completer,
        painter: &Painter,
    ) {
        self.below.resize(painter);
    }

    fn replace_in_buffer(&self, _editor: &mut Editor) {}

    fn menu_required_lines(&self, _terminal_columns: u16) -> u16 {
        let (rows, more) = self.visible_rows();
        (rows.len() + usize::from(more.is_some())) as u16
    }

    fn menu_string(&self, available_lines: u16, use_ansi_coloring: bool) -> String {
        let (mut rows, more) = self.visible_rows();
        rows.extend(more.map(|more| note(&more, use_ansi_coloring)));
        rows.truncate(usize::from(available_lines));
        let rows: Vec<String> = rows.iter().map(|row| format!(" {row}")).collect();
        rows.join("\r\n")
    }

    fn get_values(&self) -> &[Suggestion] {
        &[]
    }

    fn results_are_provisional(&self) -> bool {
        self.waiting
    }

    fn is_awaiting_first_answer(&self) -> bool {
        self.shown.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(text: serde_json::Value) -> DocText {
        let bundle = MimeBundle::new([(INSPECTION_MIME.to_owned(), text)].into_iter().collect());
        shown(&RuntimeReply::Inspection(Some(bundle)), "f")
    }

    #[test]
    fn heads_and_marks() {
        let call = look(serde_json::json!({
            "name": "f", "type": "function", "signature": "(ä, b\u{1b}=2)", "mark": [4, 8], "value": "",
            "doc": "One.\n\tTwo."
        }));
        assert_eq!(call.head, "f(ä, b^[=2)");
        assert_eq!(&call.head[call.mark.unwrap()], "b^[=2");
        assert_eq!(call.lines, ["One.", "    Two."]);
        let value = look(
            serde_json::json!({"name": "x", "type": "int", "signature": "", "mark": null, "value": "41", "doc": ""}),
        );
        assert_eq!(value.head, "x: int = 41");
        for answer in [
            RuntimeReply::Inspection(None),
            RuntimeReply::Failed("no".into()),
        ] {
            let head = shown(&answer, "os.path").head;
            assert_eq!(head, "No documentation for `os.path`: is `os` imported?");
        }
    }

    #[test]
    fn what_goes_on_stands_under_its_line() {
        let doc = "data : array\n    One two three.";
        let shown = look(serde_json::json!({
            "name": "f", "type": "function", "signature": "(a, b)", "mark": null, "value": "", "doc": doc
        }));
        let rows = shown.rows(12, false);
        assert_eq!(
            rows,
            ["f(a, b)", "data : array", "    One two ", "    three."]
        );
        let rows = shown.rows(7, false);
        assert!(rows.contains(&"three.".to_owned()), "{rows:?}");
    }

    #[test]
    fn the_name_at_the_cursor() {
        for (text, cursor, name) in [
            ("x = os.path.join", 16, "os.path.join"),
            ("os.path.join(a)", 5, "os.path"),
            ("f(größe)", 6, "größe"),
            ("f()", 3, ""),
            ("", 0, ""),
        ] {
            assert_eq!(name_at(text, cursor), name, "{text} {cursor}");
        }
    }
}
