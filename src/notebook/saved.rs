//! What is kept of a session in a file: its cells with what they showed, and its exchanges, in order.

use serde_json::{Map, Value};

use crate::output::CellOutput;

/// A cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SavedCell {
    /// Its In number.
    pub line: u32,
    /// As typed.
    pub source: String,
    /// What it showed.
    pub outputs: Vec<CellOutput>,
    /// It raised, or its interpreter died.
    pub failed: bool,
    /// When it ran.
    pub ran: Option<CellTiming>,
    /// What the metadata of its cell held in the notebook it was loaded from, without what is ours.
    pub metadata: Map<String, Value>,
}

/// When a cell ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellTiming {
    /// Seconds since 1970.
    pub began: i64,
    /// Milliseconds it took; `None`: it has not ended.
    pub took: Option<i64>,
}

/// A prompt and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SavedPrompt {
    /// Its own In number.
    pub line: u32,
    /// The last code line before it.
    pub history_line: u32,
    /// As typed, without the dot.
    pub prompt: String,
    /// The stored answer.
    pub response: String,
    /// As [`SavedCell::metadata`].
    pub metadata: Map<String, Value>,
}

/// One thing of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SavedEntry {
    /// A cell or a note.
    Code(SavedCell),
    /// An exchange.
    Prompt(SavedPrompt),
}

/// What of a session goes into a file: ordered by line, code before the prompts that follow it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SavedSession {
    entries: Vec<SavedEntry>,
}

impl SavedEntry {
    /// What was typed, and the answer: what makes it the same entry.
    pub fn texts(&self) -> (&str, &str) {
        match self {
            SavedEntry::Code(cell) => (&cell.source, ""),
            SavedEntry::Prompt(prompt) => (&prompt.prompt, &prompt.response),
        }
    }

    /// The line it is saved under: a prompt stands behind the last code before it.
    fn place(&self) -> (u32, bool) {
        match self {
            SavedEntry::Code(cell) => (cell.line, false),
            SavedEntry::Prompt(prompt) => (prompt.history_line.saturating_add(1), true),
        }
    }
}

impl SavedSession {
    /// Puts cells and exchanges in order; exchanges behind the same cell keep theirs.
    pub fn new(cells: Vec<SavedCell>, prompts: Vec<SavedPrompt>) -> Self {
        let cells = cells.into_iter().map(SavedEntry::Code);
        let prompts = prompts.into_iter().map(SavedEntry::Prompt);
        Self::from_entries(cells.chain(prompts).collect())
    }

    /// Puts entries in order.
    pub fn from_entries(mut entries: Vec<SavedEntry>) -> Self {
        entries.sort_by_key(SavedEntry::place);
        SavedSession { entries }
    }

    /// Entries that are in order as they are, whatever their lines say.
    pub(super) fn as_ordered(entries: Vec<SavedEntry>) -> Self {
        SavedSession { entries }
    }

    /// Everything, in order.
    pub fn entries(&self) -> &[SavedEntry] {
        &self.entries
    }

    /// The cells, in order.
    pub fn cells(&self) -> impl Iterator<Item = &SavedCell> {
        self.entries.iter().filter_map(|entry| match entry {
            SavedEntry::Code(cell) => Some(cell),
            SavedEntry::Prompt(_) => None,
        })
    }

    /// `2 code cells and 1 prompt`.
    pub fn summary(&self) -> String {
        let cells = self.cells().count();
        let of = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        let prompts = self.entries.len() - cells;
        format!("{} and {}", of(cells, "code cell"), of(prompts, "prompt"))
    }
}
