//! A copy of a file with an interrupted change, in a private temporary directory: SQLite rolls the change back in the
//! copy, as it would in a writable file.
//!
//! Only records on network file systems are left in this state, as they have no log. Invariant: the directory is
//! removed once the connection is open, or after any error.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// True for the error of a file with a hot journal: SQLite must roll it back before reading.
pub(super) fn needs_rollback(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ReadOnly)
}

/// A connection to a copy of the file at `path`; `None`: no temporary directory is available.
pub(super) fn open_recovery_copy(path: &Path) -> Option<rusqlite::Result<Connection>> {
    let directory = private_directory().ok()?;
    let copy = directory.join("history.sqlite");
    let both = ["", "-journal"];
    let made = both.iter().try_for_each(|suffix| {
        let mut from = File::open(with_suffix(path, suffix))?;
        let made = File::create_new(with_suffix(&copy, suffix))
            .and_then(|mut to| io::copy(&mut from, &mut to));
        // Closing a file releases the locks that the process has on it.
        std::mem::forget(from);
        made.map(drop)
    });
    let opened = made.ok().map(|()| open(&copy));
    // Open files stay readable.
    let _ = std::fs::remove_dir_all(&directory);
    opened
}

fn open(copy: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(copy, flags)?;
    let _: i64 = db.query_row("PRAGMA schema_version", [], |row| row.get(0))?;
    Ok(db)
}

fn private_directory() -> io::Result<PathBuf> {
    let random = getrandom::u64().map_err(io::Error::other)?;
    let directory = std::env::temp_dir().join(format!("ipycodex-{random:016x}"));
    DirBuilder::new().mode(0o700).create(&directory)?;
    Ok(directory)
}

/// The name of a companion: `-wal`, `-shm`, `-journal`.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
