//! Runs cells into a notebook file, which is written as the outputs come.
//!
//! In: the notebook, the cell of each input, and the events. Out: a file that is complete at any moment, and a
//! summary. Invariants: cells that are not run lose their outputs, unless they are `untouched`; the final state of
//! widgets is stored; everything else is unchanged; the file is written after each cell and, during a long one,
//! from time to time, but writing never takes more than a part of the time.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::cell_outputs::CellOutputs;
use super::widgets::Widgets;
use crate::files::{FileMode, TrackedFile};
use crate::notebook::document::{CellChanges, CellKind, Document, Draft, DraftCell};
use crate::notebook::{TIMES, outputs_text, read_outputs, times};
use crate::session::SessionEvent;
use crate::text::report::Report;

/// Interval of writing the outputs of a cell that still runs.
const OFTEN: Duration = Duration::from_secs(2);

/// Writing takes at most one part in this many of the time, except for the last write.
const PART: u32 = 5;

pub struct NotebookRun {
    document: Document,
    /// The output file; `None`: nothing is written.
    file: Option<TrackedFile>,
    /// The notebook's cell of each input.
    cells: Vec<usize>,
    /// Cells that are not changed.
    untouched: HashSet<usize>,
    widgets: Widgets,
    ran: Vec<Ran>,
    /// Current content of the displays by id.
    displays: HashMap<String, Value>,
    written: Option<Instant>,
    took: Duration,
    /// The file that was named, when another one is written instead.
    meant: Option<PathBuf>,
    /// File attributes that the first write could not keep.
    unkept: Option<String>,
}

struct Ran {
    cell: usize,
    collected: CellOutputs,
    since: DateTime<Utc>,
    began: Instant,
    /// Time of its end, and its duration.
    ended: Option<(DateTime<Utc>, Duration)>,
    /// New text of the cell: an answer.
    source: Option<String>,
}

impl NotebookRun {
    /// Starts a run of `cells` of a notebook; cells in `untouched` are not changed. `output` is written at once.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(
        document: Document,
        cells: Vec<usize>,
        untouched: Vec<usize>,
        output: Option<&Path>,
    ) -> Result<Self, Report> {
        let file = match output {
            None => None,
            Some(path) => Some(TrackedFile::open_for_write(path)?),
        };
        let mut kept = NotebookRun {
            document,
            file,
            cells,
            untouched: untouched.into_iter().collect(),
            widgets: Widgets::default(),
            ran: Vec::new(),
            displays: HashMap::new(),
            written: None,
            took: Duration::ZERO,
            meant: None,
            unkept: None,
        };
        kept.write()?;
        Ok(kept)
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Marks the input of this number, from 0, as started.
    pub(super) fn began(&mut self, input: usize) {
        let Some(cell) = self.cells.get(input) else {
            return;
        };
        self.ran.push(Ran {
            cell: *cell,
            collected: CellOutputs::default(),
            since: Utc::now(),
            began: Instant::now(),
            ended: None,
            source: None,
        });
    }

    /// Takes an event of the running input.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn on(&mut self, event: &SessionEvent) -> Result<(), Report> {
        self.widgets.on(event);
        let Some(ran) = self.ran.last_mut() else {
            return Ok(());
        };
        self.displays.extend(ran.collected.on(event));
        let due = OFTEN.max(self.took * PART);
        if self.written.is_none_or(|written| written.elapsed() >= due) {
            self.write()?;
        }
        Ok(())
    }

    pub(super) fn on_late(&mut self, event: &SessionEvent) {
        self.widgets.on(event);
    }

    /// Marks the input as ended by its time limit.
    pub(super) fn timed_out(&mut self, after: Duration) {
        if let Some(ran) = self.ran.last_mut() {
            let why = format!("the cell took longer than {} s", after.as_secs_f64());
            ran.collected.fail("CellTimeoutError", &why);
        }
    }

    /// Marks the input as ended; `answer` is the new text of its cell, if the input was a prompt.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn ended(&mut self, answer: Option<String>) -> Result<(), Report> {
        if let Some(ran) = self.ran.last_mut() {
            ran.ended = Some((Utc::now(), ran.began.elapsed()));
            ran.source = answer;
        }
        let due = self.took * PART;
        if self.written.is_none_or(|written| written.elapsed() >= due) {
            self.write()?;
        }
        Ok(())
    }

    /// Returns a notice when another program changed the file while the cells ran.
    pub fn moved(&self) -> Option<String> {
        let (meant, file) = (self.meant.as_ref()?, self.file.as_ref()?);
        Some(format!(
            "`{}` was changed by another program while the cells ran, so it was left as it is; the outputs of this run \
             are in `{}`",
            meant.display(),
            file.path().display()
        ))
    }

    pub fn unkept(&self) -> Option<&str> {
        self.unkept.as_deref()
    }

    /// Writes the final state.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), Report> {
        self.write()
    }

    fn write(&mut self) -> Result<(), Report> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let begun = Instant::now();
        let mut draft = Draft::unchanged(&self.document);
        for (number, cell) in self.document.cells().enumerate() {
            let shows = cell
                .value("outputs")
                .is_some_and(|outputs| outputs != json!([]))
                || cell
                    .value("execution_count")
                    .is_some_and(|count| !count.is_null());
            let untouched = self.untouched.contains(&number);
            if cell.kind() == Some(CellKind::Code) && shows && !untouched {
                draft.cells[number] = DraftCell::Changed(number, shown(Vec::new(), None));
            }
        }
        for ran in &self.ran {
            draft.cells[ran.cell] =
                DraftCell::Changed(ran.cell, ran.revision(&self.document, &self.displays));
        }
        draft.metadata.extend(self.widgets.metadata());
        let written = draft
            .render(&self.document)
            .map_err(|error| Report::failure(error.sentence(&file.path().display().to_string())))?;
        match file.replace(written.parts(), FileMode::Keep) {
            Err(_) if !file.is_unchanged() => {
                // Both the other program's changes and our outputs are kept: the latter in a new file.
                let meant = file.path().to_owned();
                *file = TrackedFile::open_for_write(&beside(&meant))?;
                file.replace(written.parts(), FileMode::Keep)?;
                self.meant.get_or_insert(meant);
            }
            written => written?,
        }
        if self.unkept.is_none() {
            self.unkept = file.lost_attributes();
        }
        self.took = begun.elapsed();
        self.written = Some(Instant::now());
        Ok(())
    }

    /// Returns the summary: `status`, `output`, `cells`, `seconds`.
    pub fn summary(&self, code: i32, took: Duration) -> Value {
        let mut cells: Vec<Value> = self
            .ran
            .iter()
            .map(|ran| ran.summary(&self.displays))
            .collect();
        let rest = self.cells.iter().skip(self.ran.len());
        cells.extend(rest.map(|cell| json!({"index": cell, "status": "not run"})));
        json!({
            "status": if code == 0 { "ok" } else { "error" },
            "exit_code": code,
            "output": self.file.as_ref().map(|file| file.path().display().to_string()),
            "seconds": took.as_secs_f64(),
            "cells": cells,
        })
    }
}

impl Ran {
    fn revision(&self, document: &Document, displays: &HashMap<String, Value>) -> CellChanges {
        let is_code = document.cell(self.cell).and_then(|cell| cell.kind()) == Some(CellKind::Code);
        if !is_code {
            return CellChanges {
                source: self.source.clone(),
                ..CellChanges::default()
            };
        }
        let timing = times(self.since, self.ended.map(|(ended, _)| ended));
        CellChanges {
            metadata: vec![(TIMES.to_owned(), timing)],
            ..shown(self.collected.outputs(displays), self.collected.line())
        }
    }

    fn summary(&self, displays: &HashMap<String, Value>) -> Value {
        let failed = self.collected.failed();
        json!({
            "index": self.cell,
            "status": if failed.is_some() { "error" } else { "ok" },
            "execution_count": self.collected.line(),
            "seconds": self.ended.as_ref().map(|(_, took)| took.as_secs_f64()),
            "error": failed,
            "text": match &self.source {
                Some(answer) => answer.clone(),
                None => outputs_text(self.cell, &read_outputs(&self.collected.outputs(displays))),
            },
        })
    }
}

/// Returns an unused name beside `path`: `a-2.ipynb`.
fn beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let named = |count: u32| path.with_file_name(format!("{stem}-{count}.ipynb"));
    let mut names = (2..).map(named);
    let free = names.find(|name| name.symlink_metadata().is_err());
    free.unwrap_or_else(|| named(2))
}

fn shown(outputs: Vec<Value>, line: Option<u32>) -> CellChanges {
    CellChanges {
        outputs: Some(outputs),
        execution_count: Some(line),
        ..CellChanges::default()
    }
}
