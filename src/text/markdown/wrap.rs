//! Inline pieces to rows of a given width.
//!
//! In: pieces and a number of columns. Out: rows, each with the source offset of its first character. Invariants: a
//! paragraph wrapped from a row's offset on gives the same rows again; blanks in a row count as one, and rows begin
//! with none; a character wider than a row is shown as `?`. Absent on purpose: the choice of row ends
//! (`text::wrap`).

use std::borrow::Cow;
use std::ops::Range;

use nu_ansi_term::Style;

use super::inline::InlinePiece;
use crate::{Break, Line, clusters, rows, styled_rows};

pub(crate) struct Wrapped {
    pub(crate) line: Line,
    pub(crate) at: usize,
    /// True when the paragraph can be resumed at `at`: not in the middle of a decoded or generated text.
    pub(crate) resumable: bool,
    /// True when the first character is in no inline element.
    pub(crate) plain: bool,
}

/// Text between two hard breaks, with its blanks normalized.
#[derive(Default)]
struct Stretch<'p> {
    text: String,
    /// Offsets in `text` where each word and each blank begins, in order.
    words: Vec<Word<'p>>,
    /// A pending blank, which counts only if a word follows.
    blank: Option<&'p InlinePiece>,
}

struct Word<'p> {
    begin: usize,
    piece: &'p InlinePiece,
    at: usize,
    /// True for the first word of its piece.
    first: bool,
}

/// Wraps `pieces`, leaving out everything before source offset `from`.
pub(crate) fn wrap(pieces: &[InlinePiece], width: usize, from: usize) -> Vec<Wrapped> {
    let mut wrapped = Vec::new();
    let mut stretch = Stretch::default();
    for piece in pieces {
        let (mut text, mut at) = (piece.text.as_str(), piece.at);
        if at < from {
            let rest = piece.exact.then(|| text.get(from - at..)).flatten();
            let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
                continue;
            };
            (text, at) = (rest, from);
        }
        if text == "\n" {
            stretch.end(width, Some(at), &mut wrapped);
        } else {
            stretch.push(piece, text, at);
        }
    }
    stretch.end(width, None, &mut wrapped);
    wrapped
}

impl<'p> Stretch<'p> {
    fn push(&mut self, piece: &'p InlinePiece, text: &str, mut at: usize) {
        let mut first = true;
        for (n, word) in text.split(' ').enumerate() {
            if n > 0 {
                self.blank = Some(piece).filter(|_| !self.text.is_empty());
                at += usize::from(piece.exact);
            }
            if word.is_empty() {
                continue;
            }
            if let Some(piece) = self.blank.take() {
                self.word(piece, " ", at, false);
            }
            self.word(piece, word, at, first);
            first = false;
            at += if piece.exact { word.len() } else { 0 };
        }
    }

    fn word(&mut self, piece: &'p InlinePiece, text: &str, at: usize, first: bool) {
        self.words.push(Word {
            begin: self.text.len(),
            piece,
            at,
            first,
        });
        self.text.push_str(text);
    }

    /// Makes the rows of the stretch and begins a new one; `hard` is the offset of the break that ends it.
    fn end(&mut self, width: usize, hard: Option<usize>, out: &mut Vec<Wrapped>) {
        let stretch = std::mem::take(self);
        if stretch.text.is_empty() {
            out.extend(hard.map(|at| Wrapped {
                line: Line::default(),
                at,
                resumable: false,
                plain: false,
            }));
            return;
        }
        let mut word = 0;
        for row in rows(&stretch.text, width, Break::Words) {
            while stretch
                .words
                .get(word + 1)
                .is_some_and(|next| next.begin <= row.start)
            {
                word += 1;
            }
            out.push(stretch.row(word, row, width));
        }
    }

    /// Returns the row whose first character is in this word.
    fn row(&self, word: usize, row: Range<usize>, width: usize) -> Wrapped {
        let mut line = Line::default();
        for (n, word) in self.words.iter().enumerate().skip(word) {
            let end = self
                .words
                .get(n + 1)
                .map_or(self.text.len(), |next| next.begin);
            if word.begin >= row.end {
                break;
            }
            let text = &self.text[word.begin.max(row.start)..end.min(row.end)];
            let text = narrowed(text, width);
            line.push(&text, word.piece.style, word.piece.link.as_ref());
        }
        let Word {
            begin,
            piece,
            at,
            first,
        } = self.words[word];
        let inside = row.start - begin;
        let span = line.spans().first();
        Wrapped {
            at: at + if piece.exact { inside } else { 0 },
            resumable: piece.exact || first && inside == 0,
            plain: span.is_some_and(|span| span.style == Style::new() && span.link.is_none()),
            line,
        }
    }
}

/// Cuts one styled line into rows of at most `width` columns, at any character (for code).
pub(crate) fn chop(runs: &[(String, Style)], width: usize) -> Vec<Line> {
    let runs: Vec<_> = runs
        .iter()
        .map(|(text, style)| (*style, text.as_str()))
        .collect();
    let rows = styled_rows(&runs, width, Break::Anywhere);
    if width > 1 {
        return rows;
    }
    let narrow = |line: &Line| {
        let mut row = Line::default();
        for span in line.spans() {
            row.push(&narrowed(&span.text, width), span.style, None);
        }
        row
    };
    rows.iter().map(narrow).collect()
}

/// Replaces characters that are wider than any row with `?`.
fn narrowed(text: &str, width: usize) -> Cow<'_, str> {
    if width > 1 || text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let shown = clusters(text).map(|(cluster, columns)| if columns > 1 { "?" } else { cluster });
    Cow::Owned(shown.collect())
}
