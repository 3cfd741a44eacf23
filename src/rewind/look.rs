//! A look at one path: what is there now, and what a file's status tells without reading it.
//!
//! Invariants: links are not followed; what is read is whole, of one moment. Absent on purpose: what was there before.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

use crate::state::{Contents, FileState, Unstored};
use crate::store::{MOST_OF_A_FILE, Store};

/// How often a file that changes while it is read is read again.
const TRIES: usize = 3;

/// What a file's status tells without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    mode: u32,
    pub(crate) modified: i128,
    pub(crate) changed: i128,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Stamp {
            inode: metadata.ino(),
            size: metadata.size(),
            mode: metadata.mode(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

pub(crate) fn file(stamp: &Stamp, contents: Contents) -> FileState {
    FileState::File {
        mode: stamp.mode & 0o7777,
        size: stamp.size,
        contents,
    }
}

/// A link or a directory.
pub(crate) fn other(path: &Path, metadata: &Metadata) -> Option<FileState> {
    if metadata.is_dir() {
        let mode = metadata.permissions().mode() & 0o7777;
        return Some(FileState::Directory { mode });
    }
    let target = fs::read_link(path).ok()?;
    Some(FileState::Link { target })
}

/// Looks at a path, and stores the contents of a file; `None` where there is no file, link or directory.
pub(crate) fn look(path: &Path, store: &mut Store) -> Option<(Stamp, FileState)> {
    let mut metadata = fs::symlink_metadata(path).ok()?;
    for _ in 0..TRIES {
        let stamp = Stamp::of(&metadata);
        if !metadata.is_file() {
            return Some((stamp, other(path, &metadata)?));
        }
        let unstored = |why| {
            file(
                &stamp,
                Contents::Unstored {
                    why,
                    modified: stamp.modified,
                },
            )
        };
        if stamp.size > MOST_OF_A_FILE {
            return Some((stamp, unstored(Unstored::TooLarge)));
        }
        if !store.has_room(stamp.size) {
            return Some((stamp, unstored(Unstored::StoreFull)));
        }
        let Ok((bytes, read)) = read_file(path) else {
            return Some((stamp, unstored(Unstored::Unreadable)));
        };
        if read == stamp {
            let kept = store.put(&bytes);
            let state = kept.map_or_else(unstored, |digest| file(&stamp, Contents::Stored(digest)));
            return Some((stamp, state));
        }
        metadata = fs::symlink_metadata(path).ok()?;
    }
    let stamp = Stamp::of(&metadata);
    let contents = Contents::Unstored {
        why: Unstored::NotYet,
        modified: stamp.modified,
    };
    Some((stamp, file(&stamp, contents)))
}

/// Reads a regular file, never through a link; its status is that after the last byte was read.
fn read_file(path: &Path) -> io::Result<(Vec<u8>, Stamp)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    (&file).take(MOST_OF_A_FILE + 1).read_to_end(&mut bytes)?;
    Ok((bytes, Stamp::of(&file.metadata()?)))
}
