//! Sets or removes members of an object; the rest keeps its bytes.

use super::layout::Layout;
use super::scan::{Member, Span, members};
use super::sequence::{Item, Pieces, splice_items};
use super::string::decode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change<'a> {
    /// Sets a member to this JSON; a new member is inserted in alphabetical order.
    Set(&'a str, String),
    Remove(&'a str),
}

/// The value of the member `key`; the last one where there are several, as all readers take it.
pub(super) fn member(text: &str, object: Span, key: &str) -> Option<Span> {
    let found = members(text, object)
        .into_iter()
        .rfind(|member| is_key(text, member.key, key));
    found.map(|member| member.value)
}

/// True when the string at `span` decodes to `key`.
pub(super) fn is_key(text: &str, span: Span, key: &str) -> bool {
    let raw = span.of(text);
    decode(&raw[1..raw.len() - 1]) == key
}

/// The changed text of `object`, whose members are at `depth`.
pub(super) fn apply_changes(
    text: &str,
    object: Span,
    depth: usize,
    layout: &Layout,
    changes: Vec<Change<'_>>,
) -> String {
    let old = members(text, object);
    let find = |key: &str| old.iter().rposition(|member| is_key(text, member.key, key));
    let name = |member: &Member| {
        let raw = member.key.of(text);
        decode(&raw[1..raw.len() - 1]).into_owned()
    };
    let mut items: Vec<(Item, String)> = old
        .iter()
        .enumerate()
        .map(|(at, member)| (Item::Kept(at), name(member)))
        .collect();
    for change in changes {
        match change {
            Change::Remove(key) => items.retain(|(_, name)| *name != key),
            Change::Set(key, mut value) => match find(key) {
                Some(at) => {
                    let member = old[at];
                    let before = &text[member.key.start as usize..member.value.start as usize];
                    value.insert_str(0, before);
                    let made = Item::Changed(at, value);
                    if let Some(item) = items.iter_mut().find(|(item, _)| *item == Item::Kept(at)) {
                        item.0 = made;
                    }
                }
                None => {
                    let place = items
                        .iter()
                        .position(|(_, name)| name.as_str() > key)
                        .unwrap_or(items.len());
                    value.insert_str(0, &layout.key(key));
                    items.insert(place, (Item::Made(value), key.to_owned()));
                }
            },
        }
    }
    let items: Vec<Item> = items.into_iter().map(|(item, _)| item).collect();
    let spans: Vec<Span> = old.iter().map(|member| member.whole()).collect();
    let mut pieces = Pieces::default();
    let frame = layout.frame(depth);
    splice_items(text, object, &spans, items, &frame, &mut pieces);
    pieces.into_text(text)
}
