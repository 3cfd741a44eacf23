//! The contents of files, by their digest: one file of this process, which goes with it.
//!
//! In: bytes. Out: the same bytes, checked. Invariant: never more than [`MOST_IN_ALL`] bytes; what is no longer needed
//! gives its space back (a hole, fallocate(2)). Absent on purpose: which contents are needed still.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use serde::{Deserialize, Serialize};

use crate::state::{Digest, Unstored};

/// Bytes of the largest file whose contents are kept.
pub const MOST_OF_A_FILE: u64 = 8 << 20;
/// Bytes that are kept in all.
pub const MOST_IN_ALL: u64 = 256 << 20;

/// Name of the file in a store's folder.
const CONTENTS: &str = "contents";

/// Contents on disk.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    /// `None`: nothing is kept.
    file: Option<File>,
    places: HashMap<Digest, Place>,
    total: u64,
    /// Where the next contents go.
    end: u64,
    most: u64,
}

/// Where contents are in the file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    offset: u64,
    size: u64,
}

impl Store {
    /// A store for this folder; nothing is kept before [`Store::open`].
    pub(crate) fn new(folder: PathBuf, most: u64) -> Self {
        Store {
            folder,
            file: None,
            places: HashMap::new(),
            total: 0,
            end: 0,
            most,
        }
    }

    /// Makes the file in the folder, which is there.
    pub(crate) fn open(&mut self) -> io::Result<()> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true).mode(0o600);
        self.file = Some(options.open(self.folder.join(CONTENTS))?);
        Ok(())
    }

    /// Keeps these bytes.
    ///
    /// # Errors
    /// Why they are not kept.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<Digest, Unstored> {
        let digest = Digest::of(bytes);
        let size = bytes.len() as u64;
        if self.places.contains_key(&digest) {
            return Ok(digest);
        }
        let file = self.file.as_ref().filter(|_| self.has_room(size));
        let offset = self.end;
        let written = file.ok_or(Unstored::StoreFull)?.write_all_at(bytes, offset);
        if let Err(error) = written {
            log::debug!("a file's contents were not kept: {error}");
            return Err(Unstored::StoreFull);
        }
        self.places.insert(digest, Place { offset, size });
        self.total += size;
        self.end += size;
        Ok(digest)
    }

    /// Returns the bytes of this name.
    pub(crate) fn get(&self, digest: Digest) -> io::Result<Vec<u8>> {
        match (&self.file, self.places.get(&digest)) {
            (Some(file), Some(place)) => read_at(file, *place, digest),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(crate) fn place(&self, digest: Digest) -> Option<Place> {
        self.places.get(&digest).copied()
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
        let (file, total) = (&self.file, &mut self.total);
        self.places.retain(|digest, place| {
            if needed.contains(digest) {
                return true;
            }
            if let Some(file) = file.as_ref().filter(|_| place.size > 0) {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                // Where no holes can be made, the file stays as large as it was.
                let _ = fallocate(file, hole, place.offset, place.size);
            }
            *total -= place.size;
            false
        });
    }
}

/// Reads contents from the store in a folder, and checks that they are whole.
pub(crate) fn read_stored(folder: &Path, place: Place, digest: Digest) -> io::Result<Vec<u8>> {
    read_at(&File::open(folder.join(CONTENTS))?, place, digest)
}

fn read_at(file: &File, place: Place, digest: Digest) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(place.size).unwrap_or_default()];
    file.read_exact_at(&mut bytes, place.offset)?;
    match Digest::of(&bytes) == digest {
        true => Ok(bytes),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the kept contents are damaged",
        )),
    }
}
