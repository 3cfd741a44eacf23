//! Splits Python text into logical lines, with IPython's syntax.
//!
//! A logical line ends where Python's tokenizer would end it: not inside brackets, strings or after a backslash.
//! Magics, `!` and the right side of `x = !cmd` are opaque up to their line end. Total: a malformed line has another
//! [`End`]. Absent on purpose: names, keywords, syntax; f-strings follow Python 3.12 (nested quotes).

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogicalKind {
    Blank,
    /// A comment alone.
    Comment,
    /// `%magic`, `!cmd`, `?help` and the like, up to the line end.
    Escape,
    Code,
}

/// How a logical line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Closed,
    /// The text ended in a bracket.
    Bracket,
    /// The text ended in a triple-quoted string.
    String,
    /// The text ended after a backslash.
    Backslash,
    /// The text ended in a replacement field of an f-string: broken as it is, and later text may mend it.
    Field,
    /// A closing bracket without its partner, or a one-line string that does not end.
    Broken,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// The whole line, line end included.
    pub(super) text: &'a str,
    /// Leading white space in columns; a tab goes to the next multiple of 8.
    pub(super) indent: usize,
    pub(super) kind: LogicalKind,
    /// The first word, or the first character that does not begin a word.
    pub(super) first: &'a str,
    /// The last byte that is neither white space nor comment; a string counts as its quote.
    pub(super) last: u8,
    pub(super) end: End,
}

/// The logical lines of a text; their `text`s joined are the whole text.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let line = line(rest);
        rest = &rest[line.text.len()..];
        Some(line)
    })
}

/// The leading white space of `text` in columns.
pub(super) fn indent_of(text: &str) -> usize {
    let mut columns = 0;
    for byte in text.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns = (columns / 8 + 1) * 8,
            _ => break,
        }
    }
    columns
}

/// The first logical line of `text`, which must not be empty.
pub(super) fn line(text: &str) -> Line<'_> {
    let mut scanner = LineScanner {
        bytes: text.as_bytes(),
        at: 0,
        brackets: Vec::new(),
        last: 0,
        fuel: FIELD_BYTES,
    };
    scanner.blanks();
    let start = scanner.at;
    let (kind, end) = match scanner.peek() {
        None | Some(b'\n') => {
            scanner.newline();
            (LogicalKind::Blank, End::Closed)
        }
        Some(b'#') => {
            scanner.skip_line();
            scanner.newline();
            (LogicalKind::Comment, End::Closed)
        }
        Some(b'!' | b'%' | b'?' | b',' | b';' | b'/') => (LogicalKind::Escape, scanner.escape()),
        Some(_) => (LogicalKind::Code, scanner.code()),
    };
    let word = text[start..]
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len() - start);
    let first = match word {
        0 => text[start..]
            .chars()
            .next()
            .map_or("", |c| &text[start..start + c.len_utf8()]),
        word => &text[start..start + word],
    };
    Line {
        text: &text[..scanner.at],
        indent: indent_of(text),
        kind,
        first,
        last: scanner.last,
        end,
    }
}

struct LineScanner<'a> {
    bytes: &'a [u8],
    at: usize,
    brackets: Vec<u8>,
    last: u8,
    /// Bytes of replacement fields that may still be scanned.
    fuel: usize,
}

impl LineScanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\x0c')) {
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        self.at +=
            memchr::memchr(b'\n', &self.bytes[self.at..]).unwrap_or(self.bytes.len() - self.at);
    }

    fn newline(&mut self) {
        if self.peek() == Some(b'\n') {
            self.at += 1;
        }
    }

    /// Skips to the end of a line that is not Python; a backslash at its end joins the next.
    fn escape(&mut self) -> End {
        loop {
            self.skip_line();
            let continued = self.bytes[..self.at].ends_with(b"\\");
            if self.at == self.bytes.len() {
                return if continued {
                    End::Backslash
                } else {
                    End::Closed
                };
            }
            self.newline();
            if !continued {
                return End::Closed;
            }
        }
    }

    fn code(&mut self) -> End {
        let mut assigns = false;
        loop {
            self.blanks();
            let Some(byte) = self.peek() else {
                return if self.brackets.is_empty() {
                    End::Closed
                } else {
                    End::Bracket
                };
            };
            if assigns && self.brackets.is_empty() && matches!(byte, b'!' | b'%') {
                self.last = byte;
                return self.escape();
            }
            assigns = false;
            match byte {
                b'\n' => {
                    self.at += 1;
                    if self.brackets.is_empty() {
                        return End::Closed;
                    }
                    continue;
                }
                b'?' if self.ends_in_help() => {
                    self.last = byte;
                    self.skip_line();
                    self.newline();
                    return End::Closed;
                }
                b'#' => {
                    self.skip_line();
                    continue;
                }
                b'\\' => {
                    self.at += 1;
                    if self.at == self.bytes.len()
                        || (self.peek() == Some(b'\n') && self.at + 1 == self.bytes.len())
                    {
                        self.at = self.bytes.len();
                        return End::Backslash;
                    }
                    self.newline();
                    continue;
                }
                b'"' | b'\'' => {
                    let formatted = self.is_formatted();
                    match string(self.bytes, self.at, formatted, 0, &mut self.fuel) {
                        Ok(end) => self.at = end,
                        Err(end @ (End::Broken | End::Field)) => {
                            self.skip_line();
                            self.newline();
                            return end;
                        }
                        Err(end) => {
                            self.at = self.bytes.len();
                            return end;
                        }
                    }
                }
                b'(' | b'[' | b'{' => {
                    self.brackets.push(byte);
                    self.at += 1;
                }
                b')' | b']' | b'}' => {
                    let opener = match byte {
                        b')' => b'(',
                        b']' => b'[',
                        _ => b'{',
                    };
                    if self.brackets.pop() != Some(opener) {
                        self.skip_line();
                        self.newline();
                        return End::Broken;
                    }
                    self.at += 1;
                }
                b'=' => {
                    assigns = !matches!(self.last, b'=' | b'!' | b'<' | b'>');
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            self.last = byte;
        }
    }

    /// True when the question mark at `at` ends the line: help on the text before it, even inside brackets
    /// (`f(a, b?`).
    fn ends_in_help(&self) -> bool {
        let rest = &self.bytes[self.at..];
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let blank = |byte: &u8| matches!(byte, b'?' | b';' | b' ' | b'\t' | b'\r');
        rest[..end].iter().all(blank)
    }

    /// True when the quote at `at` has a prefix with `f` or `t`.
    fn is_formatted(&self) -> bool {
        let head = &self.bytes[self.at.saturating_sub(3)..self.at];
        let prefix = head
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80);
        let mut letters = 0;
        let mut formatted = false;
        for byte in prefix {
            letters += 1;
            match byte.to_ascii_lowercase() {
                b'f' | b't' => formatted = true,
                b'r' => {}
                _ => return false,
            }
        }
        formatted && letters <= 2
    }
}

/// Fields of f-strings nested deeper than this are read as plain text.
const FIELD_DEPTH: usize = 4;

/// Bytes of fields scanned in a logical line, whatever the nesting; keeps hostile text linear.
const FIELD_BYTES: usize = 16 * 1024;

/// The offset after the string that opens at `at`, or the way in which it failed to end.
fn string(
    bytes: &[u8],
    at: usize,
    formatted: bool,
    depth: usize,
    fuel: &mut usize,
) -> Result<usize, End> {
    let with_fields = match formatted && depth < FIELD_DEPTH {
        true => string_body(bytes, at, true, depth, fuel),
        false => Err(End::Broken),
    };
    match with_fields {
        Ok(end) => Ok(end),
        Err(End::Broken) => string_body(bytes, at, false, depth, fuel),
        Err(open) => match string_body(bytes, at, false, depth, fuel) {
            Ok(_) | Err(End::Broken) => Err(End::Field),
            Err(_) => Err(open),
        },
    }
}

fn string_body(
    bytes: &[u8],
    at: usize,
    formatted: bool,
    depth: usize,
    fuel: &mut usize,
) -> Result<usize, End> {
    let quote = bytes[at];
    let triple = bytes[at..].starts_with(&[quote; 3]);
    let mut at = at + if triple { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        if formatted || depth > 0 {
            *fuel = fuel.checked_sub(1).ok_or(End::Broken)?;
        }
        match byte {
            b'\\' => {
                at += 1;
                if at >= bytes.len() || (at + 1 == bytes.len() && bytes[at] == b'\n') {
                    return Err(if triple { End::String } else { End::Backslash });
                }
                at += 1;
            }
            b'\n' if !triple => return Err(End::Broken),
            b'{' if formatted && bytes.get(at + 1) == Some(&b'{') => at += 2,
            b'{' if formatted => at = field(bytes, at + 1, depth, fuel)?,
            _ if byte == quote && !triple => return Ok(at + 1),
            _ if byte == quote && bytes[at..].starts_with(&[quote; 3]) => return Ok(at + 3),
            _ => at += 1,
        }
    }
    Err(if triple { End::String } else { End::Broken })
}

/// The offset after the `}` of the replacement field whose `{` stands before `at`.
fn field(bytes: &[u8], mut at: usize, depth: usize, fuel: &mut usize) -> Result<usize, End> {
    let mut brackets = 0usize;
    while let Some(&byte) = bytes.get(at) {
        *fuel = fuel.checked_sub(1).ok_or(End::Broken)?;
        match byte {
            b'"' | b'\'' => {
                at = string(
                    bytes,
                    at,
                    matches!(bytes[at - 1], b'f' | b'F' | b't'),
                    depth + 1,
                    fuel,
                )?
            }
            b'(' | b'[' | b'{' => {
                brackets += 1;
                at += 1;
            }
            b'}' if brackets == 0 => return Ok(at + 1),
            b')' | b']' | b'}' => {
                brackets = brackets.saturating_sub(1);
                at += 1;
            }
            // A format specification ends with its brace, and quotes in it end the string: unless it is simple, both
            // are left to the caller's reading as plain text.
            b':' if brackets == 0 => {
                while let Some(&byte) = bytes.get(at) {
                    *fuel = fuel.checked_sub(1).ok_or(End::Broken)?;
                    match byte {
                        b'{' if depth < FIELD_DEPTH => at = field(bytes, at + 1, depth + 1, fuel)?,
                        b'}' => return Ok(at + 1),
                        b'"' | b'\'' | b'\n' => return Err(End::Broken),
                        _ => at += 1,
                    }
                }
            }
            _ => at += 1,
        }
    }
    Err(End::Field)
}
