//! Files that are replaced atomically, and directories that no other user can write.

mod atomic;
mod found;
mod private;

use std::path::{Path, PathBuf};

use crate::text::report::Report;

pub use atomic::{
    FileMode, LostAttributes, NewFile, refuse_linked_parents, write_whole, write_whole_with,
};
pub use found::TrackedFile;
pub use private::{check_private_dir, private_dir};

/// Why a file or directory could not be used. Always names it.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot {action} `{}`", path.display())]
    System {
        /// The action that failed: `write`, `create`, ….
        action: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// We refuse, because of the file's state.
    #[error("`{}` {reason}", path.display())]
    Refused {
        path: PathBuf,
        /// Continues a sentence after the path: `is owned by another user (uid 0)`.
        reason: String,
        hint: String,
    },
}

impl FileError {
    fn system(action: &'static str, path: &Path, source: impl Into<std::io::Error>) -> Self {
        FileError::System {
            action,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

impl From<FileError> for Report {
    fn from(error: FileError) -> Self {
        let report = Report::failure(error.to_string());
        match error {
            FileError::System { source, .. } => report.because(source),
            FileError::Refused { hint, .. } => report.hint(hint),
        }
    }
}
