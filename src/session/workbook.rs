//! The notebook that is open in place: its cells come into the editor, and cells that ran are written back at once.
//!
//! In: cells of the user that end while a notebook is open. Out: the file, written on another thread, one cell
//! after the other. Invariants: changes of another program are read first and kept; a cell is found by its id; a
//! text that has nothing in common with the cell brought into the editor does not replace it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use similar::algorithms::{Capture, myers};
use similar::diff_ratio;
use tokio::task::JoinHandle;

use crate::cell::CellResult;
use crate::notebook::document::{CellChanges, CellKind, Document, Draft, DraftCell, NewCell};
use crate::notebook::{TIMES, output_value, times};
use crate::notebook_file::{IfMissing, NotebookFile};
use crate::notice::{Notice, report_notice};
use crate::output::CellOutput;
use crate::run::RunSender;
use crate::saving::NotebookPlaces;

/// The share of a cell's text that a new text must contain to count as the same cell.
const SAME: f32 = 0.3;

/// Longest wait for the file at the session's end.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Workbook {
    open: Option<OpenWorkbook>,
    writing: Vec<JoinHandle<()>>,
}

pub(super) struct OpenWorkbook {
    path: PathBuf,
    name: String,
    shared: Arc<SharedNotebook>,
    /// The cell that the next input belongs to.
    brought: Option<EditedCell>,
}

struct SharedNotebook {
    file: Mutex<NotebookCursor>,
    /// Cells that have run and are not in the file yet, in order.
    waiting: Mutex<VecDeque<(ExecutedCell, Option<EditedCell>)>>,
}

/// The file, and the place for new cells.
struct NotebookCursor {
    notebook: NotebookFile,
    /// New cells are inserted after this many.
    at: usize,
}

/// A cell that was brought into the editor, with its id and original text.
#[derive(Debug, Clone)]
pub(super) struct EditedCell {
    number: usize,
    id: Option<String>,
    pub(super) source: String,
}

pub(super) enum CellLookup {
    Code(EditedCell),
    /// Prose: its text.
    Other(String),
}

/// A cell that has run, for the open notebook.
pub(super) struct ExecutedCell {
    line: u32,
    pub(super) source: String,
    outputs: Vec<CellOutput>,
    ended: DateTime<Utc>,
    took: Duration,
}

impl Workbook {
    /// Returns true while a notebook is open: cells keep their outputs then.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn opens(&mut self, open: OpenWorkbook) {
        self.open = Some(open);
    }

    /// Makes the next input belong to this cell of the open notebook.
    pub(super) fn brings(&mut self, brought: EditedCell) {
        if let Some(open) = &mut self.open {
            open.brought = Some(brought);
        }
    }

    /// Returns the file and name to open; without a name, those of the open notebook.
    pub(super) fn named(
        &self,
        name: &str,
        places: &NotebookPlaces,
        cwd: &Path,
    ) -> Result<(PathBuf, String), Notice> {
        match (name, &self.open) {
            ("", None) => Err(none_is_open()),
            ("", Some(open)) => Ok((open.path.clone(), open.name.clone())),
            (name, _) => Ok((places.file(name, cwd), name.to_owned())),
        }
    }

    /// Looks up a cell of the open notebook, which may wait for the file; new cells are inserted after it.
    pub(super) fn look_up(
        &self,
        number: usize,
    ) -> Result<impl FnOnce() -> Result<CellLookup, String> + Send + use<>, Notice> {
        let open = self.open.as_ref().ok_or_else(none_is_open)?;
        let shared = Arc::clone(&open.shared);
        Ok(move || locked(&shared.file).bring(number))
    }

    /// Closes the notebook; returns the notice that cells are no longer written.
    pub(super) fn close(&mut self) -> Notice {
        Notice::note(match self.open.take() {
            Some(open) => format!("{} is closed; it holds all that ran", open.name),
            None => "no notebook is open".to_owned(),
        })
    }

    /// Writes a cell into the open notebook, after those before it; reports failures on `out`.
    pub(super) fn write(&mut self, ran: ExecutedCell, out: RunSender) {
        let Some(open) = &mut self.open else {
            return;
        };
        let shared = Arc::clone(&open.shared);
        locked(&shared.waiting).push_back((ran, open.brought.take()));
        let writing = tokio::task::spawn_blocking(move || {
            let mut place = locked(&shared.file);
            let Some((ran, brought)) = locked(&shared.waiting).pop_front() else {
                return;
            };
            let told = place.write(&ran, brought.as_ref());
            told.into_iter().for_each(|told| out.send(told));
        });
        self.writing.retain(|writing| !writing.is_finished());
        self.writing.push(writing);
    }

    pub(super) async fn finish(&mut self) {
        for writing in self.writing.drain(..) {
            // A disk that does not respond must not block the end of the session.
            let _ = tokio::time::timeout(PATIENCE, writing).await;
        }
    }
}

impl ExecutedCell {
    /// Takes source and outputs out of a result that is kept for a notebook.
    pub(super) fn take(result: &mut CellResult) -> Option<Self> {
        let (line, source) = result.kept.take()?;
        Some(ExecutedCell {
            line,
            source,
            outputs: std::mem::take(&mut result.outputs),
            ended: Utc::now(),
            took: result.took,
        })
    }
}

impl OpenWorkbook {
    pub(super) fn new(path: PathBuf, name: String, notebook: NotebookFile) -> Self {
        let at = notebook.document.len();
        OpenWorkbook {
            path,
            name,
            shared: Arc::new(SharedNotebook {
                file: Mutex::new(NotebookCursor { notebook, at }),
                waiting: Mutex::default(),
            }),
            brought: None,
        }
    }
}

fn none_is_open() -> Notice {
    Notice::warning("no notebook is open: `%ipycodex open FILE` opens one")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NotebookCursor {
    fn bring(&mut self, number: usize) -> Result<CellLookup, String> {
        let document = &self.notebook.document;
        let Some(cell) = document.cell(number) else {
            return Err(match document.len() {
                0 => format!("Cell index {number} out of range: the notebook has no cells"),
                count => format!("Cell index {number} out of range (0-{})", count - 1),
            });
        };
        self.at = number + 1;
        let source = cell.source();
        if cell.kind() != Some(CellKind::Code) {
            return Ok(CellLookup::Other(source));
        }
        let id = cell.id();
        Ok(CellLookup::Code(EditedCell { number, id, source }))
    }

    /// Returns the insertion index in the current file: after the same cell.
    fn place_in(&self, now: &Document) -> usize {
        let old = self.at.checked_sub(1);
        let id = old.and_then(|old| self.notebook.document.cell(old)?.id());
        let found = id.and_then(|id| now.cells().position(|cell| cell.id().as_ref() == Some(&id)));
        found.map_or(self.at.min(now.len()), |found| found + 1)
    }

    fn write(&mut self, ran: &ExecutedCell, brought: Option<&EditedCell>) -> Vec<Notice> {
        let mut told = Vec::new();
        if !self.notebook.file.is_unchanged() {
            let path = self.notebook.file.path().to_owned();
            let name = self.notebook.name.clone();
            match NotebookFile::open(&path, &name, IfMissing::Empty) {
                Ok(now) => {
                    told.push(Notice::note(format!(
                        "{name} was changed by another program; it was read again"
                    )));
                    self.at = self.place_in(&now.document);
                    self.notebook = now;
                }
                Err(report) => return vec![report_notice(&report)],
            }
        }
        let document = &self.notebook.document;
        let mut draft = Draft::unchanged(document);
        let same = brought.filter(|brought| brought.is_in(&ran.source));
        match same.and_then(|brought| brought.find(document)) {
            Some(number) => {
                draft.cells[number] = DraftCell::Changed(number, ran.revision());
                self.at = number + 1;
            }
            None => {
                let place = self.at.min(draft.cells.len());
                draft.cells.insert(place, DraftCell::New(ran.made()));
                self.at = place + 1;
            }
        }
        match self.notebook.rewrite(&draft) {
            Ok(()) => told.extend(self.notebook.file.lost_attributes().map(Notice::note)),
            Err(report) => told.push(report_notice(&report)),
        }
        told
    }
}

impl EditedCell {
    /// Returns the cell's current number: of the cell with its id, else of the cell with its place and text.
    fn find(&self, document: &Document) -> Option<usize> {
        let by_id = self.id.as_ref().and_then(|id| {
            let id = Some(id.clone());
            document.cells().position(|cell| cell.id() == id)
        });
        by_id.or_else(|| {
            let cell = document.cell(self.number)?;
            (self.id.is_none() && cell.source() == self.source).then_some(self.number)
        })
    }

    /// Returns true when the text is this cell's, edited.
    fn is_in(&self, text: &str) -> bool {
        let (old, new): (Vec<char>, Vec<char>) =
            (self.source.chars().collect(), text.chars().collect());
        if old.is_empty()
            || self
                .source
                .lines()
                .any(|line| line.len() > 3 && text.contains(line))
        {
            return true;
        }
        let mut ops = Capture::new();
        let Ok(()) = myers::diff(&mut ops, &old, 0..old.len(), &new, 0..new.len());
        diff_ratio(ops.ops(), old.len(), new.len()) >= SAME
    }
}

impl ExecutedCell {
    fn outputs(&self) -> Vec<Value> {
        let value = |output| output_value(output, Some(self.line));
        self.outputs.iter().map(value).collect()
    }

    /// Returns the execution times in Jupyter's format.
    fn timing(&self) -> Vec<(String, Value)> {
        let began = self.ended - self.took;
        vec![(TIMES.to_owned(), times(began, Some(self.ended)))]
    }

    fn revision(&self) -> CellChanges {
        CellChanges {
            source: Some(self.source.clone()),
            outputs: Some(self.outputs()),
            execution_count: Some(Some(self.line)),
            metadata: self.timing(),
            ..CellChanges::default()
        }
    }

    fn made(&self) -> NewCell {
        NewCell {
            outputs: self.outputs(),
            execution_count: Some(self.line),
            metadata: self.timing(),
            ..NewCell::new(CellKind::Code, self.source.clone())
        }
    }
}
