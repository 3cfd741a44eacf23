//! `save`, `export`, and the notebook that is open in place; files are read and written on another thread.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::effect::{Effect, EffectsFuture, emit, warn};
use crate::events::{AfterEvent, Notice, TextEvent, report_notice};
use crate::notebook::SavedSession;
use crate::notebook_file::{IfMissing, NotebookFile};
use crate::record::RecordHandle;
use crate::run::RunSender;
use crate::saving::{FileForm, NotebookPlaces, SaveTarget, write_file};
use crate::text::report::Report;
use crate::workbook::{CellLookup, OpenWorkbook, Workbook};

/// Time until an export first reports its progress, and between its reports.
const PATIENT: Duration = Duration::from_secs(2);

/// Cells that the note names when a replay of them would fail.
const NAMED: usize = 5;

/// Opens a notebook in place and lists its cells; without a name, lists the cells of the open one.
pub(super) fn open(
    workbook: &Workbook,
    name: &str,
    (places, cwd): (&NotebookPlaces, &Path),
) -> Result<EffectsFuture, Notice> {
    let (path, name) = workbook.named(name, places, cwd)?;
    let (file, shown) = (path.clone(), name.clone());
    let opening =
        tokio::task::spawn_blocking(move || NotebookFile::open(&file, &shown, IfMissing::Empty));
    Ok(Box::pin(async move {
        let failed = |error| Err(Report::failure("the file could not be read").because(error));
        let notebook = match opening.await.unwrap_or_else(failed) {
            Err(report) => return emit(report_notice(&report)),
            Ok(notebook) => notebook,
        };
        let mut effects = emit(TextEvent::Text(notebook.listing().trim_end().to_owned()));
        let message = format!(
            "cells that run are written into {name} at once, new ones at its end; `%ipycodex cell N` brings one into \
             the editor, `%ipycodex close` ends it"
        );
        effects.extend(emit(Notice::note(message)));
        let open = OpenWorkbook::new(path, name, notebook);
        effects.push(Effect::OpenNotebook(Box::new(open)));
        effects
    }))
}

/// Puts a cell of the open notebook into the editor; new cells are inserted behind it.
pub(super) fn bring(workbook: &Workbook, number: usize) -> Result<EffectsFuture, Notice> {
    let looked = tokio::task::spawn_blocking(workbook.look_up(number)?);
    Ok(Box::pin(async move {
        match looked.await {
            Ok(Ok(CellLookup::Code(brought))) => {
                let mut effects = emit(AfterEvent::Refill(brought.source.clone()));
                effects.push(Effect::EditCell(brought));
                effects
            }
            Ok(Ok(CellLookup::Other(source))) => {
                let mut effects = emit(TextEvent::Verbatim(source));
                let note = "that cell is not code; new cells go after it";
                effects.extend(emit(Notice::note(note)));
                effects
            }
            Ok(Err(why)) => warn(why),
            Err(error) => warn(error.to_string()),
        }
    }))
}

/// Saves the session as a notebook: `file` as typed, with its suffix; `None` is the startup notebook.
pub(super) fn save(
    record: RecordHandle,
    file: Option<String>,
    force: bool,
    (places, cwd): (&NotebookPlaces, &Path),
    out: RunSender,
) -> EffectsFuture {
    let (path, shown) = match &file {
        Some(name) => (places.file(name, cwd), name.clone()),
        None => {
            let startup = places.startup.clone();
            let shown = startup.display().to_string();
            (startup, shown)
        }
    };
    let target = SaveTarget {
        path,
        form: FileForm::Notebook,
        force,
        private: file.is_none(),
        forcing: format!("%ipycodex save -f {}", file.unwrap_or_default())
            .trim_end()
            .to_owned(),
    };
    Box::pin(async move {
        match write(record, target, out).await {
            Ok(session) => {
                let text = format!("Saved {} to {shown}.", session.summary());
                let mut effects = emit(TextEvent::Text(text));
                effects.extend(failing(&session).into_iter().flat_map(emit));
                effects
            }
            Err(report) => emit(report_notice(&report)),
        }
    })
}

/// Writes the session in the format that the suffix names.
pub(super) fn export(
    record: RecordHandle,
    file: String,
    force: bool,
    (places, cwd): (&NotebookPlaces, &Path),
    out: RunSender,
) -> EffectsFuture {
    let path = places.file(&file, cwd);
    Box::pin(async move {
        let Some(form) = FileForm::of(&path) else {
            return warn(format!(
                "export writes .ipynb, .md, .html and .py, not `{file}`"
            ));
        };
        let target = SaveTarget {
            path,
            form,
            force,
            private: false,
            forcing: format!("%ipycodex export -f {file}"),
        };
        match write(record, target, out).await {
            Ok(session) => emit(TextEvent::Text(format!(
                "Exported {} to {file}.",
                session.summary()
            ))),
            Err(report) => emit(report_notice(&report)),
        }
    })
}

async fn write(
    record: RecordHandle,
    target: SaveTarget,
    out: RunSender,
) -> Result<SavedSession, Report> {
    let number = record.session().await.map_or(0, |start| start.number);
    let session = record.saved().await;
    let title = format!("Session {number}");
    let name = target.path.display().to_string();
    let said = out.clone();
    let work = move || {
        let (of, mut told) = (session.entries().len(), Instant::now());
        let progress = |done: usize| {
            if told.elapsed() >= PATIENT {
                told = Instant::now();
                let message = format!("writing `{name}`: {done} of {of}");
                out.send(Notice::note(message));
            }
        };
        let unkept = write_file(&session, &title, &target, progress)?;
        Ok((session, unkept))
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok((session, unkept))) => {
            unkept
                .into_iter()
                .for_each(|line| said.send(Notice::note(line)));
            Ok(session)
        }
        Ok(Err(report)) => Err(report),
        Err(error) => Err(Report::failure("the file could not be written").because(error)),
    }
}

fn failing(session: &SavedSession) -> Option<Notice> {
    let failed: Vec<u32> = session
        .cells()
        .filter(|cell| cell.failed)
        .map(|cell| cell.line)
        .collect();
    if failed.is_empty() {
        return None;
    }
    let lines: Vec<String> = failed.iter().take(NAMED).map(u32::to_string).collect();
    let more = if failed.len() > NAMED { ", …" } else { "" };
    let message = format!(
        "a replay stops at the first cell that fails, and these cells failed: {}{more}",
        lines.join(", ")
    );
    let hint = format!(
        "`%ipycodex hide {}` leaves them out of the next save",
        lines.join(" ")
    );
    Some(Notice::note(message).hint(hint))
}
