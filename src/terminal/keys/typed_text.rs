//! The text being typed, followed key by key between two paints.
//!
//! Keys that came in one read are parsed before any of them is painted, so the second key does not apply to the
//! text painted last. [`TypedText`] starts from the paint and executes reedline's simple commands itself; an
//! unknown command ends it, and the text is unknown until the next paint. Invariant: while it lives it equals the
//! editor's buffer.

use std::ops::Range;

use reedline::{EditCommand, ReedlineEvent};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::terminal) struct TypedText {
    pub(in crate::terminal) text: String,
    /// Bytes from the start.
    pub(in crate::terminal) cursor: usize,
    /// The other end of the selection.
    anchor: Option<usize>,
}

impl TypedText {
    pub(in crate::terminal) fn new(text: String, cursor: usize) -> Self {
        let cursor = text.floor_char_boundary(cursor);
        TypedText {
            text,
            cursor,
            anchor: None,
        }
    }

    pub(in crate::terminal) fn line(&self) -> Range<usize> {
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[self.cursor..];
        let end = rest
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at);
        start..end
    }

    pub(in crate::terminal) fn line_before(&self) -> &str {
        &self.text[self.line().start..self.cursor]
    }

    /// Applies reedline's event; `false` when its effect is unknown.
    pub(super) fn follow(&mut self, event: &ReedlineEvent) -> bool {
        match event {
            ReedlineEvent::None => true,
            ReedlineEvent::Edit(commands) => commands.iter().all(|command| self.run(command)),
            _ => false,
        }
    }

    fn run(&mut self, command: &EditCommand) -> bool {
        match command {
            EditCommand::InsertChar(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            EditCommand::InsertString(text) => self.insert(text),
            EditCommand::InsertNewline => self.insert("\n"),
            EditCommand::Backspace if self.anchor.is_some() => self.insert(""),
            EditCommand::Backspace => {
                let before = &self.text[..self.cursor];
                let removed = before.graphemes(true).next_back().map_or(0, str::len);
                self.anchor = Some(self.cursor - removed);
                self.insert("");
            }
            EditCommand::MoveToPosition { position, select } if *position <= self.text.len() => {
                self.go(*position, *select);
            }
            EditCommand::MoveToLineStart { select } => self.go(self.line().start, *select),
            EditCommand::MoveToLineEnd { select } => self.go(self.line().end, *select),
            EditCommand::MoveToStart { select } => self.go(0, *select),
            EditCommand::MoveToEnd { select } => self.go(self.text.len(), *select),
            EditCommand::MoveLeft { select } => self.go(self.beside(false), *select),
            EditCommand::MoveRight { select } => self.go(self.beside(true), *select),
            _ => return false,
        }
        true
    }

    fn insert(&mut self, text: &str) {
        let anchor = self.anchor.take().unwrap_or(self.cursor);
        let start = anchor.min(self.cursor);
        self.text
            .replace_range(start..anchor.max(self.cursor), text);
        self.cursor = start + text.len();
    }

    fn go(&mut self, position: usize, select: bool) {
        self.anchor = select.then(|| self.anchor.unwrap_or(self.cursor));
        self.cursor = self.text.floor_char_boundary(position);
    }

    fn beside(&self, right: bool) -> usize {
        let mut cursor = GraphemeCursor::new(self.cursor, self.text.len(), true);
        let found = if right {
            cursor.next_boundary(&self.text, 0)
        } else {
            cursor.prev_boundary(&self.text, 0)
        };
        found.ok().flatten().unwrap_or(self.cursor)
    }
}
