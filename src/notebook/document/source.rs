//! The source of a cell, one string or a list of lines: read, and changed in the form that it has.

use super::layout::Layout;
use super::scan::{Span, items};
use super::sequence::{Item, Pieces, splice_items};
use super::string::{decode, decode_into, lines, patch};

/// The text of the value at `span`; `None` when it is neither a string nor a list of strings.
pub(super) fn read(text: &str, span: Span) -> Option<String> {
    let raw = span.of(text);
    match raw.as_bytes()[0] {
        b'"' => Some(decode(inner(raw)).into_owned()),
        b'[' => {
            let mut source = String::new();
            for item in items(text, span) {
                let raw = item.of(text);
                if !raw.starts_with('"') {
                    return None;
                }
                decode_into(inner(raw), &mut source);
            }
            Some(source)
        }
        _ => None,
    }
}

fn inner(raw: &str) -> &str {
    &raw[1..raw.len() - 1]
}

/// JSON to replace the value at `span`, which holds a text; its lines are at `depth`.
pub(super) fn with_text(
    text: &str,
    span: Span,
    new: &str,
    depth: usize,
    layout: &Layout,
) -> String {
    let raw = span.of(text);
    if raw.starts_with('"') {
        return format!("\"{}\"", patch(inner(raw), new, layout.ascii()));
    }
    let old = items(text, span);
    let texts: Vec<_> = old
        .iter()
        .map(|item| decode(inner(item.of(text))))
        .collect();
    let (mut rest, mut front) = (new, 0);
    while let Some(line) = texts.get(front)
        && line.ends_with('\n')
        && let Some(after) = rest.strip_prefix(line.as_ref())
    {
        (rest, front) = (after, front + 1);
    }
    let mut back = old.len();
    while back > front
        && let Some(before) = rest.strip_suffix(texts[back - 1].as_ref())
        && (before.is_empty() || before.ends_with('\n'))
    {
        (rest, back) = (before, back - 1);
    }
    let between: String = old[front..back]
        .iter()
        .map(|item| inner(item.of(text)))
        .collect();
    let between = patch(&between, rest, layout.ascii());
    let made = lines(&between);
    let made = made.iter().map(|line| Item::Made(format!("\"{line}\"")));
    let items: Vec<Item> = (0..front)
        .map(Item::Kept)
        .chain(made)
        .chain((back..old.len()).map(Item::Kept))
        .collect();
    let mut pieces = Pieces::default();
    splice_items(text, span, &old, items, &layout.frame(depth), &mut pieces);
    pieces.into_text(text)
}
