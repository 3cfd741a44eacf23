//! The Python environment that `ipycodex setup` creates for users without IPython.
//!
//! In: our data folder. Out: the state of the environment. Invariants: a folder that this program did not create is
//! never changed and never used; an unfinished environment is never used. Absent on purpose: the code that creates
//! it, which is the subcommand's.
//! subcommand.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedPython {
    folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagedState {
    Missing,
    /// A complete environment.
    Ready,
    /// An unfinished environment, or one whose interpreter is gone.
    Broken,
    /// A folder that this program did not create.
    Foreign,
}

impl ManagedPython {
    pub fn below(data_dir: &Path) -> Self {
        ManagedPython {
            folder: data_dir.join("venv"),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn interpreter(&self) -> PathBuf {
        self.folder.join("bin/python3")
    }

    /// Examines the files as they are now.
    pub fn state(&self) -> ManagedState {
        if self.begun().exists() {
            return ManagedState::Broken;
        }
        if self.folder.symlink_metadata().is_err() {
            return ManagedState::Missing;
        }
        match (self.made().is_file(), self.interpreter().is_file()) {
            (false, _) => ManagedState::Foreign,
            (true, false) => ManagedState::Broken,
            (true, true) => ManagedState::Ready,
        }
    }

    /// Marks the environment as unfinished; its parent folder must exist.
    ///
    /// # Errors
    /// The parent folder is not writable.
    pub fn begin(&self) -> io::Result<()> {
        std::fs::write(self.begun(), "")
    }

    /// Marks the environment as complete.
    ///
    /// # Errors
    /// A marker file cannot be written or removed.
    pub fn finish(&self) -> io::Result<()> {
        std::fs::write(self.made(), "made by `ipycodex setup`\n")?;
        std::fs::remove_file(self.begun())
    }

    /// Removes the environment that [`ManagedPython::begin`] began.
    ///
    /// # Errors
    /// A part of it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        let missing_is_fine = |done: io::Result<()>| match done {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        // A half-removed environment must count as unfinished.
        self.begin()?;
        missing_is_fine(std::fs::remove_dir_all(&self.folder))?;
        missing_is_fine(std::fs::remove_file(self.begun()))
    }

    /// Marker beside the folder until the environment is complete.
    fn begun(&self) -> PathBuf {
        self.folder.with_extension("unfinished")
    }

    /// Marker inside the folder once the environment is complete.
    fn made(&self) -> PathBuf {
        self.folder.join("ipycodex-setup")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_one_of_ours_is_ready() {
        let data = tempfile::tempdir().unwrap();
        let managed = ManagedPython::below(data.path());
        let is = |state| assert_eq!(managed.state(), state);
        is(ManagedState::Missing);
        managed.begin().unwrap();
        is(ManagedState::Broken);
        std::fs::create_dir_all(managed.folder().join("bin")).unwrap();
        std::fs::write(managed.interpreter(), "").unwrap();
        managed.finish().unwrap();
        is(ManagedState::Ready);
        std::fs::remove_file(managed.interpreter()).unwrap();
        is(ManagedState::Broken);
        managed.remove().unwrap();
        is(ManagedState::Missing);
        std::fs::create_dir(managed.folder()).unwrap();
        is(ManagedState::Foreign);
    }
}
