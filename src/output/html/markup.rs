//! The pieces of markup: where a tag ends, its attributes, entities.
//!
//! In: text that begins with such a piece. Out: what it says and what follows. Total. Absent on purpose: what tags mean.

/// The value of an attribute, its entities read.
pub(super) fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '=');
        let end = end.unwrap_or(rest.len());
        if end == 0 && !rest.starts_with('=') {
            return None;
        }
        let found = rest[..end].eq_ignore_ascii_case(name);
        rest = rest[end..].trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = &value[1..];
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            _ => value.split_at(
                value
                    .find(|c: char| c.is_ascii_whitespace())
                    .unwrap_or(value.len()),
            ),
        };
        if found {
            return Some(unescaped(value));
        }
        rest = after;
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let (c, after) = entity(&rest[at..]);
        out.push(c);
        rest = after;
    }
    out + rest
}

/// One past the `>` of a tag; quoted attribute values may hold one.
pub(super) fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// What follows `</name …>`; nothing when it never comes.
pub(super) fn after_closing<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        let found = rest
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name));
        if found {
            return end_of_tag(rest).map_or("", |end| &rest[end..]);
        }
    }
    ""
}

/// Reads one entity at the start of `text` (which begins with `&`): the character it stands for, else the `&` itself,
/// and what follows.
pub(super) fn entity(text: &str) -> (char, &str) {
    const LONGEST: usize = 12;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';');
    let found = end.and_then(|end| Some((read_entity(&text[1..end])?, &text[end + 1..])));
    found.unwrap_or(('&', &text[1..]))
}

fn read_entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control() || *c == '\n' || *c == '\t');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "hellip" => '…',
        "ndash" => '–',
        "mdash" => '—',
        "times" => '×',
        "middot" => '·',
        "deg" => '°',
        "copy" => '©',
        "rarr" => '→',
        "larr" => '←',
        "laquo" => '«',
        "raquo" => '»',
        _ => return None,
    })
}
