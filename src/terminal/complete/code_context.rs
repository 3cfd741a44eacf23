//! The lexical context at the end of Python code: code, string, comment, or a line that is not Python.
//!
//! In: code up to the cursor. Out: a [`CodeContext`]. Total; one pass. Absent on purpose: syntax.

/// The place at the end of a text. Offsets are bytes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeContext {
    /// Among names and operators, a field of an f-string included.
    Code,
    /// After `#`.
    Comment,
    /// On the line of a magic or a shell command whose mark stands there.
    Escape(usize),
    /// In a string.
    StringLiteral {
        /// Where the string begins, its prefix included.
        before: usize,
        /// Where its content begins.
        begin: usize,
        /// The quote.
        quote: char,
        /// Three of them.
        triple: bool,
        /// A backslash means nothing.
        raw: bool,
    },
}

/// A string that is open, and the field of it the scan is in.
struct Open {
    before: usize,
    begin: usize,
    quote: u8,
    triple: bool,
    raw: bool,
    formatted: bool,
    /// Brackets open in its field; 0 outside of fields.
    field: usize,
}

/// The place at the end of `code`.
pub(super) fn place(code: &str) -> CodeContext {
    let bytes = code.as_bytes();
    let mut strings: Vec<Open> = Vec::new();
    let mut brackets = 0usize;
    // Only white space since the line began, or since an `=`: a mark makes the rest of the line foreign.
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
                // An unterminated string: the next line begins anew.
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

/// The end of the line at `at`, lines joined by a backslash being one; `None` when the text ends before.
fn line_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr(b'\n', &bytes[at..])?;
        if bytes[at - 1] != b'\\' {
            return Some(at);
        }
        at += 1;
    }
}

/// Where the prefix of the string whose quote stands at `at` begins, and whether it makes it raw and formatted.
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
