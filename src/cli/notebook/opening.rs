//! A notebook by the name that was typed.

use std::path::Path;

use crate::report::Report;
use crate::session::{IfMissing, NotebookFile};

/// Opens it.
///
/// # Errors
/// It is not there, cannot be read, or is no notebook.
pub(super) fn opened(path: &Path, missing: IfMissing) -> Result<NotebookFile, Report> {
    NotebookFile::open(path, &path.display().to_string(), missing)
}
