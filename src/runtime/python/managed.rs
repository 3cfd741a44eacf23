//! The Python environment that this program makes for users who have none with IPython: where it is, and whose it is.
//!
//! In: the folder of our data. Out: whether it can be used. Invariants: what this program did not make is never
//! changed and never used; one that is half made is never used. Absent on purpose: what makes it, which is a
//! subcommand.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The environment, whether it is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedPython {
    folder: PathBuf,
}

/// What stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagedState {
    /// Nothing.
    Missing,
    /// A whole environment.
    Ready,
    /// One that was not finished, or whose interpreter is gone.
    Broken,
    /// Something this program did not make.
    Foreign,
}

impl ManagedPython {
    /// Below the folder of our data.
    pub fn below(data_dir: &Path) -> Self {
        ManagedPython {
            folder: data_dir.join("venv"),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its interpreter.
    pub fn interpreter(&self) -> PathBuf {
        self.folder.join("bin/python3")
    }

    /// What is there now.
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

    /// It is about to be made, in a folder that is there.
    ///
    /// # Errors
    /// That folder cannot be written.
    pub fn begin(&self) -> io::Result<()> {
        std::fs::write(self.begun(), "")
    }

    /// It is whole.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&self) -> io::Result<()> {
        std::fs::write(self.made(), "made by `ipycodex setup`\n")?;
        std::fs::remove_file(self.begun())
    }

    /// Takes away what [`ManagedPython::begin`] began.
    ///
    /// # Errors
    /// Something of it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        let missing_is_fine = |done: io::Result<()>| match done {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        // Half removed, it is half made.
        self.begin()?;
        missing_is_fine(std::fs::remove_dir_all(&self.folder))?;
        missing_is_fine(std::fs::remove_file(self.begun()))
    }

    /// Beside it while it is made.
    fn begun(&self) -> PathBuf {
        self.folder.with_extension("unfinished")
    }

    /// In it once it is whole.
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
