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

use std::collections::BTreeMap;
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
    begun: Instant,
    /// How often the interpreter at the prompt had been used when it got the prompt.
    pub(super) uses: u64,
    pub(super) phase: BranchPhase,
    /// The last job that waited for its end.
    pub(super) waiting: Option<JobId>,
}

pub(super) enum BranchPhase {
    Running,
    /// Its names are compared with those at the prompt.
    Comparing(BranchEnd),
    Ended(BranchEnd),
    Merging(BranchEnd, Box<MergeRun>),
}

/// How a cell in the background has ended.
#[derive(Debug, Clone, Default)]
pub(super) struct BranchEnd {
    /// `has ended`, `has failed (ValueError: x)`.
    pub(super) what: String,
    pub(super) took: Duration,
    /// Its interpreter is gone, and its names with it.
    pub(super) died: bool,
    pub(super) rows: Vec<MergeRow>,
    /// Its directory.
    pub(super) cwd: Option<String>,
}

impl Branches {
    /// Returns the number of the next branch.
    pub(super) fn take_number(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    pub(super) fn insert(&mut self, number: u32, cell: BranchCell) {
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

    /// Returns true when a branch was made from a later one: only the newest can have the prompt again.
    pub(super) fn is_newest(&self, number: u32) -> bool {
        self.cells.last_key_value().map(|(last, _)| *last) == Some(number)
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

    pub(super) fn listing(&self, now: Instant) -> String {
        let rows = self.cells.values().map(|cell| {
            [
                format!("In [{}]", cell.line),
                cell.state_in_words(now),
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
    pub(super) fn new(
        line: u32,
        code: String,
        run: CellRun,
        branch: Branch,
        folder: PathBuf,
        begun: Instant,
        uses: u64,
    ) -> Self {
        BranchCell {
            line,
            code,
            run,
            branch,
            folder,
            begun,
            uses,
            phase: BranchPhase::Running,
            waiting: None,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, BranchPhase::Running)
    }

    pub(super) fn end(&self) -> Option<&BranchEnd> {
        match &self.phase {
            BranchPhase::Running => None,
            BranchPhase::Comparing(end)
            | BranchPhase::Ended(end)
            | BranchPhase::Merging(end, _) => Some(end),
        }
    }

    fn state_in_words(&self, now: Instant) -> String {
        match &self.phase {
            BranchPhase::Running => {
                let took = now.saturating_duration_since(self.begun);
                format!("runs for {}", age_in_words(took))
            }
            BranchPhase::Comparing(end) | BranchPhase::Ended(end) if end.died => end.what.clone(),
            BranchPhase::Comparing(end) | BranchPhase::Ended(end) => {
                format!(
                    "{}; `merge {}` or `kill {}`",
                    end.what, self.line, self.line
                )
            }
            BranchPhase::Merging(..) => "is merged".to_owned(),
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
