//! The folders of stores: each is locked by its process as long as that lives; one of a process that is gone is
//! removed, and what it left half done is finished first.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ipycodex_process::files::private_dir;
use ipycodex_text::counted;
use rustix::fs::{FlockOperation, flock};

use crate::restore::finish;

/// Name of the file that a live process holds locked.
const LOCK: &str = "lock";

/// Makes an empty folder for a store; the lock is held as long as the file is open.
pub(crate) fn claim(folder: &Path) -> io::Result<File> {
    let _ = fs::remove_dir_all(folder);
    private_dir(folder).map_err(|error| io::Error::other(error.to_string()))?;
    let lock = File::create(folder.join(LOCK))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok(lock)
}

/// Finishes what processes that are gone left half done, and removes their stores.
pub(crate) fn finish_others(parent: &Path, tell: &dyn Fn(String)) {
    let folders = fs::read_dir(parent).into_iter().flatten().flatten();
    for folder in folders.map(|entry| entry.path()) {
        let Ok(lock) = File::open(folder.join(LOCK)) else {
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        match finish(&folder) {
            Some((done, changed)) if !(done.is_empty() && changed.is_empty()) => {
                tell(finished(&done, &changed));
            }
            _ => {}
        }
        let _ = fs::remove_dir_all(&folder);
    }
}

fn finished(done: &[PathBuf], changed: &[PathBuf]) -> String {
    let mut line = format!(
        "An earlier ipycodex ended while it put files back; {} put back now",
        match done.len() {
            1 => "1 file was".to_owned(),
            number => format!("{} were", counted(number, "file")),
        }
    );
    if !changed.is_empty() {
        let names: Vec<String> = changed
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        line += &format!(
            ", but not these, which others have changed since: {}",
            names.join(", ")
        );
    }
    line
}
