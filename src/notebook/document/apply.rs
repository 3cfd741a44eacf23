//! Applies an edited marked text to its notebook.
//!
//! In: a [`Document`] and a text with cell marks. Out: a [`Draft`]. A mark with the number of a cell, the first to
//! carry that number, stands for this cell with everything that the text does not show of it; any other mark makes a
//! new cell. Cells without a mark are removed.

use super::draft::{CellChanges, Draft, DraftCell, NewCell};
use super::fault::NotebookError;
use super::marked::{TextError, output_line, read_marked, show_cell};
use super::model::Document;

/// Why a text was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The text is not a marked text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The notebook cannot be shown or changed.
    #[error(transparent)]
    Notebook(#[from] NotebookError),
}

/// The notebook that `text` describes.
///
/// # Errors
/// `text` is not a marked text, or the notebook has a cell that cannot be read.
pub fn apply_marked_text(document: &Document, text: &str) -> Result<Draft, ApplyError> {
    for (number, cell) in document.cells().enumerate() {
        if cell.fault().is_some() {
            show_cell(number, cell)?;
        }
    }
    let mut used = vec![false; document.len()];
    let mut cells = Vec::new();
    for marked in read_marked(text)? {
        let number = marked
            .number
            .filter(|number| used.get(*number) == Some(&false));
        let cell = number.and_then(|number| Some((number, document.cell(number)?)));
        let was = cell.map(|(_, cell)| cell.source()).unwrap_or_default();
        if let Some((line, text)) = output_line(&marked.source)
            && !was.split('\n').any(|line| line == text)
        {
            return Err(TextError::Output(marked.line + 1 + line).into());
        }
        cells.push(match cell {
            None => DraftCell::New(NewCell::new(marked.kind, marked.source)),
            Some((number, cell)) => {
                used[number] = true;
                let kind = Some(marked.kind).filter(|kind| cell.kind() != Some(*kind));
                let source = (marked.source != was).then(|| marked.source.into_owned());
                match (kind, &source) {
                    (None, None) => DraftCell::Kept(number),
                    _ => DraftCell::Changed(
                        number,
                        CellChanges {
                            kind,
                            source,
                            ..CellChanges::default()
                        },
                    ),
                }
            }
        });
    }
    Ok(Draft {
        cells,
        metadata: Vec::new(),
    })
}
