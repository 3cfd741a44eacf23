//! The file looked at without a trace: no byte, mode or time of it changes, nothing appears beside it.
//!
//! In: a path. Out: a connection that reads what is committed, whoever writes there meanwhile, in the tables of this
//! version: what an older file (or IPython's own) has not is put in its place in memory. Invariant: the file is never
//! opened but by SQLite, since closing it would let go of the locks this process has on it.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::{locked, passing};
use super::schema::{self, RecordKind};

/// How often a file that changes under the reader is read anew.
const TRIES: usize = 5;

/// Bytes of the head of a log. Who is killed behind it leaves a log that nobody but a writer comes past: a reader that
/// may not change the index tries for ten seconds, and gives up.
const LOG_HEAD: u64 = 32;

/// A connection that only reads.
#[derive(Debug)]
pub(super) struct Look {
    db: Connection,
    path: PathBuf,
    patience: Duration,
    /// As it was when it was opened; `None`: locks keep what is read together.
    still: Option<Still>,
}

/// What changes with a file nobody holds as soon as somebody writes to it.
#[derive(Debug, PartialEq, Eq)]
struct Still {
    length: u64,
    modified: Option<SystemTime>,
    log: bool,
    journal: bool,
}

impl Still {
    fn of(path: &Path) -> Still {
        let found = std::fs::metadata(path).ok();
        Still {
            length: found.as_ref().map_or(0, std::fs::Metadata::len),
            modified: found.and_then(|found| found.modified().ok()),
            log: holds(path, "-wal", LOG_HEAD),
            journal: holds(path, "-journal", 0),
        }
    }
}

/// True when the companion of this name has something in it behind its head.
fn holds(path: &Path, suffix: &str, head: u64) -> bool {
    std::fs::metadata(with(path, suffix)).is_ok_and(|found| found.len() > head)
}

impl Look {
    /// Opens `path`; what it is comes with it.
    pub(super) fn open(path: &Path, patience: Duration) -> rusqlite::Result<(Look, RecordKind)> {
        let still = Still::of(path);
        let (db, still) = match &still {
            // Its index is read where one is; made anew in memory, where nobody keeps it.
            Still { log: true, .. } => (connect(path, "mode=ro&readonly_shm=1")?, None),
            Still { journal: true, .. } => (connect(path, "mode=ro")?, None),
            // Nobody has it open, or nothing is being written: no lock, no log, no index.
            _ => (connect(path, "immutable=1")?, Some(still)),
        };
        keep_plans(&db)?;
        db.busy_timeout(patience)?;
        db.pragma_update(None, "trusted_schema", false)?;
        db.pragma_update(None, "temp_store", "MEMORY")?;
        let look = Look {
            db,
            path: path.to_owned(),
            patience,
            still,
        };
        let kind = schema::kind(&look.db)?;
        if matches!(kind, RecordKind::Ours(_)) {
            schema::stand_in(&look.db)?;
        }
        Ok((look, kind))
    }

    /// What the tables say, whatever the state of log and journal: enough to tell whose they are.
    pub(super) fn kind(path: &Path, patience: Duration) -> rusqlite::Result<RecordKind> {
        match Look::open(path, patience) {
            Ok((_, kind)) => Ok(kind),
            Err(error) if passing(&error) && !locked(&error) => {
                schema::kind(&connect(path, "immutable=1")?)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads; anew when the file was written to meanwhile.
    pub(super) fn read<T>(
        &mut self,
        query: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        for _ in 1..TRIES {
            let read = query(&self.db);
            match &self.still {
                Some(still) if *still != Still::of(&self.path) => {
                    *self = Look::open(&self.path, self.patience)?.0;
                }
                _ => return read,
            }
        }
        query(&self.db)
    }
}

/// The name of a companion: `-wal`, `-shm`, `-journal`.
pub(super) fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// SQLite would compile a statement anew whenever another value is bound to it, in the hope of a better plan: for a
/// short one that takes longer than running it.
pub(super) fn keep_plans(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(drop)
}

fn connect(path: &Path, how: &str) -> rusqlite::Result<Connection> {
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
    Connection::open_with_flags(format!("{uri}?{how}"), flags)
}
