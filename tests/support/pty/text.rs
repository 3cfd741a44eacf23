//! The virtual screen as text: with what scrolled off, with wrapped lines put together, in a frame for a failure.

use super::answers::Answers;

/// Scrollback and screen, one line each, without trailing blank lines.
pub(super) fn all_text(parser: &mut vt100::Parser<Answers>) -> String {
    let screen = parser.screen_mut();
    let columns = screen.size().1.get();
    let rows = usize::from(screen.size().0.get());
    let mut lines: Vec<String> = Vec::new();
    let mut above = screen.scrollback_len();
    while above > 0 {
        screen.set_scrollback(above);
        let taken = above.min(rows);
        lines.extend(screen.rows(0, columns).take(taken));
        above -= taken;
    }
    screen.set_scrollback(0);
    lines.extend(screen.rows(0, columns));
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    lines.join("\n")
}

/// As [`all_text`], with the lines that were wrapped put together again.
pub(super) fn all_lines(parser: &mut vt100::Parser<Answers>) -> String {
    let screen = parser.screen_mut();
    let columns = screen.size().1.get();
    let rows = screen.size().0.get();
    let mut text = String::new();
    let mut above = screen.scrollback_len();
    loop {
        screen.set_scrollback(above);
        let taken = usize::from(rows).min(if above == 0 { usize::from(rows) } else { above });
        for (row, line) in (0..rows).zip(screen.rows(0, columns)).take(taken) {
            text.push_str(&line);
            if !screen.row_wrapped(row) {
                text.push('\n');
            }
        }
        if above == 0 {
            break;
        }
        above -= taken;
    }
    text.truncate(text.trim_end().len());
    text
}

/// The rows of the screen without the blanks at their ends, and where the cursor is.
pub(super) fn shown(screen: &vt100::Screen) -> (Vec<String>, (u16, u16)) {
    let columns = screen.size().1.get();
    let rows = screen.rows(0, columns);
    let rows = rows.map(|row| row.trim_end().to_owned()).collect();
    let (row, column) = screen.cursor_position();
    (rows, (row, column.min(columns - 1)))
}

/// The row the cursor is in, without what is suggested in grey.
pub fn cursor_line(screen: &vt100::Screen) -> String {
    let (row, _) = screen.cursor_position();
    let (mut line, mut end) = (String::new(), 0);
    for column in 0..screen.size().1.get() {
        let cell = screen.cell(row, column);
        let Some(cell) = cell.filter(|cell| !cell.is_wide_continuation()) else {
            continue;
        };
        if cell.has_contents() && cell.fgcolor() != vt100::Color::Idx(8) {
            line.push_str(cell.contents());
            end = line.len();
        } else {
            line.push(' ');
        }
    }
    line.truncate(end);
    line
}

pub(super) fn framed(parser: &mut vt100::Parser<Answers>) -> String {
    let (rows, columns) = parser.screen().size();
    let (row, column) = parser.screen().cursor_position();
    let edge = "-".repeat(usize::from(columns.get()));
    let text = all_text(parser);
    format!("{edge}\n{text}\n{edge}\n({columns} x {rows}, cursor in row {row}, column {column})")
}
