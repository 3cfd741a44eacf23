//! Decides whether Enter submits a text or begins a new line, and how far that line is indented.
//!
//! IPython's rules (`check_complete`, 9.x) without compiling: a block ends with a blank line, a cell magic with two,
//! since scripts and texts have single ones inside; an open bracket, string, `try`, decorator or trailing backslash
//! continues. A prompt continues only after `\`.

use super::mode::{Mode, without_leading_blank_lines};
use super::scan::{self, End, Line, LogicalKind};
use super::{has_dot, is_pythons_in_shell_mode, shell};

/// The effect of Enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Submits.
    Complete,
    /// Begins a new line.
    Incomplete {
        /// Spaces that begin the new line.
        indent: usize,
    },
    /// No further line can complete the text: submitting shows Python's own error.
    Invalid,
}

use Completeness::{Complete, Incomplete, Invalid};

/// Decides for `text`, the whole input so far.
pub fn completeness(text: &str, mode: Mode) -> Completeness {
    let body = without_leading_blank_lines(text);
    if body.trim().is_empty() {
        return Complete;
    }
    if mode == Mode::Shell && !is_pythons_in_shell_mode(body) {
        return match shell::needs_more(body) {
            // The end mark of a here-document stands at the start of its line.
            true => Incomplete { indent: 0 },
            false => Complete,
        };
    }
    if has_dot(body) {
        return prompt(body);
    }
    if mode == Mode::Prompts {
        if let Some(code) = body.strip_prefix(';') {
            return python(without_leading_blank_lines(code));
        }
        if !body.starts_with(['!', '%', '.']) {
            return prompt(body);
        }
    }
    python(body)
}

fn prompt(body: &str) -> Completeness {
    if body.ends_with('\\') {
        Incomplete { indent: 0 }
    } else {
        Complete
    }
}

fn python(body: &str) -> Completeness {
    let last_physical = body.rsplit('\n').next().unwrap_or(body);
    let ends_blank = body.contains('\n') && last_physical.trim().is_empty();
    if body.trim_start().starts_with("%%") {
        let mut ends = body.rsplit('\n').take(2);
        return if ends_blank && ends.all(|line| line.trim().is_empty()) {
            Complete
        } else {
            Incomplete {
                indent: scan::indent_of(last_physical),
            }
        };
    }
    let last_indent = scan::indent_of(last_physical);
    let mut base = None;
    let mut last: Option<Line<'_>> = None;
    let mut tries: Vec<usize> = Vec::new();
    for line in scan::lines(body) {
        match line.end {
            End::Broken | End::Field => return Invalid,
            End::Bracket => {
                let opens = line.last != 0
                    && matches!(line.last, b'(' | b'[' | b'{')
                    && line.text.trim_end().lines().last() == Some(last_physical.trim_end());
                return Incomplete {
                    indent: last_indent + if opens { 4 } else { 0 },
                };
            }
            End::String | End::Backslash => {
                return Incomplete {
                    indent: last_indent,
                };
            }
            End::Closed => {}
        }
        if matches!(line.kind, LogicalKind::Blank | LogicalKind::Comment) {
            continue;
        }
        base.get_or_insert(line.indent);
        while let Some(&open) = tries.last() {
            let closes = open == line.indent && matches!(line.first, "except" | "finally");
            if closes || open > line.indent {
                tries.pop();
            } else {
                break;
            }
        }
        if line.kind == LogicalKind::Code && line.first == "try" && opens_try(&line) {
            tries.push(line.indent);
        }
        last = Some(line);
    }
    let (Some(last), Some(base)) = (last, base) else {
        return Complete;
    };
    if last.kind == LogicalKind::Code && last.last == b':' {
        return Incomplete {
            indent: last.indent + 4,
        };
    }
    if last.kind == LogicalKind::Code && last.first == "@" {
        return Incomplete {
            indent: last.indent,
        };
    }
    if !ends_blank && (last.indent > base || !tries.is_empty()) {
        let leaves = matches!(
            last.first,
            "return" | "pass" | "break" | "continue" | "raise"
        );
        return Incomplete {
            indent: if leaves {
                last.indent.saturating_sub(4).max(base)
            } else {
                last.indent
            },
        };
    }
    match tries.last() {
        Some(&indent) => Incomplete { indent },
        None => Complete,
    }
}

/// True for `try:`, not for a name that begins with `try`.
fn opens_try(line: &Line<'_>) -> bool {
    line.text
        .trim_start()
        .strip_prefix("try")
        .is_some_and(|rest| rest.trim_start().starts_with(':'))
}
