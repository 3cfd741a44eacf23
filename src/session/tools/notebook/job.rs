//! File access of the `notebook` tool, on a thread that may block.
//!
//! In: a [`NotebookJob`] and the state of files that were read before. Out: [`NotebookJobResult`]. No questions and no
//! output to the user here.

use std::collections::HashMap;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::agent::{Change, FileChange};
use crate::files::TrackedFile;
use crate::notebook::document::{
    Cell, CellAction, CellKind, Document, Draft, LineRange, ShownPart, apply_action,
    apply_marked_text, diff, output_mark, show,
};
use crate::notebook::{outputs_text, pictures_of, read_outputs};
use crate::notebook_file::{IfMissing, NotebookFile, notebook_report};
use crate::text::report::Report;

/// Largest text of a call, and largest sum of the pictures in its result, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 8 << 20;

pub(super) const MAX_IMAGES: usize = 8;

#[derive(Debug, Clone)]
pub(crate) struct NotebookRequest {
    pub(super) path: PathBuf,
    /// As the agent named it.
    pub(super) name: String,
    pub(super) action: RequestedAction,
    /// The language of cells in the live session.
    pub(super) language: String,
}

#[derive(Debug, Clone)]
pub(super) enum RequestedAction {
    List,
    Read {
        cells: Vec<usize>,
        lines: Vec<LineRange>,
        outputs: bool,
    },
    Change(CellAction),
    Apply(String),
    Run(usize),
}

pub(crate) enum NotebookJob {
    Prepare(Box<NotebookRequest>),
    Write {
        opened: Box<NotebookFile>,
        draft: Draft,
        /// The change to show to the user.
        change: Option<FileChange>,
    },
}

pub(crate) enum NotebookJobResult {
    Prepared(Box<PreparedRequest>),
    /// A warning about attributes of the file that could not be kept, or why the file was not written.
    Written(Result<Option<String>, String>),
}

pub(crate) enum PreparedRequest {
    Failed(String),
    Reply {
        text: String,
        images: Vec<String>,
    },
    Change(Box<PreparedChange>),
    Cell {
        opened: Box<NotebookFile>,
        cell: usize,
        source: String,
    },
}

pub(crate) struct PreparedChange {
    pub(super) opened: NotebookFile,
    pub(super) draft: Draft,
    pub(super) reply: String,
    pub(super) change: FileChange,
}

/// The files as the agent last saw them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenFiles(HashMap<PathBuf, TrackedFile>);

impl SeenFiles {
    fn remember(&mut self, file: &TrackedFile) {
        self.0.insert(file.path().to_owned(), file.clone());
    }

    fn is_outdated(&self, file: &TrackedFile) -> bool {
        let known = self.0.get(file.path());
        known.is_some_and(|known| !known.is_unchanged())
    }
}

impl NotebookJob {
    /// Also returns the change to show to the user, if one was written.
    pub(crate) fn run(self, seen: &mut SeenFiles) -> (NotebookJobResult, Option<FileChange>) {
        match self {
            NotebookJob::Prepare(request) => {
                let prepared = prepare(&request, seen)
                    .unwrap_or_else(|report| PreparedRequest::Failed(one_line(&report)));
                (NotebookJobResult::Prepared(Box::new(prepared)), None)
            }
            NotebookJob::Write {
                mut opened,
                draft,
                change,
            } => match opened.write(&draft) {
                Ok(written) => {
                    seen.remember(&opened.file);
                    let unkept = opened.file.lost_attributes();
                    (
                        NotebookJobResult::Written(Ok(unkept)),
                        change.filter(|_| written),
                    )
                }
                Err(report) => (NotebookJobResult::Written(Err(one_line(&report))), None),
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

fn prepare(request: &NotebookRequest, seen: &mut SeenFiles) -> Result<PreparedRequest, Report> {
    let NotebookRequest {
        path,
        name,
        action,
        language: live,
    } = request;
    let creates = matches!(
        action,
        RequestedAction::Apply(_) | RequestedAction::Change(CellAction::Insert { .. })
    );
    let missing = match creates {
        true => IfMissing::Empty,
        false => IfMissing::Refused,
    };
    let opened = NotebookFile::open(path, name, missing)?;
    let reads_only = matches!(action, RequestedAction::List | RequestedAction::Read { .. });
    if !reads_only && seen.is_outdated(&opened.file) {
        return Err(Report::failure(format!(
            "`{name}` was changed by another program since you looked at it: read it again, then repeat the change"
        )));
    }
    seen.remember(&opened.file);
    let document = &opened.document;
    Ok(match action {
        RequestedAction::List => PreparedRequest::Reply {
            text: opened.listing(),
            images: Vec::new(),
        },
        RequestedAction::Read {
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
            let part = ShownPart {
                cells: cells.clone(),
                lines: lines.clone(),
                unnumbered: false,
            };
            let mut images = Vec::new();
            let below = |number: usize, cell: Cell<'_>| match outputs {
                true => below(number, cell, &mut images),
                false => String::new(),
            };
            let shown =
                show(document, &part, below).map_err(|error| notebook_report(&error, name))?;
            let text = shown.map_err(|why| Report::failure(why.to_string()))?;
            images.truncate(MAX_IMAGES);
            let mut room = MAX_TEXT_BYTES;
            images.retain(|image: &String| {
                let fits = image.len() <= room;
                room -= if fits { image.len() } else { 0 };
                fits
            });
            PreparedRequest::Reply { text, images }
        }
        RequestedAction::Change(action) => {
            let outcome =
                apply_action(document, action).map_err(|why| Report::failure(why.to_string()))?;
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
            let reply = format!("{}{stale}\n{details}", outcome.summary(name));
            ready(opened, outcome.draft, reply)?
        }
        RequestedAction::Apply(text) => {
            let draft = apply_marked_text(document, text)
                .map_err(|why| Report::failure(why.to_string()))?;
            let details = json!({"action": "apply", "totalCells": draft.cells.len()});
            let reply = format!("Applied to {name}: {} cells.\n{details}", draft.cells.len());
            ready(opened, draft, reply)?
        }
        RequestedAction::Run(number) => {
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
            PreparedRequest::Cell {
                opened,
                cell,
                source,
            }
        }
    })
}

/// Computes the change and its diff for the user.
fn ready(opened: NotebookFile, draft: Draft, reply: String) -> Result<PreparedRequest, Report> {
    let text = |document: &Document| {
        let shown = show(document, &ShownPart::default(), |_, _| String::new());
        shown.ok().and_then(Result::ok).unwrap_or_default()
    };
    let written = draft
        .render(&opened.document)
        .map_err(|error| notebook_report(&error, &opened.name))?
        .text();
    let after = Document::parse(written).map_err(|error| notebook_report(&error, &opened.name))?;
    let (old, new) = (text(&opened.document), text(&after));
    let lines: Vec<String> = diff(&old, &new)
        .iter()
        .map(|line| line.text() + "\n")
        .collect();
    let change = file_change(&opened.name, lines.concat(), !opened.file.existed(), &new);
    Ok(PreparedRequest::Change(Box::new(PreparedChange {
        opened,
        draft,
        reply,
        change,
    })))
}

/// Renders the outputs of a cell as text; adds its pictures to `images`.
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

fn file_change(name: &str, hunks: String, is_new: bool, text: &str) -> FileChange {
    FileChange {
        path: name.to_owned(),
        change: match is_new {
            true => Change::Added(text.to_owned()),
            false => Change::Diff(hunks),
        },
    }
}
