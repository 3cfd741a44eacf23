//! Sessions to notebook cells and back.
//!
//! Our form (product contract, §9): code is a code cell, a note a markdown cell that remembers its source, an exchange
//! a markdown cell of the answer that remembers its prompt; `metadata.ipycodex` says which. Of other notebooks code
//! cells are code and markdown cells notes.
//!
//! Ids are a function of what the cell is and its line, so that saving again changes only what changed.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::events;
use super::faults::fault;
use super::literal::literal;
use super::model::{Notebook, OURS, lines, source};
use super::saved::{SavedCell, SavedEntry, SavedPrompt, SavedSession};
use crate::input::note_value;
use crate::output::{CellError, CellOutput, MimeBundle};

/// The notebook of a session.
pub fn write_session(session: &SavedSession) -> Notebook {
    let mut ids = Ids::default();
    let cells = session.entries().iter().map(|entry| match entry {
        SavedEntry::Code(cell) => code(cell, ids.of("code", cell.line)),
        SavedEntry::Prompt(prompt) => exchange(prompt, ids.of("prompt", prompt.line)),
    });
    Notebook::of_cells(cells.collect())
}

/// The sources of a notebook's code cells, broken ones left out.
pub fn code_cells(notebook: &Notebook) -> Vec<String> {
    let cells = notebook.cells().iter();
    cells
        .filter(|cell| cell["cell_type"] == "code" && fault(cell).is_none())
        .map(source)
        .collect()
}

/// What a notebook holds to be run again, without outputs; broken cells are left out. Of one that is ours, cells we did not write are left out,
/// and order is that of the lines; any other is read from top to bottom.
pub fn read_session(notebook: &Notebook) -> SavedSession {
    let ours = notebook.is_ours();
    let mut entries = Vec::new();
    for cell in notebook.cells().iter().filter(|cell| fault(cell).is_none()) {
        let known = &cell["metadata"][OURS];
        let entry = match known {
            Value::Object(_) => saved(cell, known),
            _ if ours => None,
            _ => foreign(cell, u32::try_from(entries.len() + 1).unwrap_or(u32::MAX)),
        };
        entries.extend(entry);
    }
    if ours {
        SavedSession::of(entries)
    } else {
        SavedSession::as_ordered(entries)
    }
}

fn code(cell: &SavedCell, id: String) -> Value {
    match note_value(&cell.source) {
        Some(value) => json!({
            "cell_type": "markdown",
            "id": id,
            "metadata": {OURS: {"kind": "code", "line": cell.line, "source": cell.source}},
            "source": lines(&value),
        }),
        None => json!({
            "cell_type": "code",
            "execution_count": cell.line,
            "id": id,
            "metadata": {OURS: {"kind": "code", "line": cell.line}},
            "outputs": cell.outputs.iter().map(|output| shown(output, cell.line)).collect::<Vec<_>>(),
            "source": lines(&cell.source),
        }),
    }
}

fn exchange(prompt: &SavedPrompt, id: String) -> Value {
    let known = json!({
        "history_line": prompt.history_line,
        "kind": "prompt",
        "line": prompt.history_line.saturating_add(1),
        "prompt": prompt.prompt,
    });
    json!({
        "cell_type": "markdown",
        "id": id,
        "metadata": {OURS: known},
        "source": lines(&prompt.response),
    })
}

fn shown(output: &CellOutput, line: u32) -> Value {
    match output {
        CellOutput::Stream(text) => json!({
            "name": "stdout",
            "output_type": "stream",
            "text": lines(text),
        }),
        CellOutput::Result(bundle) => json!({
            "data": data(bundle),
            "execution_count": line,
            "metadata": {},
            "output_type": "execute_result",
        }),
        CellOutput::Display(bundle) => json!({
            "data": data(bundle),
            "metadata": {},
            "output_type": "display_data",
        }),
        CellOutput::Error(CellError {
            name,
            value,
            traceback,
        }) => json!({
            "ename": name,
            "evalue": value,
            "output_type": "error",
            "traceback": traceback,
        }),
    }
}

/// The forms of a value. Of types that are not JSON only text is valid in a file.
fn data(bundle: &MimeBundle) -> Value {
    let mut data = Map::new();
    let mut forms: Vec<_> = bundle.iter().collect();
    forms.sort_by_key(|(mime, _)| *mime);
    for (mime, value) in forms {
        let is_json = mime == "application/json" || mime.ends_with("+json");
        let kept = match value {
            value if is_json => Some(value.clone()),
            Value::String(text) if in_lines(mime) => Some(lines(text)),
            Value::String(_) => Some(value.clone()),
            Value::Array(parts) if parts.iter().all(Value::is_string) => Some(value.clone()),
            _ => None,
        };
        if let Some(kept) = kept {
            data.insert(mime.to_owned(), kept);
        }
    }
    Value::Object(data)
}

/// Which types `nbformat` writes as lists of lines.
fn in_lines(mime: &str) -> bool {
    mime.starts_with("text/") || ["application/javascript", "image/svg+xml"].contains(&mime)
}

/// A cell we wrote; the text in it counts, where it was edited since.
fn saved(cell: &Value, known: &Value) -> Option<SavedEntry> {
    let text = source(cell);
    match known.get("kind")?.as_str()? {
        "code" => {
            let noted = known.get("source").and_then(Value::as_str);
            let source = match noted {
                Some(noted) if note_value(noted).as_ref() == Some(&text) => noted.to_owned(),
                _ if cell["cell_type"] == "markdown" => literal(&text),
                _ => text,
            };
            Some(SavedEntry::Code(SavedCell {
                line: events::number(known, "line").unwrap_or(0),
                source,
                ..SavedCell::default()
            }))
        }
        "prompt" => {
            let prompt = known.get("prompt")?.as_str()?.to_owned();
            Some(SavedEntry::Prompt(events::prompt(known, prompt, text)))
        }
        _ => None,
    }
}

/// A cell of another program.
fn foreign(cell: &Value, line: u32) -> Option<SavedEntry> {
    let text = source(cell);
    if text.trim().is_empty() {
        return None;
    }
    let source = match cell["cell_type"].as_str()? {
        "code" => text,
        "markdown" => literal(&text),
        _ => return None,
    };
    Some(SavedEntry::Code(SavedCell {
        line,
        source,
        ..SavedCell::default()
    }))
}

/// Ids given so far.
#[derive(Default)]
struct Ids {
    given: HashSet<u32>,
}

impl Ids {
    /// 8 hex digits that no other cell of the notebook has.
    fn of(&mut self, kind: &str, line: u32) -> String {
        let digest = Sha256::digest(format!("{kind} {line}"));
        let mut id = digest
            .iter()
            .take(4)
            .fold(0, |id: u32, byte| id << 8 | u32::from(*byte));
        while !self.given.insert(id) {
            id = id.wrapping_add(1);
        }
        format!("{id:08x}")
    }
}
