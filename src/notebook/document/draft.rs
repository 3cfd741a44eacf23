//! A changed notebook before it is written: its cells in order, and the changes to each.
//!
//! In: a [`Document`] and a [`Draft`]. Out: the parts of the new file. Invariants: a kept cell has the bytes it had,
//! and a changed one differs only in its changes; a changed code cell has all members that the format requires, any
//! other changed cell none that the format forbids; new cells have unique ids where the format has ids.

use std::collections::HashSet;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fault::NotebookError;
use super::layout::Layout;
use super::model::{Cell, CellKind, Document};
use super::object::{Change, apply_changes};
use super::scan::Span;
use super::sequence::{Item, Piece, Pieces, splice_items};
use super::source;

/// The depth in the file of a cell's members.
const MEMBERS: usize = 3;

/// A changed notebook.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub cells: Vec<DraftCell>,
    /// Members to set in the notebook's metadata, where it has one; the others stay.
    pub metadata: Vec<(String, Value)>,
}

/// A cell of a draft.
#[derive(Debug, Clone, PartialEq)]
pub enum DraftCell {
    /// The document's cell of this number, unchanged.
    Kept(usize),
    /// The document's cell of this number, with changes.
    Changed(usize, CellChanges),
    /// A new cell.
    New(NewCell),
}

/// Changes to a cell; `None` keeps a part.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellChanges {
    pub kind: Option<CellKind>,
    pub source: Option<String>,
    pub outputs: Option<Vec<Value>>,
    /// The execution count; `Some(None)` marks the cell as not run.
    pub execution_count: Option<Option<u32>>,
    /// Members to set in the cell's metadata.
    pub metadata: Vec<(String, Value)>,
}

/// A cell to be inserted.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCell {
    pub kind: CellKind,
    pub source: String,
    /// The id; `None`: an id is generated.
    pub id: Option<String>,
    pub metadata: Vec<(String, Value)>,
    pub outputs: Vec<Value>,
    /// The execution count; `None`: not run.
    pub execution_count: Option<u32>,
}

impl NewCell {
    /// A cell that was not run: no outputs, no execution count.
    pub fn new(kind: CellKind, source: impl Into<String>) -> Self {
        NewCell {
            kind,
            source: source.into(),
            id: None,
            metadata: Vec::new(),
            outputs: Vec::new(),
            execution_count: None,
        }
    }
}

/// A file to be written: its parts, in order.
#[derive(Debug)]
pub struct RenderedFile<'a> {
    text: &'a str,
    pieces: Vec<Piece>,
}

impl<'a> RenderedFile<'a> {
    /// The parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| match piece {
            Piece::Old(span) => span.of(self.text).as_bytes(),
            Piece::New(text) => text.as_bytes(),
        })
    }

    /// The whole text of the file.
    pub fn text(&self) -> String {
        let part = |piece: &'_ Piece| match piece {
            Piece::Old(span) => span.of(self.text).to_owned(),
            Piece::New(text) => text.clone(),
        };
        self.pieces.iter().map(part).collect()
    }

    /// True when the file has not changed.
    pub fn is_same(&self) -> bool {
        matches!(self.pieces[..], [Piece::Old(span)] if span.of(self.text).len() == self.text.len())
    }
}

impl Draft {
    /// The notebook with all its cells kept.
    pub fn unchanged(document: &Document) -> Self {
        Draft {
            cells: (0..document.len()).map(DraftCell::Kept).collect(),
            metadata: Vec::new(),
        }
    }

    /// Renders the file.
    ///
    /// # Errors
    /// The notebook is of a format that is read only.
    pub fn render<'a>(&self, document: &'a Document) -> Result<RenderedFile<'a>, NotebookError> {
        let text = document.text();
        let mut pieces = Pieces::default();
        let all = |number| DraftCell::Kept(number);
        let same = self.cells.iter().cloned().eq((0..document.len()).map(all));
        if same && self.metadata.is_empty() {
            let whole = Span::new(0, text.len());
            pieces.old(whole.start, whole.end);
        } else {
            let list = document.list()?;
            let layout = document.layout();
            let mut ids = CellIds::new(document, self);
            let items: Vec<Item> = self
                .cells
                .iter()
                .enumerate()
                .map(|(place, slot)| match slot {
                    DraftCell::Changed(number, revision) => match document.cell(*number) {
                        Some(cell) if cell.is_object() => {
                            Item::Changed(*number, revise_cell(text, cell, revision, &layout))
                        }
                        _ => Item::Kept(*number),
                    },
                    DraftCell::Kept(number) => Item::Kept(*number),
                    DraftCell::New(cell) => {
                        Item::Made(new_cell(cell, ids.next(place, cell), &layout))
                    }
                })
                .collect();
            let old: Vec<Span> = document.cells().map(|cell| cell.span()).collect();
            let cells = |pieces: &mut Pieces| {
                splice_items(text, list, &old, items, &layout.frame(2), pieces);
            };
            let metadata = document
                .metadata_span()
                .filter(|_| !self.metadata.is_empty());
            let set_metadata = |span: Span, pieces: &mut Pieces| {
                let members = self.metadata.iter();
                let members = members.map(|(key, value)| Change::Set(key, layout.value(value, 3)));
                pieces.new_text(&apply_changes(text, span, 2, &layout, members.collect()));
            };
            let mut at = 0;
            if let Some(span) = metadata.filter(|span| span.start < list.start) {
                pieces.old(at, span.start);
                set_metadata(span, &mut pieces);
                at = span.end;
            }
            pieces.old(at, list.start);
            cells(&mut pieces);
            at = list.end;
            if let Some(span) = metadata.filter(|span| span.start > list.start) {
                pieces.old(at, span.start);
                set_metadata(span, &mut pieces);
                at = span.end;
            }
            pieces.old(at, Span::new(0, text.len()).end);
        }
        let pieces = pieces.into_inner();
        Ok(RenderedFile { text, pieces })
    }
}

fn revise_cell(text: &str, cell: Cell<'_>, revision: &CellChanges, layout: &Layout) -> String {
    let mut changes = Vec::new();
    let was = cell.kind();
    let kind = revision.kind.or(was);
    // A heading or HTML, of a format before 4, becomes what it is shown as.
    let converted = cell.is_converted() && (revision.kind.is_some() || revision.source.is_some());
    if (kind != was || converted)
        && let Some(kind) = kind
    {
        changes.push(Change::Set("cell_type", layout.quoted(kind.name())));
    }
    if converted {
        changes.push(Change::Remove("level"));
    }
    let shown = || converted.then(|| cell.source());
    if let Some(source) = &revision.source.clone().or_else(shown) {
        let held = cell.member("source");
        let new = match held.filter(|span| source::read(text, *span).is_some()) {
            Some(span) => source::with_text(text, span, source, MEMBERS + 1, layout),
            None => layout.lines(source, MEMBERS + 1),
        };
        changes.push(Change::Set("source", new));
    }
    if !revision.metadata.is_empty() {
        let members: Vec<Change> = revision
            .metadata
            .iter()
            .map(|(key, value)| Change::Set(key, layout.value(value, MEMBERS + 2)))
            .collect();
        let metadata = match cell.metadata_span() {
            Some(span) => apply_changes(text, span, MEMBERS + 1, layout, members),
            None => metadata(&revision.metadata, layout),
        };
        changes.push(Change::Set("metadata", metadata));
    }
    if kind == Some(CellKind::Code) {
        if let Some(count) = revision.execution_count {
            changes.push(Change::Set("execution_count", number(count)));
        } else if cell.member("execution_count").is_none() {
            changes.push(Change::Set("execution_count", number(None)));
        }
        match &revision.outputs {
            Some(outputs) => changes.push(Change::Set("outputs", list(outputs, layout))),
            None if cell.member("outputs").is_none() => {
                changes.push(Change::Set("outputs", "[]".into()));
            }
            None => {}
        }
        if kind != was {
            changes.push(Change::Remove("attachments"));
        }
    } else if kind.is_some() {
        changes.push(Change::Remove("execution_count"));
        changes.push(Change::Remove("outputs"));
    }
    apply_changes(text, cell.span(), MEMBERS, layout, changes)
}

fn new_cell(cell: &NewCell, id: Option<String>, layout: &Layout) -> String {
    let mut members = vec![("cell_type", layout.quoted(cell.kind.name()))];
    if cell.kind == CellKind::Code {
        members.push(("execution_count", number(cell.execution_count)));
    }
    members.extend(id.map(|id| ("id", layout.quoted(&id))));
    members.push(("metadata", metadata(&cell.metadata, layout)));
    if cell.kind == CellKind::Code {
        members.push(("outputs", list(&cell.outputs, layout)));
    }
    members.push(("source", layout.lines(&cell.source, MEMBERS + 1)));
    layout.object(&members, MEMBERS)
}

fn metadata(members: &[(String, Value)], layout: &Layout) -> String {
    let members: Vec<(&str, String)> = members
        .iter()
        .map(|(key, value)| (key.as_str(), layout.value(value, MEMBERS + 2)))
        .collect();
    layout.object(&members, MEMBERS + 1)
}

fn list(outputs: &[Value], layout: &Layout) -> String {
    layout.values(outputs, MEMBERS + 1)
}

fn number(number: Option<u32>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

/// Ids for new cells: 8 hex digits, a function of the cell and its place.
struct CellIds {
    /// Ids in use; `None`: cells of this format have no ids.
    taken: Option<HashSet<String>>,
}

impl CellIds {
    fn new(document: &Document, draft: &Draft) -> Self {
        let makes = |slot: &DraftCell| matches!(slot, DraftCell::New(_));
        let wanted = document.has_ids() && draft.cells.iter().any(makes);
        let taken = wanted.then(|| document.cells().filter_map(|cell| cell.id()).collect());
        CellIds { taken }
    }

    fn next(&mut self, place: usize, cell: &NewCell) -> Option<String> {
        let taken = self.taken.as_mut()?;
        if let Some(id) = &cell.id {
            return Some(id.clone());
        }
        let id = |salt: usize| {
            let digest = Sha256::digest(format!("{place} {salt} {}", cell.source));
            digest[..4]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        (0..).map(id).find(|id| taken.insert(id.clone()))
    }
}
