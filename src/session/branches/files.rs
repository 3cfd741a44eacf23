//! Files that a turn beside the prompt offers: found in its folder, brought into the user's directory.
//!
//! In: the folder, the directory. Out: what is there; the files in their places. Invariants: only regular files are
//! offered; a file of the user's is replaced only when the user has said so; links are not followed out of the folder
//! or the directory. Functions may block.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::files::{FileMode, refuse_linked_parents, write_whole_with};
use crate::question::OfferedFile;
use crate::text::bytes_in_words;

/// Files that one turn offers at most.
const MOST: usize = 1000;

/// Returns the folder of such files, within that of a branch.
pub(super) fn offered(folder: &Path) -> PathBuf {
    folder.join("files")
}

/// Returns the files in the folder, in order; those that are in the directory already are no part of it.
pub(super) fn find(folder: &Path, directory: &Path) -> Vec<OfferedFile> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let entries = fs::read_dir(folder.join(&below)).into_iter().flatten();
        for entry in entries.flatten() {
            let path = below.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && found.len() < MOST => {
                    found.extend(compare(folder, directory, &path));
                }
                _ => {}
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// Returns `None` for a file that is the same in both places, and for one whose name is no text.
fn compare(folder: &Path, directory: &Path, path: &Path) -> Option<OfferedFile> {
    let (theirs, ours) = (folder.join(path), directory.join(path));
    let size = fs::metadata(&theirs).ok()?.len();
    let present = fs::symlink_metadata(&ours).ok();
    if present.as_ref().is_some_and(|it| it.len() == size) && has_same_bytes(&theirs, &ours) {
        return None;
    }
    Some(OfferedFile {
        path: path.to_str()?.to_owned(),
        theirs: bytes_in_words(size),
        ours: present.map(|it| bytes_in_words(it.len())),
    })
}

fn has_same_bytes(one: &Path, other: &Path) -> bool {
    let (Ok(mut one), Ok(mut other)) = (fs::File::open(one), fs::File::open(other)) else {
        return false;
    };
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let Ok(count) = one.read(&mut left) else {
            return false;
        };
        if count == 0 {
            return matches!(other.read(&mut right), Ok(0));
        }
        if other.read_exact(&mut right[..count]).is_err() || left[..count] != right[..count] {
            return false;
        }
    }
}

/// Copies a file into the directory, as `target`; with `replaces`, in place of the one there.
///
/// # Errors
/// Why it is not there; the file that is there is unchanged then.
pub(super) fn bring(
    folder: &Path,
    directory: &Path,
    path: &str,
    (target, replaces): (&str, bool),
) -> Result<(), String> {
    let place = directory.join(target);
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    }
    let is_taken = !replaces && fs::symlink_metadata(&place).is_ok();
    if is_taken {
        return Err("there is a file of that name now".to_owned());
    }
    let copied = refuse_linked_parents(directory, &place).and_then(|()| {
        write_whole_with(&place, FileMode::Keep, |file| {
            let mut from = fs::File::open(folder.join(path))?;
            std::io::copy(&mut from, file).map(drop)
        })
    });
    copied.map(drop).map_err(|error| error.to_string())
}
