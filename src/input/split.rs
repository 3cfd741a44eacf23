//! Text from a pipe cut into the pieces that are submitted one after the other.
//!
//! With a `# %%` line anywhere: the text between such lines. Without: each top-level statement with the comments before
//! it, as Python's own prompt would take them; a `.`-prompt is one line unless it ends in `\`; a cell magic goes on to
//! the next blank line. Nothing is lost but marker lines and pieces of white space.

use super::scan::{self, LogicalKind};

/// The pieces of `text`, in order, none blank.
pub fn split_piped(text: &str) -> Vec<String> {
    let pieces = if text.lines().any(is_marker) {
        marked(text)
    } else {
        statements(text)
    };
    pieces
        .into_iter()
        .filter(|piece| !piece.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

fn is_marker(line: &str) -> bool {
    line.starts_with("# %%") || line.starts_with("#%%")
}

fn marked(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if is_marker(line) {
            pieces.push(&text[start..at]);
            start = at + line.len();
        }
        at += line.len();
    }
    pieces.push(&text[start..]);
    pieces
}

fn statements(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0; // of the piece being made
    let mut pending = 0; // where comments and blank lines after its last statement begin
    let mut has_statement = false;
    let mut decorated = false;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let alone = if rest.starts_with('.') {
            Some(prompt_length(rest))
        } else if rest.starts_with("%%") {
            Some(magic_length(rest))
        } else {
            None
        };
        if let Some(length) = alone {
            if has_statement {
                pieces.push(&text[start..pending]);
                start = pending;
            }
            // What stands before is blank or comment; it must not hide the leading mark.
            pieces.push(&text[start..at]);
            pieces.push(&text[at..at + length]);
            at += length;
            (start, pending, has_statement, decorated) = (at, at, false, false);
            continue;
        }
        let line = scan::line(rest);
        at += line.text.len();
        if matches!(line.kind, LogicalKind::Blank | LogicalKind::Comment) {
            continue;
        }
        let continues = has_statement
            && (line.indent > 0
                || decorated
                || matches!(line.first, "else" | "elif" | "except" | "finally"));
        if has_statement && !continues {
            pieces.push(&text[start..pending]);
            start = pending;
        }
        decorated =
            line.first == "@" && line.kind == LogicalKind::Code && (line.indent == 0 || decorated);
        has_statement = true;
        pending = at;
    }
    pieces.push(&text[start..]);
    pieces
}

/// Length in bytes of the prompt at the start of `text`, line end included.
fn prompt_length(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end_matches(['\r', '\n']).ends_with('\\') {
            break;
        }
    }
    length
}

/// Length in bytes of the cell magic at the start of `text`: up to and with the first blank line.
fn magic_length(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if line.trim().is_empty() {
            break;
        }
    }
    length
}
