//! The rows that a cell can still change: its last ones, with a cursor.
//!
//! Text that is only appended is not split into rows before something moves the cursor. A row that is only appended to
//! is a string; the first write over it turns it into a list of columns. Rows that leave the window are moved to the
//! store and are final. Where colours are kept, each row begins and ends without a style, and each column has its own.
//!
//! Invariant: what the window holds depends on the characters written, not on the pieces in which they came.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::store::Store;
use super::style::{RESET, Style};
use crate::character_columns;

/// Rows that can still be changed.
const WINDOW: usize = 128;
/// A longer row, or a larger window, moves its beginning to the store: bytes, or columns where they are kept.
const LONGEST: usize = 64 * 1024;
/// Rightmost column that movements reach, so that a short sequence cannot make a long line.
const RIGHTMOST: usize = 512;

/// The window and its cursor. A row always exists at the cursor.
#[derive(Debug)]
pub(super) struct Rows {
    rows: VecDeque<Row>,
    /// Index of the cursor's row in the window.
    row: usize,
    /// The cursor's column; `None` at the end of the row.
    column: Option<usize>,
    /// The sum of the rows' sizes.
    size: usize,
    style: Style,
    /// Text from the cursor on that is not in rows yet; the last row is then empty, and nothing has a style.
    appended: String,
    /// A carriage return came behind that text.
    returned: bool,
}

#[derive(Debug)]
enum Row {
    Text(String),
    Columns(Vec<Column>),
}

#[derive(Debug, Clone)]
struct Column {
    /// `None` for the right part of a wide character or a tab.
    character: Option<char>,
    marks: Option<Box<str>>,
    style: Style,
}

const BLANK: Column = Column {
    character: Some(' '),
    marks: None,
    style: Style::NONE,
};

impl Default for Rows {
    fn default() -> Self {
        Rows {
            rows: VecDeque::from([Row::Text(String::new())]),
            row: 0,
            column: None,
            size: 0,
            style: Style::NONE,
            appended: String::new(),
            returned: false,
        }
    }
}

impl Rows {
    pub(super) fn write(&mut self, text: &str, store: &mut Store) {
        if self.returned && !text.starts_with('\n') {
            self.lay_out(store);
        }
        self.returned = false;
        let mut rest = text;
        while !rest.is_empty() && !self.is_appending() {
            rest = self.write_line(rest, store);
        }
        rest = self.leave_window(rest, store);
        self.appended.push_str(rest);
        if self.appended.len() > LONGEST {
            let appended = std::mem::take(&mut self.appended);
            let rest = self.leave_window(&appended, store);
            // More would soon be as long again, and be looked at and copied again.
            match rest.len() <= LONGEST / 2 {
                true => self.appended.push_str(rest),
                false => self.write_rows(rest, store),
            }
        }
    }

    /// Puts the appended text into rows, before the cursor is moved in them.
    pub(super) fn lay_out(&mut self, store: &mut Store) {
        let appended = std::mem::take(&mut self.appended);
        self.write_rows(&appended, store);
        if std::mem::take(&mut self.returned) {
            self.column = Some(0);
        }
    }

    /// Writes `text` on a line of its own; the next text starts a new line.
    pub(super) fn own_line(&mut self, text: &str, store: &mut Store) {
        self.fresh_line(store);
        self.write_in_row(text, store);
        self.newline(store);
    }

    /// Puts the cursor at the start of an empty line below everything.
    pub(super) fn fresh_line(&mut self, store: &mut Store) {
        self.lay_out(store);
        self.row = self.rows.len() - 1;
        self.column = None;
        if self.rows[self.row].width() > 0 {
            self.newline(store);
        }
    }

    /// Applies the parameters of `CSI … m` to the current style.
    pub(super) fn style(&mut self, parameters: &str) {
        self.style = self.style.then(parameters);
        let row = self.row;
        if self.is_at_end()
            && let Row::Text(text) = &mut self.rows[row]
            && !text.is_empty()
        {
            let before = text.len();
            text.push_str(&format!("\x1b[{parameters}m"));
            self.size += text.len() - before;
        }
    }

    pub(super) fn carriage_return(&mut self) {
        // Before a newline it changes nothing.
        match self.appended.is_empty() {
            true => self.column = Some(0),
            false => self.returned = true,
        }
    }

    pub(super) fn up(&mut self, count: usize) {
        self.fix_column();
        self.row = self.row.saturating_sub(count);
    }

    pub(super) fn down(&mut self, count: usize) {
        self.fix_column();
        self.row = (self.row + count).min(self.rows.len() - 1);
    }

    pub(super) fn left(&mut self, count: usize) {
        self.fix_column();
        self.column = self.column.map(|column| column.saturating_sub(count));
    }

    pub(super) fn right(&mut self, count: usize) {
        self.fix_column();
        self.column = self.column.map(|column| {
            // A cursor that is further right, after a long line, does not move.
            (column + count).min(RIGHTMOST).max(column)
        });
    }

    pub(super) fn erase_right(&mut self) {
        if let Some(column) = self.column {
            self.change(|columns| {
                blank_halves(columns, column);
                columns.truncate(column);
            });
        }
    }

    pub(super) fn erase_left(&mut self) {
        self.fix_column();
        let end = self.column.unwrap_or(0) + 1;
        self.change(|columns| {
            blank_halves(columns, end);
            let end = end.min(columns.len());
            columns[..end].fill(BLANK);
        });
    }

    pub(super) fn erase_line(&mut self) {
        self.fix_column();
        self.size -= self.rows[self.row].size();
        self.rows[self.row] = Row::Text(String::new());
    }

    pub(super) fn erase_below(&mut self) {
        self.erase_right();
        let erased = self.rows.drain(self.row + 1..);
        self.size -= erased.map(|row| row.size()).sum::<usize>();
    }

    pub(super) fn write_to(&self, store: &mut Store) {
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                store.push("\n");
            }
            row.write_to(store);
        }
        store.push(&self.appended);
    }

    /// Bytes that [`Rows::write_to`] appends.
    pub(super) fn length(&self) -> u64 {
        let bytes: usize = self.rows.iter().map(Row::length).sum();
        (bytes + self.rows.len() - 1 + self.appended.len()) as u64
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        let sum: usize = self.rows.iter().map(Row::size).sum();
        assert_eq!(self.size, sum);
        self.size + self.appended.len()
    }

    /// True when text is not to be put into rows yet.
    fn is_appending(&self) -> bool {
        let is_fresh = |row: &Row| matches!(row, Row::Text(text) if text.is_empty());
        !self.appended.is_empty()
            || (self.is_at_end() && self.style.is_none() && is_fresh(&self.rows[self.row]))
    }

    /// True when the cursor is at the end of the last row.
    fn is_at_end(&self) -> bool {
        self.row + 1 == self.rows.len()
            && match self.column {
                None => true,
                Some(column) => column == 0 && self.rows[self.row].is_empty(),
            }
    }

    /// Moves the rows, and the part of `text` that the window does not hold, to the store; returns the rest of it.
    fn leave_window<'a>(&mut self, text: &'a str, store: &mut Store) -> &'a str {
        let Some(end) = memchr::memrchr_iter(b'\n', text.as_bytes()).nth(WINDOW) else {
            return text;
        };
        self.write_to(store);
        let (left, rest) = text.split_at(end + 1);
        store.push(left);
        *self = Rows::default();
        rest
    }

    fn write_rows(&mut self, text: &str, store: &mut Store) {
        let mut rest = text;
        while !rest.is_empty() {
            rest = self.write_line(rest, store);
        }
    }

    /// Writes the first line of `text`, and its newline, into rows; returns the rest.
    fn write_line<'a>(&mut self, text: &'a str, store: &mut Store) -> &'a str {
        let Some((line, rest)) = text.split_once('\n') else {
            self.write_in_row(text, store);
            return "";
        };
        self.write_in_row(line, store);
        self.newline(store);
        rest
    }

    fn newline(&mut self, store: &mut Store) {
        self.row += 1;
        self.column = Some(0);
        if self.row == self.rows.len() {
            self.column = None;
            self.rows.push_back(Row::Text(String::new()));
            if self.rows.len() > WINDOW {
                self.retire(store);
            }
        }
    }

    fn retire(&mut self, store: &mut Store) {
        if let Some(row) = self.rows.pop_front() {
            self.size -= row.size();
            row.write_to(store);
            store.push("\n");
            self.row = self.row.saturating_sub(1);
        }
    }

    fn write_in_row(&mut self, text: &str, store: &mut Store) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.is_at_end() {
                self.column = None;
            }
            let written = match (&mut self.rows[self.row], self.column) {
                (Row::Text(row), None) => {
                    let before = row.len();
                    if row.is_empty() {
                        row.push_str(self.style.text());
                    }
                    let room = (LONGEST + 1).saturating_sub(self.size);
                    let fits = rest.ceil_char_boundary(room);
                    row.push_str(&rest[..fits]);
                    self.size += row.len() - before;
                    fits
                }
                _ => self.overwrite(rest),
            };
            rest = &rest[written..];
            while self.size > LONGEST {
                self.shrink(store);
            }
        }
    }

    /// Moves the first row to the store; of the last one, what it holds so far.
    fn shrink(&mut self, store: &mut Store) {
        if self.rows.len() > 1 {
            return self.retire(store);
        }
        // The line continues after its final part; a carriage return leads back to here only.
        self.rows[0].write_to(store);
        *self = Rows {
            style: std::mem::take(&mut self.style),
            ..Rows::default()
        };
    }

    /// Writes over what is there until the window is full; returns how many bytes of the text it took.
    fn overwrite(&mut self, text: &str) -> usize {
        self.fix_column();
        let mut at = self.column.unwrap_or(0);
        let style = self.style.clone();
        let mut written = 0;
        let room = LONGEST.saturating_sub(self.size - self.rows[self.row].size());
        self.change(|columns| {
            if columns.len() < at {
                columns.resize(at, BLANK);
            }
            for c in text.chars() {
                if columns.len() > room {
                    break;
                }
                written += c.len_utf8();
                let width = advance(at, c);
                if width == 0 {
                    add_mark(columns, at, c);
                    continue;
                }
                blank_halves(columns, at);
                blank_halves(columns, at + width);
                if columns.len() < at + width {
                    columns.resize(at + width, BLANK);
                }
                columns[at..at + width].fill(Column {
                    character: None,
                    marks: None,
                    style: style.clone(),
                });
                columns[at].character = Some(c);
                at += width;
            }
        });
        self.column = Some(at);
        written
    }

    /// Resolves the cursor's column to a number.
    fn fix_column(&mut self) {
        if self.column.is_none() {
            self.column = Some(self.rows[self.row].width());
        }
    }

    /// Changes the columns of the cursor's row.
    fn change(&mut self, change: impl FnOnce(&mut Vec<Column>)) {
        let row = &mut self.rows[self.row];
        self.size -= row.size();
        if let Row::Text(text) = row {
            *row = Row::Columns(columns_of(text));
        }
        if let Row::Columns(columns) = row {
            change(columns);
        }
        self.size += row.size();
    }
}

impl Row {
    fn is_empty(&self) -> bool {
        match self {
            Row::Text(text) => text.is_empty(),
            Row::Columns(columns) => columns.is_empty(),
        }
    }

    fn width(&self) -> usize {
        match self {
            Row::Text(text) if has_styles(text) => columns_of(text).len(),
            Row::Text(text) => text.chars().fold(0, |at, c| at + advance(at, c)),
            Row::Columns(columns) => columns.len(),
        }
    }

    fn size(&self) -> usize {
        match self {
            Row::Text(text) => text.len(),
            Row::Columns(columns) => columns.len(),
        }
    }

    /// The row's text; in a row that was written over, blanks at the end are erased text and are left out.
    fn text(&self) -> Cow<'_, str> {
        match self {
            Row::Text(text) if has_styles(text) && !Style::ends(text) => {
                Cow::Owned(format!("{text}{RESET}"))
            }
            Row::Text(text) => Cow::Borrowed(text),
            Row::Columns(columns) => {
                let is_blank = |column: &Column| column.is_blank();
                let end = columns.iter().rposition(|column| !is_blank(column));
                let mut text = String::with_capacity(columns.len());
                let mut style = &Style::NONE;
                for column in &columns[..end.map_or(0, |end| end + 1)] {
                    if column.style != *style {
                        style.leave(&mut text);
                        style = &column.style;
                        text.push_str(style.text());
                    }
                    text.extend(column.character);
                    text.push_str(column.marks.as_deref().unwrap_or_default());
                }
                style.leave(&mut text);
                Cow::Owned(text)
            }
        }
    }

    fn write_to(&self, store: &mut Store) {
        store.push(&self.text());
    }

    fn length(&self) -> usize {
        self.text().len()
    }
}

/// Columns that `c` takes at column `at`.
fn advance(at: usize, c: char) -> usize {
    match c {
        '\t' => 8 - at % 8,
        other => character_columns(other),
    }
}

/// A text row has an escape character only where a style is set.
fn has_styles(text: &str) -> bool {
    memchr::memchr(0x1b, text.as_bytes()).is_some()
}

impl Column {
    fn is_blank(&self) -> bool {
        self.character == Some(' ') && self.marks.is_none() && self.style.is_none()
    }
}

fn columns_of(text: &str) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::with_capacity(text.len());
    let (mut style, mut rest) = (Style::NONE, text.chars());
    while let Some(c) = rest.next() {
        if c == '\x1b' {
            let (parameters, behind) = rest.as_str().split_once('m').unwrap_or_default();
            style = style.then(parameters.trim_start_matches('['));
            rest = behind.chars();
            continue;
        }
        let width = advance(columns.len(), c);
        if width == 0 {
            let end = columns.len();
            add_mark(&mut columns, end, c);
            continue;
        }
        columns.push(Column {
            character: Some(c),
            marks: None,
            style: style.clone(),
        });
        columns.extend((1..width).map(|_| Column {
            character: None,
            marks: None,
            style: style.clone(),
        }));
    }
    columns
}

/// Adds a combining character to the character before column `at`, up to a few.
fn add_mark(columns: &mut [Column], at: usize, mark: char) {
    const MOST: usize = 64;
    let end = at.min(columns.len());
    let base = columns[..end]
        .iter_mut()
        .rev()
        .find(|column| column.character.is_some());
    if let Some(base) = base {
        let mut marks = base.marks.take().map_or_else(String::new, String::from);
        if marks.len() < MOST {
            marks.push(mark);
        }
        base.marks = Some(marks.into_boxed_str());
    }
}

/// Replaces a wide character that column `at` would split with blanks.
fn blank_halves(columns: &mut [Column], at: usize) {
    if columns
        .get(at)
        .is_none_or(|column| column.character.is_some())
    {
        return;
    }
    let start = columns[..at]
        .iter()
        .rposition(|column| column.character.is_some())
        .unwrap_or(0);
    let end = columns[at..]
        .iter()
        .position(|column| column.character.is_some())
        .map_or(columns.len(), |length| at + length);
    columns[start..end].fill(BLANK);
}
