//! Evaluates a cell that is one string literal, as Python does (language reference, "String and Bytes literals").
//!
//! Absent on purpose: f-strings, t-strings and bytes (they are cells), and the Unicode name table: `\N{…}` stays as
//! written. A surrogate escape becomes U+FFFD, since our text is UTF-8.

/// The value of the string literal that is the only statement of `source`; `None` for any other text.
pub fn note_value(source: &str) -> Option<String> {
    // A cheap test for ordinary cells: only these characters begin a literal.
    if !source
        .trim_start()
        .starts_with(['"', '\'', '(', 'r', 'R', 'u', 'U', '#', '\\'])
    {
        return None;
    }
    let mut value = String::new();
    let mut rest = source;
    let (mut open, mut strings, mut ended) = (0usize, 0usize, false);
    while let Some(first) = rest.chars().next() {
        match first {
            ' ' | '\t' | '\r' | '\x0c' => rest = &rest[1..],
            '\n' => {
                ended |= strings > 0 && open == 0;
                rest = &rest[1..];
            }
            '#' => rest = rest.find('\n').map_or("", |at| &rest[at..]),
            '\\' if !ended => rest = rest.strip_prefix("\\\n")?,
            '(' if strings == 0 => {
                open += 1;
                rest = &rest[1..];
            }
            // A literal behind a closed group would be a call: `("a") "b"`.
            ')' if strings > 0 && open > 0 => {
                open -= 1;
                rest = &rest[1..];
                if open == 0 && !ends_statement(rest) {
                    return None;
                }
            }
            ';' if strings > 0 && open == 0 => {
                return only_blank(&rest[1..]).then_some(value);
            }
            _ if ended => return None,
            _ => {
                rest = literal(rest, &mut value)?;
                strings += 1;
            }
        }
    }
    (strings > 0 && open == 0).then_some(value)
}

fn only_blank(text: &str) -> bool {
    text.lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

fn ends_statement(text: &str) -> bool {
    let text = text.trim_start();
    only_blank(text.strip_prefix(';').unwrap_or(text))
}

/// Reads one literal at the start of `text`, appends its value to `value`, returns the rest.
fn literal<'a>(text: &'a str, value: &mut String) -> Option<&'a str> {
    let at = text.find(['"', '\''])?;
    let raw = match &text[..at] {
        "" | "u" | "U" => false,
        "r" | "R" => true,
        _ => return None,
    };
    let quote = &text[at..at + 1];
    let triple = text[at..].starts_with(quote.repeat(3).as_str());
    let close = if triple {
        quote.repeat(3)
    } else {
        quote.to_owned()
    };
    let mut rest = &text[at + close.len()..];
    loop {
        if let Some(after) = rest.strip_prefix(close.as_str()) {
            return Some(after);
        }
        let c = rest.chars().next()?;
        match c {
            '\n' if !triple => return None,
            '\\' if raw => {
                let next = rest[1..].chars().next()?;
                value.push('\\');
                value.push(next);
                rest = &rest[1 + next.len_utf8()..];
            }
            '\\' => rest = escape(&rest[1..], value)?,
            _ => {
                // The length up to the next special character.
                let length = rest.find(['\\', '\n', '"', '\'']).unwrap_or(rest.len());
                let length = length.max(c.len_utf8());
                value.push_str(&rest[..length]);
                rest = &rest[length..];
            }
        }
    }
}

/// Reads the rest of an escape behind its backslash; `None` where Python reports an error.
fn escape<'a>(text: &'a str, value: &mut String) -> Option<&'a str> {
    let c = text.chars().next()?;
    let rest = &text[c.len_utf8()..];
    let simple = match c {
        '\n' => return Some(rest),
        '\\' | '\'' | '"' => c,
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        'x' => return hex(rest, 2, value),
        'u' => return hex(rest, 4, value),
        'U' => return hex(rest, 8, value),
        'N' => {
            let name = rest.strip_prefix('{')?;
            let end = name.find('}')?;
            value.push_str("\\N{");
            value.push_str(&name[..=end]);
            return Some(&name[end + 1..]);
        }
        '0'..='7' => {
            let digits = text
                .bytes()
                .take(3)
                .take_while(|byte| matches!(byte, b'0'..=b'7'))
                .count();
            let code = u32::from_str_radix(&text[..digits], 8).ok()?;
            value.push(char::from_u32(code)?);
            return Some(&text[digits..]);
        }
        _ => {
            value.push('\\');
            c
        }
    };
    value.push(simple);
    Some(rest)
}

fn hex<'a>(text: &'a str, digits: usize, value: &mut String) -> Option<&'a str> {
    let code = text.get(..digits)?;
    if !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(code, 16)
        .ok()
        .filter(|code| *code <= 0x10_FFFF)?;
    value.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
    Some(&text[digits..])
}
