//! A notebook file: read, parsed, and written back unless another program has changed it meanwhile.

use std::path::Path;

use crate::files::{FileMode, TrackedFile};
use crate::notebook::LARGEST;
use crate::notebook::document::{Cell, CellKind, Document, Draft, NotebookError};
use crate::text::cut_characters;
use crate::text::report::Report;

#[derive(Debug, Clone)]
pub struct NotebookFile {
    pub document: Document,
    pub file: TrackedFile,
    /// The name as typed.
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    /// A missing file is an error.
    Refused,
    Empty,
}

impl NotebookFile {
    /// Opens the file at `path`, which the user knows as `name`. An empty file counts as missing.
    ///
    /// # Errors
    /// Fails when the file is missing, cannot be read, or is no notebook.
    pub fn open(path: &Path, name: &str, missing: IfMissing) -> Result<Self, Report> {
        let (text, file) = TrackedFile::read(path, LARGEST)?;
        let kept = |text: &String| missing == IfMissing::Refused || !text.trim().is_empty();
        let document = match text.filter(kept) {
            Some(text) => Document::parse(text).map_err(|error| notebook_report(&error, name))?,
            None if missing == IfMissing::Empty => Document::empty(),
            None => return Err(Report::failure(format!("Notebook not found: {name}"))),
        };
        Ok(NotebookFile {
            document,
            file,
            name: name.to_owned(),
        })
    }

    /// Writes the notebook as drafted; returns false when the file already holds that.
    ///
    /// # Errors
    /// Fails when the format cannot be written, or the file was changed meanwhile or cannot be written.
    pub fn write(&mut self, draft: &Draft) -> Result<bool, Report> {
        let written = draft
            .render(&self.document)
            .map_err(|error| notebook_report(&error, &self.name))?;
        if written.is_same() && self.file.existed() {
            return Ok(false);
        }
        self.file.replace(written.parts(), FileMode::Keep)?;
        Ok(true)
    }

    /// As `write`; then the open notebook is what the file holds.
    ///
    /// # Errors
    /// As [`NotebookFile::write`].
    pub fn rewrite(&mut self, draft: &Draft) -> Result<(), Report> {
        let unusable = |error: NotebookError| notebook_report(&error, &self.name);
        let text = draft.render(&self.document).map_err(unusable)?.text();
        let now = Document::parse(text).map_err(unusable)?;
        self.write(draft)?;
        self.document = now;
        Ok(())
    }

    /// Returns a line per cell: number, kind, In number, number of lines, first line.
    pub fn listing(&self) -> String {
        let document = &self.document;
        let (major, minor) = document.format();
        let language = document.language();
        let language = language.map(|language| format!(", {language}"));
        let mut text = format!(
            "{}: {} cells, nbformat {major}.{}{}\n",
            self.name,
            document.len(),
            minor.unwrap_or_default(),
            language.unwrap_or_default()
        );
        for (number, cell) in document.cells().enumerate() {
            text.push_str(&line(number, cell));
        }
        text
    }
}

fn line(number: usize, cell: Cell<'_>) -> String {
    if let Some(fault) = cell.fault() {
        return format!("{number} broken: it {fault}\n");
    }
    let count = cell.value("execution_count");
    let count = match count.and_then(|count| count.as_u64()) {
        Some(count) => format!(" [{count}]"),
        None => String::new(),
    };
    let outputs = match cell.outputs().len() {
        0 => String::new(),
        1 => ", 1 output".to_owned(),
        count => format!(", {count} outputs"),
    };
    let source = cell.source();
    let lines = match source.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    };
    let first = source.lines().find(|line| !line.trim().is_empty());
    let first = cut_characters(first.unwrap_or_default(), 80);
    let kind = cell.kind().map_or("", CellKind::name);
    format!("{number} {kind}{count} ({lines}{outputs}): {first}\n")
}

/// Returns the report for a file that is no notebook, or not one that this program can open.
pub fn notebook_report(error: &NotebookError, name: &str) -> Report {
    let report = Report::failure(error.sentence(name));
    match error {
        NotebookError::Format(_) => report.hint(format!(
            "`jupyter nbconvert --to notebook --nbformat 4 --inplace {name}` converts it"
        )),
        NotebookError::Cell(..) => report.hint(format!(
            "`ipycodex notebook show {name}:raw` shows the file as it is"
        )),
        _ => report,
    }
}
