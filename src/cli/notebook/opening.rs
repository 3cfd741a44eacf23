//! Opens a notebook by the path on the command line, which messages quote as it was typed.

use std::path::Path;

use crate::session::{IfMissing, NotebookFile};
use crate::text::report::Report;

/// Opens a notebook.
///
/// # Errors
/// The file does not exist, is not readable, or is no notebook.
pub(super) fn opened(path: &Path, missing: IfMissing) -> Result<NotebookFile, Report> {
    NotebookFile::open(path, &path.display().to_string(), missing)
}
