//! Damage: told apart from a file that cannot be read for now, reported, and set aside.
//!
//! Invariant: only what was read whole and found unsound is called damaged; a damaged file is renamed with its
//! companions, never overwritten, never deleted.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::recovery_copy::with_suffix;
use super::sqlite_error::is_corrupt;
use super::values::RecordOptions;
use crate::text::report::Report;

/// SQLite's error for most files that are not databases.
pub(super) fn not_a_database() -> rusqlite::Error {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
    rusqlite::Error::SqliteFailure(error, None)
}

/// The error for a file that the system does not give to us.
pub(super) fn unreadable() -> rusqlite::Error {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_READ);
    rusqlite::Error::SqliteFailure(error, None)
}

/// True for an empty file, or one that begins with SQLite's header. (SQLite also takes a file of one byte for empty.)
pub(super) fn has_sqlite_header(mut file: &fs::File) -> io::Result<bool> {
    const HEADER: &[u8; 16] = b"SQLite format 3\0";
    let mut start = [0; HEADER.len()];
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    match file.read_exact(&mut start) {
        Ok(()) => Ok(start == *HEADER),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// True when the file can be read whole, and what is in it is not a sound record: SQLite gives `SQLITE_CORRUPT` for
/// some reads that failed (`SQLITE_IOERR_CORRUPTFS`), too. No connection of this process may be in a transaction.
pub(super) fn is_damaged(path: &Path) -> bool {
    let readable = fs::File::open(path).and_then(|file| {
        let mut part = vec![0; 1 << 16];
        let mut at = 0;
        loop {
            match file.read_at(&mut part, at)? {
                0 => return has_sqlite_header(&file),
                read => at += read as u64,
            }
        }
    });
    match readable {
        Ok(true) => {}
        Ok(false) => return true,
        Err(_) => return false,
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let checked = Connection::open_with_flags(path, flags).and_then(|db| {
        db.query_row("PRAGMA integrity_check(1)", [], |row| {
            row.get::<_, String>(0)
        })
    });
    match checked {
        Ok(result) => result != "ok",
        Err(error) => is_corrupt(&error),
    }
}

/// The error for a file that opens for reading only, at this moment.
pub(super) fn cannot_open() -> rusqlite::Error {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
    rusqlite::Error::SqliteFailure(error, None)
}

/// The report on a file that is damaged, or was never a record, and is left as it is.
pub(super) fn damage_report(path: &Path, error: &rusqlite::Error) -> Report {
    let shown = path.display();
    let other = "name another file with --hist-file";
    if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return Report::failure(format!("`{shown}` is not a history file")).hint(other);
    }
    Report::failure(format!("`{shown}` is damaged"))
        .because(error)
        .hint(format!("`sqlite3 {shown} .recover` may bring it back"))
        .hint(other)
}

/// True when the damaged file may be renamed: it still has SQLite's header, or lies at our default path.
pub(super) fn may_set_aside(opening: &RecordOptions) -> bool {
    !opening.named
        || fs::File::open(&opening.path).is_ok_and(|file| has_sqlite_header(&file).unwrap_or(false))
}

/// Renames a damaged file and its companions, without overwriting any file.
pub(super) fn set_aside(path: &Path, error: &rusqlite::Error) -> Result<Report, Report> {
    let target = free_sibling(path, "corrupt");
    for suffix in ["", "-wal", "-shm"] {
        match fs::rename(with_suffix(path, suffix), with_suffix(&target, suffix)) {
            Err(failure) if failure.kind() != ErrorKind::NotFound || suffix.is_empty() => {
                return Err(Report::failure(format!(
                    "`{}` is damaged and cannot be renamed",
                    path.display()
                ))
                .because(failure));
            }
            _ => {}
        }
    }
    Ok(Report::failure(format!(
        "`{}` was damaged: a new history file was begun",
        path.display()
    ))
    .because(error)
    .hint(format!(
        "the old one is kept; `sqlite3 {} .recover` may bring it back",
        target.display()
    )))
}

/// An unused name beside `path`, with the date in it.
pub(super) fn free_sibling(path: &Path, word: &str) -> PathBuf {
    let date: String = Connection::open_in_memory()
        .and_then(|db| {
            db.query_row("SELECT strftime('%Y%m%dT%H%M%SZ', 'now')", [], |row| {
                row.get(0)
            })
        })
        .unwrap_or_else(|_| "undated".into());
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    (0..)
        .map(|n| match n {
            0 => path.with_file_name(format!("{name}.{word}-{date}")),
            n => path.with_file_name(format!("{name}.{word}-{date}-{n}")),
        })
        .find(|candidate| !candidate.exists())
        .expect("some name is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_damaged_by_what_can_be_read_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.sqlite");
        assert!(!is_damaged(&path), "it is missing");
        let sound = {
            let db = Connection::open(&path).unwrap();
            db.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))")
                .unwrap();
            drop(db);
            fs::read(&path).unwrap()
        };
        let mut torn = sound.clone();
        torn[4096..20_000].fill(0xff);
        for (bytes, header, damaged) in [
            (&[][..], true, false),
            (b"SQLite format 3", false, true),
            (b"not a database, by any means", false, true),
            (&sound[..], true, false),
            (&torn[..], true, true),
        ] {
            fs::write(&path, bytes).unwrap();
            let file = fs::File::open(&path).unwrap();
            assert_eq!(
                has_sqlite_header(&file).unwrap(),
                header,
                "{} bytes",
                bytes.len()
            );
            assert_eq!(is_damaged(&path), damaged, "{} bytes", bytes.len());
        }
    }
}
