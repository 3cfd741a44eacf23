//! A fast scan of each line of a cell: Python, a magic or a shell command, and its brackets.
//!
//! In: a line and the state at the end of the line before ([`ScanState`]). Out: a [`LineScan`]. Invariant: cheap
//! and total; the scan depends on the line's text and [`ScanState`] alone, so it can be cached until one of them
//! changes. Absent on purpose: syntax and colours; the fields of f-strings (their brackets are part of the string).

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ScanState {
    /// In a string that opened with this quote.
    string: Option<Quote>,
    depth: u32,
    /// After a backslash, in Python or (`escape`) in a line that is not Python.
    continued: bool,
    escape: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quote {
    byte: u8,
    triple: bool,
}

impl ScanState {
    /// Returns true where a statement may begin.
    fn is_fresh(self) -> bool {
        self == ScanState::default()
    }
}

/// The kind of a line. Offsets are bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Python only.
    Python,
    /// Python up to `at`, then a magic whose name ends before `end`, or the mark of `/f x`, `,f x` or `;f x`.
    Magic { at: usize, end: usize },
    /// Python up to `at`, then `!` (or `!!`, to `end`) and a command.
    Shell { at: usize, end: usize },
    /// A later line of a command.
    ShellRest,
    /// `?name`, `name?`, `?`: the marks are before `start` and from `end` on.
    Help { start: usize, end: usize },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineScan {
    pub(super) kind: LineKind,
    /// Brackets outside of strings and comments, by offset.
    pub(super) brackets: Vec<(usize, u8)>,
    pub(super) state: ScanState,
}

/// Scans `line`, which has no newline, from the state at the end of the line before.
pub(super) fn scan_line(line: &str, state: ScanState) -> LineScan {
    let bytes = line.as_bytes();
    if state.escape {
        return escape(LineKind::ShellRest, Vec::new(), bytes);
    }
    let indent = line.len() - line.trim_start().len();
    if state.is_fresh()
        && let Some(kind) = escape_at(bytes, indent).or_else(|| call_at(bytes, indent))
    {
        return escape(kind, Vec::new(), bytes);
    }
    if state.is_fresh() && !matches!(bytes.get(indent), None | Some(b'#')) {
        let start = indent + count(bytes, indent, b'?');
        let end = line.trim_end().trim_end_matches('?').len();
        let word = line.get(start..end).unwrap_or_default();
        let asks = start > indent || end < line.trim_end().len();
        if asks && (is_name(word) || end <= start) {
            let brackets = Vec::new();
            let end = end.max(start);
            let kind = LineKind::Help { start, end };
            let state = ScanState::default();
            return LineScan {
                kind,
                brackets,
                state,
            };
        }
    }
    Scanner {
        bytes,
        at: 0,
        brackets: Vec::new(),
        state: ScanState {
            continued: false,
            ..state
        },
        last: 0,
    }
    .run()
}

/// Returns true for names that help can be requested for: `a.b`, `%timeit`, `*name*`.
fn is_name(word: &str) -> bool {
    let word = word.trim_start_matches('%');
    !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '*' | '[' | ']'))
}

/// Returns the kind of the line that is not Python from `at` on; `None` when it is Python.
fn escape_at(bytes: &[u8], at: usize) -> Option<LineKind> {
    match bytes.get(at)? {
        b'!' => Some(LineKind::Shell {
            at,
            end: at + count(bytes, at, b'!').min(2),
        }),
        b'%' => {
            let name = at + count(bytes, at, b'%').min(2);
            let length = bytes[name..]
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80)
                .count();
            let end = name + length;
            Some(LineKind::Magic { at, end })
        }
        _ => None,
    }
}

/// Recognises `/f a b`, `,f a b`, `;f a b`: a call without brackets or quotes. Its mark is painted as a magic's.
fn call_at(bytes: &[u8], at: usize) -> Option<LineKind> {
    let is_call = matches!(bytes.get(at)?, b'/' | b',' | b';');
    is_call.then_some(LineKind::Magic { at, end: at + 1 })
}

fn count(bytes: &[u8], at: usize, byte: u8) -> usize {
    bytes[at..].iter().take_while(|b| **b == byte).count()
}

fn escape(kind: LineKind, brackets: Vec<(usize, u8)>, bytes: &[u8]) -> LineScan {
    let state = ScanState {
        escape: bytes.ends_with(b"\\") && !matches!(kind, LineKind::Magic { .. }),
        ..ScanState::default()
    };
    LineScan {
        kind,
        brackets,
        state,
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    brackets: Vec<(usize, u8)>,
    state: ScanState,
    /// The last byte that was no blank.
    last: u8,
}

impl Scanner<'_> {
    fn run(mut self) -> LineScan {
        if let Some(quote) = self.state.string.take() {
            self.string(quote);
        }
        let mut assigns = false;
        while let Some(&byte) = self.bytes.get(self.at) {
            if assigns && self.state.depth == 0 && !byte.is_ascii_whitespace() {
                if let Some(kind) = escape_at(self.bytes, self.at) {
                    return escape(kind, self.brackets, self.bytes);
                }
                assigns = false;
            }
            match byte {
                b'#' => break,
                b'\\' if self.at + 1 == self.bytes.len() => {
                    self.state.continued = true;
                    break;
                }
                b'"' | b'\'' => {
                    let triple = count(self.bytes, self.at, byte) >= 3;
                    self.at += if triple { 3 } else { 1 };
                    self.string(Quote { byte, triple });
                    self.last = byte;
                    continue;
                }
                b'(' | b'[' | b'{' => {
                    self.brackets.push((self.at, byte));
                    self.state.depth += 1;
                }
                b')' | b']' | b'}' => {
                    self.brackets.push((self.at, byte));
                    self.state.depth = self.state.depth.saturating_sub(1);
                }
                b'=' => assigns = !matches!(self.last, b'=' | b'!' | b'<' | b'>'),
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                self.last = byte;
            }
            self.at += 1;
        }
        LineScan {
            kind: LineKind::Python,
            brackets: self.brackets,
            state: self.state,
        }
    }

    /// Moves from inside a string to behind it; stores a string that goes on in the next line.
    fn string(&mut self, quote: Quote) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'\\' {
                self.at += 2;
                if self.at > self.bytes.len() {
                    self.at = self.bytes.len();
                    self.state.string = Some(quote);
                    return;
                }
            } else if byte == quote.byte && !quote.triple {
                self.at += 1;
                return;
            } else if byte == quote.byte && count(self.bytes, self.at, byte) >= 3 {
                self.at += 3;
                return;
            } else {
                self.at += 1;
            }
        }
        if quote.triple {
            self.state.string = Some(quote);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<LineKind> {
        let mut state = ScanState::default();
        let mut out = Vec::new();
        for line in text.split('\n') {
            let scan = scan_line(line, state);
            state = scan.state;
            out.push(scan.kind);
        }
        out
    }

    #[test]
    fn lines_that_are_not_python_are_known() {
        use LineKind::{Help, Magic, Python, Shell, ShellRest};
        for (text, expected) in [
            ("x = 1", vec![Python]),
            ("!ls", vec![Shell { at: 0, end: 1 }]),
            ("  !!ls", vec![Shell { at: 2, end: 4 }]),
            (
                "!a \\\n b\nc",
                vec![Shell { at: 0, end: 1 }, ShellRest, Python],
            ),
            ("x = !ls", vec![Shell { at: 4, end: 5 }]),
            ("x == !ls", vec![Python]),
            ("f(a=!b)", vec![Python]),
            ("%timeit f()", vec![Magic { at: 0, end: 7 }]),
            ("%%bash\nls", vec![Magic { at: 0, end: 6 }, Python]),
            ("t = %time f()", vec![Magic { at: 4, end: 9 }]),
            ("a = b\n%c", vec![Python, Magic { at: 0, end: 2 }]),
            ("(a\n%b)", vec![Python, Python]),
            (
                "'''a\n!b\n'''\n!c",
                vec![Python, Python, Python, Shell { at: 0, end: 1 }],
            ),
            ("'a\n!b", vec![Python, Shell { at: 0, end: 1 }]),
            ("'a\\\n!b", vec![Python, Python]),
            ("a + \\\n%b", vec![Python, Python]),
            ("# a (\n!b", vec![Python, Shell { at: 0, end: 1 }]),
            ("len?", vec![Help { start: 0, end: 3 }]),
            ("?len", vec![Help { start: 1, end: 4 }]),
            ("?", vec![Help { start: 1, end: 1 }]),
            (" ?? ", vec![Help { start: 3, end: 3 }]),
            ("/f a", vec![Magic { at: 0, end: 1 }]),
            ("if x:\n  ,f a", vec![Python, Magic { at: 2, end: 3 }]),
            (";f a b", vec![Magic { at: 0, end: 1 }]),
            ("x = ,f", vec![Python]),
            ("(a\n/b)", vec![Python, Python]),
            ("a.b??  ", vec![Help { start: 0, end: 3 }]),
            ("# why?", vec![Python]),
            ("x = 'a?'", vec![Python]),
        ] {
            assert_eq!(kinds(text), expected, "{text:?}");
        }
    }

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        let scan = scan_line("f('(', \"\\\")\", [1]) # )", ScanState::default());
        assert_eq!(
            scan.brackets,
            [(1, b'('), (14, b'['), (16, b']'), (17, b')')]
        );
        let scan = scan_line(
            "a''' + (",
            ScanState {
                string: Some(Quote {
                    byte: b'\'',
                    triple: true,
                }),
                ..ScanState::default()
            },
        );
        assert_eq!(scan.brackets, [(7, b'(')]);
    }
}
