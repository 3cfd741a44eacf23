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

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(length: u64) -> FileStamp {
        FileStamp {
            length,
            modified: None,
        }
    }

    #[test]
    fn a_file_is_read_as_those_beside_it_ask() {
        use ReadMode::{FileAlone, Journal, Log, LogAlone};
        for (file, log, index, journal, mode) in [
            (1, 33, true, 0, Log),
            (1, 33, true, 9, Log),
            (1, 33, false, 0, LogAlone),
            (1, 32, true, 0, FileAlone),
            (0, 33, true, 0, FileAlone),
            (1, 0, false, 1, Journal),
            (1, 32, true, 1, Journal),
            (0, 0, false, 0, FileAlone),
        ] {
            let snapshot = FileSnapshot {
                file: stamp(file),
                log: stamp(log),
                journal: stamp(journal),
                index,
            };
            assert_eq!(snapshot.mode(), mode, "{snapshot:?}");
            assert_eq!(mode.locks(), matches!(mode, Log | Journal));
        }
    }

    #[test]
    fn any_path_is_read_and_a_change_that_was_cut_off_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("50%25 #1?mode=rwc&ö.sqlite");
        let open = directory.path().join("open.sqlite");
        let db = Connection::open(&open).unwrap();
        db.execute_batch(
            "CREATE TABLE t (x); INSERT INTO t VALUES ('old'); PRAGMA cache_size = 2; BEGIN; UPDATE t SET x = 'new';
             WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
                 INSERT INTO t SELECT zeroblob(5000) FROM n;",
        )
        .unwrap();
        for suffix in ["", "-journal"] {
            std::fs::copy(with_suffix(&open, suffix), with_suffix(&path, suffix)).unwrap();
        }
        let before = FileSnapshot::take(&path);
        assert_eq!(before.mode(), ReadMode::Journal);
        let (mut look, _) = ReadConnection::open(&path, Duration::ZERO).unwrap();
        let all = look.read(|db| {
            db.query_row("SELECT group_concat(x) FROM t", [], |row| {
                row.get::<_, String>(0)
            })
        });
        assert_eq!(all.unwrap(), "old");
        assert_eq!(FileSnapshot::take(&path), before);
    }

    #[test]
    fn nothing_beside_a_file_changes_by_a_look_at_it() {
        use ReadMode::{FileAlone, Log, LogAlone};
        for mode in [FileAlone, Log, LogAlone] {
            let directory = tempfile::tempdir().unwrap();
            let [writers, copied] =
                ["open.sqlite", "copy.sqlite"].map(|name| directory.path().join(name));
            let db = Connection::open(&writers).unwrap();
            db.execute_batch(
                "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES ('there')",
            )
            .unwrap();
            let path = match mode {
                Log => &writers,
                LogAlone => {
                    for suffix in ["", "-wal"] {
                        std::fs::copy(with_suffix(&writers, suffix), with_suffix(&copied, suffix))
                            .unwrap();
                    }
                    &copied
                }
                _ => {
                    db.execute_batch("PRAGMA wal_checkpoint").unwrap();
                    std::fs::copy(&writers, &copied).unwrap();
                    &copied
                }
            };
            // The writer's index is shared within a process.
            let files = || -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
                let entries = std::fs::read_dir(directory.path()).unwrap();
                let paths = entries.map(|entry| entry.unwrap().path());
                let bytes = |path: PathBuf| match path.to_string_lossy().ends_with("-shm") {
                    true => (path, Vec::new()),
                    false => (path.clone(), std::fs::read(path).unwrap()),
                };
                paths.map(bytes).collect()
            };
            let before = files();
            assert_eq!(FileSnapshot::take(path).mode(), mode);
            let (mut look, _) = ReadConnection::open(path, Duration::ZERO).unwrap();
            let found =
                look.read(|db| db.query_row("SELECT x FROM t", [], |row| row.get::<_, String>(0)));
            assert_eq!(found.unwrap(), "there", "{mode:?}");
            let during = files();
            assert!(
                during.keys().eq(before.keys()),
                "{mode:?}: {:?}",
                during.keys()
            );
            drop(look);
            assert!(files() == before, "{mode:?}");
        }
    }

    #[test]
    fn the_kind_of_a_locked_file_is_not_known() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.sqlite");
        let db = Connection::open(&path).unwrap();
        db.execute_batch("CREATE TABLE t (x); BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)")
            .unwrap();
        assert!(is_locked(
            &ReadConnection::kind(&path, Duration::ZERO).unwrap_err()
        ));
        db.execute_batch("ROLLBACK").unwrap();
        assert_eq!(
            ReadConnection::kind(&path, Duration::ZERO).unwrap(),
            RecordKind::Foreign
        );
    }
}
