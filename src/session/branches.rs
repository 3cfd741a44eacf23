//! Cells in the background: the branches that run them, and what becomes of their names.
//!
//! A cell that goes to the background keeps its number, its output and its row of the record; its interpreter becomes a
//! branch ([`crate::runtime::Branch`]), and the copy from before the cell has the prompt. In: what the driver hears of
//! both. Out: words about it. Invariants: a branch is in this table until its names are carried over, it is dropped, or
//! it has the prompt again; only a merge that the user asked for carries names. Absent on purpose: the events
//! (`branches/driver.rs`), the merge (`branches/merge.rs`), the copies (the runtime).

mod ask;
pub(super) mod driver;
pub(super) mod event;
pub(super) mod merge;
mod merge_run;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cell::CellRun;
use crate::ids::JobId;
use crate::runtime::{Branch, MergeRow, RequestId};
use crate::text::{age_in_words, aligned};

use merge_run::MergeRun;

/// Names that one line lists.
const NAMED: usize = 8;

/// The branches of a session, by their own numbers, oldest first.
#[derive(Default)]
pub(super) struct Branches {
    last: u32,
    cells: BTreeMap<u32, BranchCell>,
    /// In numbers of all cells of this session that have been there.
    lines: BTreeSet<u32>,
}

pub(super) struct BranchCell {
    /// The In number of its cell.
    pub(super) line: u32,
    /// The first line of its source.
    pub(super) code: String,
    pub(super) run: CellRun,
    pub(super) branch: Branch,
    /// Where values wait on their way to the prompt.
    pub(super) folder: PathBuf,
    pub(super) begun: Instant,
    /// How often the interpreter at the prompt had been used when it got the prompt.
    pub(super) uses: u64,
    /// The last job that waited for its end.
    pub(super) waiting: Option<JobId>,
    /// The names that it has changed, once it has ended.
    pub(super) rows: Vec<MergeRow>,
    /// `None` while the cell runs.
    pub(super) end: Option<BranchEnd>,
    /// The merge under way.
    pub(super) merge: Option<MergeRun>,
}

/// How a cell in the background has ended.
#[derive(Debug, Clone)]
pub(super) struct BranchEnd {
    /// `has ended`, `has failed (ValueError: x)`.
    pub(super) what: String,
    pub(super) took: Duration,
    /// Its directory.
    pub(super) cwd: Option<String>,
    pub(super) has_output: bool,
    /// The names that it has changed are being looked up.
    pub(super) is_compared: bool,
}

impl Branches {
    /// Returns the number of the next branch.
    pub(super) fn take_number(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    pub(super) fn insert(&mut self, number: u32, cell: BranchCell) {
        self.lines.insert(cell.line);
        self.cells.insert(number, cell);
    }

    pub(super) fn get(&mut self, number: u32) -> Option<&mut BranchCell> {
        self.cells.get_mut(&number)
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<BranchCell> {
        self.cells.remove(&number)
    }

    /// Returns the branch of the cell with this In number; the newest one, if there are several.
    pub(super) fn of_line(&mut self, line: u32) -> Option<(u32, &mut BranchCell)> {
        let mut cells = self.cells.iter_mut().rev();
        cells
            .find(|(_, cell)| cell.line == line)
            .map(|(number, cell)| (*number, cell))
    }

    /// Returns the cell of this branch, if that is this request.
    pub(super) fn cell(&mut self, number: u32, id: RequestId) -> Option<&mut CellRun> {
        let cell = self.cells.get_mut(&number)?;
        (cell.run.id == Some(id)).then_some(&mut cell.run)
    }

    /// Takes the views of all cells away: whoever looked at one has stopped.
    pub(super) fn hide_all(&mut self) {
        self.cells.values_mut().for_each(|cell| cell.run.hide());
    }

    /// Returns a line for each cell that runs in the background.
    pub(super) fn running(&self) -> Vec<String> {
        let running = self.cells.values().filter(|cell| cell.is_running());
        running
            .map(|cell| format!("In [{}] {}", cell.line, cell.code))
            .collect()
    }

    /// Returns the In number of the oldest cell that is there, running or not.
    pub(super) fn first_line(&self) -> Option<u32> {
        self.cells.values().map(|cell| cell.line).next()
    }

    /// Returns true for the In number of a cell that has been in the background.
    pub(super) fn knows(&self, line: u32) -> bool {
        self.lines.contains(&line)
    }

    /// Another session has other numbers.
    pub(super) fn forget_lines(&mut self) {
        self.lines.clear();
    }

    /// Returns a row for each cell; `waits` tells which branches wait for input.
    pub(super) fn listing(&self, now: Instant, waits: impl Fn(u32) -> bool) -> String {
        let rows = self.cells.iter().map(|(number, cell)| {
            [
                format!("In [{}]", cell.line),
                cell.state_in_words(now, waits(*number)),
                cell.code.clone(),
            ]
        });
        let rows: Vec<[String; 3]> = rows.collect();
        match rows.is_empty() {
            true => "No cell is in the background.".to_owned(),
            false => aligned(&rows).join("\n"),
        }
    }
}

impl BranchCell {
    pub(super) fn is_running(&self) -> bool {
        self.end.is_none()
    }

    fn state_in_words(&self, now: Instant, waits: bool) -> String {
        let line = self.line;
        match &self.end {
            None if waits => format!("waits for input; `kill {line}` ends it"),
            None => {
                let took = now.saturating_duration_since(self.begun);
                format!("runs for {}", age_in_words(took))
            }
            Some(end) => format!("{}; `merge {line}` or `kill {line}`", end.what),
        }
    }
}

/// Returns the names that a branch has changed, in words: `added a, b; changed c`.
pub(super) fn changes_in_words(rows: &[MergeRow]) -> String {
    let parts = ["added", "changed", "deleted"]
        .into_iter()
        .filter_map(|kind| {
            let names = rows.iter().filter(|row| row.change == kind);
            let names: Vec<&str> = names.map(|row| row.name.as_str()).collect();
            let more = names.len().saturating_sub(NAMED);
            let listed = names[..names.len() - more].join(", ");
            match (names.is_empty(), more) {
                (true, _) => None,
                (false, 0) => Some(format!("{kind} {listed}")),
                (false, more) => Some(format!("{kind} {listed} and {more} more")),
            }
        });
    match parts.collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => "no names changed".to_owned(),
        parts => parts,
    }
}
