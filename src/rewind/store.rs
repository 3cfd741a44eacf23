//! The contents of files, by their digest: a directory of this process, which ends with it.
//!
//! In: bytes. Out: the same bytes, checked. Invariants: what is named is whole (written beside, then renamed); never
//! more than [`MOST_IN_ALL`] bytes. Absent on purpose: which contents are needed still.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::state::{Digest, Unstored};

/// Bytes of the largest file whose contents are kept.
pub const MOST_OF_A_FILE: u64 = 8 << 20;
/// Bytes that are kept in all.
pub const MOST_IN_ALL: u64 = 256 << 20;

/// Contents on disk.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    sizes: HashMap<Digest, u64>,
    total: u64,
    most: u64,
}

impl Store {
    /// A store in this folder, which is there and empty.
    pub(crate) fn new(folder: PathBuf, most: u64) -> Self {
        Store {
            folder,
            sizes: HashMap::new(),
            total: 0,
            most,
        }
    }

    pub(crate) fn path(folder: &Path, digest: Digest) -> PathBuf {
        folder.join(digest.to_string())
    }

    /// Keeps these bytes.
    ///
    /// # Errors
    /// Why they are not kept.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<Digest, Unstored> {
        let digest = Digest::of(bytes);
        let size = bytes.len() as u64;
        if self.sizes.contains_key(&digest) {
            return Ok(digest);
        }
        if self.total + size > self.most {
            return Err(Unstored::StoreFull);
        }
        let target = Store::path(&self.folder, digest);
        let beside = target.with_extension("new");
        let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, &target));
        if let Err(error) = written {
            log::debug!("a file's contents were not kept: {error}");
            // A part of it takes no space away.
            let _ = fs::remove_file(&beside);
            return Err(Unstored::StoreFull);
        }
        self.sizes.insert(digest, size);
        self.total += size;
        Ok(digest)
    }

    /// Returns the bytes of this name.
    pub(crate) fn get(&self, digest: Digest) -> io::Result<Vec<u8>> {
        read_stored(&self.folder, digest)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns true when a file of this size that is there at the start is to be kept: a quarter is for what changes.
    pub(crate) fn has_room_at_start(&self, size: u64) -> bool {
        self.total + size <= self.most / 4 * 3
    }

    pub(crate) fn has_room(&self, size: u64) -> bool {
        self.total + size <= self.most
    }

    /// Removes all contents but these.
    pub(crate) fn retain(&mut self, needed: &HashSet<Digest>) {
        let (folder, total) = (&self.folder, &mut self.total);
        self.sizes.retain(|digest, size| {
            let keep = needed.contains(digest);
            if !keep && fs::remove_file(Store::path(folder, *digest)).is_ok() {
                *total -= *size;
                return false;
            }
            true
        });
    }
}

/// Reads contents from a store's folder, and checks that they are whole.
pub(crate) fn read_stored(folder: &Path, digest: Digest) -> io::Result<Vec<u8>> {
    let bytes = fs::read(Store::path(folder, digest))?;
    match Digest::of(&bytes) == digest {
        true => Ok(bytes),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the kept contents are damaged",
        )),
    }
}
