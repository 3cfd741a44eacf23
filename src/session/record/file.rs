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
use super::network;
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
        _ => Report::failure(format!("cannot use `{}`", path.display()))
            .hint("name another file with --hist-file"),
    };
    OpenError::Unusable(report.because(error))
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
    let journal = if network::is_shared(path) {
        "DELETE"
    } else {
        "WAL"
    };
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

/// Device and inode of the file at `path`, to notice that it was deleted or replaced.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path)
        .ok()
        .map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rustix::io::Errno;

    use super::*;

    fn opening(path: &Path, named: bool) -> RecordOptions {
        RecordOptions {
            path: path.to_owned(),
            record: true,
            named,
            leave_log: false,
        }
    }

    /// The kind of the error, and its message.
    fn fault(error: OpenError) -> (&'static str, String) {
        match error {
            OpenError::Locked(report) => ("locked", report.message),
            OpenError::Retry(report) => ("retry", report.message),
            OpenError::Unusable(report) => ("unusable", report.message),
        }
    }

    #[test]
    fn errors_of_the_system_pass_or_stay() {
        for (error, kind, message) in [
            (Errno::NOSPC, "retry", "no room for `x`"),
            (Errno::IO, "retry", "cannot be written to `x` for now"),
            (Errno::MFILE, "retry", "cannot be written to `x` for now"),
            (Errno::ACCESS, "unusable", "`x` cannot be written"),
            (Errno::ROFS, "unusable", "`x` cannot be written"),
            (Errno::NOTDIR, "unusable", "cannot use `x`"),
        ] {
            let (found, said) = fault(io_error(Path::new("x"), error.into()));
            assert_eq!(found, kind, "{error}");
            assert!(said.contains(message), "{error}: {said}");
        }
    }

    #[test]
    fn a_locked_file_is_no_damaged_one() {
        let directory = tempfile::tempdir().unwrap();
        let new = |_: &Path| {};
        let record = |path: &Path| {
            fs::write(path, "").unwrap();
            let db = connect(path, Duration::ZERO).unwrap().0;
            db.pragma_update(None, "journal_mode", "DELETE").unwrap();
        };
        let write = "INSERT INTO sessions (remark) VALUES ('x')";
        for (number, make, change) in [
            (0, &new as &dyn Fn(&Path), ""),
            (1, &record, ""),
            (2, &record, write),
        ] {
            for named in [false, true] {
                let path = directory.path().join(format!("{number}{named}.sqlite"));
                make(&path);
                let lock = Connection::open(&path).unwrap();
                lock.execute_batch(&format!("BEGIN EXCLUSIVE; {change}"))
                    .unwrap();
                let before = fs::read_dir(directory.path()).unwrap().count();
                let mut said = Vec::new();
                let opened = open(&opening(&path, named), Duration::ZERO, &mut |report| {
                    said.push(report)
                });
                assert_eq!(opened.map_err(fault).unwrap_err().0, "locked", "{number}");
                assert_eq!(said.len(), 0, "{number}");
                lock.execute_batch("ROLLBACK").unwrap();
                assert!(
                    fs::read_dir(directory.path()).unwrap().count() <= before,
                    "{number}"
                );
                assert!(
                    open(&opening(&path, named), Duration::ZERO, &mut |_| ()).is_ok(),
                    "{number}"
                );
            }
        }
    }

    #[test]
    fn a_file_is_known_by_its_identity() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
        assert_eq!(identity(&one), None);
        fs::write(&one, "").unwrap();
        fs::write(&other, "").unwrap();
        assert!(identity(&one).is_some() && identity(&one) == identity(&one));
        assert_ne!(identity(&one), identity(&other));
    }

    const PATIENCE: Duration = Duration::from_secs(5);

    fn record() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.sqlite");
        drop(open(&opening(&path, false), PATIENCE, &mut |report| {
            panic!("{report}")
        }));
        (folder, path)
    }

    #[test]
    fn a_file_that_opens_for_reading_only_is_opened_again_later() {
        let (_folder, path) = record();
        // As where the file cannot be opened for writing at this moment.
        let for_reading = PathBuf::from(format!("file:{}?mode=ro", path.display()));
        let opened = Connection::open(&for_reading).unwrap();
        assert!(opened.is_readonly(MAIN_DB).unwrap());
        let error = connect(&for_reading, PATIENCE).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen));
        assert!(matches!(
            sqlite_open_error(&path, &error),
            OpenError::Retry(_)
        ));
        assert!(connect(&path, PATIENCE).is_ok());
    }

    #[test]
    fn only_what_was_read_and_is_damaged_is_set_aside() {
        let (folder, path) = record();
        let begin = |path: &Path| {
            let mut said = Vec::new();
            let opened = replace_corrupt(path, &not_a_database(), PATIENCE, &mut |report| {
                said.push(report.to_string());
            });
            (opened, said.concat())
        };
        // A read of a sound record failed.
        let bytes = fs::read(&path).unwrap();
        let (opened, said) = begin(&path);
        assert!(matches!(opened, Err(OpenError::Retry(_))), "{said}");
        assert_eq!((fs::read(&path).unwrap(), said.as_str()), (bytes, ""));
        // What cannot be read at all.
        let folder_in_its_place = folder.path().join("folder");
        fs::create_dir(&folder_in_its_place).unwrap();
        let (opened, said) = begin(&folder_in_its_place);
        assert!(matches!(opened, Err(OpenError::Retry(_))), "{said}");
        assert!(folder_in_its_place.is_dir());
        // Damage.
        fs::write(&path, "no record").unwrap();
        let (opened, said) = begin(&path);
        assert!(opened.is_ok() && said.contains("was damaged"), "{said}");
    }
}
