//! Artifacts: texts too long for a model, kept whole, one file each, in a directory for each session.
//!
//! In: an id and a text. Out: the text again, in this process or in one that resumes the session. Invariants: keeping
//! a text does not wait for the disk (the text stays in memory until [`Artifacts::write_waiting`] has run); memory
//! and disk use are bounded, the oldest is dropped first; directories are 0700 and files 0600; a failing disk costs
//! only memory.
//!
//! Files, not rows: they are not part of the conversation (a lost text costs an answer, no history), a megabyte in
//! the database would be read with every prompt, and `%history` of IPython would have to carry it.
//!
//! Layout: `artifacts/<of the record>/<session>/<id>.txt`; session numbers are unique in one record only.

mod retention;

use std::collections::VecDeque;
use std::fs::{DirEntry, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use crate::files::{FileError, FileMode, private_dir, write_whole};

/// Bytes of one text; a longer one is cut to this.
pub const MOST_BYTES: usize = 8 << 20;
/// Bytes of all texts in memory.
const MOST_MEMORY: usize = 32 << 20;
/// Bytes of a session's files.
const MOST_SESSION: u64 = 256 << 20;
/// Bytes of all files.
const MOST_FILES: u64 = 1 << 30;

/// The artifacts of one session; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Artifacts {
    state: Arc<Mutex<ArtifactsState>>,
    /// Held by the one writer.
    writing: Arc<Mutex<()>>,
}

#[derive(Debug, Default)]
struct ArtifactsState {
    place: Option<SessionDirectory>,
    /// Oldest first.
    texts: VecDeque<Artifact>,
}

#[derive(Debug, Clone)]
struct SessionDirectory {
    root: PathBuf,
    directory: PathBuf,
    /// The directory contains no files of an earlier session.
    cleared: bool,
}

#[derive(Debug)]
struct Artifact {
    id: String,
    bytes: u64,
    /// `None`: in its file.
    text: Option<Arc<str>>,
}

impl Artifacts {
    /// Sets the directory of this session, once it is known. `resumed`: it contains earlier texts.
    ///
    /// `root` is the directory of all artifacts, `record` the file that contains the session.
    pub fn set_directory(&self, root: &Path, record: &Path, session: i64, resumed: bool) {
        let directory = directory_of(root, record, session);
        let mut state = self.state();
        if resumed {
            let known: Vec<_> = stored_artifacts(&directory)
                .into_iter()
                .filter(|kept| !state.texts.iter().any(|new| new.id == kept.id))
                .collect();
            for kept in known.into_iter().rev() {
                state.texts.push_front(kept);
            }
        }
        state.place = Some(SessionDirectory {
            root: root.to_owned(),
            directory,
            cleared: resumed,
        });
    }

    /// The directory of this session, which may not exist yet; `None`: the session keeps no files.
    pub fn directory(&self) -> Option<PathBuf> {
        let state = self.state();
        state.place.as_ref().map(|place| place.directory.clone())
    }

    /// The path of another file of this session, beside the texts; creates the directory. `None`: the session keeps
    /// no files. Blocks for a moment.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn own_file(&self, name: &str) -> Result<Option<PathBuf>, FileError> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = self.state().place.clone() else {
            return Ok(None);
        };
        self.prepare(&place)?;
        Ok(Some(place.directory.join(name)))
    }

    /// Copies the texts that are in files to the directory of another session of this record, which has none yet.
    /// Blocks.
    ///
    /// # Errors
    /// A file cannot be copied; those before it are there.
    pub fn copy_to(&self, session: i64) -> std::io::Result<()> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = self.state().place.clone() else {
            return Ok(());
        };
        let kept = stored_artifacts(&place.directory);
        if kept.is_empty() || !place.cleared {
            return Ok(());
        }
        let copies = SessionDirectory {
            directory: place.directory.with_file_name(session.to_string()),
            ..place.clone()
        };
        let _ = std::fs::remove_dir_all(&copies.directory);
        private_dir(&copies.directory).map_err(std::io::Error::other)?;
        for text in kept {
            std::fs::copy(place.file(&text.id), copies.file(&text.id))?;
        }
        Ok(())
    }

    /// Keeps `text` under `id` (lower-case letters, digits and `-`), in place of an earlier one.
    pub fn keep(&self, id: &str, text: String) {
        debug_assert!(is_valid_id(id), "{id}");
        let mut state = self.state();
        state.texts.retain(|kept| kept.id != id);
        state.texts.push_back(Artifact {
            id: id.to_owned(),
            bytes: text.len() as u64,
            text: Some(text.into()),
        });
        let mut held: usize = state.bytes_in_memory();
        while held > MOST_MEMORY {
            let Some(oldest) = state.texts.iter().position(|kept| kept.text.is_some()) else {
                return;
            };
            held = held.saturating_sub(
                state
                    .texts
                    .remove(oldest)
                    .map_or(0, |kept| kept.bytes_in_memory()),
            );
        }
    }

    pub fn has(&self, id: &str) -> bool {
        self.state().texts.iter().any(|kept| kept.id == id)
    }

    /// Ids and bytes, oldest first.
    pub fn list(&self) -> Vec<(String, u64)> {
        let state = self.state();
        let row = |kept: &Artifact| (kept.id.clone(), kept.bytes);
        state.texts.iter().map(row).collect()
    }

    /// The text of `id`; `None` when the id is unknown, or its file is gone.
    pub fn read(&self, id: &str) -> Option<Arc<str>> {
        let path = {
            let state = self.state();
            let kept = state.texts.iter().find(|kept| kept.id == id)?;
            match &kept.text {
                Some(text) => return Some(Arc::clone(text)),
                None => state.place.as_ref()?.file(id),
            }
        };
        let bytes = std::fs::read(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).into())
    }

    pub fn is_waiting(&self) -> bool {
        let state = self.state();
        state.place.is_some() && state.texts.iter().any(|kept| kept.text.is_some())
    }

    /// Writes the texts that are only in memory. Blocks; must not run on the session loop.
    ///
    /// # Errors
    /// The disk failed; from then on all texts stay in memory.
    pub fn write_waiting(&self) -> Result<(), FileError> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.write_all();
        if result.is_err() {
            self.state().place = None;
        }
        result
    }

    fn write_all(&self) -> Result<(), FileError> {
        loop {
            let (place, id, text) = {
                let state = self.state();
                let waiting = state.texts.iter().find_map(|kept| {
                    let text = kept.text.as_ref()?;
                    Some((kept.id.clone(), Arc::clone(text)))
                });
                match (state.place.clone(), waiting) {
                    (Some(place), Some((id, text))) => (place, id, text),
                    _ => return Ok(()),
                }
            };
            self.prepare(&place)?;
            write_whole(&place.file(&id), text.as_bytes(), FileMode::Private)?;
            let surplus = {
                let mut state = self.state();
                for kept in &mut state.texts {
                    if kept
                        .text
                        .as_ref()
                        .is_some_and(|held| Arc::ptr_eq(held, &text))
                    {
                        kept.text = None;
                    }
                }
                state.remove_surplus()
            };
            for id in surplus {
                // A file that stays is found by the next process.
                let _ = std::fs::remove_file(place.file(&id));
            }
        }
    }

    /// Creates the session's directory and removes files of another session from it.
    fn prepare(&self, place: &SessionDirectory) -> Result<(), FileError> {
        if !place.cleared {
            place.clear();
            if let Some(place) = &mut self.state().place {
                place.cleared = true;
            }
        }
        private_dir(&place.directory)
    }

    fn state(&self) -> MutexGuard<'_, ArtifactsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ArtifactsState {
    fn bytes_in_memory(&self) -> usize {
        self.texts.iter().map(Artifact::bytes_in_memory).sum()
    }

    /// Drops the oldest files beyond the session's limit; returns their ids.
    fn remove_surplus(&mut self) -> Vec<String> {
        let on_disk = |kept: &&Artifact| kept.text.is_none();
        let mut total: u64 = self
            .texts
            .iter()
            .filter(on_disk)
            .map(|kept| kept.bytes)
            .sum();
        let mut gone = Vec::new();
        while total > MOST_SESSION {
            let Some(at) = self.texts.iter().position(|kept| kept.text.is_none()) else {
                break;
            };
            let Some(kept) = self.texts.remove(at) else {
                break;
            };
            total = total.saturating_sub(kept.bytes);
            gone.push(kept.id);
        }
        gone
    }
}

impl Artifact {
    fn bytes_in_memory(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len())
    }
}

impl SessionDirectory {
    fn file(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.txt"))
    }

    /// Before the first file: removes files that an earlier record of this name left, and the oldest sessions.
    fn clear(&self) {
        // Leftovers that cannot be removed do no harm.
        let _ = std::fs::remove_dir_all(&self.directory);
        retention::remove_oldest(&self.root, &self.directory, MOST_FILES);
    }
}

/// The files of a session, oldest first.
fn stored_artifacts(directory: &Path) -> Vec<Artifact> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let known = |entry: DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let id = name.strip_suffix(".txt").filter(|id| is_valid_id(id))?;
        let metadata = entry.metadata().ok().filter(Metadata::is_file)?;
        let kept = Artifact {
            id: id.to_owned(),
            bytes: metadata.len(),
            text: None,
        };
        Some((metadata.modified().ok()?, kept))
    };
    let mut found: Vec<_> = entries.flatten().filter_map(known).collect();
    found.sort_by_key(|(modified, _)| *modified);
    found.into_iter().map(|(_, kept)| kept).collect()
}

fn directory_of(root: &Path, record: &Path, session: i64) -> PathBuf {
    let hash = Sha256::digest(record.as_os_str().as_encoded_bytes());
    let name: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    root.join(name).join(session.to_string())
}

/// Removes the texts of a session that was deleted from `record`; leftovers are removed later by the limits.
pub fn delete_session(root: &Path, record: &Path, session: i64) {
    let _ = std::fs::remove_dir_all(directory_of(root, record, session));
}

/// True for an id that is a valid file name as it stands.
fn is_valid_id(id: &str) -> bool {
    let fits = |byte: u8| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=80).contains(&id.len()) && id.bytes().all(fits)
}

#[cfg(test)]
mod tests;
