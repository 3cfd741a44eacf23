//! The file itself: recognised, made private, opened, or set aside.
//!
//! Directory 0700, file 0600 whatever the umask (SQLite gives `-wal` and `-shm` the file's mode). Invariants: nothing
//! of a file changes, its mode included, before it is known to be ours or IPython's, or empty; a damaged one is renamed
//! with its companions, never overwritten, and only at our own place or when it is known whose it is; a locked one is
//! [`Failed::Locked`].

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::copied::with;
use super::fault::{damaged, locked};
use super::look::{Look, keep_plans};
use super::schema::{self, RecordKind, Schema};
use super::values::Opening;
use crate::report::Report;

/// Pages of the log at which a commit waits until they are in the file; before that, idle time is used.
const LOG_PAGES: u32 = 8_000;

/// Why there is no connection.
pub(super) enum Failed {
    /// Another program holds it: try again.
    Locked(Report),
    /// Full or failing: try again.
    Later(Report),
    /// This file will not do, and why.
    Never(Report),
}

/// A database in memory with our tables.
pub(super) fn memory() -> Connection {
    let mut db = Connection::open_in_memory().expect("a database in memory needs no file");
    schema::migrate(&mut db, |_| Ok(())).expect("the schema is valid");
    db
}

/// Opens the file, making it when missing; what happened on the way goes to `tell`.
pub(super) fn open(
    opening: &Opening,
    patience: Duration,
    tell: &mut dyn FnMut(Report),
) -> Result<Connection, Failed> {
    let path = &opening.path;
    let file = reach(path).map_err(|error| unusable(path, error))?;
    match recognise(opening, &file, patience) {
        Ok(()) => {}
        // At our own place whatever is no record is in the way of one.
        Err(Unfit::Damaged(error)) if !opening.named => {
            drop(file);
            return anew(path, &error, patience, tell);
        }
        Err(Unfit::Damaged(error)) => return Err(Failed::Never(refusal(path, &error))),
        Err(Unfit::Other(kind)) => return Err(Failed::Never(other(path, kind))),
        Err(Unfit::NotNow(error)) => return Err(not_now(path, &error)),
    }
    let private = make_private(&file);
    drop(file);
    private.map_err(|error| unusable(path, error))?;
    match connect(path, patience) {
        Ok((db, Schema::Ready { renamed })) => {
            if let Some(table) = renamed {
                tell(Report::failure(format!(
                    "`{}` had an `ai_prompts` table of another form: it is kept as `{table}`",
                    path.display()
                )));
            }
            Ok(db)
        }
        Ok((_, Schema::Other(kind))) => Err(Failed::Never(other(path, kind))),
        Err(error) if damaged(&error) => anew(path, &error, patience, tell),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
            Err(Failed::Never(unwritable(path)))
        }
        Err(error) => Err(not_now(path, &error)),
    }
}

/// Renames the damaged file and begins another one in its place.
fn anew(
    path: &Path,
    damage: &rusqlite::Error,
    patience: Duration,
    tell: &mut dyn FnMut(Report),
) -> Result<Connection, Failed> {
    tell(set_aside(path, damage).map_err(Failed::Never)?);
    reach(path).map_err(|error| Failed::Never(Report::from(error)))?;
    match connect(path, patience) {
        Ok((db, _)) => Ok(db),
        Err(error) => Err(not_now(path, &error)),
    }
}

/// Why a file is not written to.
enum Unfit {
    /// It is no database, or its tables cannot be told.
    Damaged(rusqlite::Error),
    Other(RecordKind),
    NotNow(rusqlite::Error),
}

/// Whether this may be written to; nothing is changed to find out.
fn recognise(opening: &Opening, file: &fs::File, patience: Duration) -> Result<(), Unfit> {
    if !says_sqlite(file) {
        return Err(Unfit::Damaged(no_database()));
    }
    match Look::kind(&opening.path, patience) {
        Ok(RecordKind::Empty | RecordKind::Ours(_)) => Ok(()),
        Ok(other) => Err(Unfit::Other(other)),
        Err(error) if damaged(&error) => Err(Unfit::Damaged(error)),
        Err(error) => Err(Unfit::NotNow(error)),
    }
}

/// What SQLite says of most files that are not its own.
pub(super) fn no_database() -> rusqlite::Error {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
    rusqlite::Error::SqliteFailure(error, None)
}

/// True for a file that begins as SQLite's do, or has nothing in it yet. SQLite takes one of one byte for empty, too.
fn says_sqlite(mut file: &fs::File) -> bool {
    const HEADER: &[u8; 16] = b"SQLite format 3\0";
    let mut start = [0; HEADER.len()];
    file.metadata().is_ok_and(|found| found.len() == 0)
        || file.read_exact(&mut start).is_ok() && start == *HEADER
}

/// What is said of a file that is not ours to write to.
pub(super) fn other(path: &Path, kind: RecordKind) -> Report {
    let shown = path.display();
    let (what, hint) = match kind {
        RecordKind::Newer(number) => (
            format!("`{shown}` was written by a newer ipycodex (schema {number})"),
            "update ipycodex, or name another file with --hist-file",
        ),
        _ => (
            format!("`{shown}` is another program's database"),
            "name another file with --hist-file",
        ),
    };
    Report::failure(what).hint(hint)
}

/// What is said of a file that is damaged, or was never a record, and stays as it is.
pub(super) fn refusal(path: &Path, error: &rusqlite::Error) -> Report {
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

fn unusable(path: &Path, error: io::Error) -> Failed {
    let report = match error.kind() {
        ErrorKind::StorageFull => return Failed::Later(full(path)),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => unwritable(path),
        _ => Report::failure(format!("cannot use `{}`", path.display())),
    };
    Failed::Never(
        report
            .because(error)
            .hint("name another file with --hist-file"),
    )
}

fn not_now(path: &Path, error: &rusqlite::Error) -> Failed {
    let report = trouble(path, error);
    if locked(error) {
        Failed::Locked(report)
    } else {
        Failed::Later(report)
    }
}

/// Says that a write has to wait, by its cause.
pub(super) fn trouble(path: &Path, error: &rusqlite::Error) -> Report {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => full(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Report::failure(format!(
            "`{}` is locked by another program: history is kept in memory and written later",
            path.display()
        )),
        _ => Report::failure(format!(
            "history cannot be written to `{}` for now: it is kept in memory and written later",
            path.display()
        ))
        .because(error),
    }
}

fn full(path: &Path) -> Report {
    Report::failure(format!(
        "history is not being saved: no room for `{}`",
        path.display()
    ))
    .hint("free some space: what is not written yet is kept in memory and written then")
}

fn unwritable(path: &Path) -> Report {
    Report::failure(format!("`{}` cannot be written", path.display()))
        .hint("make it writable, or name another file with --hist-file")
}

/// Opens the file for writing, making it and its directory when missing; refuses what is no file of the user's.
fn reach(path: &Path) -> io::Result<fs::File> {
    if let Some(directory) = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    // Opening a device or a pipe may already do something.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("it is not a file"));
    }
    let file = fs::OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    if file.metadata()?.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    Ok(file)
}

fn make_private(file: &fs::File) -> io::Result<()> {
    if file.metadata()?.mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Opens a file that is there, brings its tables up to date and sets what holds for the connection.
pub(super) fn connect(path: &Path, patience: Duration) -> rusqlite::Result<(Connection, Schema)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags)?;
    keep_plans(&db)?;
    db.busy_timeout(patience)?;
    let journal = if on_network(path) { "DELETE" } else { "WAL" };
    // Look before touching: a foreign or newer file keeps even its journal mode.
    let _: i64 = db.query_row("PRAGMA schema_version", [], |row| row.get(0))?;
    let schema = schema::migrate(&mut db, |db| {
        let copy = beside(path, "before-migration");
        db.execute("VACUUM INTO ?1", [copy.to_string_lossy()])
            .map(|_| ())
    })?;
    if matches!(schema, Schema::Ready { .. }) {
        db.pragma_update(None, "journal_mode", journal)?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        db.pragma_update(None, "foreign_keys", true)?;
        db.pragma_update(None, "trusted_schema", false)?;
    }
    Ok((db, schema))
}

/// True when the file that was open here may be renamed: it still says that it is SQLite's, or it is at our own place.
pub(super) fn may_set_aside(opening: &Opening) -> bool {
    !opening.named || fs::File::open(&opening.path).is_ok_and(|file| says_sqlite(&file))
}

/// Renames a damaged file and its companions; they are never overwritten.
pub(super) fn set_aside(path: &Path, error: &rusqlite::Error) -> Result<Report, Report> {
    let target = beside(path, "corrupt");
    for suffix in ["", "-wal", "-shm"] {
        match fs::rename(with(path, suffix), with(&target, suffix)) {
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

/// A free name beside `path` with a date in it.
fn beside(path: &Path, word: &str) -> PathBuf {
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

/// WAL needs shared memory, which network file systems have not.
fn on_network(path: &Path) -> bool {
    const NFS: i64 = 0x6969;
    const CIFS: i64 = 0xFF53_4D42;
    const SMB2: i64 = 0xFE53_4D42;
    #[cfg(target_os = "linux")]
    {
        rustix::fs::statfs(path).is_ok_and(|found| {
            #[allow(clippy::unnecessary_cast)] // the type differs between architectures
            let kind = found.f_type as i64 & 0xFFFF_FFFF;
            [NFS, CIFS, SMB2].contains(&kind)
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (path, NFS, CIFS, SMB2);
        false
    }
}

/// Names the file behind `path`, to notice when it was deleted or replaced.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path)
        .ok()
        .map(|found| (found.dev(), found.ino()))
}
