//! A session as files keep it: its cells with their outputs, and its prompts with their answers, in order.

use serde_json::{Map, Value};

use crate::output::CellOutput;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SavedCell {
    /// The In number.
    pub line: u32,
    /// The source as typed.
    pub source: String,
    pub outputs: Vec<CellOutput>,
    /// The cell raised, or its interpreter died.
    pub failed: bool,
    pub ran: Option<CellTiming>,
    /// The metadata of the cell in the notebook it was loaded from, without ours.
    pub metadata: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellTiming {
    /// Seconds since 1970.
    pub began: i64,
    /// The duration in ms; `None`: the cell has not ended.
    pub took: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SavedPrompt {
    /// The In number.
    pub line: u32,
    /// The last code line before the prompt.
    pub history_line: u32,
    /// As typed, without the dot.
    pub prompt: String,
    pub response: String,
    /// As [`SavedCell::metadata`].
    pub metadata: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SavedEntry {
    /// A cell or a note.
    Code(SavedCell),
    Prompt(SavedPrompt),
}

/// The entries of a session: ordered by line, code before the prompts that follow it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SavedSession {
    entries: Vec<SavedEntry>,
}

impl SavedEntry {
    /// The input and the answer, which identify an entry.
    pub fn texts(&self) -> (&str, &str) {
        match self {
            SavedEntry::Code(cell) => (&cell.source, ""),
            SavedEntry::Prompt(prompt) => (&prompt.prompt, &prompt.response),
        }
    }

    /// The key of the order: a prompt stands behind the last code before it.
    fn place(&self) -> (u32, bool) {
        match self {
            SavedEntry::Code(cell) => (cell.line, false),
            SavedEntry::Prompt(prompt) => (prompt.history_line.saturating_add(1), true),
        }
    }
}

impl SavedSession {
    /// Orders cells and prompts; prompts behind the same cell keep their order.
    pub fn new(cells: Vec<SavedCell>, prompts: Vec<SavedPrompt>) -> Self {
        let cells = cells.into_iter().map(SavedEntry::Code);
        let prompts = prompts.into_iter().map(SavedEntry::Prompt);
        Self::from_entries(cells.chain(prompts).collect())
    }

    pub fn from_entries(mut entries: Vec<SavedEntry>) -> Self {
        entries.sort_by_key(SavedEntry::place);
        SavedSession { entries }
    }

    /// Entries that are in order already, whatever their lines say.
    pub(super) fn as_ordered(entries: Vec<SavedEntry>) -> Self {
        SavedSession { entries }
    }

    pub fn entries(&self) -> &[SavedEntry] {
        &self.entries
    }

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
