//! Marks the bracket at the cursor, or right before it, and its partner.
//!
//! Brackets in strings and comments are not in the `line_scan`. Invariant: at most two marks. An open bracket
//! without a partner is not an error, a closing one without a partner is.

use nu_ansi_term::{Color, Style};

use super::cache::CachedLine;

/// Offset of a mark (bytes from the first line's start), and the change of style there.
pub(super) type Mark = (usize, fn(Style) -> Style);

fn partners(style: Style) -> Style {
    style.bold().underline()
}

fn alone(style: Style) -> Style {
    style.fg(Color::Red).underline()
}

/// Returns the marks for a cursor this many bytes from the start of the first line.
pub(super) fn marks(lines: &[CachedLine], cursor: usize) -> Vec<Mark> {
    let mut starts = 0;
    let mut found = None;
    for (number, line) in lines.iter().enumerate() {
        if cursor <= starts + line.text.len() {
            found = Some((number, cursor - starts));
            break;
        }
        starts += line.text.len() + 1;
    }
    let Some((number, column)) = found else {
        return Vec::new();
    };
    let here = &lines[number].scan.brackets;
    let at = |column: usize| here.iter().position(|(offset, _)| *offset == column);
    let Some(place) = at(column).or_else(|| column.checked_sub(1).and_then(at)) else {
        return Vec::new();
    };
    let (offset, byte) = here[place];
    let own = starts + offset;
    let opens = is_open(byte);
    let partner = if opens {
        let first = here[place + 1..].iter().map(|b| (starts, *b));
        let rest = from_here(&lines[number + 1..], starts + lines[number].text.len() + 1);
        matching(byte, first.chain(rest))
    } else {
        let first = here[..place].iter().rev().map(|b| (starts, *b));
        matching(byte, first.chain(back_from(&lines[..number], starts)))
    };
    match partner {
        Partner::At(other) => vec![(own, partners), (other, partners)],
        Partner::Wrong => vec![(own, alone)],
        Partner::Missing if opens => Vec::new(),
        Partner::Missing => vec![(own, alone)],
    }
}

type Bracket = (usize, (usize, u8));

fn from_here(lines: &[CachedLine], mut start: usize) -> impl Iterator<Item = Bracket> {
    lines.iter().flat_map(move |line| {
        let begins = start;
        start += line.text.len() + 1;
        line.scan.brackets.iter().map(move |b| (begins, *b))
    })
}

fn back_from(lines: &[CachedLine], mut start: usize) -> impl Iterator<Item = Bracket> {
    lines.iter().rev().flat_map(move |line| {
        start -= line.text.len() + 1;
        let begins = start;
        line.scan.brackets.iter().rev().map(move |b| (begins, *b))
    })
}

enum Partner {
    At(usize),
    /// The partner is a bracket of another kind.
    Wrong,
    Missing,
}

fn matching(byte: u8, others: impl Iterator<Item = Bracket>) -> Partner {
    let mut open = vec![byte];
    for (start, (offset, other)) in others {
        if is_open(other) == is_open(byte) {
            open.push(other);
            continue;
        }
        let fits = open.pop().is_some_and(|last| partner_of(last) == other);
        match (fits, open.is_empty()) {
            (false, _) => return Partner::Wrong,
            (true, true) => return Partner::At(start + offset),
            (true, false) => {}
        }
    }
    Partner::Missing
}

fn is_open(byte: u8) -> bool {
    matches!(byte, b'(' | b'[' | b'{')
}

fn partner_of(byte: u8) -> u8 {
    match byte {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache::HighlightCache;
    use super::*;
    use crate::markdown::Theme;

    /// The text has `|` as the cursor; expects the marks in order, `!` behind a bracket without a partner.
    fn check(text: &str, expected: &[(usize, bool)]) {
        let cursor = text.find('|').expect("a cursor");
        let mut cache = HighlightCache::new(Theme::default());
        cache.set_text(&text.replacen('|', "", 1));
        let mut marked: Vec<(usize, bool)> = marks(cache.lines(), cursor)
            .into_iter()
            .map(|(at, style)| (at, style(Style::new()).foreground.is_some()))
            .collect();
        marked.sort_unstable();
        assert_eq!(marked, expected, "{text:?}");
    }

    #[test]
    fn partners_are_found() {
        check("f|(a)", &[(1, false), (3, false)]);
        check("f(a)|", &[(1, false), (3, false)]);
        check("f(|a)", &[(1, false), (3, false)]);
        check("f(a|, b)", &[]);
        check("f(\n  [1, 2],\n)|", &[(1, false), (13, false)]);
        check("f|(\n  [')'],  # )\n)", &[(1, false), (17, false)]);
        check("f|(", &[]);
        check("f(|]", &[(2, true)]);
        check(")|", &[(0, true)]);
        check("'(')|", &[(3, true)]);
        check("'(|')", &[]);
        check("x|", &[]);
        check("é(|)", &[(2, false), (3, false)]);
        check("a\n|\nb", &[]);
    }
}
