//! Writes sessions as the text of a notebook.
//!
//! Our form (product contract, §9): code is a code cell, a note a markdown cell that stores its source, a prompt a
//! markdown cell of the answer that stores the prompt; `metadata.ipycodex` names the kind. The text is the one
//! `nbformat` writes: keys sorted, an indent of one blank, a final newline. The text is written straight from the
//! session, without a tree of values, since the user waits while a long session is saved.
//!
//! Ids are a function of the cell and its line, so that a second save changes only cells that changed.

use std::collections::HashSet;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::metadata::{OURS, TIMES, recorded_times};
use super::saved::{SavedCell, SavedEntry, SavedPrompt, SavedSession};
use crate::input::note_value;
use crate::output::{CellError, CellOutput, MimeBundle};

pub fn write_session(session: &SavedSession) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(b" ");
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    let notebook = NotebookFile {
        cells: Cells(session.entries()),
        metadata: Version {
            ipycodex_version: 1,
        },
        nbformat: 4,
        nbformat_minor: 5,
    };
    notebook
        .serialize(&mut writer)
        .expect("all keys are strings, and memory takes it");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON of strings is UTF-8")
}

/// A notebook of format 4.5, marked as ours.
#[derive(Serialize)]
struct NotebookFile<'a> {
    cells: Cells<'a>,
    metadata: Version,
    nbformat: u8,
    nbformat_minor: u8,
}

#[derive(Serialize)]
struct Version {
    ipycodex_version: u8,
}

struct Cells<'a>(&'a [SavedEntry]);

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut ids = Ids::default();
        let mut cells = serializer.serialize_seq(Some(self.0.len()))?;
        for entry in self.0 {
            let id = ids.entry(entry);
            match entry {
                SavedEntry::Code(cell) => code(cell, id, &mut cells)?,
                SavedEntry::Prompt(prompt) => cells.serialize_element(&exchange(prompt, id))?,
            }
        }
        cells.end()
    }
}

fn code<S: SerializeSeq>(cell: &SavedCell, id: String, cells: &mut S) -> Result<(), S::Error> {
    match note_value(&cell.source) {
        Some(value) => cells.serialize_element(&MarkdownCell {
            cell_type: "markdown",
            id,
            metadata: Members(cell_metadata(cell, Some(&cell.source))),
            source: Lines(&value),
        }),
        None => cells.serialize_element(&CodeCell {
            cell_type: "code",
            execution_count: cell.line,
            id,
            metadata: Members(cell_metadata(cell, None)),
            outputs: Outputs(cell),
            source: Lines(&cell.source),
        }),
    }
}

fn exchange(prompt: &SavedPrompt, id: String) -> MarkdownCell<'_> {
    MarkdownCell {
        cell_type: "markdown",
        id,
        metadata: Members(exchange_metadata(prompt)),
        source: Lines(&prompt.response),
    }
}

#[derive(Serialize)]
struct CodeCell<'a> {
    cell_type: &'static str,
    execution_count: u32,
    id: String,
    metadata: Members,
    outputs: Outputs<'a>,
    source: Lines<'a>,
}

#[derive(Serialize)]
struct MarkdownCell<'a> {
    cell_type: &'static str,
    id: String,
    metadata: Members,
    source: Lines<'a>,
}

struct Members(Vec<(String, Value)>);

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// The metadata of a code cell, or of a note with `source`: kind, times, and the metadata it was loaded with; keys in
/// alphabetical order.
pub(super) fn cell_metadata(cell: &SavedCell, source: Option<&str>) -> Vec<(String, Value)> {
    let known = OwnMetadata::Code {
        kind: "code",
        line: cell.line,
        source,
    };
    // A note does not run.
    let ran = cell.ran.filter(|_| source.is_none());
    let times = ran.and_then(recorded_times);
    members(&cell.metadata, &known, times)
}

pub(super) fn exchange_metadata(prompt: &SavedPrompt) -> Vec<(String, Value)> {
    let known = OwnMetadata::Prompt {
        history_line: prompt.history_line,
        kind: "prompt",
        line: prompt.history_line.saturating_add(1),
        prompt: &prompt.prompt,
    };
    members(&prompt.metadata, &known, None)
}

fn members(
    loaded: &Map<String, Value>,
    known: &OwnMetadata<'_>,
    times: Option<Value>,
) -> Vec<(String, Value)> {
    let known = serde_json::to_value(known).unwrap_or_default();
    let mut members: Vec<(String, Value)> = loaded.clone().into_iter().collect();
    members.push((OURS.to_owned(), known));
    members.extend(times.map(|times| (TIMES.to_owned(), times)));
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    members
}

#[derive(Serialize)]
#[serde(untagged)]
enum OwnMetadata<'a> {
    Code {
        kind: &'static str,
        line: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<&'a str>,
    },
    Prompt {
        history_line: u32,
        kind: &'static str,
        line: u32,
        prompt: &'a str,
    },
}

struct Outputs<'a>(&'a SavedCell);

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SavedCell { outputs, line, .. } = self.0;
        serializer.collect_seq(
            outputs
                .iter()
                .map(|output| Output::new(output, Some(*line))),
        )
    }
}

/// An output as notebooks store it, under this In number.
pub fn output_value(output: &CellOutput, line: Option<u32>) -> Value {
    serde_json::to_value(Output::new(output, line)).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Stream {
        name: &'a str,
        output_type: &'static str,
        text: Lines<'a>,
    },
    Result {
        data: Data<'a>,
        execution_count: Option<u32>,
        metadata: &'a Map<String, Value>,
        output_type: &'static str,
    },
    Display {
        data: Data<'a>,
        metadata: &'a Map<String, Value>,
        output_type: &'static str,
    },
    Error {
        ename: &'a str,
        evalue: &'a str,
        output_type: &'static str,
        traceback: &'a [String],
    },
}

impl<'a> Output<'a> {
    fn new(output: &'a CellOutput, line: Option<u32>) -> Self {
        match output {
            CellOutput::Stream { name, text } => Output::Stream {
                name,
                output_type: "stream",
                text: Lines(text),
            },
            CellOutput::Result(bundle) => Output::Result {
                data: Data(bundle),
                execution_count: line,
                metadata: bundle.metadata(),
                output_type: "execute_result",
            },
            CellOutput::Display(bundle) => Output::Display {
                data: Data(bundle),
                metadata: bundle.metadata(),
                output_type: "display_data",
            },
            CellOutput::Error(CellError {
                name,
                value,
                traceback,
                ..
            }) => Output::Error {
                ename: name,
                evalue: value,
                output_type: "error",
                traceback,
            },
        }
    }
}

/// The formats of a value. A type that is not JSON is valid in a file only as text.
struct Data<'a>(&'a MimeBundle);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut forms: Vec<_> = self.0.iter().collect();
        forms.sort_by_key(|(mime, _)| *mime);
        let mut data = serializer.serialize_map(None)?;
        for (mime, value) in forms {
            let is_json = mime == "application/json" || mime.ends_with("+json");
            match value {
                value if is_json => data.serialize_entry(mime, value)?,
                Value::String(text) if is_line_list(mime) => {
                    data.serialize_entry(mime, &Lines(text))?
                }
                Value::String(text) => data.serialize_entry(mime, text)?,
                Value::Array(parts) if parts.iter().all(Value::is_string) => {
                    data.serialize_entry(mime, parts)?;
                }
                _ => {}
            }
        }
        data.end()
    }
}

/// True for types that `nbformat` writes as lists of lines.
fn is_line_list(mime: &str) -> bool {
    mime.starts_with("text/") || ["application/javascript", "image/svg+xml"].contains(&mime)
}

/// A text as notebooks store it: its lines, each but the last with its newline.
struct Lines<'a>(&'a str);

impl Serialize for Lines<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.split_inclusive('\n'))
    }
}

/// Generates ids; remembers those given.
#[derive(Default)]
pub(super) struct Ids {
    given: HashSet<u32>,
}

impl Ids {
    /// The id of an entry; the caller asks in the order of the entries.
    pub(super) fn entry(&mut self, entry: &SavedEntry) -> String {
        match entry {
            SavedEntry::Code(cell) => self.of("code", cell.line),
            SavedEntry::Prompt(prompt) => self.of("prompt", prompt.line),
        }
    }

    /// 8 hex digits, unique in the notebook.
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
