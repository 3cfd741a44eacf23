//! Read-only connections: no byte, mode or time of the file changes, and no file appears beside it.
//!
//! In: a path. Out: a connection that reads committed data, while others may write, in the tables of this version:
//! tables and columns that an older file (or IPython's own) lacks are added in memory. Invariant: only SQLite opens
//! the file, since closing another descriptor would release the locks that this process holds on it.
//!
//! The state that a crash leaves is read as it is. A log without its index (`-wal` without `-shm`) is read up to its
//! last whole commit, with an index in memory and without locks: no process has such a file open. An interrupted
//! change (a `-journal`) is rolled back in a copy.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};

use super::recovery_copy::{needs_rollback, open_recovery_copy, with_suffix};
use super::schema::{self, RecordKind};
use super::sqlite_error::{is_locked, is_transient};

/// How often a file that changes during a read is read again.
const TRIES: usize = 5;

/// Bytes of the header of a log. A process killed just behind it leaves a log that only a writer can recover: a
/// reader that may not change the index tries for ten seconds, and gives up.
const LOG_HEAD: u64 = 32;

#[derive(Debug)]
pub(super) struct ReadConnection {
    db: OwnedConnection,
    path: PathBuf,
    patience: Duration,
    /// The file when it was opened; `None`: locks keep the reads consistent.
    snapshot: Option<FileSnapshot>,
}

/// The parts of an unlocked file that change as soon as another process writes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileSnapshot {
    file: FileStamp,
    log: FileStamp,
    journal: FileStamp,
    /// The index of the log can be read.
    index: bool,
}

/// Length and modification time of a file; empty for a missing one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    modified: Option<SystemTime>,
}

impl FileStamp {
    fn read(path: &Path) -> FileStamp {
        let found = std::fs::metadata(path).ok();
        found.map_or_else(FileStamp::default, |found| FileStamp {
            length: found.len(),
            modified: found.modified().ok(),
        })
    }
}

impl FileSnapshot {
    fn take(path: &Path) -> FileSnapshot {
        FileSnapshot {
            file: FileStamp::read(path),
            log: FileStamp::read(&with_suffix(path, "-wal")),
            journal: FileStamp::read(&with_suffix(path, "-journal")),
            index: access(with_suffix(path, "-shm"), Access::READ_OK).is_ok(),
        }
    }

    fn mode(&self) -> ReadMode {
        // SQLite would remove the log of an empty file.
        let log = self.file.length > 0 && self.log.length > LOG_HEAD;
        match (log, self.index) {
            (true, true) => ReadMode::Log,
            (true, false) => ReadMode::LogAlone,
            _ if self.journal.length > 0 => ReadMode::Journal,
            _ => ReadMode::FileAlone,
        }
    }
}

/// How a file is read, by the files beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadMode {
    /// With its log and the log's index, which is rebuilt in memory where no process keeps it.
    Log,
    /// With its log, whose index is missing.
    LogAlone,
    /// A change is running, or was interrupted.
    Journal,
    /// No process has it open, or none writes: no lock, no log, no index.
    FileAlone,
    /// A copy of the file, in which the interrupted change is rolled back.
    Copy,
}

impl ReadMode {
    fn parameters(self) -> &'static str {
        match self {
            ReadMode::Log => "mode=ro&readonly_shm=1",
            // Without locks: an exclusive lock needs a writable file.
            ReadMode::LogAlone => "mode=ro&vfs=unix-none",
            ReadMode::Journal | ReadMode::Copy => "mode=ro",
            ReadMode::FileAlone => "immutable=1",
        }
    }

    fn locks(self) -> bool {
        matches!(self, ReadMode::Log | ReadMode::Journal)
    }
}

#[derive(Debug)]
struct OwnedConnection {
    /// `None` only while it is dropped.
    db: Option<Connection>,
    mode: ReadMode,
}

impl OwnedConnection {
    fn new(path: &Path, mode: ReadMode) -> rusqlite::Result<OwnedConnection> {
        let opened = OwnedConnection {
            db: Some(connect(path, mode.parameters())?),
            mode,
        };
        if mode == ReadMode::LogAlone {
            // In this mode the index is kept in memory.
            opened.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        }
        Ok(opened)
    }
}

impl std::ops::Deref for OwnedConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.db.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for OwnedConnection {
    fn drop(&mut self) {
        if self.mode == ReadMode::LogAlone {
            // Closing a file releases the locks that the process has on it. SQLite delays the close until then, but
            // not where it knows of no locks; so this file stays open. One leaks per crash, as the next writer makes
            // an index.
            std::mem::forget(self.db.take());
        }
    }
}

impl ReadConnection {
    /// Opens `path` and reads the kind of its tables.
    pub(super) fn open(
        path: &Path,
        patience: Duration,
    ) -> rusqlite::Result<(ReadConnection, RecordKind)> {
        let snapshot = FileSnapshot::take(path);
        let mode = snapshot.mode();
        let opened = OwnedConnection::new(path, mode)?;
        match ReadConnection::from_connection(path, opened, snapshot.clone(), patience) {
            Err(error) if mode == ReadMode::Journal && needs_rollback(&error) => {
                match open_recovery_copy(path) {
                    Some(db) => {
                        let db = Some(db?);
                        let mode = ReadMode::Copy;
                        ReadConnection::from_connection(
                            path,
                            OwnedConnection { db, mode },
                            snapshot,
                            patience,
                        )
                    }
                    None => Err(error),
                }
            }
            look => look,
        }
    }

    fn from_connection(
        path: &Path,
        db: OwnedConnection,
        snapshot: FileSnapshot,
        patience: Duration,
    ) -> rusqlite::Result<(ReadConnection, RecordKind)> {
        let snapshot = (!db.mode.locks()).then_some(snapshot);
        keep_query_plans(&db)?;
        db.busy_timeout(patience)?;
        db.pragma_update(None, "trusted_schema", false)?;
        db.pragma_update(None, "temp_store", "MEMORY")?;
        let look = ReadConnection {
            db,
            path: path.to_owned(),
            patience,
            snapshot,
        };
        let kind = schema::read_kind(&look.db)?;
        if matches!(kind, RecordKind::Ours(_)) {
            schema::add_missing_tables(&look.db)?;
        }
        Ok((look, kind))
    }

    /// The kind of the tables, whatever the state of log and journal.
    pub(super) fn kind(path: &Path, patience: Duration) -> rusqlite::Result<RecordKind> {
        match ReadConnection::open(path, patience) {
            Ok((_, kind)) => Ok(kind),
            Err(error) if is_transient(&error) && !is_locked(&error) => {
                schema::read_kind(&connect(path, "immutable=1")?)
            }
            Err(error) => Err(error),
        }
    }

    /// Runs `query`; again, up to five times, when an unlocked file was written meanwhile.
    pub(super) fn read<T>(
        &mut self,
        query: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        for _ in 1..TRIES {
            let read = query(&self.db);
            match &self.snapshot {
                Some(snapshot) if *snapshot != FileSnapshot::take(&self.path) => {
                    *self = ReadConnection::open(&self.path, self.patience)?.0;
                }
                _ => return read,
            }
        }
        query(&self.db)
    }
}

/// Stops SQLite from compiling a statement anew for each bound value, which it does in search of a better plan: for a
/// short statement that takes longer than running it.
pub(super) fn keep_query_plans(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(drop)
}

fn connect(path: &Path, parameters: &str) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(char::from(*byte));
            }
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("{uri}?{parameters}"), flags)
}
