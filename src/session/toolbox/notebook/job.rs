//! What the `notebook` tool does with files, on a thread that may wait.
//!
//! In: a [`NotebookJob`] and what is known of files that were read before. Out: [`NotebookNews`]. Nothing here asks or
//! shows.

use std::collections::HashMap;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::agent::{Change, FileChange};
use crate::files::FoundFile;
use crate::notebook::document::{
    Action, Cell, CellKind, Document, Draft, LineRange, Part, act, apply, difference, output_mark,
    show,
};
use crate::notebook::{outputs_text, pictures_of, read_outputs};
use crate::report::Report;
use crate::session::opened::{MissingNotebook, OpenedNotebook, unusable};

/// The largest text that a call may bring, and the pictures its result may hold, in bytes.
pub(super) const MOST_TEXT: usize = 8 << 20;

/// Pictures of one result.
pub(super) const MOST_IMAGES: usize = 8;

/// What the agent wants of a file.
#[derive(Debug, Clone)]
pub(in crate::session) struct Request {
    pub(super) path: PathBuf,
    /// As the agent named it.
    pub(super) name: String,
    pub(super) wanted: Wanted,
    /// What cells are in the live session.
    pub(super) language: String,
}

/// What it is.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    List,
    Read {
        cells: Vec<usize>,
        lines: Vec<LineRange>,
        outputs: bool,
    },
    Change(Action),
    Apply(String),
    Run(usize),
}

/// What is to be done with a file.
pub(in crate::session) enum NotebookJob {
    /// It is read, and what is wanted of it made ready.
    Prepare(Box<Request>),
    /// It is written.
    Write {
        opened: Box<OpenedNotebook>,
        draft: Draft,
        /// What the user is shown of it.
        change: Option<FileChange>,
    },
}

/// What came of it.
pub(in crate::session) enum NotebookNews {
    Prepared(Box<Prepared>),
    /// What could not be kept of the file besides its cells, or why it was not written.
    Written(Result<Option<String>, String>),
}

/// A file that was read.
pub(in crate::session) enum Prepared {
    Failed(String),
    Told {
        text: String,
        images: Vec<String>,
    },
    Change(Box<Ready>),
    Cell {
        opened: Box<OpenedNotebook>,
        cell: usize,
        source: String,
    },
}

/// A change that is ready to be written.
pub(in crate::session) struct Ready {
    pub(super) opened: OpenedNotebook,
    pub(super) draft: Draft,
    pub(super) told: String,
    pub(super) change: FileChange,
}

/// Files as the agent has seen them.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct Seen(HashMap<PathBuf, FoundFile>);

impl Seen {
    /// The agent knows what the file holds now.
    fn saw(&mut self, file: &FoundFile) {
        self.0.insert(file.path().to_owned(), file.clone());
    }

    /// It has changed since the agent looked.
    fn is_outdated(&self, file: &FoundFile) -> bool {
        let known = self.0.get(file.path());
        known.is_some_and(|known| !known.is_unchanged())
    }
}

impl NotebookJob {
    /// Does it. What the user is to be shown comes beside the news.
    pub(in crate::session) fn work(self, seen: &mut Seen) -> (NotebookNews, Option<FileChange>) {
        match self {
            NotebookJob::Prepare(request) => {
                let prepared = prepare(&request, seen)
                    .unwrap_or_else(|report| Prepared::Failed(one_line(&report)));
                (NotebookNews::Prepared(Box::new(prepared)), None)
            }
            NotebookJob::Write {
                mut opened,
                draft,
                change,
            } => match opened.write(&draft) {
                Ok(written) => {
                    seen.saw(&opened.file);
                    let unkept = opened.file.unkept();
                    (
                        NotebookNews::Written(Ok(unkept)),
                        change.filter(|_| written),
                    )
                }
                Err(report) => (NotebookNews::Written(Err(one_line(&report))), None),
            },
        }
    }
}

fn one_line(report: &Report) -> String {
    let parts = std::iter::once(&report.message)
        .chain(&report.causes)
        .chain(&report.hints);
    parts.cloned().collect::<Vec<_>>().join("; ")
}

fn prepare(request: &Request, seen: &mut Seen) -> Result<Prepared, Report> {
    let Request {
        path,
        name,
        wanted,
        language: live,
    } = request;
    let makes = matches!(
        wanted,
        Wanted::Apply(_) | Wanted::Change(Action::Insert { .. })
    );
    let missing = match makes {
        true => MissingNotebook::Empty,
        false => MissingNotebook::Refused,
    };
    let opened = OpenedNotebook::open(path, name, missing)?;
    let looks = matches!(wanted, Wanted::List | Wanted::Read { .. });
    if !looks && seen.is_outdated(&opened.file) {
        return Err(Report::failure(format!(
            "`{name}` was changed by another program since you looked at it: read it again, then repeat the change"
        )));
    }
    seen.saw(&opened.file);
    let document = &opened.document;
    Ok(match wanted {
        Wanted::List => Prepared::Told {
            text: opened.listing(),
            images: Vec::new(),
        },
        Wanted::Read {
            cells,
            lines,
            outputs,
        } => {
            if let Some(outside) = cells.iter().find(|cell| **cell >= document.len()) {
                return Err(Report::failure(format!(
                    "Cell index {outside} out of range: {name} has {} cells",
                    document.len()
                )));
            }
            let part = Part {
                cells: cells.clone(),
                lines: lines.clone(),
                unnumbered: false,
            };
            let mut images = Vec::new();
            let below = |number: usize, cell: Cell<'_>| match outputs {
                true => below(number, cell, &mut images),
                false => String::new(),
            };
            let shown = show(document, &part, below).map_err(|error| unusable(&error, name))?;
            let text = shown.map_err(|why| Report::failure(why.to_string()))?;
            images.truncate(MOST_IMAGES);
            let mut room = MOST_TEXT;
            images.retain(|image: &String| {
                let fits = image.len() <= room;
                room -= if fits { image.len() } else { 0 };
                fits
            });
            Prepared::Told { text, images }
        }
        Wanted::Change(action) => {
            let outcome = act(document, action).map_err(|why| Report::failure(why.to_string()))?;
            let details = json!({
                "action": outcome.action,
                "cellIndex": outcome.cell,
                "cellType": outcome.kind.name(),
                "totalCells": outcome.total,
                "cellSource": outcome.source,
            });
            let stale = match outcome.stale {
                true => {
                    " Its outputs are those of the text it had: run it again, or edit with clear_outputs."
                }
                false => "",
            };
            let told = format!("{}{stale}\n{details}", outcome.told(name));
            ready(opened, outcome.draft, told)?
        }
        Wanted::Apply(text) => {
            let draft = apply(document, text).map_err(|why| Report::failure(why.to_string()))?;
            let details = json!({"action": "apply", "totalCells": draft.cells.len()});
            let told = format!("Applied to {name}: {} cells.\n{details}", draft.cells.len());
            ready(opened, draft, told)?
        }
        Wanted::Run(number) => {
            let Some(cell) = document.cell(*number) else {
                return Err(Report::failure(format!(
                    "Cell index {number} out of range: {name} has {} cells",
                    document.len()
                )));
            };
            if cell.kind() != Some(CellKind::Code) {
                return Err(Report::failure(format!("cell {number} is not a code cell")));
            }
            let live_name = live.to_ascii_lowercase();
            if let Some(language) = document.language()
                && !language.to_ascii_lowercase().contains(&live_name)
            {
                return Err(Report::failure(format!(
                    "`{name}` is written in {language}, and cells here are {live}"
                )));
            }
            let source = cell.source();
            let (cell, opened) = (*number, Box::new(opened));
            Prepared::Cell {
                opened,
                cell,
                source,
            }
        }
    })
}

/// The change with what the user is shown of it.
fn ready(opened: OpenedNotebook, draft: Draft, told: String) -> Result<Prepared, Report> {
    let text = |document: &Document| {
        let shown = show(document, &Part::default(), |_, _| String::new());
        shown.ok().and_then(Result::ok).unwrap_or_default()
    };
    let written = draft
        .written(&opened.document)
        .map_err(|error| unusable(&error, &opened.name))?
        .text();
    let after = Document::parse(written).map_err(|error| unusable(&error, &opened.name))?;
    let (old, new) = (text(&opened.document), text(&after));
    let lines: Vec<String> = difference(&old, &new)
        .iter()
        .map(|line| line.text() + "\n")
        .collect();
    let change = file_change(&opened.name, lines.concat(), !opened.file.is_there(), &new);
    Ok(Prepared::Change(Box::new(Ready {
        opened,
        draft,
        told,
        change,
    })))
}

/// What a cell showed, below it; its pictures are added.
fn below(number: usize, cell: Cell<'_>, images: &mut Vec<String>) -> String {
    let outputs = read_outputs(&cell.outputs());
    let seen = pictures_of(number, cell)
        .into_iter()
        .filter(|picture| picture.mime != "image/svg+xml");
    images.extend(seen.map(|picture| {
        format!(
            "data:{};base64,{}",
            picture.mime,
            STANDARD.encode(picture.bytes)
        )
    }));
    match outputs_text(number, &outputs) {
        text if text.is_empty() => text,
        text => format!("{}\n{text}", output_mark(number)),
    }
}

/// A change of a file, for the user's eye.
fn file_change(name: &str, hunks: String, is_new: bool, text: &str) -> FileChange {
    FileChange {
        path: name.to_owned(),
        change: match is_new {
            true => Change::Added(text.to_owned()),
            false => Change::Diff(hunks),
        },
    }
}
