//! The file looked at without a trace: no byte, mode or time of it changes, nothing appears beside it.
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

use super::copied::{copied, is_cut_off, with};
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
    db: Opened,
    path: PathBuf,
    patience: Duration,
    /// As it was when it was opened; `None`: locks keep what is read together.
    still: Option<Still>,
}

/// What changes with a file nobody holds as soon as somebody writes to it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Still {
    file: Stamp,
    log: Stamp,
    journal: Stamp,
    /// The index of the log can be read.
    index: bool,
}

/// Bytes of a file, and when they were last written; none of one that is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(path: &Path) -> Stamp {
        let found = std::fs::metadata(path).ok();
        found.map_or_else(Stamp::default, |found| Stamp {
            length: found.len(),
            modified: found.modified().ok(),
        })
    }
}

impl Still {
    fn of(path: &Path) -> Still {
        Still {
            file: Stamp::of(path),
            log: Stamp::of(&with(path, "-wal")),
            journal: Stamp::of(&with(path, "-journal")),
            index: access(with(path, "-shm"), Access::READ_OK).is_ok(),
        }
    }

    /// How the file is read.
    fn reading(&self) -> Reading {
        // SQLite would remove the log of an empty file.
        let log = self.file.length > 0 && self.log.length > LOG_HEAD;
        match (log, self.index) {
            (true, true) => Reading::Log,
            (true, false) => Reading::LogAlone,
            _ if self.journal.length > 0 => Reading::Journal,
            _ => Reading::FileAlone,
        }
    }
}

/// How a file is read, by what stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
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

impl Reading {
    fn parameters(self) -> &'static str {
        match self {
            Reading::Log => "mode=ro&readonly_shm=1",
            // Without locks: one that keeps others out needs a file that may be written.
            Reading::LogAlone => "mode=ro&vfs=unix-none",
            Reading::Journal | Reading::Copy => "mode=ro",
            Reading::FileAlone => "immutable=1",
        }
    }

    /// Locks keep what is read together.
    fn locks(self) -> bool {
        matches!(self, Reading::Log | Reading::Journal)
    }
}

/// An open connection.
#[derive(Debug)]
struct Opened {
    /// `None` only while it is dropped.
    db: Option<Connection>,
    reading: Reading,
}

impl Opened {
    fn new(path: &Path, reading: Reading) -> rusqlite::Result<Opened> {
        let opened = Opened {
            db: Some(connect(path, reading.parameters())?),
            reading,
        };
        if reading == Reading::LogAlone {
            // Then the index is kept in memory.
            opened.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        }
        Ok(opened)
    }
}

impl std::ops::Deref for Opened {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.db.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.reading == Reading::LogAlone {
            // Whoever closes a file loses the locks that the process has on it. SQLite waits for their end, but not
            // where it knows of no locks; so this file stays open: one a crash, as the next writer makes an index.
            std::mem::forget(self.db.take());
        }
    }
}

impl Look {
    /// Opens `path`; what it is comes with it.
    pub(super) fn open(path: &Path, patience: Duration) -> rusqlite::Result<(Look, RecordKind)> {
        let still = Still::of(path);
        let reading = still.reading();
        let opened = Opened::new(path, reading)?;
        match Look::at(path, opened, still.clone(), patience) {
            Err(error) if reading == Reading::Journal && is_cut_off(&error) => match copied(path) {
                Some(db) => {
                    let db = Some(db?);
                    let reading = Reading::Copy;
                    Look::at(path, Opened { db, reading }, still, patience)
                }
                None => Err(error),
            },
            look => look,
        }
    }

    fn at(
        path: &Path,
        db: Opened,
        still: Still,
        patience: Duration,
    ) -> rusqlite::Result<(Look, RecordKind)> {
        let still = (!db.reading.locks()).then_some(still);
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
