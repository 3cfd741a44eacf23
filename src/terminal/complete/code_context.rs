//! The lexical context at the end of Python code: code, string, comment, or a line that is not Python.
//!
//! In: code up to the cursor. Out: a [`CodeContext`]. Total; one pass. Absent on purpose: syntax.

/// The context at the end of a text. Offsets are bytes of that text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeContext {
    /// Among names and operators; also in a field of an f-string.
    Code,
    Comment,
    /// On the line of a magic or a shell command, whose mark is at this offset.
    Escape(usize),
    StringLiteral {
        /// Offset of the string, its prefix included.
        before: usize,
        begin: usize,
        quote: char,
        /// Delimited by three quotes.
        triple: bool,
        /// Backslashes are literal.
        raw: bool,
    },
}

/// An open string, and the field of it that the scan is in.
struct Open {
    before: usize,
    begin: usize,
    quote: u8,
    triple: bool,
    raw: bool,
    formatted: bool,
    /// Open brackets in its field; 0 outside of fields.
    field: usize,
}

pub(super) fn place(code: &str) -> CodeContext {
    let bytes = code.as_bytes();
    let mut strings: Vec<Open> = Vec::new();
    let mut brackets = 0usize;
    // Only white space since the beginning of the line, or since an `=`: a mark makes the rest of the line foreign.
    let mut fresh = true;
    let mut last = b'\n';
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if let Some(open) = strings.last_mut()
            && open.field == 0
        {
            let ends =
                byte == open.quote && (!open.triple || bytes[at..].starts_with(&[open.quote; 3]));
            if byte == b'\\' {
                at += 2;
            } else if ends {
                at += if open.triple { 3 } else { 1 };
                last = byte;
                strings.pop();
            } else if byte == b'\n' && !open.triple {
                // An unterminated string: the next line starts afresh.
                strings.clear();
            } else if byte == b'{' && open.formatted {
                if bytes.get(at + 1) == Some(&b'{') {
                    at += 1;
                } else {
                    open.field = 1;
                }
                at += 1;
            } else {
                at += 1;
            }
            continue;
        }
        match byte {
            b'\n' => {
                fresh = brackets == 0 && last != b'\\' && strings.is_empty();
                at += 1;
                last = byte;
                continue;
            }
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'#' if strings.is_empty() => {
                let Some(length) = memchr::memchr(b'\n', &bytes[at..]) else {
                    return CodeContext::Comment;
                };
                at += length;
                continue;
            }
            b'!' | b'%' if fresh => {
                let Some(end) = line_end(bytes, at) else {
                    return CodeContext::Escape(at);
                };
                at = end;
                continue;
            }
            b'"' | b'\'' => {
                let (before, raw, formatted) = prefix(bytes, at);
                let triple = bytes[at..].starts_with(&[byte; 3]);
                let begin = at + if triple { 3 } else { 1 };
                strings.push(Open {
                    before,
                    begin,
                    quote: byte,
                    triple,
                    raw,
                    formatted,
                    field: 0,
                });
                fresh = false;
                at = begin;
                continue;
            }
            b'(' | b'[' | b'{' => match strings.last_mut() {
                Some(open) => open.field += 1,
                None => brackets += 1,
            },
            b')' | b']' | b'}' => match strings.last_mut() {
                Some(open) => open.field = open.field.saturating_sub(1),
                None => brackets = brackets.saturating_sub(1),
            },
            _ => {}
        }
        fresh = byte == b'='
            && brackets == 0
            && strings.is_empty()
            && !matches!(last, b'=' | b'!' | b'<' | b'>');
        last = byte;
        at += 1;
    }
    match strings.last() {
        Some(open) if open.field == 0 => CodeContext::StringLiteral {
            before: open.before,
            begin: open.begin.min(bytes.len()),
            quote: char::from(open.quote),
            triple: open.triple,
            raw: open.raw,
        },
        _ => CodeContext::Code,
    }
}

/// Returns the end of the line at `at`, following backslash continuations; `None` when the text ends before.
fn line_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr(b'\n', &bytes[at..])?;
        if bytes[at - 1] != b'\\' {
            return Some(at);
        }
        at += 1;
    }
}

/// Returns the start of the prefix of the string whose quote is at `at`, and whether the prefix makes it raw and
/// formatted.
fn prefix(bytes: &[u8], at: usize) -> (usize, bool, bool) {
    let letters = bytes[..at]
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80)
        .count();
    let word = bytes[at - letters..at].to_ascii_lowercase();
    if letters > 2 || word.iter().any(|byte| !b"rbuft".contains(byte)) {
        return (at, false, false);
    }
    let has = |letter: &[u8]| word.iter().any(|byte| letter.contains(byte));
    (at - letters, has(b"r"), has(b"ft"))
}
