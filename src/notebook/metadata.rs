//! What we say in the metadata of a notebook: that it is ours, and what each cell was.

use super::document::Document;

/// The key of what we know of a cell, in its metadata.
pub(super) const OURS: &str = "ipycodex";

/// The key of the format of what we know, in the notebook's metadata.
const VERSION: &str = "ipycodex_version";

/// True when we wrote it.
pub fn is_ours(notebook: &Document) -> bool {
    notebook.metadata(VERSION).is_some()
}
