//! Nesting depth of a vector drawing: elements in elements, and elements used by reference.
//!
//! In: a document. Out: whether the longest path down has at most [`NESTING`] elements. `usvg` and `resvg` walk such
//! paths recursively, groups in groups and clips of clips alike. A cycle counts as too deep.

use std::collections::HashMap;

use resvg::usvg::roxmltree::{Document, Node};

use crate::text::NESTING;

#[derive(Clone, Copy)]
enum Known {
    Nothing,
    /// Its descendants are being walked.
    Open,
    /// Elements on the longest path down, including itself.
    Levels(usize),
}

/// True when `document` is nested too deep to be drawn.
pub(super) fn is_too_deep(document: &Document<'_>) -> bool {
    let elements = || document.descendants().filter(Node::is_element);
    let mut named = HashMap::new();
    for element in elements() {
        if let Some(id) = element.attribute("id") {
            named.entry(id).or_insert(element);
        }
    }
    // Rules of a style sheet may apply to any element.
    let sheets = elements().filter(|element| element.tag_name().name() == "style");
    let from_sheets: usize = sheets
        .filter_map(|sheet| sheet.text())
        .map(|text| text.matches("url(").count())
        .sum();
    let count = document.descendants().count();
    let mut known = vec![Known::Nothing; count];
    let mut way = vec![(
        document.root_element(),
        below(document.root_element(), &named),
        0,
    )];
    while let Some((element, left, most)) = way.last_mut() {
        let here = element.id().get_usize();
        let Some(next) = left.pop() else {
            let levels = *most + 1;
            known[here] = Known::Levels(levels);
            way.pop();
            match way.last_mut() {
                Some((_, _, most)) => *most = levels.max(*most),
                None => return levels + from_sheets > NESTING,
            }
            continue;
        };
        known[here] = Known::Open;
        match known[next.id().get_usize()] {
            Known::Open => return true,
            Known::Levels(levels) => *most = levels.max(*most),
            Known::Nothing if way.len() >= NESTING => return true,
            Known::Nothing => {
                let further = below(next, &named);
                way.push((next, further, 0));
            }
        }
    }
    false
}

/// Children of an element, and elements it refers to.
fn below<'d, 'i>(
    element: Node<'d, 'i>,
    named: &HashMap<&'d str, Node<'d, 'i>>,
) -> Vec<Node<'d, 'i>> {
    // A hyperlink is not rendered.
    let link = element.tag_name().name() == "a";
    let names = element
        .attributes()
        .filter(|attribute| !(link && attribute.name() == "href"))
        .flat_map(|attribute| names_in(attribute.name(), attribute.value()));
    let children = element.children().filter(Node::is_element);
    children
        .chain(names.filter_map(|name| named.get(name).copied()))
        .collect()
}

/// Names that an attribute refers to: `#name` of an address, `url(#name)` anywhere.
fn names_in<'a>(attribute: &str, value: &'a str) -> Vec<&'a str> {
    if attribute == "href" {
        return value.trim().strip_prefix('#').into_iter().collect();
    }
    let urls = value.split("url(").skip(1);
    urls.filter_map(|url| {
        let name = url.trim_start_matches([' ', '"', '\'']).strip_prefix('#')?;
        name.split([')', '"', '\'', ' ']).next()
    })
    .collect()
}
