//! Splits piped text into the pieces that run one after another, while it arrives.
//!
//! In: text in chunks. Out: pieces, none blank, each as soon as no later text can change it: a statement of one line
//! at its end, a block when the next statement begins, and from the first `# %%` on a cell at each such line.
//! Invariant: the pieces do not depend on the chunks. Absent on purpose: reading, and classifying a piece.

use super::scan::{self, End, LogicalKind};

/// Words that begin a statement that may continue after its first line.
const BLOCKS: [&str; 8] = ["if", "for", "while", "try", "with", "match", "async", "@"];

/// A text that arrives in chunks.
#[derive(Debug, Default)]
pub struct PipedText {
    rest: String,
    marked: bool,
    /// The length of the rest when it was last scanned without a whole piece.
    looked_at: usize,
}

impl PipedText {
    pub fn push(&mut self, text: &str) {
        self.rest.push_str(text);
    }

    /// The whole pieces so far. While more text is `coming` at once, a long rest is not scanned again for each chunk.
    pub fn whole(&mut self, coming: bool) -> Vec<String> {
        if coming && self.rest.len() < 2 * self.looked_at {
            return Vec::new();
        }
        let end = self.rest.rfind('\n').map_or(0, |last| last + 1);
        let (pieces, from) = self.cut(end);
        self.rest.drain(..from);
        self.looked_at = self.rest.len();
        pieces
    }

    /// The remaining pieces, at the end of the text.
    pub fn rest(mut self) -> Vec<String> {
        let (mut pieces, from) = self.cut(self.rest.len());
        add(&mut pieces, &self.rest[from..]);
        pieces
    }

    /// The whole pieces of the first `end` bytes, and the offset of the rest.
    fn cut(&mut self, end: usize) -> (Vec<String>, usize) {
        let text = &self.rest[..end];
        let mut pieces = Vec::new();
        let (mut start, mut at) = (0, 0);
        for line in text.split_inclusive('\n') {
            if is_marker(line) {
                let cell = &text[start..at];
                if self.marked {
                    add(&mut pieces, cell);
                } else {
                    let (statements, rest) = statements(cell);
                    let rest = std::iter::once(&cell[rest..]);
                    let all = statements.into_iter().chain(rest);
                    all.for_each(|piece| add(&mut pieces, piece));
                }
                self.marked = true;
                start = at + line.len();
            }
            at += line.len();
        }
        if !self.marked {
            let (statements, rest) = statements(text);
            let all = statements.into_iter();
            all.for_each(|piece| add(&mut pieces, piece));
            start = rest;
        }
        (pieces, start)
    }
}

/// The pieces of a whole text.
pub fn split_piped(text: &str) -> Vec<String> {
    let mut all = PipedText::default();
    all.push(text);
    all.rest()
}

fn add(pieces: &mut Vec<String>, piece: &str) {
    if !piece.trim().is_empty() {
        pieces.push(piece.to_owned());
    }
}

fn is_marker(line: &str) -> bool {
    line.starts_with("# %%") || line.starts_with("#%%")
}

/// The pieces of `text` that no later text can change, and the offset of the rest.
fn statements(text: &str) -> (Vec<&str>, usize) {
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
        if let Some((length, whole)) = alone {
            if has_statement {
                pieces.push(&text[start..pending]);
                start = pending;
            }
            // The text before is blank or comment; it must not hide the leading mark.
            pieces.push(&text[start..at]);
            start = at;
            if !whole {
                return (pieces, start);
            }
            pieces.push(&text[at..at + length]);
            at += length;
            (start, pending, has_statement, decorated) = (at, at, false, false);
            continue;
        }
        let line = scan::line(rest);
        at += match line.end {
            End::Field => rest.len(),
            _ => line.text.len(),
        };
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
            has_statement = false;
        }
        decorated =
            line.first == "@" && line.kind == LogicalKind::Code && (line.indent == 0 || decorated);
        pending = at;
        if !has_statement && is_whole(&line) {
            pieces.push(&text[start..at]);
            start = at;
        } else {
            has_statement = true;
        }
    }
    (pieces, start)
}

/// True for a statement that no later line continues.
fn is_whole(line: &scan::Line<'_>) -> bool {
    // A magic whose line goes on behind `\` is closed as far as the scanner has come.
    let goes_on = line.text.trim_end_matches(['\r', '\n']).ends_with('\\');
    let closed = matches!(line.end, End::Closed | End::Broken);
    let ended = line.text.ends_with('\n') && closed && !goes_on;
    let block =
        line.kind == LogicalKind::Code && (line.last == b':' || BLOCKS.contains(&line.first));
    ended && !block && line.indent == 0
}

/// Length in bytes of the prompt at the start of `text`, line end included; true when it is complete.
fn prompt_length(text: &str) -> (usize, bool) {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end_matches(['\r', '\n']).ends_with('\\') {
            return (length, line.ends_with('\n'));
        }
    }
    (length, false)
}

/// Length in bytes of the cell magic at the start of `text`, up to and including the blank line that ends it; true
/// when it is complete.
fn magic_length(text: &str) -> (usize, bool) {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if line.trim().is_empty() {
            return (length, true);
        }
    }
    (length, false)
}
