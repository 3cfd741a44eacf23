//! Retention: removes whole sessions, the least recently used first.
//!
//! In: the directory of all artifacts. Invariants: only directories two levels below it are removed, no link is
//! followed, and the current session stays. Absent on purpose: errors; a directory that cannot be removed stays.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Removes old sessions below `root` until the rest has at most `limit` bytes; never removes `own`.
pub(super) fn remove_oldest(root: &Path, own: &Path, limit: u64) {
    let mut sessions: Vec<(SystemTime, u64, PathBuf)> = directories(root)
        .iter()
        .flat_map(|record| directories(&record.path()))
        .filter(|session| session.path() != own)
        .map(|session| {
            let (touched, bytes) = last_use_and_size(&session.path());
            (touched, bytes, session.path())
        })
        .collect();
    sessions.sort();
    let mut total: u64 = sessions.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, bytes, path) in sessions {
        if total <= limit {
            return;
        }
        if std::fs::remove_dir_all(&path).is_ok() {
            total = total.saturating_sub(bytes);
        }
    }
}

fn directories(path: &Path) -> Vec<DirEntry> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return Vec::new();
    };
    let is_directory = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.flatten().filter(is_directory).collect()
}

/// When a session's directory was last changed, and the bytes of its files.
fn last_use_and_size(directory: &Path) -> (SystemTime, u64) {
    let touched = std::fs::metadata(directory).and_then(|found| found.modified());
    let sizes = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len());
    (touched.unwrap_or(SystemTime::UNIX_EPOCH), sizes.sum())
}
