//! A rewind of files as a question shows it: what is put back, what is merged, what stays and why. Values.

use std::path::{Path, PathBuf};

use crate::rewind::{FileState, Restore, RewindPlan};
use crate::text::counted;

/// A rewind that waits for the user's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRewind {
    pub plan: RewindPlan,
    pub direction: RewindDirection,
    /// The working directory, which paths are shown from.
    pub cwd: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindDirection {
    Back,
    Forward,
}

impl FileRewind {
    /// Returns a line for each path that is put back: `put back a.py`.
    pub fn restores(&self) -> Vec<String> {
        self.lines(&self.plan.restores)
    }

    /// Returns a line for each path that others have changed and that can be merged.
    pub fn merges(&self) -> Vec<String> {
        let lines = self.plan.merges.iter();
        lines.map(|it| self.name(&it.path)).collect()
    }

    /// Returns each path that stays as it is, with the reason.
    pub fn kept(&self) -> Vec<(String, &str)> {
        let kept = self.plan.kept.iter();
        kept.map(|(path, why)| (self.name(path), why.as_str()))
            .collect()
    }

    /// Returns what happens, as the end of a sentence about files.
    pub fn in_words(&self) -> String {
        let files = |count| counted(count, "file");
        let parts = [
            (self.plan.restores.len(), "put back"),
            (self.plan.merges.len(), "changed since, left as it is now"),
            (self.plan.kept.len(), "left as it is now"),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, what)| format!("{} {what}", files(count)))
            .collect();
        match parts.is_empty() {
            true => "stay as they are".to_owned(),
            false => parts.join(", "),
        }
    }

    pub(crate) fn lines(&self, restores: &[Restore]) -> Vec<String> {
        let lines = restores.iter();
        lines
            .map(|it| format!("{} {}", verb(it), self.name(&it.path)))
            .collect()
    }

    pub(crate) fn name(&self, path: &Path) -> String {
        shown(path, &self.cwd)
    }
}

/// Returns a path as seen from a directory.
pub(crate) fn shown(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn verb(restore: &Restore) -> &'static str {
    match (&restore.from, &restore.to) {
        (_, FileState::Absent) => "remove",
        (FileState::Absent, _) => "bring back",
        _ => "put back",
    }
}
