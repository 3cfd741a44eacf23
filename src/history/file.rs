//! The file itself: made private, opened, recognised, or set aside.
//!
//! Directory 0700, file 0600 whatever the umask (SQLite gives `-wal` and `-shm` the file's mode). A corrupt file is
//! renamed with its companions; a locked one is [`Failed::Later`]; one that is not ours is left alone.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use super::schema::{self, Schema};
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

/// True for what goes away by itself.
pub(super) fn passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
        )
    )
}

/// True when the file is damaged.
pub(super) fn damaged(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// A database in memory with our tables.
pub(super) fn memory() -> Connection {
    let mut db = Connection::open_in_memory().expect("a database in memory needs no file");
    schema::migrate(&mut db, |_| Ok(())).expect("the schema is valid");
    db
}

/// Opens `path`, making it when missing; what happened on the way goes to `tell`.
pub(super) fn open(
    path: &Path,
    patience: Duration,
    tell: &mut dyn FnMut(Report),
) -> Result<Connection, Failed> {
    prepare(path).map_err(|error| {
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
    })?;
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
        Ok((_, Schema::Newer(number))) => Err(Failed::Never(
            Report::failure(format!(
                "`{}` was written by a newer ipycodex (schema {number})",
                path.display()
            ))
            .hint("update ipycodex, or name another file with --hist-file"),
        )),
        Ok((_, Schema::Foreign)) => Err(Failed::Never(
            Report::failure(format!(
                "`{}` is another program's database",
                path.display()
            ))
            .hint("name another file with --hist-file"),
        )),
        Err(error) if damaged(&error) => {
            tell(set_aside(path, &error).map_err(Failed::Never)?);
            prepare(path).map_err(|error| Failed::Never(Report::from(error)))?;
            match connect(path, patience) {
                Ok((db, _)) => Ok(db),
                Err(error) => Err(not_now(path, &error)),
            }
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
            Err(Failed::Never(unwritable(path)))
        }
        Err(error) => Err(not_now(path, &error)),
    }
}

fn not_now(path: &Path, error: &rusqlite::Error) -> Failed {
    let report = trouble(path, error);
    if locked(error) {
        Failed::Locked(report)
    } else {
        Failed::Later(report)
    }
}

/// True when another program holds the file.
pub(super) fn locked(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
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

/// Makes directory and file private and there; refuses what is not a file of ours.
fn prepare(path: &Path) -> io::Result<()> {
    if let Some(directory) = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    let file = fs::OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if found.mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

fn connect(path: &Path, patience: Duration) -> rusqlite::Result<(Connection, Schema)> {
    let mut db = Connection::open(path)?;
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

/// Renames a damaged file and its companions; they are never overwritten.
pub(super) fn set_aside(path: &Path, error: &rusqlite::Error) -> Result<Report, Report> {
    let target = beside(path, "corrupt");
    let with = |base: &Path, suffix: &str| {
        let mut name = base.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
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
