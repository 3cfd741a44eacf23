//! Reads a notebook from its file in pieces, without outputs, which are nearly all of a large file.
//!
//! In: the bytes of a file. Out: the notebook, with empty lists of outputs. Invariants: omitted text is checked like
//! the rest; memory is one piece, twice the largest cell, and the result. Absent on purpose: the fault of a file and
//! its place; a caller that gets `None` reads the whole file and gets the error from that.

use std::io::Read;

use super::model::{Document, cell};
use super::object::is_key;
use super::scan::{Fault, Scanner, Span};

/// Bytes read at once.
const PIECE: usize = 1 << 20;

/// The notebook without outputs; `None` when it cannot be read this way. The result must not be written to the file.
pub fn outline(from: impl Read) -> Option<Document> {
    read_in_pieces(from, PIECE)
}

fn read_in_pieces(from: impl Read, piece: usize) -> Option<Document> {
    let mut window = Window {
        from,
        piece,
        text: String::new(),
        at: 0,
        tail: Vec::new(),
    };
    let mut kept = String::new();
    let begins = window.find(cells_start)?;
    window.keep(begins, &mut kept);
    while let Some((outputs, end)) = window.find(next_cell)? {
        if let Some(outputs) = outputs {
            window.keep(outputs.range().start, &mut kept);
            kept.push_str("[]");
            window.at = outputs.range().end;
        }
        window.keep(end, &mut kept);
    }
    window.keep(window.text.len(), &mut kept);
    while window.more()? {
        window.keep(window.text.len(), &mut kept);
    }
    Document::parse(kept).ok()
}

struct Window<R> {
    from: R,
    piece: usize,
    text: String,
    /// Text before this byte has been scanned.
    at: usize,
    /// Bytes behind `text`: the beginning of a character.
    tail: Vec<u8>,
}

impl<R: Read> Window<R> {
    /// Runs `look` from the current place, reading more of the file until it succeeds.
    fn find<T>(&mut self, look: impl Fn(&str, usize) -> Result<T, Fault>) -> Option<T> {
        loop {
            // Text that is not JSON may only be cut off.
            match look(&self.text, self.at) {
                Ok(found) => return Some(found),
                Err(_) if self.more()? => {}
                Err(_) => return None,
            }
        }
    }

    fn keep(&mut self, end: usize, kept: &mut String) {
        kept.push_str(&self.text[self.at..end]);
        self.at = end;
    }

    /// Reads the next piece, at least as large as the text in memory; false at the end of the file.
    fn more(&mut self) -> Option<bool> {
        self.text.drain(..self.at);
        self.at = 0;
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let size = self.piece.max(bytes.len());
        bytes.append(&mut self.tail);
        let from = &mut self.from;
        let read = from.take(size as u64).read_to_end(&mut bytes).ok()?;
        self.text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if read > 0 && error.utf8_error().error_len().is_none() => {
                let valid = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                self.tail = bytes.split_off(valid);
                String::from_utf8(bytes).ok()?
            }
            Err(_) => return None,
        };
        Some(read > 0)
    }
}

/// The first byte behind the opening bracket of the list of cells.
fn cells_start(text: &str, at: usize) -> Result<usize, Fault> {
    let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut scanner = Scanner::at(text, Span::new(at + mark, text.len()));
    scanner.blanks();
    let mut begins = None;
    let none = Fault {
        at,
        what: "has no list of cells",
    };
    let read = scanner.object(|scanner, key| {
        if is_key(text, key, "cells") && scanner.peek() == Some(b'[') {
            begins = Some(scanner.place() + 1);
            return Err(none);
        }
        scanner.value().map(drop)
    });
    begins.ok_or(read.err().unwrap_or(none))
}

/// The span of the next cell's outputs, and the first byte behind the cell; `None`: no further cell.
fn next_cell(text: &str, at: usize) -> Result<Option<(Option<Span>, usize)>, Fault> {
    let mut scanner = Scanner::at(text, Span::new(at, text.len()));
    scanner.blanks();
    if scanner.peek() == Some(b']') {
        return Ok(None);
    }
    let outputs = cell(text, &mut scanner)?.outputs;
    scanner.goes_on(b']', "expected `,` or `]`")?;
    let outputs = outputs.filter(|span| span.of(text).starts_with('['));
    Ok(Some((outputs, scanner.place())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{ShownPart, show};

    fn shown(document: &Document) -> Option<String> {
        let text = show(document, &ShownPart::default(), |_, cell| {
            format!("{:?} {:?}\n", cell.id(), cell.value("metadata"))
        });
        text.ok()?.ok()
    }

    #[test]
    fn an_outline_has_all_but_outputs_for_any_piece_size() {
        let cells = [
            r#"{"cell_type": "code", "id": "a", "metadata": {"outputs": [1]}, "outputs": [{"text": ["é]}", "\""]}],
                "source": ["a = 'é'\n", "\"outputs\": []"]}"#,
            r#"{"outputs": [], "cell_type": "markdown", "source": "\u00e9", "attachments": {"x": null}}"#,
            r#"{"cell_type": "code", "source": "x", "outputs": "none", "n": -1.5e3}"#,
        ]
        .join(" ,\n ");
        for (text, outputs) in [
            (
                format!(
                    "{{\"metadata\": {{\"cells\": [7]}}, \"cells\": [ {cells} ], \"nbformat\": 4}}\n"
                ),
                0,
            ),
            (
                format!("\u{feff}{{\"cells\":[{cells}],\"nbformat\":4,\"nbformat_minor\":5}}"),
                0,
            ),
            ("{\"cells\": []}".to_owned(), 0),
            // The last list counts, which the reader does not expect.
            (format!("{{\"cells\": [{cells}], \"cells\": [{cells}]}}"), 1),
        ] {
            let whole = Document::parse(text.clone()).unwrap();
            for piece in (1..40).chain([text.len(), PIECE]) {
                let outline = read_in_pieces(text.as_bytes(), piece).unwrap();
                assert_eq!(shown(&outline), shown(&whole), "{piece}");
                assert_eq!(outline.format(), whole.format());
                let held = outline.cells().map(|cell| cell.outputs().len());
                assert_eq!(held.sum::<usize>(), outputs);
            }
            // A fault at any place gives `None`.
            for at in 0..text.trim_end().len() {
                assert!(read_in_pieces(&text.as_bytes()[..at], 7).is_none(), "{at}");
                let mut broken = text.as_bytes().to_vec();
                broken[at] = 0xff;
                assert!(read_in_pieces(&broken[..], 7).is_none(), "{at}");
                broken[at] = 1;
                assert!(read_in_pieces(&broken[..], 7).is_none(), "{at}");
            }
            let cut_off = [text.as_bytes(), b"\xc3"].concat();
            assert!(read_in_pieces(&cut_off[..], 7).is_none());
        }
        assert!(read_in_pieces(&b"{\"worksheets\": []}"[..], 5).is_none());
    }
}
