//! A paint of reedline, parsed back from its bytes: the rows of each line, and the cursor's position.
//!
//! In: the bytes of one paint, the size of the terminal. Out: a [`Frame`]; `None` where the bytes do something
//! else, or where terminals may disagree on the rows of a line (characters of ambiguous width in a line that may
//! reach the last column).

use super::token::{Looks, Token, Tokens};
use crate::text::certain_columns;

/// The beginning of every paint: plain text, no cursor.
const BEGIN: &str = "\x1b[0m\x1b[?25l";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// Rows by which the screen is scrolled first.
    pub(super) scrolled: u16,
    pub(super) first: u16,
    pub(super) lines: Vec<PaintedLine>,
    pub(super) cursor: Cursor,
    /// The escape sequence that sets the cursor's shape, or an empty string.
    pub(super) shape: String,
    /// The number of bytes that belong to the paint.
    pub(super) length: usize,
}

/// The text between two line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaintedLine {
    pub(super) row: u16,
    /// The number of rows: long lines wrap.
    pub(super) rows: u16,
    pub(super) text: String,
    /// All terminals agree on the number of its columns.
    pub(super) certain: bool,
    /// The line ends in the last column.
    pub(super) full: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cursor {
    /// In this row and column.
    At(u16, u16),
    /// In the line with this index, behind this many bytes; the column is unknown.
    In(usize, usize),
}

impl Frame {
    /// Parses the paint that `text` begins with, on a terminal of this size.
    pub(super) fn read(text: &str, (columns, rows): (u16, u16)) -> Option<Frame> {
        let mut tokens = Tokens::new(text.strip_prefix(BEGIN)?);
        let mut reader = Reader {
            columns,
            rows,
            scrolled: 0,
            first: None,
            lines: Vec::new(),
            open: None,
            place: (0, 0),
            looks: Looks::default(),
            saved: None,
            cursor: None,
            shape: String::new(),
        };
        loop {
            match tokens.next()?.1 {
                Token::Show => break,
                token => reader.take(token)?,
            }
        }
        reader.close()?;
        Some(Frame {
            scrolled: reader.scrolled,
            first: reader.first?,
            lines: reader.lines,
            cursor: reader.cursor?,
            shape: reader.shape,
            length: BEGIN.len() + tokens.at(),
        })
    }

    /// Returns the rows of a line that ends in the last column, including the row below for a cursor behind it.
    pub(super) fn full_rows(&self) -> Option<u16> {
        let Cursor::At(row, 0) = self.cursor else {
            return None;
        };
        let mut lines = self.lines.iter();
        let line = lines.find(|line| line.full && line.end() == row)?;
        Some(line.rows)
    }

    pub(super) fn end(&self) -> u16 {
        self.lines.last().map_or(self.first, PaintedLine::end)
    }
}

impl PaintedLine {
    pub(super) fn end(&self) -> u16 {
        self.row + self.rows
    }
}

struct Reader {
    columns: u16,
    rows: u16,
    scrolled: u16,
    first: Option<u16>,
    lines: Vec<PaintedLine>,
    open: Option<Open>,
    /// Row and column, while no line is open.
    place: (u16, u16),
    looks: Looks,
    saved: Option<Cursor>,
    /// The cursor's position, when a sequence has set it after the last text.
    cursor: Option<Cursor>,
    shape: String,
}

struct Open {
    row: u16,
    text: String,
    at: Walk,
    certain: bool,
    /// The most columns the line can take, if it does not wrap.
    most: u16,
}

/// A position that advances with each character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walk {
    pub(super) row: u16,
    /// Its column; behind the last one when the row is full.
    pub(super) column: u16,
    columns: u16,
}

impl Walk {
    /// Starts at the beginning of this row of a terminal with this many columns.
    pub(super) fn begin(row: u16, columns: u16) -> Self {
        Walk {
            row,
            column: 0,
            columns,
        }
    }

    /// Advances by a character of this width.
    pub(super) fn go(&mut self, width: u16) {
        if self.column + width > self.columns {
            self.row += 1;
            self.column = 0;
        }
        self.column += width;
    }

    /// Returns true when the row is full: terminals disagree on the cursor's position then.
    pub(super) fn is_full(&self) -> bool {
        self.column >= self.columns
    }
}

impl Reader {
    fn take(&mut self, token: Token<'_>) -> Option<()> {
        match token {
            Token::Style(sequence) => {
                self.looks.take(sequence);
                if let Some(open) = &mut self.open {
                    open.text.push_str(sequence);
                }
            }
            Token::Text(c) => self.text(c)?,
            Token::Newline => {
                self.cursor = None;
                if self.first.is_none() {
                    // In the last row the screen scrolls.
                    self.scrolled += 1;
                    return (self.place.0 + 1 == self.rows).then_some(());
                }
                self.close()?;
                self.place = (self.place.0 + 1, 0);
            }
            Token::Goto(row, column) => {
                self.close()?;
                self.place = (row, column);
                self.cursor = Some(Cursor::At(row, column));
            }
            Token::ClearBelow => self.clear()?,
            Token::Save => {
                self.saved = Some(match &self.open {
                    None => Cursor::At(self.place.0, self.place.1),
                    Some(open) if !open.certain => Cursor::In(self.lines.len(), open.text.len()),
                    Some(open) if open.at.is_full() => return Some(()),
                    Some(open) => Cursor::At(open.at.row, open.at.column),
                });
            }
            Token::Restore => self.cursor = Some(self.saved?),
            Token::Shape(sequence) => sequence.clone_into(&mut self.shape),
            Token::Show | Token::Other => return None,
        }
        Some(())
    }

    fn text(&mut self, c: char) -> Option<()> {
        self.first?;
        self.cursor = None;
        if self.open.is_none() {
            if self.place.1 != 0 || self.place.0 >= self.rows {
                return None;
            }
            self.open = Some(Open {
                row: self.place.0,
                text: self.looks.0.clone(),
                at: Walk::begin(self.place.0, self.columns),
                certain: true,
                most: 0,
            });
        }
        let open = self.open.as_mut()?;
        open.text.push(c);
        match certain_columns(c) {
            Some(width) => {
                open.at.go(width);
                open.most = open.most.saturating_add(width);
            }
            None => {
                open.certain = false;
                open.most = open.most.saturating_add(2);
            }
        }
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        let Some(open) = self.open.take() else {
            return Some(());
        };
        let last = match open.certain {
            true => open.at.row,
            false if open.most <= self.columns => open.row,
            false => return None,
        };
        if last >= self.rows {
            return None;
        }
        self.lines.push(PaintedLine {
            row: open.row,
            rows: last - open.row + 1,
            text: open.text,
            certain: open.certain,
            full: open.certain && open.at.is_full(),
        });
        self.place = (last, 0);
        Some(())
    }

    fn clear(&mut self) -> Option<()> {
        self.cursor = None;
        let (row, column) = self.place;
        // In the first row the painter leaves out one cell, which it writes at once.
        if self.open.is_some() || column > u16::from(row == 0) {
            return None;
        }
        self.lines.retain(|line| line.row < row);
        if self.lines.last().is_some_and(|line| line.end() > row) {
            return None;
        }
        self.first.get_or_insert(row);
        Some(())
    }
}
