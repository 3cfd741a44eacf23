//! Files are put back: all of them or none.
//!
//! In: what each path is to hold, and what it holds now. Invariants: nothing is written before the journal is on the
//! disk; a path that holds anything else than expected is not touched; after an error, or when it is stopped, what was
//! done is undone; what a kill leaves is finished by the next start ([`finish`]). Absent on purpose: what is to be put
//! back.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ipycodex_process::files::{FileMode, refuse_linked_parents, write_whole};
use serde::{Deserialize, Serialize};

use crate::open_files::OpenFiles;
use crate::state::{Contents, Digest, FileState};
use crate::store::{Place, Store, read_stored};
use crate::timeline::Restore;

/// Name of the journal in a store's folder.
const JOURNAL: &str = "journal.json";

/// Reads contents by their name.
type Read<'a> = dyn Fn(Digest) -> io::Result<Vec<u8>> + 'a;

/// What is being done, as the journal holds it.
#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    steps: Vec<JournalStep>,
    /// Where the contents are that the steps name.
    places: Vec<(Digest, Place)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct JournalStep {
    root: PathBuf,
    path: PathBuf,
    from: FileState,
    to: FileState,
}

/// Why nothing was put back.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// It was stopped.
    #[error("stopped: all files are as they were")]
    Stopped,
    /// A file could not be written or removed.
    #[error("`{path}` could not be put back: {why}; {rest}")]
    Failed {
        /// The path.
        path: PathBuf,
        /// The cause.
        why: String,
        /// What became of the others.
        rest: &'static str,
    },
    /// The journal could not be written.
    #[error("nothing was put back: the journal of it cannot be written: {0}")]
    Journal(String),
}

/// Puts paths back. `root_of` names the directory that a path must lie in, without a link on the way.
pub(crate) fn restore(
    store: &Store,
    restores: &[Restore],
    root_of: impl Fn(&Path) -> Option<PathBuf>,
    stopped: &dyn Fn() -> bool,
) -> Result<(), RestoreError> {
    let steps = restores.iter().filter_map(|restore| {
        Some(JournalStep {
            root: root_of(&restore.path)?,
            path: restore.path.clone(),
            from: restore.from.clone(),
            to: restore.to.clone(),
        })
    });
    let steps: Vec<JournalStep> = steps.collect();
    let states = steps.iter().flat_map(|step| [&step.from, &step.to]);
    let digests = states.filter_map(FileState::digest);
    let places = digests.filter_map(|digest| Some((digest, store.place(digest)?)));
    let journal = Journal {
        places: places.collect(),
        steps,
    };
    let path = store.folder().join(JOURNAL);
    let failed = |why: String| RestoreError::Journal(why);
    let text = serde_json::to_vec(&journal).map_err(|error| failed(error.to_string()))?;
    write_whole(&path, &text, FileMode::Private).map_err(|error| failed(error.to_string()))?;
    let done = carry_out(&|digest| store.get(digest), &journal.steps, stopped);
    let is_undone = done.as_ref().err().is_none_or(|(_, undone)| *undone);
    if is_undone {
        // One that stays is found to be done.
        let _ = fs::remove_file(&path);
    }
    done.map_err(|(error, _)| error)
}

/// Finishes what a process that is gone began to put back; returns the paths that it was about, and those that hold
/// something else by now. `None`: nothing was begun.
pub(crate) fn finish(folder: &Path) -> Option<(Vec<PathBuf>, Vec<PathBuf>)> {
    let path = folder.join(JOURNAL);
    let text = fs::read(&path).ok()?;
    let journal: Journal = serde_json::from_slice(&text).ok()?;
    let places: HashMap<Digest, Place> = journal.places.into_iter().collect();
    let contents = |digest| match places.get(&digest) {
        Some(place) => read_stored(folder, *place, digest),
        None => Err(ErrorKind::NotFound.into()),
    };
    let mut changed = Vec::new();
    let mut steps = Vec::new();
    for step in journal.steps {
        let now = state_of(&step.path);
        match now {
            now if now == step.to => {}
            now if now == step.from
                || now == FileState::Absent && step.removes()
                || is_partly(&contents, &step) =>
            {
                steps.push(JournalStep { from: now, ..step });
            }
            _ => changed.push(step.path),
        }
    }
    let paths = steps.iter().map(|step| step.path.clone()).collect();
    let open = OpenFiles::default();
    for (step, part) in order(&steps) {
        if let Err(error) = perform(&contents, &open, step, part) {
            log::warn!("`{}` could not be put back: {error}", step.path.display());
            changed.push(step.path.clone());
        }
    }
    let _ = fs::remove_file(&path);
    Some((paths, changed))
}

/// A part of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// What is there goes.
    Remove,
    /// What is to be there comes.
    Make,
    /// A directory gets its mode, which may forbid to write into it.
    SetMode,
}

/// Removals come first, from the leaves to the root; then directories and files, from the root to the leaves.
fn order(steps: &[JournalStep]) -> Vec<(&JournalStep, Part)> {
    let mut sorted: Vec<&JournalStep> = steps.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    let is_made = |step: &&&JournalStep| step.to != FileState::Absent;
    let is_directory = |step: &&&JournalStep| matches!(step.to, FileState::Directory { .. });
    let removed = sorted.iter().rev().filter(|step| step.removes());
    let removed = removed.map(|step| (*step, Part::Remove));
    let made = sorted.iter().filter(is_made);
    let made = made.map(|step| (*step, Part::Make));
    let set = sorted.iter().rev().filter(is_directory);
    let set = set.map(|step| (*step, Part::SetMode));
    removed.chain(made).chain(set).collect()
}

impl JournalStep {
    /// Returns true when what is there must go before the other can come.
    fn removes(&self) -> bool {
        let kind = std::mem::discriminant::<FileState>;
        self.from != FileState::Absent && kind(&self.from) != kind(&self.to)
    }
}

/// Carries out all steps, or undoes what was done; the second part of an error tells whether all is undone.
fn carry_out(
    contents: &Read<'_>,
    steps: &[JournalStep],
    stopped: &dyn Fn() -> bool,
) -> Result<(), (RestoreError, bool)> {
    let mut begun = BTreeSet::new();
    let open = &OpenFiles::default();
    for (step, part) in order(steps) {
        let path = &step.path;
        let done = match stopped() {
            true => Err(None),
            false => {
                begun.insert(path);
                perform(contents, open, step, part).map_err(Some)
            }
        };
        let Err(error) = done else {
            continue;
        };
        let back = steps.iter().filter(|step| begun.contains(&step.path));
        let back: Vec<JournalStep> = back
            .filter_map(|step| match state_of(&step.path) {
                now if now == step.from => None,
                now => Some(JournalStep {
                    from: now,
                    to: step.from.clone(),
                    ..step.clone()
                }),
            })
            .collect();
        let undone = order(&back)
            .into_iter()
            .all(|(step, part)| perform(contents, open, step, part).is_ok());
        let error = match error {
            None => RestoreError::Stopped,
            Some(why) => RestoreError::Failed {
                path: path.clone(),
                why: why.to_string(),
                rest: match undone {
                    true => "all other files are as they were",
                    false => "some others are half way: the next start of ipycodex finishes them",
                },
            },
        };
        return Err((error, undone));
    }
    Ok(())
}

fn perform(
    contents: &Read<'_>,
    open: &OpenFiles,
    step: &JournalStep,
    part: Part,
) -> io::Result<()> {
    let path = &step.path;
    let refused = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    refuse_linked_parents(&step.root, path).map_err(|error| refused(&error))?;
    if part == Part::Remove {
        let gone = match &step.from {
            FileState::Directory { .. } => fs::remove_dir(path),
            _ => fs::remove_file(path),
        };
        return match gone {
            // Others have put something there.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            gone => gone,
        };
    }
    match &step.to {
        FileState::Directory { mode } => {
            if part == Part::SetMode {
                return fs::set_permissions(path, Permissions::from_mode(*mode));
            }
            match fs::create_dir(path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                made => made,
            }
        }
        FileState::Link { target } => {
            if path.is_symlink() {
                fs::remove_file(path)?;
            }
            symlink(target, path)
        }
        FileState::File {
            mode,
            contents: Contents::Stored(digest),
            ..
        } => {
            if step.from.digest() != Some(*digest) {
                write_file(path, &contents(*digest)?, open)?;
            }
            fs::set_permissions(path, Permissions::from_mode(*mode))
        }
        FileState::File { .. } | FileState::Unknown(_) | FileState::Absent => Ok(()),
    }
}

fn write_file(path: &Path, bytes: &[u8], open: &OpenFiles) -> io::Result<()> {
    // Another name of the file may lie anywhere.
    let found = fs::symlink_metadata(path).ok();
    let one = found.filter(|it| it.is_file() && it.nlink() == 1);
    match one.is_some_and(|it| open.holds(&it)) {
        true => write_in_place(path, bytes),
        false => write_whole(path, bytes, FileMode::Keep)
            .map_err(|error| io::Error::other(error.to_string())),
    }
}

/// Writes over a file that somebody holds open: what he writes later is to reach the file that has the name. Until it
/// is done, it begins with new bytes and ends with old ones.
fn write_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    let size = file.metadata()?.size();
    if bytes.len() as u64 > size {
        let more = bytes.len() as u64 - size;
        // Where the space cannot be had, nothing is written.
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::KEEP_SIZE, size, more)?;
    }
    file.write_all_at(bytes, 0)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Returns true when a file in the middle of [`write_in_place`] is at this path.
fn is_partly(contents: &Read<'_>, step: &JournalStep) -> bool {
    let read = |state: &FileState| contents(state.digest()?).ok();
    let (Some(old), Some(new), Ok(now)) = (read(&step.from), read(&step.to), fs::read(&step.path))
    else {
        return false;
    };
    let common = now.iter().zip(&new).take_while(|(a, b)| a == b).count();
    now.get(common..) == Some(old.get(common..).unwrap_or_default())
}

/// Returns what a path holds, without a store.
fn state_of(path: &Path) -> FileState {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return FileState::Absent;
    };
    let mode = metadata.mode() & 0o7777;
    if metadata.is_dir() {
        return FileState::Directory { mode };
    }
    if metadata.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        return FileState::Link { target };
    }
    let bytes = fs::read(path).unwrap_or_default();
    FileState::File {
        mode,
        size: bytes.len() as u64,
        contents: Contents::Stored(Digest::of(&bytes)),
    }
}
