//! A notebook that is worked on in place: its cells come into the editor, and what runs is written back at once.
//!
//! In: cells of the user that end while a notebook is open. Out: the file, written on another thread, one cell after
//! the other. Invariants: what another program wrote meanwhile is read first and kept; a cell is found again by its
//! id; a text that has nothing to do with the cell that was brought into the editor does not replace it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use similar::{Algorithm, capture_diff_slices, diff_ratio};
use tokio::task::JoinHandle;

use crate::notebook::document::{CellKind, Document, Draft, NewCell, Revision, Slot};
use crate::notebook::{TIMES, output_value, times};
use crate::output::CellOutput;
use crate::report::Report;
use crate::session::cell::Remains;
use crate::session::commands::{Deed, tell};
use crate::session::events::{AfterEvent, Notice, ToldEvent, notice};
use crate::session::handle::Command;
use crate::session::opened::{MissingNotebook, OpenedNotebook};
use crate::session::run::RunSender;
use crate::session::task::Session;

/// How much of a cell's text has to be in a new one for it to be the same cell.
const SAME: f32 = 0.3;

/// How long the end of a session waits for the file.
const PATIENCE: Duration = Duration::from_secs(2);

/// The notebook that is open, if one is.
#[derive(Default)]
pub(super) struct Workbook {
    open: Option<OpenWorkbook>,
    /// What is being written.
    writing: Vec<JoinHandle<()>>,
}

/// A notebook that is open.
pub(super) struct OpenWorkbook {
    path: PathBuf,
    name: String,
    shared: Arc<Shared>,
    /// The next cell is this one.
    brought: Option<BroughtCell>,
}

/// What the loop and those who write have in common.
struct Shared {
    file: Mutex<Place>,
    /// Cells that have run and are not in the file yet, in order.
    waiting: Mutex<VecDeque<(RanCell, Option<BroughtCell>)>>,
}

/// The file, and where in it one stands.
struct Place {
    notebook: OpenedNotebook,
    /// New cells go behind this many.
    at: usize,
}

/// A cell that was brought into the editor, with its id and the text it had.
#[derive(Debug, Clone)]
pub(super) struct BroughtCell {
    number: usize,
    id: Option<String>,
    source: String,
}

/// A cell that was asked for.
enum Found {
    Code(BroughtCell),
    /// Prose: its text.
    Other(String),
}

/// A cell that has run.
struct RanCell {
    line: u32,
    source: String,
    outputs: Vec<CellOutput>,
    ended: DateTime<Utc>,
    took: Duration,
}

impl Workbook {
    /// A notebook is open: cells keep what they show.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// This one is worked on from now on.
    pub(super) fn opens(&mut self, open: OpenWorkbook) {
        self.open = Some(open);
    }

    /// The next cell is this one of the notebook that is open.
    pub(super) fn brings(&mut self, brought: BroughtCell) {
        if let Some(open) = &mut self.open {
            open.brought = Some(brought);
        }
    }

    /// Waits until all that ran is in the file.
    pub(super) async fn finish(&mut self) {
        for writing in self.writing.drain(..) {
            // A disk that does not answer holds nobody up for ever.
            let _ = tokio::time::timeout(PATIENCE, writing).await;
        }
    }
}

impl Session {
    /// Opens a notebook in place, and lists its cells; without a name, lists those of the open one.
    pub(super) fn open_notebook(&mut self, name: &str, out: &RunSender) {
        let (path, name) = match (name, &self.workbook.open) {
            ("", None) => {
                let message = "no notebook is open: `%ipycodex open FILE` opens one";
                return out.send(Notice::warning(message));
            }
            ("", Some(open)) => (open.path.clone(), open.name.clone()),
            (name, _) => (self.setup.notebooks.file(name, &self.cwd), name.to_owned()),
        };
        let (file, shown) = (path.clone(), name.clone());
        let opening = tokio::task::spawn_blocking(move || {
            OpenedNotebook::open(&file, &shown, MissingNotebook::Empty)
        });
        let opening = async move {
            let failed = |error| Err(Report::failure("the file could not be read").because(error));
            let notebook = match opening.await.unwrap_or_else(failed) {
                Err(report) => return tell(notice(&report)),
                Ok(notebook) => notebook,
            };
            let mut deeds = tell(ToldEvent::Text(notebook.listing().trim_end().to_owned()));
            let message = format!(
                "cells that run are written into {name} at once, new ones at its end; `%ipycodex cell N` brings one \
                 into the editor, `%ipycodex close` ends it"
            );
            deeds.extend(tell(Notice::note(message)));
            let at = notebook.document.len();
            let shared = Arc::new(Shared {
                file: Mutex::new(Place { notebook, at }),
                waiting: Mutex::default(),
            });
            deeds.push(Deed::OpenNotebook(Box::new(OpenWorkbook {
                path,
                name,
                shared,
                brought: None,
            })));
            deeds
        };
        self.later(out, opening);
    }

    /// Brings a cell of the open notebook into the editor; new cells go behind it.
    pub(super) fn bring_cell(&mut self, number: usize, out: &RunSender) {
        let Some(open) = &self.workbook.open else {
            let message = "no notebook is open: `%ipycodex open FILE` opens one";
            return out.send(Notice::warning(message));
        };
        let shared = Arc::clone(&open.shared);
        let looked = tokio::task::spawn_blocking(move || locked(&shared.file).bring(number));
        self.later(out, async move {
            match looked.await {
                Ok(Ok(Found::Code(brought))) => {
                    let mut deeds = tell(AfterEvent::Refill(brought.source.clone()));
                    deeds.push(Deed::BringCell(brought));
                    deeds
                }
                Ok(Ok(Found::Other(source))) => {
                    let mut deeds = tell(ToldEvent::Verbatim(source));
                    let note = "that cell is no code; new cells go behind it";
                    deeds.extend(tell(Notice::note(note)));
                    deeds
                }
                Ok(Err(why)) => tell(Notice::warning(why)),
                Err(error) => tell(Notice::warning(error.to_string())),
            }
        });
    }

    /// Cells are written nowhere any more.
    pub(super) fn close_notebook(&mut self, out: &RunSender) {
        let message = match self.workbook.open.take() {
            Some(open) => format!("{} is closed; it holds all that ran", open.name),
            None => "no notebook is open".to_owned(),
        };
        out.send(Notice::note(message));
    }

    /// A cell has ended: one of the user goes into the open notebook.
    pub(super) fn keep_ran(&mut self, remains: &mut Remains) {
        let Some((line, source)) = remains.kept.take() else {
            return;
        };
        let Some(open) = &mut self.workbook.open else {
            return;
        };
        let outputs = std::mem::take(&mut remains.outputs);
        let ran = RanCell {
            line,
            source,
            outputs,
            ended: Utc::now(),
            took: remains.took,
        };
        let shared = Arc::clone(&open.shared);
        locked(&shared.waiting).push_back((ran, open.brought.take()));
        let (inbox, out) = (self.inbox.clone(), self.out_or_background().clone());
        let writing = tokio::task::spawn_blocking(move || {
            let mut place = locked(&shared.file);
            let Some((ran, brought)) = locked(&shared.waiting).pop_front() else {
                return;
            };
            for told in place.write(&ran, brought.as_ref()) {
                // The session may have ended.
                let _ = inbox.send(Command::Do(tell(told), out.clone()));
            }
        });
        self.workbook
            .writing
            .retain(|writing| !writing.is_finished());
        self.workbook.writing.push(writing);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    /// The cell of this number; new cells go behind it.
    fn bring(&mut self, number: usize) -> Result<Found, String> {
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
            return Ok(Found::Other(source));
        }
        let id = cell.id();
        Ok(Found::Code(BroughtCell { number, id, source }))
    }

    /// Where one stands in the file as it is now: behind the same cell.
    fn place_in(&self, now: &Document) -> usize {
        let old = self.at.checked_sub(1);
        let id = old.and_then(|old| self.notebook.document.cell(old)?.id());
        let found = id.and_then(|id| now.cells().position(|cell| cell.id().as_ref() == Some(&id)));
        found.map_or(self.at.min(now.len()), |found| found + 1)
    }

    /// Writes a cell into the file; what is to be told of it.
    fn write(&mut self, ran: &RanCell, brought: Option<&BroughtCell>) -> Vec<Notice> {
        let mut told = Vec::new();
        if !self.notebook.file.is_unchanged() {
            let path = self.notebook.file.path().to_owned();
            let name = self.notebook.name.clone();
            match OpenedNotebook::open(&path, &name, MissingNotebook::Empty) {
                Ok(now) => {
                    told.push(Notice::note(format!(
                        "{name} was changed by another program; it was read again"
                    )));
                    self.at = self.place_in(&now.document);
                    self.notebook = now;
                }
                Err(report) => return vec![notice(&report)],
            }
        }
        let document = &self.notebook.document;
        let mut draft = Draft::of(document);
        let same = brought.filter(|brought| brought.is_in(&ran.source));
        match same.and_then(|brought| brought.find(document)) {
            Some(number) => {
                draft.cells[number] = Slot::Changed(number, ran.revision());
                self.at = number + 1;
            }
            None => {
                let place = self.at.min(draft.cells.len());
                draft.cells.insert(place, Slot::Made(ran.made()));
                self.at = place + 1;
            }
        }
        if let Err(report) = self.notebook.rewrite(&draft) {
            told.push(notice(&report));
        }
        told
    }
}

impl BroughtCell {
    /// Its number now: that of the cell with its id, else of the one that has its place and its text.
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

    /// The text is this cell's, edited.
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
        let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
        diff_ratio(&ops, old.len(), new.len()) >= SAME
    }
}

impl RanCell {
    fn outputs(&self) -> Vec<Value> {
        let value = |output| output_value(output, Some(self.line));
        self.outputs.iter().map(value).collect()
    }

    /// When it ran, as Jupyter writes it.
    fn timing(&self) -> Vec<(String, Value)> {
        let began = self.ended - self.took;
        vec![(TIMES.to_owned(), times(began, Some(self.ended)))]
    }

    fn revision(&self) -> Revision {
        Revision {
            source: Some(self.source.clone()),
            outputs: Some(self.outputs()),
            execution_count: Some(Some(self.line)),
            metadata: self.timing(),
            ..Revision::default()
        }
    }

    fn made(&self) -> NewCell {
        NewCell {
            outputs: self.outputs(),
            execution_count: Some(self.line),
            metadata: self.timing(),
            ..NewCell::of(CellKind::Code, self.source.clone())
        }
    }
}
