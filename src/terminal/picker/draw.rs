//! Draws the picker: filter, list, preview of the chosen session, keys.
//!
//! In: the picker and a size. Out: a frame that fits; without room the preview is dropped first, then the help.

use crate::dialog::display_form;
use crate::record::{Scope, SearchHit, SessionPreview, SessionRow};
use crate::runtime::TerminalSize;
use crate::terminal::list;
use crate::terminal::panel::{PanelFrame, PanelStyle, with_excerpt, wrapped};
use crate::terminal::picker::state::{Picker, PickerMode};
use crate::text::escape::{visible, visible_lines};
use crate::text::{Line, columns, cut, cut_front, expand_tabs};

/// The least width at which the list has the columns of `sessions`.
const WIDE: usize = 60;

/// Rows of the list that stay when the preview takes room.
const FEWEST: usize = 3;

const KEYS: [&str; 6] = [
    "Enter resume",
    "Esc cancel",
    "Tab all",
    "^R rename",
    "^X delete",
    "^F text",
];

pub(super) fn frame(picker: &Picker, size: TerminalSize) -> PanelFrame {
    let (width, height) = (usize::from(size.columns), usize::from(size.rows));
    let shown = picker.shown.len();
    let (filter, column) = filter_line(picker);
    let mut lines = vec![title(picker, width), filter, header(width)];
    let help = if height > 8 {
        help(picker, width)
    } else {
        Vec::new()
    };
    let room = height.saturating_sub(lines.len() + help.len());
    let has_preview = room > FEWEST + 2;
    let rows = if has_preview {
        shown.clamp(1, (room * 9 / 20).max(FEWEST))
    } else {
        room
    };
    let chosen = picker.list.chosen;
    lines.extend(list::centred(chosen, shown, rows).map(|place| {
        let row = picker.at(place);
        let found = picker.found(row.id);
        list::row(place == chosen, |mark| row_line(mark, row, found, width))
    }));
    if shown == 0 {
        let none = if picker.has_more() {
            "  …"
        } else {
            "  no matching session"
        };
        lines.push(Line::styled(PanelStyle::Dim, none));
    }
    if has_preview {
        lines.push(Line::styled(PanelStyle::Dim, "─".repeat(width)));
        let room = height.saturating_sub(lines.len() + help.len());
        lines.extend(preview(picker, width, room));
    }
    PanelFrame::new(lines, help, height, (1, column))
}

fn title(picker: &Picker, width: usize) -> Line {
    let (shown, all) = (picker.shown.len(), picker.rows.len());
    let place = match picker.scope() {
        Scope::All => "all directories".to_owned(),
        Scope::Directory(path) => visible(&path.to_string_lossy()).into_owned(),
    };
    let count = if shown == all {
        format!("{all}")
    } else {
        format!("{shown}/{all}")
    };
    let count = if picker.has_more() {
        format!("{count}…")
    } else {
        count
    };
    let title = "Resume session";
    let room = width.saturating_sub(title.len() + columns(&count) + 4);
    // The end of a long path says most.
    let place = cut_front(&place, room);
    Line::styled(PanelStyle::Strong, title)
        .and(PanelStyle::Dim, format!("  {place}  "))
        .and(PanelStyle::Dim, count)
}

/// Returns the edited line, and the column of the cursor.
fn filter_line(picker: &Picker) -> (Line, usize) {
    let (label, entry) = match &picker.mode {
        PickerMode::Choice => ("> ", &picker.filter),
        PickerMode::Delete(id) => {
            let question = format!("Delete session {id} and everything in it? (y/N) ");
            let column = columns(&question);
            return (Line::styled(PanelStyle::Strong, question), column);
        }
        PickerMode::Name(_, name) => ("Name: ", name),
    };
    let column = label.len() + columns(entry.before());
    let line = Line::styled(PanelStyle::Strong, label).and(PanelStyle::Plain, entry.text());
    (line, column)
}

fn header(width: usize) -> Line {
    let text = if width >= WIDE {
        "      ID  Start                  Cmds  Last prompt"
    } else {
        "      ID  Start         Last prompt"
    };
    Line::styled(PanelStyle::Dim, text)
}

fn row_line(mark: &str, row: &SessionRow, found: Option<&[SearchHit]>, width: usize) -> Line {
    let facts = if width >= WIDE {
        let start: String = row.start.chars().take(19).collect();
        format!("{mark}{:>6}  {start:20}  {:>5}  ", row.id, row.commands)
    } else {
        let start: String = row.start.chars().skip(5).take(11).collect();
        format!("{mark}{:>6}  {start:12}  ", row.id)
    };
    let mut line = Line::styled(PanelStyle::Plain, facts.clone());
    let mut room = width.saturating_sub(facts.len());
    if let Some(name) = &row.name {
        let name = format!("[{}] ", visible(name));
        room = room.saturating_sub(columns(&name));
        line = line.and(PanelStyle::Strong, name);
    }
    if let Some(fork) = row.fork {
        let origin = format!("fork of {} before [{}]: ", fork.parent, fork.before);
        let origin = cut(&origin, room).into_owned();
        room = room.saturating_sub(columns(&origin));
        line = line.and(PanelStyle::Dim, origin);
    }
    if let Some(first) = found.and_then(<[SearchHit]>::first) {
        return with_excerpt(line, &first.text, &first.at, room);
    }
    let (look, text) = if row.last_prompt.is_empty() {
        (PanelStyle::Dim, &row.last_input)
    } else {
        (PanelStyle::Plain, &row.last_prompt)
    };
    let text = start(text);
    line.and(look, cut(&text, room))
}

/// Returns the start of a text on one line, with blanks for newlines: long enough for any terminal.
fn start(text: &str) -> String {
    let start: String = text.chars().take(1000).collect();
    visible(&start.trim().replace(['\n', '\r', '\t'], " ")).into_owned()
}

/// Returns the end of the chosen session.
fn preview(picker: &Picker, width: usize, room: usize) -> Vec<Line> {
    let Some(row) = picker.chosen() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if let Some(name) = &row.name {
        lines.push(Line::styled(
            PanelStyle::Strong,
            format!("[{}]", visible(name)),
        ));
    }
    if *picker.scope() == Scope::All {
        lines.push(Line::styled(PanelStyle::Dim, visible(&row.cwd)));
    }
    if let Some(found) = picker.found(row.id) {
        lines.extend(found.iter().take(room).map(|entry| {
            let line = Line::styled(PanelStyle::Dim, format!("[{}] ", entry.line));
            with_excerpt(line, &entry.text, &entry.at, width.saturating_sub(8))
        }));
    } else if let Some(glance) = picker.glance() {
        lines.extend(glanced(glance, width, room.saturating_sub(lines.len())));
    }
    lines.truncate(room);
    lines
}

/// Returns the last exchange, then as many of the newest inputs after it as there is room for.
fn glanced(glance: &SessionPreview, width: usize, room: usize) -> Vec<Line> {
    let mut inputs = Vec::new();
    for (number, text) in &glance.inputs {
        let label = format!("In [{number}]: ");
        let more = format!("{:>1$}", "...: ", label.len());
        let text = expand_tabs(&visible_lines(text.trim_end()), 0);
        for (at, line) in text.lines().enumerate() {
            let label = if at == 0 { &label } else { &more };
            inputs.push(Line::styled(PanelStyle::Dim, label).and(PanelStyle::Plain, line));
        }
    }
    let Some((prompt, answer)) = &glance.exchange else {
        return inputs.split_off(inputs.len().saturating_sub(room));
    };
    let mut lines = Vec::new();
    let prompt = format!(".{prompt}");
    let rows = wrapped(prompt.trim_end(), width)
        .into_iter()
        .take((room / 3).max(1));
    lines.extend(rows.map(|row| Line::styled(PanelStyle::Strong, row)));
    // The start of the answer, and below it the last inputs, if there are any.
    let keep = inputs.len().min(room / 3);
    let left = room.saturating_sub(lines.len() + keep);
    let answer = wrapped(display_form(answer).trim(), width);
    lines.extend(
        answer
            .into_iter()
            .take(left)
            .map(|row| Line::styled(PanelStyle::Plain, row)),
    );
    lines.extend(inputs.split_off(inputs.len() - keep));
    lines
}

/// Returns the keys, or the current message, on one or two lines.
fn help(picker: &Picker, width: usize) -> Vec<Line> {
    if let Some(message) = &picker.message {
        return vec![Line::styled(PanelStyle::Strong, visible(message))];
    }
    let dim = |line: &str| Line::styled(PanelStyle::Dim, line);
    match picker.mode {
        PickerMode::Choice => {}
        PickerMode::Name(..) => return vec![dim("Enter rename · Esc back")],
        PickerMode::Delete(_) => return vec![dim("y delete · any other key keeps it")],
    }
    let (mut lines, mut line) = (Vec::new(), String::new());
    for key in KEYS {
        let key = match (key, picker.scope()) {
            ("Tab all", Scope::All) => "Tab here",
            _ => key,
        };
        if !line.is_empty() && columns(&line) + 3 + columns(key) > width {
            lines.push(dim(&std::mem::take(&mut line)));
        }
        line += if line.is_empty() { "" } else { " · " };
        line += key;
    }
    lines.push(dim(&line));
    lines
}

#[cfg(test)]
mod tests;
