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
            let usual = usual_comma(text, whole, old, made);
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
fn usual_comma(text: &str, whole: Span, old: &[Span], made: &ItemFrame) -> String {
    match old {
        [first, second, ..] => text[first.end as usize..second.start as usize].to_owned(),
        [only] => match &text[whole.start as usize + 1..only.start as usize] {
            "" if made.lead.is_empty() => made.comma.clone(),
            "" => ", ".to_owned(),
            lead => format!(",{lead}"),
        },
        [] => ",".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spliced(text: &str, items: Vec<Item>, made: [&str; 3]) -> String {
        let whole = Span::new(0, text.len());
        let digits = text.match_indices(|c: char| c.is_ascii_digit());
        let old: Vec<Span> = digits.map(|(at, _)| Span::new(at, at + 1)).collect();
        let [lead, comma, tail] = made.map(str::to_owned);
        let mut pieces = Pieces::default();
        let frame = ItemFrame { lead, comma, tail };
        splice_items(text, whole, &old, items, &frame, &mut pieces);
        pieces.into_text(text)
    }

    #[test]
    fn neighbours_keep_what_stands_between_them() {
        let (kept, made) = (Item::Kept, || Item::Made("x".into()));
        for (items, expected) in [
            (
                vec![kept(0), kept(1), kept(2), kept(3)],
                "[ 0 , 1,  2,\n3   ]",
            ),
            (vec![kept(2), kept(3)], "[ 2,\n3   ]"),
            (vec![kept(0), kept(2)], "[ 0 , 2   ]"),
            (vec![kept(3), kept(2), kept(1)], "[ 3 , 2 , 1   ]"),
            (
                vec![kept(0), made(), kept(1), kept(2)],
                "[ 0 , x , 1,  2   ]",
            ),
            (vec![made(), kept(3)], "[ x , 3   ]"),
            (
                vec![kept(1), Item::Changed(2, "y".into()), kept(3)],
                "[ 1,  y,\n3   ]",
            ),
            (vec![], "[]"),
        ] {
            let spliced = spliced("[ 0 , 1,  2,\n3   ]", items, ["", ",", ""]);
            assert_eq!(spliced, expected);
        }
    }

    #[test]
    fn made_items_stand_as_the_file_has_them() {
        let made = || vec![Item::Made("x".into()), Item::Made("y".into())];
        let behind = || [vec![Item::Kept(0)], made()].concat();
        let (line, lines) = (["", ";", ""], ["\n ", ",\n ", "\n"]);
        for (text, items, frame, expected) in [
            ("[]", made(), line, "[x;y]"),
            ("[]", made(), lines, "[\n x,\n y\n]"),
            ("[ ]", vec![], lines, "[ ]"),
            ("[0]", behind(), line, "[0;x;y]"),
            ("[0]", behind(), lines, "[0, x, y]"),
            ("[\n  0\n]", behind(), lines, "[\n  0,\n  x,\n  y\n]"),
        ] {
            assert_eq!(spliced(text, items, frame), expected, "{text}");
        }
    }

    #[test]
    fn neighbouring_pieces_are_one() {
        let mut pieces = Pieces::default();
        for (start, end) in [(0, 0), (0, 2), (2, 2), (2, 3), (3, 5), (7, 7), (7, 9)] {
            pieces.old(start, end);
        }
        for text in ["a", "b"] {
            pieces.new_text(text);
            pieces.new_whole(text.to_owned());
        }
        pieces.old(9, 9);
        pieces.new_whole("c".into());
        let expected = [
            Piece::Old(Span::new(0, 5)),
            Piece::Old(Span::new(7, 9)),
            Piece::New("aabbc".into()),
        ];
        assert_eq!(pieces.into_inner(), expected);
    }
}
