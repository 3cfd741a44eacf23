//! Outputs too long for the model: cut where they are sent, kept whole, read piece by piece with `read_output`.
//!
//! In: a text and its kind. Out: the text, or its head and tail around a line with the id under which the whole can be
//! read; and the pieces the agent asks for. Ids: `cell-N` for the output of cell N, else the kind, the prompt's number
//! and a count (`tool-7-1`). Of a text longer than [`MOST_BYTES`] head and tail are kept; sizes and offsets are those
//! of the whole text, also of one that lost its middle before it came here.
//!
//! Invariant: an id in a cut text stays readable in this session and after a resume while there is room; the id of a
//! dropped text is reported as such. Absent on purpose: output of the agent's own commands, which the agent has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::agent::{InputPart, ToolSpec};
use crate::artifacts::{Artifacts, MOST_BYTES};
use crate::dialog::Dialog;
use crate::events::Notice;
use crate::files::FileError;
use crate::output::limits::{
    Rest, exceeds, grouped, shorten_bytes, shorten_naming, shorten_transcript,
};
use crate::output::parts::{Part, TruncatedText, parts};
use crate::output::transcript::TranscriptText;
use crate::output::{MODEL_CHARACTERS, cell_id};
use crate::record::SessionStart;
use crate::run::RunSender;
use crate::runtime::EnvironmentChanges;
use crate::tool_return::ToolReturn;

pub(super) const READ_OUTPUT: &str = "read_output";
/// How code reads outputs that were not shortened.
const IN_CODE: &str = " (in code, `ipycodex.output(\"cell-12\")` gives what any cell showed)";

const VARIABLES: &str = "variables.pickles";

/// An optional prefix of ids.
const ADDRESS: &str = "artifact://";

/// Code points reserved for the line between head and tail, so that a cut text is within the limit and is not cut
/// again.
const LINE_ROOM: usize = 200;
/// Code points of a piece when the agent gives no limit.
const USUAL_PIECE: usize = 10_000;
/// Code points of the longest piece; agents cut longer ones.
const LARGEST_PIECE: usize = 20_000;
/// Code points shown of a line that matches a query.
const LINE: usize = 500;
const LISTED: usize = 40;

/// The kind of a text: the first part of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputKind {
    Tool,
    /// The value of a variable or expression.
    Variable,
    /// The output of a command in a prompt.
    Shell,
    File,
    /// The output of a cell in a kernel of the agent.
    Own,
}

impl OutputKind {
    fn name(self) -> &'static str {
        match self {
            OutputKind::Tool => "tool",
            OutputKind::Variable => "variable",
            OutputKind::Shell => "shell",
            OutputKind::File => "file",
            OutputKind::Own => "own",
        }
    }
}

/// The cut outputs of a session; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Outputs {
    artifacts: Artifacts,
    places: Arc<Places>,
}

#[derive(Debug, Default)]
struct Places {
    root: PathBuf,
    record: PathBuf,
}

impl Outputs {
    /// Starts empty; `root` is the directory of all artifacts, `record` the file that holds the session's record.
    pub(super) fn new(root: PathBuf, record: PathBuf) -> Self {
        Outputs {
            artifacts: Artifacts::default(),
            places: Arc::new(Places { root, record }),
        }
    }

    /// Returns an empty set in the same directories, for another session.
    pub(super) fn anew(&self) -> Self {
        Outputs {
            artifacts: Artifacts::default(),
            places: Arc::clone(&self.places),
        }
    }

    /// Copies the texts that are in files to those of another session, which has none yet. Blocks.
    pub(super) fn copy_to(&self, session: i64) -> std::io::Result<()> {
        self.artifacts.copy_to(session)
    }

    pub(super) fn record(&self) -> &Path {
        &self.places.record
    }

    pub(super) fn settle(&self, start: &SessionStart) {
        if start.recorded && start.number > 0 {
            let Places { root, record } = &*self.places;
            self.artifacts
                .set_directory(root, record, start.number, start.resumed);
        }
    }

    /// Returns the file for the variables at the session's end; `None` when the session writes no files, or the
    /// disk refuses one.
    pub(super) fn file_of_variables(&self) -> Option<PathBuf> {
        self.artifacts.own_file(VARIABLES).ok().flatten()
    }

    /// Returns the file of the variables from the session's last end, if there is one.
    pub(super) fn kept_variables(&self) -> Option<PathBuf> {
        let file = self.artifacts.directory()?.join(VARIABLES);
        std::fs::symlink_metadata(&file).is_ok().then_some(file)
    }

    /// Writes the texts that are not on disk yet; blocks.
    pub(super) fn write_waiting(&self) -> Result<(), FileError> {
        self.artifacts.write_waiting()
    }

    /// Writes the texts that are not on disk yet, on another thread; reports a failure on `out`.
    pub(super) fn save(&self, out: &RunSender) {
        if !self.artifacts.is_waiting() {
            return;
        }
        let (outputs, out) = (self.clone(), out.clone());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = outputs.write_waiting() {
                let message = format!("long outputs are kept in memory only: {error}");
                out.send(Notice::warning(message));
            }
        });
    }

    /// Returns `text`, cut as the model gets it in the prompt with number `line`; keeps the whole of a cut text.
    pub(super) fn cut(&self, kind: OutputKind, line: u32, text: &str) -> String {
        if !exceeds(text, MODEL_CHARACTERS) {
            return text.to_owned();
        }
        let id = self.free_id(kind, line);
        self.keep(&id, text);
        shorten_naming(text, MODEL_CHARACTERS - LINE_ROOM, Rest::Kept(&id))
    }

    /// Returns the output of a cell in a kernel of the agent, cut to `limit` code points, for the prompt with number
    /// `line`; keeps the whole of a cut output.
    pub(super) fn cut_own(&self, line: u32, shown: &TranscriptText, limit: usize) -> String {
        if !shown.cut && !exceeds(&shown.text, limit) {
            return shown.text.clone();
        }
        let id = self.free_id(OutputKind::Own, line);
        self.artifacts.keep(&id, shown.text.clone());
        shorten_transcript(shown, limit, Rest::Kept(&id))
    }

    fn free_id(&self, kind: OutputKind, line: u32) -> String {
        (1..)
            .map(|n| format!("{}-{line}-{n}", kind.name()))
            .find(|id| !self.artifacts.has(id))
            .expect("some number is free")
    }

    /// Returns the output of cell `line`, cut to `limit` code points; keeps the whole of a cut output.
    pub(super) fn cut_cell(&self, line: u32, shown: &TranscriptText, limit: usize) -> String {
        let id = cell_id(line);
        if (shown.cut || exceeds(&shown.text, limit)) && !self.artifacts.has(&id) {
            self.artifacts.keep(&id, shown.text.clone());
        }
        shorten_transcript(shown, limit, Rest::Kept(&id))
    }

    /// Keeps the outputs that the context of the next prompt will cut.
    pub(super) fn keep_cells(&self, dialog: &Dialog) {
        for cell in &dialog.cells {
            let Some(output) = &cell.output else { continue };
            if exceeds(output, MODEL_CHARACTERS) && !self.artifacts.has(&cell_id(cell.line)) {
                self.keep(&cell_id(cell.line), output);
            }
        }
    }

    fn keep(&self, id: &str, text: &str) {
        self.artifacts.keep(id, shorten_bytes(text, MOST_BYTES));
    }

    pub(super) fn spec() -> ToolSpec {
        ToolSpec {
            name: READ_OUTPUT.to_owned(),
            description: "Reads more of a long output that was shortened for you. Where something is left out, a line \
                `[… N characters … read_output(id=\"cell-12\", offset=9800) shows it …]` names the id and where the \
                missing part begins. Give `query` to get only the lines that hold a text, with their line numbers; \
                else you get the characters from `offset` on. It reads what was recorded; nothing is run again. Of a \
                text \
                over 8 MiB the middle is not kept; offsets are those of the whole text."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "Id of the output, as named where it was cut."},
                    "offset": {
                        "type": "integer",
                        "description": "First character to read, from 0; negative counts from the end. Default 0.",
                    },
                    "limit": {
                        "type": "integer",
                        "description": format!(
                            "Characters to read: {USUAL_PIECE} by default, at most {LARGEST_PIECE}."
                        ),
                    },
                    "query": {
                        "type": "string",
                        "description": "Only lines that hold this text; case counts only if it has capital letters.",
                    },
                },
                "required": ["id"],
                "additionalProperties": false,
            }),
        }
    }

    /// Answers a call of the tool. Reads a file of at most [`MOST_BYTES`].
    pub(super) fn read(&self, arguments: &Value) -> ToolReturn {
        let read = ReadArguments::from(arguments).and_then(|wanted| self.piece(&wanted));
        let (text, success) = match read {
            Ok(text) => (text, true),
            Err(why) => (format!("Error: {why}"), false),
        };
        ToolReturn {
            content: vec![InputPart::Text(text.clone())],
            text,
            success,
            denied: false,
        }
    }

    fn piece(&self, wanted: &ReadArguments<'_>) -> Result<String, String> {
        let known = self.artifacts.has(wanted.id);
        let text = match self.artifacts.read(wanted.id) {
            Some(text) => text,
            None if known => return Err(format!("the output `{}` is no longer kept", wanted.id)),
            None => return Err(self.unknown(wanted.id)),
        };
        Ok(match wanted.query {
            Some(query) => found_lines(wanted.id, &text, query, wanted.limit),
            None => slice(wanted.id, &text, wanted.offset, wanted.limit),
        })
    }

    /// Returns a whole output, for people; without an id, the list of ids. Reads a file of at most [`MOST_BYTES`].
    pub(super) fn whole(&self, id: &str) -> Result<String, String> {
        let id = id.strip_prefix(ADDRESS).unwrap_or(id);
        match (id, self.artifacts.read(id)) {
            (_, Some(text)) => Ok(text.to_string()),
            ("", None) => Err(match self.listing() {
                None => "nothing has been shortened for the agent in this session".to_owned(),
                Some(ids) => format!("outputs that were shortened, newest first: {ids}"),
            }),
            _ if self.artifacts.has(id) => Err(format!("the output `{id}` is no longer kept")),
            _ => Err(self.unknown(id)),
        }
    }

    /// Returns the environment variables by which cells find their session.
    pub(super) fn told_to_cells(&self, start: &SessionStart) -> EnvironmentChanges {
        let recorded = start.recorded && start.number > 0;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let directory = self.artifacts.directory();
        [
            (
                "IPYCODEX_SESSION",
                recorded.then(|| start.number.to_string()),
            ),
            (
                "IPYCODEX_SESSION_FILE",
                recorded.then(|| text(self.record())),
            ),
            ("IPYCODEX_ARTIFACTS_DIR", directory.as_deref().map(text)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn unknown(&self, id: &str) -> String {
        let shown: String = id.chars().take(60).collect();
        match self.listing() {
            None => format!(
                "there is no shortened output `{shown}`: no output of this session was too long, so each one is \
                 complete where it was shown{IN_CODE}"
            ),
            Some(ids) => format!(
                "there is no shortened output `{shown}`. Shortened outputs, newest first: {ids}. Any other output is \
                 complete where it was shown{IN_CODE}"
            ),
        }
    }

    /// Lists the ids, newest first.
    fn listing(&self) -> Option<String> {
        let list = self.artifacts.list();
        if list.is_empty() {
            return None;
        }
        let newest = list.iter().rev().take(LISTED);
        let ids: Vec<_> = newest
            .map(|(id, bytes)| format!("{id} ({} bytes)", grouped(*bytes)))
            .collect();
        let more = if list.len() > LISTED { ", …" } else { "" };
        Some(format!("{}{more}", ids.join(", ")))
    }
}

struct ReadArguments<'a> {
    id: &'a str,
    offset: i64,
    limit: usize,
    query: Option<&'a str>,
}

impl<'a> ReadArguments<'a> {
    fn from(arguments: &'a Value) -> Result<Self, String> {
        let id = arguments["id"]
            .as_str()
            .ok_or("`id` has to be a string")?
            .trim();
        let id = id.strip_prefix(ADDRESS).unwrap_or(id);
        let limit = number(&arguments["limit"], "limit")?;
        let limit = limit.unwrap_or(USUAL_PIECE as i64).max(1);
        let query = match &arguments["query"] {
            Value::Null => None,
            Value::String(query) => Some(query.as_str()).filter(|query| !query.is_empty()),
            _ => return Err("`query` has to be a string".to_owned()),
        };
        Ok(ReadArguments {
            id,
            offset: number(&arguments["offset"], "offset")?.unwrap_or(0),
            limit: usize::try_from(limit).map_or(LARGEST_PIECE, |limit| limit.min(LARGEST_PIECE)),
            query,
        })
    }
}

/// Parses a whole number, also one that a model wrote as text.
fn number(value: &Value, name: &str) -> Result<Option<i64>, String> {
    let read = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        #[allow(clippy::cast_possible_truncation, reason = "saturates")]
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().map(|number| number as i64)),
        _ => None,
    };
    let wrong = || format!("`{name}` has to be a whole number");
    read.map(Some).ok_or_else(wrong)
}

/// Returns `limit` code points from `offset` on, and a note about the rest. A piece ends at a gap in the text.
fn slice(id: &str, text: &str, offset: i64, limit: usize) -> String {
    let TruncatedText {
        parts, characters, ..
    } = parts(text);
    let total = characters;
    let distance = offset.unsigned_abs();
    let wanted = if offset < 0 {
        total.saturating_sub(distance)
    } else {
        distance.min(total)
    };
    let at = parts.iter().position(|part| wanted < part.end());
    let at = at.unwrap_or(parts.len() - 1);
    let part = &parts[at];
    let missing = |before: &Part<'_>, after: &Part<'_>| {
        let (from, to) = (grouped(before.end()), grouped(after.start));
        format!("characters {from} to {to} were not kept")
    };
    let start = wanted.max(part.start);
    let skipped = match at.checked_sub(1) {
        Some(before) if wanted < start => format!("; {}", missing(&parts[before], part)),
        _ => String::new(),
    };
    let mut bounds = part.text.char_indices().map(|(at, _)| at);
    let first = usize::try_from(start - part.start).unwrap_or(usize::MAX);
    let from = bounds.nth(first).unwrap_or(part.text.len());
    let mut bounds = part.text[from..].char_indices().map(|(at, _)| from + at);
    let to = bounds.nth(limit).unwrap_or(part.text.len());
    let end = part.end().min(start + limit as u64);
    let mut piece = format!(
        "[{id}: characters {} to {} of {}{skipped}]\n{}",
        grouped(start),
        grouped(end),
        grouped(total),
        &part.text[from..to]
    );
    let (goes_on, why) = match parts.get(at + 1) {
        Some(next) if end == part.end() => (next.start, format!("{}; ", missing(part, next))),
        _ => (end, String::new()),
    };
    if goes_on < total {
        piece.push_str(&format!(
            "\n[{why}{READ_OUTPUT}(id=\"{id}\", offset={goes_on}) goes on]"
        ));
    }
    piece
}

/// Returns the lines that contain `query`, numbered from 1; at most `limit` code points.
fn found_lines(id: &str, text: &str, query: &str, limit: usize) -> String {
    let exact = query.chars().any(char::is_uppercase);
    let holds = |line: &str| match exact {
        true => line.contains(query),
        false => line.to_lowercase().contains(query),
    };
    let whole = parts(text);
    let (mut found, mut shown, mut left) = (0_u64, String::new(), limit);
    let mut full = false;
    let numbered = whole
        .parts
        .iter()
        .flat_map(|part| (part.line + 1..).zip(part.text.lines()));
    for (number, line) in numbered.filter(|(_, line)| holds(line)) {
        found += 1;
        let row = format!("\n{number}: {}", around(line, query));
        let size = row.chars().count();
        full |= size > left && found > 1;
        if !full {
            left = left.saturating_sub(size);
            shown.push_str(&row);
        }
    }
    let (all, total) = (grouped(found), grouped(whole.lines));
    let mut more = String::new();
    if full {
        more.push_str("\n[there are more; a longer `query` finds fewer]");
    }
    for ends in whole.parts.windows(2) {
        let (from, to) = (grouped(ends[0].end()), grouped(ends[1].start));
        more.push_str(&format!(
            "\n[characters {from} to {to} were not kept: nothing was looked for there]"
        ));
    }
    let query: String = query.chars().take(60).collect();
    format!("[{id}: {all} of {total} lines hold {query:?}]{shown}{more}")
}

/// Returns the line, or the part of a very long one around `query`.
fn around(line: &str, query: &str) -> String {
    if !exceeds(line, LINE) {
        return line.to_owned();
    }
    let at = line.find(query).unwrap_or(0);
    let before = line[..at].chars().count().saturating_sub(LINE / 4);
    let part: String = line.chars().skip(before).take(LINE).collect();
    let (head, tail) = (
        if before > 0 { "…" } else { "" },
        if exceeds(line, before + LINE) {
            "…"
        } else {
            ""
        },
    );
    format!("{head}{part}{tail}")
}

#[cfg(test)]
mod tests;
