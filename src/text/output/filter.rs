//! Filter for untrusted bytes that are written to the user's terminal: one list of what passes, applied as they
//! stream.
//!
//! In: bytes of a cell or a model in chunks of any size. Out: bytes that are safe to write unchanged. Text, newline
//! and tab pass. Output of the user's own cells may also set colours (SGR), return, backspace, erase its line and
//! move inside the rows it has written itself; earlier lines of the terminal cannot be reached. Every other sequence
//! is dropped; a sequence that breaks off is shown as `^[`.
//!
//! Invariants: the result does not depend on how the bytes are split; time is linear; memory is at most 4 KiB.
//!
//! Absent on purpose: the terminal's size. Rows are counted by newlines alone, which is never more than the rows the
//! terminal has used (long lines wrap), so an allowed movement stays inside the cell's own output.

use crate::output::sequence::{SequencePiece, Sequences};

/// The writer of the bytes, which decides what passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// A model, a tool or a file: text, newline, tab.
    Text,
    /// A traceback or a value: also colours.
    Colours,
    /// A user's cell: also colours and movement inside its own rows.
    Cell,
    /// A command of the user's own shell: also clearing the screen.
    Shell,
}

/// Longest SGR sequence that passes, in bytes of its parameters.
const LONGEST_SGR: usize = 128;

#[derive(Debug)]
pub struct Filter {
    sequences: Sequences,
    rules: Rules,
}

impl Filter {
    /// Creates a filter for a stream whose first byte is written at the start of a line.
    pub fn new(policy: Policy) -> Self {
        Filter {
            sequences: Sequences::default(),
            rules: Rules {
                policy,
                row: 0,
                last_row: 0,
                coloured: false,
                line_start: true,
            },
        }
    }

    /// Appends to `out` what may be written of the next bytes.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.reserve(bytes.len());
        let rules = &mut self.rules;
        self.sequences.push(bytes, |piece| rules.apply(piece, out));
    }

    /// Ends the stream: an unfinished sequence or character is written as text, colours are reset, the cursor
    /// returns to the last row that the stream wrote. The filter may be used again and still counts its rows.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let rules = &mut self.rules;
        self.sequences.finish(|piece| rules.apply(piece, out));
        if rules.coloured {
            out.extend_from_slice(b"\x1b[0m");
            rules.coloured = false;
        }
        if rules.row < rules.last_row {
            out.extend_from_slice(format!("\x1b[{}B", rules.last_row - rules.row).as_bytes());
            rules.row = rules.last_row;
            rules.line_start = false;
        }
    }

    /// Returns true when the cursor is known to be at the start of a fresh line.
    pub fn at_line_start(&self) -> bool {
        self.rules.line_start
    }
}

#[derive(Debug)]
struct Rules {
    policy: Policy,
    /// Rows below the first one, counted by newlines and allowed movements.
    row: usize,
    last_row: usize,
    coloured: bool,
    line_start: bool,
}

impl Rules {
    fn apply(&mut self, piece: SequencePiece<'_>, out: &mut Vec<u8>) {
        match piece {
            SequencePiece::Text(text) => self.text(text, out),
            SequencePiece::Control(byte @ (b'\r' | 0x08)) if self.moves() => out.push(byte),
            SequencePiece::Csi {
                parameters,
                last: b'm',
            } if self.policy != Policy::Text => self.sgr(parameters, out),
            SequencePiece::Csi {
                parameters: parameters @ (b"2" | b"3"),
                last: b'J',
            } if self.policy == Policy::Shell => self.clear(parameters, out),
            SequencePiece::Csi { parameters, last } if self.moves() => {
                self.csi(parameters, last, out);
            }
            SequencePiece::Control(_) | SequencePiece::Csi { .. } | SequencePiece::Other => {}
            SequencePiece::Broken(opener, text) => {
                out.extend_from_slice(b"^[");
                out.extend(opener);
                out.extend_from_slice(text.as_bytes());
                self.line_start = false;
            }
        }
    }

    fn moves(&self) -> bool {
        matches!(self.policy, Policy::Cell | Policy::Shell)
    }

    /// Clears the screen or the part above the cursor; the text that follows begins in row 0.
    fn clear(&mut self, parameters: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[H");
        push_csi(parameters, b'J', out);
        (self.row, self.last_row, self.line_start) = (0, 0, true);
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(text.as_bytes());
        if self.moves() {
            self.row += memchr::memchr_iter(b'\n', text.as_bytes()).count();
            self.last_row = self.last_row.max(self.row);
        }
        self.line_start = text.ends_with('\n') && self.row == self.last_row;
    }

    fn csi(&mut self, parameters: &[u8], last: u8, out: &mut Vec<u8>) {
        match last {
            b'K' if matches!(parameters, b"" | b"0" | b"1" | b"2") => {
                push_csi(parameters, last, out);
            }
            b'A' | b'B' | b'C' | b'D' | b'G' => {
                let Some(wanted) = number(parameters) else {
                    return;
                };
                let allowed = match last {
                    b'A' => wanted.min(self.row),
                    b'B' => wanted.min(self.last_row - self.row),
                    _ => wanted,
                };
                match last {
                    b'A' => self.row -= allowed,
                    b'B' => self.row += allowed,
                    _ => {}
                }
                // A terminal reads 0 as 1, so a movement by 0 is not written.
                if allowed > 0 {
                    push_csi(allowed.to_string().as_bytes(), last, out);
                    self.line_start = false;
                }
            }
            _ => {}
        }
    }

    fn sgr(&mut self, parameters: &[u8], out: &mut Vec<u8>) {
        let plain = |byte: &u8| matches!(byte, b'0'..=b'9' | b';' | b':');
        if parameters.len() > LONGEST_SGR || !parameters.iter().all(plain) {
            return;
        }
        self.coloured = !matches!(parameters, b"" | b"0");
        push_csi(parameters, b'm', out);
    }
}

fn push_csi(parameters: &[u8], last: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1b[");
    out.extend_from_slice(parameters);
    out.push(last);
}

/// The single number of a movement: 1 when absent or 0, at most 9999; `None` when the parameter is anything else.
fn number(parameters: &[u8]) -> Option<usize> {
    if !parameters.iter().all(u8::is_ascii_digit) || parameters.len() > 9 {
        return None;
    }
    let text = std::str::from_utf8(parameters).ok()?;
    let value: usize = if text.is_empty() {
        1
    } else {
        text.parse().ok()?
    };
    Some(value.clamp(1, 9999))
}

#[cfg(test)]
mod tests;
