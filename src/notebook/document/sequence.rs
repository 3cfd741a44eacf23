//! Replaces items of arrays and objects; kept items keep their bytes and the text between them.
//!
//! In: a container of the text, the spans of its items, and the new items. Out: [`Piece`]s. Invariant: items that are
//! neighbours before and after keep the text between them; the same items in the same order give the same bytes.

use super::layout::ItemFrame;
use super::scan::Span;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// The old item of this number.
    Kept(usize),
    /// New JSON in place of the old item of this number.
    Changed(usize, String),
    Made(String),
}

impl Item {
    fn old(&self) -> Option<usize> {
        match self {
            Item::Kept(at) | Item::Changed(at, _) => Some(*at),
            Item::Made(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// A span of the old text.
    Old(Span),
    New(String),
}

#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<Piece>);

impl Pieces {
    pub(super) fn old(&mut self, start: u32, end: u32) {
        match self.0.last_mut() {
            Some(Piece::Old(last)) if last.end == start => last.end = end,
            _ if start < end => self.0.push(Piece::Old(Span { start, end })),
            _ => {}
        }
    }

    pub(super) fn new_text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::New(last)) => last.push_str(text),
            _ => self.0.push(Piece::New(text.to_owned())),
        }
    }

    /// Like `new`, without a copy of a large text.
    fn new_whole(&mut self, text: String) {
        match self.0.last_mut() {
            Some(Piece::New(last)) => last.push_str(&text),
            _ => self.0.push(Piece::New(text)),
        }
    }

    pub(super) fn into_inner(self) -> Vec<Piece> {
        self.0
    }

    pub(super) fn into_text(self, old: &str) -> String {
        let mut text = String::new();
        for piece in self.0 {
            match piece {
                Piece::Old(span) => text.push_str(span.of(old)),
                Piece::New(new) => text.push_str(&new),
            }
        }
        text
    }
}

/// The container at `whole`, brackets included, with `items` in place of `old`.
pub(super) fn splice_items(
    text: &str,
    whole: Span,
    old: &[Span],
    items: Vec<Item>,
    made: &ItemFrame,
    pieces: &mut Pieces,
) {
    let brackets = (whole.start, whole.end - 1);
    pieces.old(brackets.0, brackets.0 + 1);
    match (items.is_empty(), old.first(), old.last()) {
        (true, None, _) => pieces.old(brackets.0 + 1, brackets.1),
        (true, ..) => {}
        (false, Some(first), Some(last)) => {
            pieces.old(brackets.0 + 1, first.start);
            let usual = usual_comma(text, whole, old);
            let mut before: Option<usize> = None;
            for (number, item) in items.into_iter().enumerate() {
                let now = item.old();
                match (before, now) {
                    _ if number == 0 => {}
                    (Some(a), Some(b)) if a + 1 == b => pieces.old(old[a].end, old[b].start),
                    _ => pieces.new_text(&usual),
                }
                match item {
                    Item::Kept(at) => pieces.old(old[at].start, old[at].end),
                    Item::Changed(_, new) | Item::Made(new) => pieces.new_whole(new),
                }
                before = now;
            }
            pieces.old(last.end, brackets.1);
        }
        (false, ..) => {
            pieces.new_text(&made.lead);
            for (number, item) in items.into_iter().enumerate() {
                if number > 0 {
                    pieces.new_text(&made.comma);
                }
                if let Item::Changed(_, new) | Item::Made(new) = item {
                    pieces.new_whole(new);
                }
            }
            pieces.new_text(&made.tail);
        }
    }
    pieces.old(brackets.1, whole.end);
}

/// The text between items in a container that has at least one.
fn usual_comma(text: &str, whole: Span, old: &[Span]) -> String {
    match old {
        [first, second, ..] => text[first.end as usize..second.start as usize].to_owned(),
        [only] => format!(
            ",{}",
            match &text[whole.start as usize + 1..only.start as usize] {
                "" => " ",
                lead => lead,
            }
        ),
        [] => ",".to_owned(),
    }
}
