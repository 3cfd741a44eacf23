//! Work beside the prompt: cells in the background and turns of the agent, the branches that run them, and what becomes
//! of their names.
//!
//! A cell that goes to the background keeps its number, its output and its row of the record; its interpreter becomes a
//! branch ([`crate::runtime::Branch`]), and the copy from before the cell has the prompt. A turn beside the prompt has
//! an interpreter forked from that copy, and a session of its own. In: what the drivers hear of both. Out: words about
//! it. Invariants: a branch is in this table until its names are carried over, it is dropped, or it has the prompt
//! again (a turn stays with its answer); only a merge that the user asked for carries names. Absent on purpose: the
//! events (`driver.rs`, `aside.rs`), the merge (`merge.rs`), the copies (the runtime).

pub(super) mod aside;
mod ask;
pub(super) mod driver;
pub(super) mod event;
pub(super) mod files;
pub(super) mod merge;
mod merge_run;
pub(super) mod offer;
mod shown;
mod tell;
mod turn;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cell::CellRun;
use crate::ids::JobId;
use crate::runtime::{Branch, MergeRow, RequestId};
use crate::text::{age_in_words, aligned, counted};

use merge_run::MergeRun;
use turn::AsideTurn;

/// Names that one line lists.
const NAMED: usize = 8;

/// The branches of a session, by their own numbers, oldest first.
#[derive(Default)]
pub(super) struct Branches {
    last: u32,
    jobs: BTreeMap<u32, BranchJob>,
    /// In numbers of all that has been there in this session.
    lines: BTreeSet<u32>,
}

/// A cell in the background, or a turn beside the prompt.
pub(super) struct BranchJob {
    /// Its In number.
    pub(super) line: u32,
    /// Its first line, as it would be typed.
    pub(super) title: String,
    pub(super) work: BranchWork,
    /// Where values wait on their way to the prompt.
    pub(super) folder: PathBuf,
    pub(super) begun: Instant,
    /// The last job that waited for its end.
    pub(super) waiting: Option<JobId>,
    /// The names that it has changed, once it has ended.
    pub(super) rows: Vec<MergeRow>,
    /// `None` while it runs.
    pub(super) end: Option<BranchEnd>,
    /// The merge under way.
    pub(super) merge: Option<MergeRun>,
}

pub(super) enum BranchWork {
    Cell {
        run: Box<CellRun>,
        branch: Branch,
        /// How often the interpreter at the prompt had been used when it got the prompt.
        uses: u64,
    },
    Aside(Box<AsideTurn>),
    /// A turn that offers nothing any more.
    Answer(Box<AsideTurn>),
}

/// How it has ended.
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

    pub(super) fn insert(&mut self, number: u32, job: BranchJob) {
        self.lines.insert(job.line);
        self.jobs.insert(number, job);
    }

    pub(super) fn get(&mut self, number: u32) -> Option<&mut BranchJob> {
        self.jobs.get_mut(&number)
    }

    /// Returns the turn beside the prompt with this number.
    pub(super) fn aside(&mut self, number: u32) -> Option<&mut AsideTurn> {
        match &mut self.jobs.get_mut(&number)?.work {
            BranchWork::Aside(turn) | BranchWork::Answer(turn) => Some(turn),
            BranchWork::Cell { .. } => None,
        }
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<BranchJob> {
        self.jobs.remove(&number)
    }

    /// Returns what has this In number; the newest, if there are several.
    pub(super) fn of_line(&mut self, line: u32) -> Option<(u32, &mut BranchJob)> {
        let mut jobs = self.jobs.iter_mut().rev();
        jobs.find(|(_, job)| job.line == line)
            .map(|(number, job)| (*number, job))
    }

    /// Returns the cell of this branch, if that is this request.
    pub(super) fn cell(&mut self, number: u32, id: RequestId) -> Option<&mut CellRun> {
        match &mut self.jobs.get_mut(&number)?.work {
            BranchWork::Cell { run, .. } if run.id == Some(id) => Some(run),
            _ => None,
        }
    }

    /// Takes all views away: whoever looked at one has stopped.
    pub(super) fn hide_all(&mut self) {
        for job in self.jobs.values_mut() {
            match &mut job.work {
                BranchWork::Cell { run, .. } => run.hide(),
                BranchWork::Aside(turn) | BranchWork::Answer(turn) => turn.shown.hide(),
            }
        }
    }

    /// Returns a line for each cell and turn that runs.
    pub(super) fn running(&self) -> Vec<String> {
        let running = self.jobs.values().filter(|job| job.is_running());
        running
            .map(|job| format!("In [{}] {}", job.line, job.title))
            .collect()
    }

    /// Returns the In number of the oldest that is there, running or not; answers can be left.
    pub(super) fn first_line(&self) -> Option<u32> {
        let is_held = |job: &&BranchJob| !matches!(job.work, BranchWork::Answer(_));
        self.jobs.values().find(is_held).map(|job| job.line)
    }

    /// Returns true for the In number of what has been beside the prompt.
    pub(super) fn knows(&self, line: u32) -> bool {
        self.lines.contains(&line)
    }

    /// Another session has other numbers.
    pub(super) fn forget_lines(&mut self) {
        self.lines.clear();
        self.jobs.clear();
    }

    /// Returns a row for each; `waits` tells which branches wait for input.
    pub(super) fn listing(&self, now: Instant, waits: impl Fn(u32) -> bool) -> String {
        let rows = self.jobs.iter().map(|(number, job)| {
            [
                format!("In [{}]", job.line),
                job.state_in_words(now, waits(*number)),
                job.title.clone(),
            ]
        });
        let rows: Vec<[String; 3]> = rows.collect();
        match rows.is_empty() {
            true => "Nothing works beside the prompt.".to_owned(),
            false => aligned(&rows).join("\n"),
        }
    }
}

impl BranchJob {
    pub(super) fn is_running(&self) -> bool {
        self.end.is_none()
    }

    fn state_in_words(&self, now: Instant, waits: bool) -> String {
        let line = self.line;
        let took = age_in_words(now.saturating_duration_since(self.begun));
        match (&self.end, &self.work) {
            (None, _) if waits => format!("waits for input; `answer {line} TEXT`"),
            (None, BranchWork::Cell { .. }) => format!("runs for {took}"),
            (None, _) => format!("works for {took}; `show {line}`"),
            (Some(end), BranchWork::Answer(_)) => format!("{}; `show {line}`", end.what),
            (Some(end), _) => format!("{}; `merge {line}` or `kill {line}`", end.what),
        }
    }
}

impl BranchJob {
    /// Returns what a merge would bring, in words; `None` for nothing.
    pub(super) fn offer_in_words(&self) -> Option<String> {
        let mut parts: Vec<String> = changes_in_words(&self.rows).into_iter().collect();
        if let BranchWork::Aside(turn) = &self.work {
            let files: Vec<&str> = turn.files.iter().map(|file| file.path.as_str()).collect();
            if !files.is_empty() {
                parts.push(format!("wrote {}", listed(&files)));
            }
            if !turn.cells.is_empty() {
                parts.insert(0, counted(turn.cells.len(), "cell"));
            }
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Lists some names, and counts the rest.
fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let listed = names[..names.len() - more].join(", ");
    match more {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// Returns the names that a branch has changed, in words: `added a, b; changed c`.
fn changes_in_words(rows: &[MergeRow]) -> Option<String> {
    let parts = ["added", "changed", "deleted"].into_iter();
    let parts = parts.filter_map(|kind| {
        let names = rows.iter().filter(|row| row.change == kind);
        let names: Vec<&str> = names.map(|row| row.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{kind} {}", listed(&names)))
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
