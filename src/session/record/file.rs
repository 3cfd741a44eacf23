//! The record file: recognised, made private, opened, or set aside.
//!
//! The directory has mode 0700, the file 0600, whatever the umask (SQLite gives `-wal` and `-shm` the file's mode).
//! Invariants: a file is not changed, its mode included, before it is known to be ours, IPython's, or empty; a
//! damaged one is renamed with its companions, never overwritten, and only at our default path or when it is known to
//! be a record; one that cannot be read for now is not a damaged one; a locked one is [`OpenError::Locked`].

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::damage::{
    cannot_open, damage_report, free_sibling, has_sqlite_header, is_damaged, not_a_database,
    set_aside, unreadable,
};
use super::read_only::{ReadConnection, keep_query_plans};
use super::schema::{self, MigrationOutcome, RecordKind};
use super::sqlite_error::{is_corrupt, is_locked};
use super::values::RecordOptions;
use crate::text::report::Report;

/// Pages of the log at which a commit waits for a checkpoint; below that, checkpoints use idle time.
const LOG_PAGES: u32 = 8_000;

/// Why there is no connection.
pub(super) enum OpenError {
    /// Another program holds a lock: retry.
    Locked(Report),
    /// The disk is full or failing: retry.
    Retry(Report),
    /// The file cannot be used, and why.
    Unusable(Report),
}

pub(super) fn open_in_memory() -> Connection {
    let mut db = Connection::open_in_memory().expect("a database in memory needs no file");
    schema::migrate(&mut db, |_| Ok(())).expect("the schema is valid");
    db
}

/// Opens the file, creating it when missing; reports go to `tell`.
pub(super) fn open(
    opening: &RecordOptions,
    patience: Duration,
    report: &mut dyn FnMut(Report),
) -> Result<Connection, OpenError> {
    let path = &opening.path;
    let file = open_or_create(path).map_err(|error| io_error(path, error))?;
    match probe(opening, &file, patience) {
        Ok(()) => {}
        // At our default path, any file that is not a record is in the way of one.
        Err(ProbeError::Corrupt(error)) if !opening.named => {
            drop(file);
            return replace_corrupt(path, &error, patience, report);
        }
        Err(ProbeError::Corrupt(error)) => {
            return Err(OpenError::Unusable(damage_report(path, &error)));
        }
        Err(ProbeError::Foreign(kind)) => {
            return Err(OpenError::Unusable(foreign_report(path, kind)));
        }
        Err(ProbeError::Busy(error)) => return Err(sqlite_open_error(path, &error)),
    }
    let private = make_private(&file);
    drop(file);
    private.map_err(|error| io_error(path, error))?;
    match connect(path, patience) {
        Ok((db, MigrationOutcome::Ready { renamed })) => {
            if let Some(table) = renamed {
                report(Report::failure(format!(
                    "`{}` had an `ai_prompts` table of another form: it is kept as `{table}`",
                    path.display()
                )));
            }
            Ok(db)
        }
        Ok((_, MigrationOutcome::Unsupported(kind))) => {
            Err(OpenError::Unusable(foreign_report(path, kind)))
        }
        Err(error) if is_corrupt(&error) => replace_corrupt(path, &error, patience, report),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
            Err(OpenError::Unusable(unwritable_report(path)))
        }
        Err(error) => Err(sqlite_open_error(path, &error)),
    }
}

fn replace_corrupt(
    path: &Path,
    damage: &rusqlite::Error,
    patience: Duration,
    report: &mut dyn FnMut(Report),
) -> Result<Connection, OpenError> {
    if !is_damaged(path) {
        return Err(OpenError::Retry(delay_report(path, &unreadable())));
    }
    report(set_aside(path, damage).map_err(OpenError::Unusable)?);
    open_or_create(path).map_err(|error| OpenError::Unusable(Report::from(error)))?;
    match connect(path, patience) {
        Ok((db, _)) => Ok(db),
        Err(error) => Err(sqlite_open_error(path, &error)),
    }
}

enum ProbeError {
    Corrupt(rusqlite::Error),
    Foreign(RecordKind),
    Busy(rusqlite::Error),
}

fn probe(opening: &RecordOptions, file: &fs::File, patience: Duration) -> Result<(), ProbeError> {
    match has_sqlite_header(file) {
        Ok(true) => {}
        Ok(false) => return Err(ProbeError::Corrupt(not_a_database())),
        Err(_) => return Err(ProbeError::Busy(unreadable())),
    }
    match ReadConnection::kind(&opening.path, patience) {
        Ok(RecordKind::Empty | RecordKind::Ours(_)) => Ok(()),
        Ok(other) => Err(ProbeError::Foreign(other)),
        Err(error) if is_corrupt(&error) => Err(ProbeError::Corrupt(error)),
        Err(error) => Err(ProbeError::Busy(error)),
    }
}

pub(super) fn foreign_report(path: &Path, kind: RecordKind) -> Report {
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

fn io_error(path: &Path, error: io::Error) -> OpenError {
    let report = match error.kind() {
        ErrorKind::StorageFull => return OpenError::Retry(disk_full_report(path)),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => unwritable_report(path),
        _ if is_passing(&error) => {
            return OpenError::Retry(delay_report(path, &unreadable()));
        }
        _ => Report::failure(format!("cannot use `{}`", path.display())),
    };
    OpenError::Unusable(
        report
            .because(error)
            .hint("name another file with --hist-file"),
    )
}

/// True for an error of the device, or of what this process and the system can hold at the moment.
fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let passing = [Errno::IO, Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|error| passing.contains(&error))
}

fn sqlite_open_error(path: &Path, error: &rusqlite::Error) -> OpenError {
    let report = delay_report(path, error);
    if is_locked(error) {
        OpenError::Locked(report)
    } else {
        OpenError::Retry(report)
    }
}

/// The report that a write must wait, by its cause.
pub(super) fn delay_report(path: &Path, error: &rusqlite::Error) -> Report {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => disk_full_report(path),
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

fn disk_full_report(path: &Path) -> Report {
    Report::failure(format!(
        "history is not being saved: no room for `{}`",
        path.display()
    ))
    .hint("free some space: what is not written yet is kept in memory and written then")
}

fn unwritable_report(path: &Path) -> Report {
    Report::failure(format!("`{}` cannot be written", path.display()))
        .hint("make it writable, or name another file with --hist-file")
}

/// Opens the file for writing, creating it and its directory when missing; refuses anything but a regular file.
fn open_or_create(path: &Path) -> io::Result<fs::File> {
    if let Some(directory) = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    // Opening a device or a pipe may have an effect already.
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

/// Opens an existing file, migrates its tables and configures the connection.
pub(super) fn connect(
    path: &Path,
    patience: Duration,
) -> rusqlite::Result<(Connection, MigrationOutcome)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags)?;
    if db.is_readonly(MAIN_DB)? {
        // SQLite opens a file that it cannot open for writing at this moment for reading.
        return Err(cannot_open());
    }
    keep_query_plans(&db)?;
    db.busy_timeout(patience)?;
    let journal = if on_network(path) { "DELETE" } else { "WAL" };
    // Read before any change: a foreign or newer file keeps even its journal mode.
    let _: i64 = db.query_row("PRAGMA schema_version", [], |row| row.get(0))?;
    let schema = schema::migrate(&mut db, |db| {
        let copy = free_sibling(path, "before-migration");
        db.execute("VACUUM INTO ?1", [copy.to_string_lossy()])
            .map(|_| ())
    })?;
    if matches!(schema, MigrationOutcome::Ready { .. }) {
        db.pragma_update(None, "journal_mode", journal)?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        db.pragma_update(None, "foreign_keys", true)?;
        db.pragma_update(None, "trusted_schema", false)?;
    }
    Ok((db, schema))
}

/// WAL needs shared memory, which network file systems lack.
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

/// Device and inode of the file at `path`, to notice that it was deleted or replaced.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path)
        .ok()
        .map(|found| (found.dev(), found.ino()))
}
