//! A notebook file as it was found: its text, and the spans of its cells and their parts.
//!
//! In: a text of any nbformat. Out: a [`Document`]; its [`Cell`]s are read from the text on demand. Nothing is
//! copied, so a file of any size costs its size. Where a key occurs twice, the last one counts. Document: nbformat
//! 4.5; cells of format 3 and before, which lie in worksheets, are read too.

use serde_json::{Value, json};

use super::fault::NotebookError;
use super::layout::Layout;
use super::object::{is_key, member};
use super::scan::{Fault, Member, Scanner, Span, items};
use super::source;
use super::string::decode;
use super::value;
use crate::text::cut_characters;

/// The largest text that is read, in bytes.
const LARGEST: usize = u32::MAX as usize;

/// The kind of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Code to run.
    Code,
    /// Prose.
    Markdown,
    /// Text that `nbconvert` passes on as it is.
    Raw,
}

impl CellKind {
    /// The value of `cell_type`.
    pub fn name(self) -> &'static str {
        match self {
            CellKind::Code => "code",
            CellKind::Markdown => "markdown",
            CellKind::Raw => "raw",
        }
    }

    /// The kind of this `cell_type`.
    pub fn from_name(name: &str) -> Option<Self> {
        [CellKind::Code, CellKind::Markdown, CellKind::Raw]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// A notebook file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    text: String,
    /// The first two members of the outermost object, from which the layout is judged.
    first: Vec<Member>,
    root: Span,
    /// The list of cells; `None`: cells lie in worksheets.
    list: Option<Span>,
    cells: Vec<CellSpans>,
    major: u64,
    minor: Option<u64>,
    metadata: Option<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellSpans {
    whole: Span,
    id: Option<Span>,
    kind: Option<Span>,
    source: Option<Span>,
    metadata: Option<Span>,
    pub(super) outputs: Option<Span>,
}

/// A cell of a notebook.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    text: &'a str,
    parts: &'a CellSpans,
}

impl Document {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`NotebookError`]: not JSON, or no list of cells.
    pub fn parse(text: String) -> Result<Self, NotebookError> {
        if text.len() > LARGEST {
            return Err(NotebookError::Shape("is larger than 4 GiB"));
        }
        read(&text)
            .map_err(|fault| NotebookError::json(&text, fault))?
            .document(text)
    }

    /// A notebook of format 4.5 without cells.
    pub fn empty() -> Self {
        Document::with_metadata(&json!({}))
    }

    /// A notebook of format 4.5 without cells, with this metadata, an object.
    pub fn with_metadata(metadata: &Value) -> Self {
        let notebook =
            json!({"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5});
        let layout = Layout::of("", Span::new(0, 0), &[]);
        let text = layout.value(&notebook, 1) + "\n";
        Document::parse(text).expect("it is a notebook")
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// True when there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cell of this number, from 0.
    pub fn cell(&self, number: usize) -> Option<Cell<'_>> {
        let text = &self.text;
        self.cells.get(number).map(|parts| Cell { text, parts })
    }

    /// The cells, in order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = Cell<'_>> {
        let text = &self.text;
        self.cells.iter().map(move |parts| Cell { text, parts })
    }

    /// `nbformat` and `nbformat_minor`.
    pub fn format(&self) -> (u64, Option<u64>) {
        (self.major, self.minor)
    }

    /// True when cells of this format have ids.
    pub fn has_ids(&self) -> bool {
        self.major > 4 || self.minor.is_some_and(|minor| minor >= 5)
    }

    /// The value under `key` in the notebook's metadata.
    pub fn metadata(&self, key: &str) -> Option<Value> {
        let span = member(&self.text, self.metadata_span()?, key)?;
        Some(value::read(span.of(&self.text)))
    }

    /// The language of the code, where the metadata names it.
    pub fn language(&self) -> Option<String> {
        let of = |key: &str, name: &str| Some(self.metadata(key)?.get(name)?.as_str()?.to_owned());
        of("kernelspec", "language").or_else(|| of("language_info", "name"))
    }

    /// The name of the kernel, where the metadata names it.
    pub fn kernel(&self) -> Option<String> {
        Some(
            self.metadata("kernelspec")?
                .get("name")?
                .as_str()?
                .to_owned(),
        )
    }

    /// The span of the list of cells.
    ///
    /// # Errors
    /// The notebook is of a format that is read only.
    pub(super) fn list(&self) -> Result<Span, NotebookError> {
        self.list
            .filter(|_| self.major == 4)
            .ok_or(NotebookError::Format(self.major))
    }

    /// The span of the metadata, if it is an object.
    pub(super) fn metadata_span(&self) -> Option<Span> {
        self.metadata.filter(|span| is_object(&self.text, *span))
    }

    pub(super) fn layout(&self) -> Layout {
        Layout::of(&self.text, self.root, &self.first)
    }
}

fn is_object(text: &str, span: Span) -> bool {
    span.of(text).starts_with('{')
}

impl<'a> Cell<'a> {
    /// The JSON of the cell, as it stands in the file.
    pub fn raw(&self) -> &'a str {
        self.parts.whole.of(self.text)
    }

    /// True for a JSON object, whether or not it is a valid cell.
    pub(super) fn is_object(&self) -> bool {
        is_object(self.text, self.parts.whole)
    }

    pub(super) fn span(&self) -> Span {
        self.parts.whole
    }

    fn kind_name(&self) -> Option<String> {
        match value::read(self.parts.kind?.of(self.text)) {
            Value::String(name) => Some(name),
            _ => None,
        }
    }

    /// The kind; `None` for a broken cell. Headings and HTML of format 3 are prose.
    pub fn kind(&self) -> Option<CellKind> {
        match self.kind_name()?.as_str() {
            "heading" | "html" => Some(CellKind::Markdown),
            name => CellKind::from_name(name),
        }
    }

    pub(super) fn member(&self, key: &str) -> Option<Span> {
        self.is_object()
            .then(|| member(self.text, self.parts.whole, key))
            .flatten()
    }

    /// True for a kind that formats before 4 had, and that is shown as prose: its JSON says the text in another way.
    pub(super) fn is_converted(&self) -> bool {
        matches!(self.kind_name().as_deref(), Some("heading" | "html"))
    }

    /// The value under `key`.
    pub fn value(&self, key: &str) -> Option<Value> {
        Some(value::read(self.member(key)?.of(self.text)))
    }

    /// The id.
    pub fn id(&self) -> Option<String> {
        match value::read(self.parts.id?.of(self.text)) {
            Value::String(id) => Some(id),
            _ => None,
        }
    }

    /// The text; empty when the cell has none.
    pub fn source(&self) -> String {
        let read = self
            .parts
            .source
            .and_then(|span| source::read(self.text, span));
        let text = read.unwrap_or_default();
        if self.kind_name().as_deref() != Some("heading") {
            return text;
        }
        match self.value("level").and_then(|level| level.as_u64()) {
            Some(level) => format!("{} {text}", "#".repeat(level.clamp(1, 6) as usize)),
            None => text,
        }
    }

    /// The value under `key` in the cell's metadata.
    pub fn metadata(&self, key: &str) -> Option<Value> {
        let span = self.metadata_span()?;
        Some(value::read(member(self.text, span, key)?.of(self.text)))
    }

    /// True when the cell has this tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        match self.metadata("tags") {
            Some(Value::Array(tags)) => tags.iter().any(|known| known == tag),
            _ => false,
        }
    }

    /// The span of the metadata, if it is an object.
    pub(super) fn metadata_span(&self) -> Option<Span> {
        self.parts
            .metadata
            .filter(|span| is_object(self.text, *span))
    }

    /// The outputs, in order.
    pub fn outputs(&self) -> Vec<Value> {
        match self.parts.outputs {
            Some(span) if span.of(self.text).starts_with('[') => items(self.text, span)
                .into_iter()
                .map(|item| value::read(item.of(self.text)))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The fault of a broken cell: `has no source`. A cell of a kind that does not run is not broken.
    pub fn fault(&self) -> Option<String> {
        if !self.is_object() {
            return Some("is not a JSON object".into());
        }
        let Some(kind) = self.parts.kind else {
            return Some("has no `cell_type`".into());
        };
        if self.kind().is_none() {
            let short = cut_characters(kind.of(self.text), 40);
            return Some(format!("has the unknown `cell_type` {short}"));
        }
        match self.parts.source {
            None => Some("has no `source`".into()),
            Some(span) if source::read(self.text, span).is_none() => {
                Some("has a `source` that is neither text nor a list of lines".into())
            }
            Some(_) => None,
        }
    }
}

#[derive(Default)]
struct ScannedNotebook {
    root: Option<Span>,
    first: Vec<Member>,
    list: Option<Span>,
    cells: Vec<CellSpans>,
    worksheets: bool,
    in_worksheets: Vec<CellSpans>,
    major: Option<Span>,
    minor: Option<Span>,
    metadata: Option<Span>,
}

impl ScannedNotebook {
    fn document(self, text: String) -> Result<Document, NotebookError> {
        let Some(root) = self.root else {
            return Err(NotebookError::Shape("holds no object"));
        };
        let number = |span: Option<Span>| value::read(span?.of(&text)).as_u64();
        let (major, minor) = (number(self.major), number(self.minor));
        if self.list.is_none() && !self.worksheets {
            return Err(NotebookError::Shape("has no list of cells"));
        }
        Ok(Document {
            root,
            first: self.first,
            major: major.unwrap_or(if self.list.is_some() { 4 } else { 3 }),
            minor,
            metadata: self.metadata,
            cells: match self.list {
                Some(_) => self.cells,
                None => self.in_worksheets,
            },
            list: self.list,
            text,
        })
    }
}

fn read(text: &str) -> Result<ScannedNotebook, Fault> {
    let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut scanner = Scanner::at(text, Span::new(mark, text.len()));
    let mut found = ScannedNotebook::default();
    scanner.blanks();
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        scanner.end()?;
        return Ok(found);
    }
    let root = scanner.object(|scanner, key| {
        let start = scanner.place();
        if is_key(text, key, "cells") && scanner.peek() == Some(b'[') {
            found.cells.clear();
            found.list = Some(cells(text, scanner, &mut found.cells)?);
        } else if is_key(text, key, "worksheets") && scanner.peek() == Some(b'[') {
            found.worksheets = true;
            found.in_worksheets.clear();
            scanner.array(|scanner| worksheet(text, scanner, &mut found.in_worksheets))?;
        } else {
            let value = scanner.value()?;
            match decode(raw_key(text, key)).as_ref() {
                "cells" => found.list = None,
                "nbformat" => found.major = Some(value),
                "nbformat_minor" => found.minor = Some(value),
                "metadata" => found.metadata = Some(value),
                _ => {}
            }
        }
        if found.first.len() < 2 {
            let value = Span::new(start, scanner.place());
            found.first.push(Member { key, value });
        }
        Ok(())
    })?;
    found.root = Some(root);
    scanner.end()?;
    Ok(found)
}

fn raw_key(text: &str, key: Span) -> &str {
    &text[key.start as usize + 1..key.end as usize - 1]
}

fn worksheet(
    text: &str,
    scanner: &mut Scanner<'_>,
    found: &mut Vec<CellSpans>,
) -> Result<(), Fault> {
    if scanner.peek() != Some(b'{') {
        return scanner.value().map(drop);
    }
    let sheet = scanner.object(|scanner, key| {
        if is_key(text, key, "cells") && scanner.peek() == Some(b'[') {
            cells(text, scanner, found).map(drop)
        } else {
            scanner.value().map(drop)
        }
    });
    sheet.map(drop)
}

fn cells(text: &str, scanner: &mut Scanner<'_>, found: &mut Vec<CellSpans>) -> Result<Span, Fault> {
    scanner.array(|scanner| {
        found.push(cell(text, scanner)?);
        Ok(())
    })
}

pub(super) fn cell(text: &str, scanner: &mut Scanner<'_>) -> Result<CellSpans, Fault> {
    let place = scanner.place();
    let mut parts = CellSpans {
        whole: Span::new(place, place),
        id: None,
        kind: None,
        source: None,
        metadata: None,
        outputs: None,
    };
    parts.whole = if scanner.peek() == Some(b'{') {
        scanner.object(|scanner, key| {
            let value = Some(scanner.value()?);
            match decode(raw_key(text, key)).as_ref() {
                "id" => parts.id = value,
                "cell_type" => parts.kind = value,
                "source" => parts.source = value,
                // The name of `source` before format 4.
                "input" => parts.source = parts.source.or(value),
                "metadata" => parts.metadata = value,
                "outputs" => parts.outputs = value,
                _ => {}
            }
            Ok(())
        })?
    } else {
        scanner.value()?
    };
    Ok(parts)
}
