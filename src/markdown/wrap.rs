//! Inline pieces to rows of a given width.
//!
//! In: pieces and a number of columns. Out: rows, each with the source offset of its first character. Invariant:
//! wrapping is greedy and looks only ahead of the row's start, so a paragraph wrapped from a row's offset on gives the
//! same rows again; no row is wider than asked (a character that does not fit at all is shown as `?`).
//! Absent on purpose: hyphenation; full line-breaking classes (words, East Asian characters, and no row that begins
//! with a closing mark).

use std::sync::Arc;

use nu_ansi_term::Style;

use super::blocks::Piece;
use super::line::Line;
use crate::text::{clusters, columns, is_plain_ascii};

/// A wrapped row.
pub(crate) struct Wrapped {
    pub(crate) line: Line,
    /// Source offset of its first character.
    pub(crate) at: usize,
    /// Whether the paragraph could be taken up again from `at`: not in the middle of a decoded or generated text.
    pub(crate) resumable: bool,
    /// Its first character is in no inline element.
    pub(crate) plain: bool,
}

struct Fragment<'p> {
    text: &'p str,
    columns: usize,
    piece: &'p Piece,
    at: usize,
    resumable: bool,
}

struct Wrapper<'p> {
    width: usize,
    rows: Vec<Wrapped>,
    row: Line,
    used: usize,
    row_at: Option<(usize, bool)>,
    word: Vec<Fragment<'p>>,
    word_columns: usize,
    blank: Option<(Style, Option<Arc<str>>)>,
}

/// Wraps `pieces`, leaving out everything before source offset `from`.
pub(crate) fn wrap(pieces: &[Piece], width: usize, from: usize) -> Vec<Wrapped> {
    let mut wrapper = Wrapper {
        width: width.max(1),
        rows: Vec::new(),
        row: Line::default(),
        used: 0,
        row_at: None,
        word: Vec::new(),
        word_columns: 0,
        blank: None,
    };
    for piece in pieces {
        let (mut text, mut at) = (piece.text.as_str(), piece.at);
        if at < from {
            let Some(rest) = piece
                .exact
                .then(|| text.get(from - at..))
                .flatten()
                .filter(|rest| !rest.is_empty())
            else {
                continue;
            };
            (text, at) = (rest, from);
        }
        if text == "\n" {
            wrapper.end_word();
            wrapper.end_row(at);
            continue;
        }
        wrapper.text(piece, text, at);
    }
    wrapper.end_word();
    if !wrapper.row.is_empty() {
        wrapper.end_row(0);
    }
    wrapper.rows
}

impl<'p> Wrapper<'p> {
    fn text(&mut self, piece: &'p Piece, text: &'p str, mut at: usize) {
        let mut first = true;
        for (n, word) in text.split(' ').enumerate() {
            if n > 0 {
                self.end_word();
                if self.used > 0 {
                    self.blank = Some((piece.style, piece.link.clone()));
                }
                at += usize::from(piece.exact);
            }
            if is_plain_ascii(word) {
                self.fragment(piece, word, word.len(), at, first);
            } else {
                let mut here = at;
                for (cluster, width) in clusters(word) {
                    if self.may_break_before(cluster, width) {
                        self.end_word();
                    }
                    self.fragment(piece, cluster, width, here, first);
                    first = false;
                    here += if piece.exact { cluster.len() } else { 0 };
                }
            }
            first &= word.is_empty();
            if piece.exact {
                at += word.len();
            }
        }
    }

    fn fragment(&mut self, piece: &'p Piece, text: &'p str, width: usize, at: usize, first: bool) {
        if text.is_empty() {
            return;
        }
        self.word_columns += width;
        self.word.push(Fragment {
            text,
            columns: width,
            piece,
            at,
            resumable: piece.exact || first,
        });
    }

    /// Between East Asian characters, and between one and a letter; not before closing marks.
    fn may_break_before(&self, cluster: &str, width: usize) -> bool {
        let Some(before) = self.word.last() else {
            return false;
        };
        let wide_before = clusters(before.text).last().is_some_and(|(_, w)| w == 2);
        let c = cluster.chars().next().unwrap_or(' ');
        let opening = before
            .text
            .ends_with(['（', '「', '『', '《', '【', '〈', '“', '‘', '(']);
        let closing = matches!(
            c,
            '，' | '。'
                | '、'
                | '；'
                | '：'
                | '？'
                | '！'
                | '）'
                | '」'
                | '』'
                | '》'
                | '】'
                | '〉'
                | '”'
                | '’'
                | '…'
                | 'ー'
                | '・'
        );
        if closing || opening || width == 0 {
            return false;
        }
        width == 2 || (wide_before && c.is_alphanumeric())
    }

    /// Places the gathered word on this row or the next.
    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let gap = usize::from(self.blank.is_some());
        if self.used > 0 && self.used + gap + self.word_columns > self.width {
            self.end_row(0);
        }
        if let Some((style, link)) = self.blank.take()
            && self.used > 0
        {
            self.row.push(" ", style, link.as_ref());
            self.used += 1;
        }
        let word = std::mem::take(&mut self.word);
        let whole = self.used + self.word_columns <= self.width;
        self.word_columns = 0;
        for fragment in word {
            if whole {
                self.place(
                    &fragment,
                    fragment.text,
                    fragment.columns,
                    fragment.at,
                    fragment.resumable,
                );
                continue;
            }
            let mut at = fragment.at;
            let mut resumable = fragment.resumable;
            for (cluster, width) in clusters(fragment.text) {
                if width > self.width {
                    self.place_cluster(&fragment, "?", 1, at, resumable);
                } else {
                    self.place_cluster(&fragment, cluster, width, at, resumable);
                }
                if fragment.piece.exact {
                    at += cluster.len();
                } else {
                    resumable = false;
                }
            }
        }
    }

    fn place_cluster(
        &mut self,
        fragment: &Fragment<'p>,
        text: &str,
        width: usize,
        at: usize,
        resumable: bool,
    ) {
        if self.used > 0 && self.used + width > self.width {
            self.end_row(0);
        }
        self.place(fragment, text, width, at, resumable);
    }

    fn place(
        &mut self,
        fragment: &Fragment<'p>,
        text: &str,
        width: usize,
        at: usize,
        resumable: bool,
    ) {
        if self.row_at.is_none() {
            self.row_at = Some((at, resumable));
        }
        self.row
            .push(text, fragment.piece.style, fragment.piece.link.as_ref());
        self.used += width;
    }

    fn end_row(&mut self, at: usize) {
        let (at, resumable) = self.row_at.take().unwrap_or((at, false));
        let line = std::mem::take(&mut self.row);
        let plain = line
            .spans()
            .first()
            .is_some_and(|span| span.style == Style::new() && span.link.is_none());
        self.rows.push(Wrapped {
            line,
            at,
            resumable,
            plain,
        });
        self.used = 0;
        self.blank = None;
    }
}

/// Cuts one styled line into rows of at most `width` columns, wherever the limit falls (for code).
pub(crate) fn chop(runs: &[(String, Style)], width: usize) -> Vec<Line> {
    let width = width.max(1);
    let mut rows = vec![Line::default()];
    let mut used = 0;
    for (text, style) in runs {
        let whole = columns(text);
        if used + whole <= width {
            rows.last_mut()
                .expect("there is always a row")
                .push(text, *style, None);
            used += whole;
            continue;
        }
        for (cluster, w) in clusters(text) {
            let (cluster, w) = if w > width { ("?", 1) } else { (cluster, w) };
            if used + w > width {
                rows.push(Line::default());
                used = 0;
            }
            rows.last_mut()
                .expect("there is always a row")
                .push(cluster, *style, None);
            used += w;
        }
    }
    rows
}
