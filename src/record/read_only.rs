//! Read-only connections: no byte, mode or time of the file changes, nothing appears beside it.
//!
//! In: a path. Out: a connection that reads what is committed, whoever writes there meanwhile, in the tables of this
//! version: what an older file (or IPython's own) has not is put in its place in memory. Invariant: the file is never
//! opened but by SQLite, since closing it would let go of the locks this process has on it.
//!
//! What a crash leaves is read as it is. A log without its index (`-wal` without `-shm`) is read up to its last whole
//! commit, with an index in memory and without locks: nobody has such a file open. A change that was cut off (a
//! `-journal`) is taken back in a copy.

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

/// How often a file that changes under the reader is read anew.
const TRIES: usize = 5;

/// Bytes of the head of a log. Who is killed behind it leaves a log that nobody but a writer comes past: a reader that
/// may not change the index tries for ten seconds, and gives up.
const LOG_HEAD: u64 = 32;

/// A connection that only reads.
#[derive(Debug)]
pub(super) struct ReadConnection {
    db: OwnedConnection,
    path: PathBuf,
    patience: Duration,
    /// As it was when it was opened; `None`: locks keep what is read together.
    snapshot: Option<FileSnapshot>,
}

/// What changes with a file nobody holds as soon as somebody writes to it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileSnapshot {
    file: FileStamp,
    log: FileStamp,
    journal: FileStamp,
    /// The index of the log can be read.
    index: bool,
}

/// Bytes of a file, and when they were last written; none of one that is not there.
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

    /// How the file is read.
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

/// How a file is read, by what stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadMode {
    /// With its log and the index of that, which is made anew in memory where nobody keeps it.
    Log,
    /// With its log, of which nobody has the index.
    LogAlone,
    /// A change is under way, or was cut off.
    Journal,
    /// Nobody has it open, or nothing is being written: no lock, no log, no index.
    FileAlone,
    /// A copy of it, in which the change that was cut off is taken back.
    Copy,
}

impl ReadMode {
    fn parameters(self) -> &'static str {
        match self {
            ReadMode::Log => "mode=ro&readonly_shm=1",
            // Without locks: one that keeps others out needs a file that may be written.
            ReadMode::LogAlone => "mode=ro&vfs=unix-none",
            ReadMode::Journal | ReadMode::Copy => "mode=ro",
            ReadMode::FileAlone => "immutable=1",
        }
    }

    /// Locks keep what is read together.
    fn locks(self) -> bool {
        matches!(self, ReadMode::Log | ReadMode::Journal)
    }
}

/// An open connection.
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
            // Then the index is kept in memory.
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
            // Whoever closes a file loses the locks that the process has on it. SQLite waits for their end, but not
            // where it knows of no locks; so this file stays open: one a crash, as the next writer makes an index.
            std::mem::forget(self.db.take());
        }
    }
}

impl ReadConnection {
    /// Opens `path` and reads whose tables these are.
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

    /// What the tables say, whatever the state of log and journal: enough to tell whose they are.
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

/// SQLite would compile a statement anew whenever another value is bound to it, in the hope of a better plan: for a
/// short one that takes longer than running it.
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
            // Writing to a string cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("{uri}?{parameters}"), flags)
}
