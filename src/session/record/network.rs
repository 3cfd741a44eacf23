//! File systems that several machines share: without memory that all of them share, and with locks that may not hold.
//!
//! In: a path; the writes of a process. Out: whether its file system is of that kind, by the number that `statfs`
//! tells; whether the last write is still there. A log with an index in memory (WAL) is for one machine.
//!
//! Where locks do nothing, two machines that write at the same moment begin from the same state, and the later one puts
//! back what the earlier one has changed. So each write leaves its number, and before the next one, and at the end, it
//! is looked for through a connection that remembers nothing. A process that was killed leaves its last number.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

/// Names and numbers: `linux/magic.h`, and for those outside of Linux's own tree `src/stat.c` of GNU coreutils, which
/// calls them remote. What hands calls to a program (FUSE) may be `sshfs`, or local: nobody can tell.
const SHARED: &[(&str, u32)] = &[
    ("afs", 0x5346_414F),
    ("kafs", 0x6B41_4653),
    ("9p", 0x0102_1997),
    ("acfs", 0x6163_6673),
    ("beegfs", 0x1983_0326),
    ("ceph", 0x00C3_6400),
    ("cifs", 0xFF53_4D42),
    ("coda", 0x7375_7245),
    ("fuse", 0x6573_5546),
    ("gfs2", 0x0116_1970),
    ("gpfs", 0x4750_4653),
    ("ibrix", 0x0131_11A8),
    ("lustre", 0x0BD0_0BD0),
    ("ncp", 0x564C),
    ("nfs", 0x6969),
    ("ocfs2", 0x7461_636F),
    ("panfs", 0xAAD7_AAEA),
    ("prl_fs", 0x7C7C_6673),
    ("smb", 0x517B),
    ("smb2", 0xFE53_4D42),
    ("snfs", 0xBEEF_DEAD),
    ("vboxsf", 0x786F_4256),
    ("vmhgfs", 0xBACB_ACBC),
    ("vxfs", 0xA501_FCF5),
];

/// The writes of one process to a shared file.
#[derive(Debug, Clone)]
pub(super) struct NumberedWrites {
    /// In `ipycodex_meta`, for the number of the last write.
    key: String,
    last: u64,
}

impl NumberedWrites {
    /// Begins to count, with a name of its own.
    pub(super) fn begin(db: &Connection) -> rusqlite::Result<Self> {
        let name = "SELECT 'written-' || hex(randomblob(8))";
        let key = db.query_row(name, [], |row| row.get(0))?;
        Ok(NumberedWrites { key, last: 0 })
    }

    /// As it is after the next write.
    pub(super) fn next(&self) -> Self {
        NumberedWrites {
            key: self.key.clone(),
            last: self.last + 1,
        }
    }

    /// Leaves the number in the file, as a part of the write.
    pub(super) fn leave(&self, change: &Connection) -> rusqlite::Result<()> {
        change
            .prepare_cached("INSERT OR REPLACE INTO ipycodex_meta VALUES (?1, ?2)")?
            .execute(params![self.key, self.last.to_string()])
            .map(drop)
    }

    /// Removes the number.
    pub(super) fn end(&self, db: &Connection) -> rusqlite::Result<()> {
        let delete = "DELETE FROM ipycodex_meta WHERE key = ?1";
        db.execute(delete, [&self.key]).map(drop)
    }

    /// False when another machine has written over the last write. True, too, when the file cannot be read now.
    pub(super) fn are_kept(&self, path: &Path) -> bool {
        if self.last == 0 {
            return true;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let found = Connection::open_with_flags(path, flags).and_then(|db| {
            let select = "SELECT value FROM ipycodex_meta WHERE key = ?1";
            let found = db.query_row(select, [&self.key], |row| row.get::<_, String>(0));
            found.optional()
        });
        found.is_err() || found == Ok(Some(self.last.to_string()))
    }
}

/// True for a file that other machines, or the host of this one, may have open.
pub(super) fn is_shared(path: &Path) -> bool {
    #[cfg(test)]
    if path.iter().any(|part| part == tests::SHARED_FOLDER) {
        return true;
    }
    #[cfg(target_os = "linux")]
    {
        rustix::fs::statfs(path).is_ok_and(|found| {
            #[allow(clippy::unnecessary_cast)] // the type differs between architectures
            let kind = found.f_type as i64;
            is_of_shared_kind(kind)
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        false
    }
}

/// The number is one of 32 bits; where it is signed, it may come with more of its sign.
fn is_of_shared_kind(kind: i64) -> bool {
    let mut known = SHARED.iter();
    known.any(|(_, number)| i64::from(*number) == kind & 0xFFFF_FFFF)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::RecordHandle;
    use super::super::tests::{self, end, start, start_with, wait};
    use super::*;

    /// What lies in a folder of this name counts as shared.
    pub(super) const SHARED_FOLDER: &str = "shared-by-machines";

    #[test]
    fn file_systems_are_told_apart_by_their_number() {
        for (name, number) in SHARED {
            assert!(is_of_shared_kind(i64::from(*number)), "{name}");
            assert!(is_of_shared_kind(i64::from(number.cast_signed())), "{name}");
        }
        // ext4, xfs, btrfs, tmpfs, overlay, zfs.
        let local = [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x794C_7630,
            0x2FC1_2FC1,
        ];
        assert_eq!(local.map(is_of_shared_kind), [false; 6]);
        assert!(!is_shared(Path::new("/proc")) && !is_shared(Path::new("/nowhere")));
    }

    fn cell(record: &RecordHandle, line: u32) {
        tests::cell(record, line, "mine", "1");
        wait(record.flush());
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(SHARED_FOLDER).join("history.sqlite");
        (folder, path)
    }

    fn text(path: &Path, select: &str) -> rusqlite::Result<String> {
        let db = Connection::open(path)?;
        db.query_row(select, [], |row| row.get(0))
    }

    #[test]
    fn what_another_machine_has_written_over_is_missed_and_the_file_left_to_it() {
        let (folder, path) = folder();
        // Without an index to build between the writes: the file is copied and replaced beneath them.
        let (record, reports) = start_with(&path, None, true);
        cell(&record, 1);
        // Another machine begins, we write, it writes what it has.
        let theirs = folder.path().join("theirs");
        fs::copy(&path, &theirs).unwrap();
        cell(&record, 2);
        let db = Connection::open(&theirs).unwrap();
        db.execute("INSERT INTO history VALUES (9, 1, 'theirs', 'theirs')", [])
            .unwrap();
        drop(db);
        fs::write(&path, fs::read(&theirs).unwrap()).unwrap();
        cell(&record, 3);
        // It goes on in memory, in a new session.
        assert_eq!(wait(record.dialog()).cells.len(), 1);
        let said = end(record, reports).join("\n");
        assert!(said.contains("kept in memory only"), "{said}");
        assert!(said.contains("another machine has written over"), "{said}");
        assert!(fs::read(&path).unwrap() == fs::read(&theirs).unwrap());
    }

    #[test]
    fn nothing_is_said_where_all_is_well_and_nothing_left() {
        let (_folder, path) = folder();
        let (one, its_reports) = start(&path, None);
        let (other, other_reports) = start(&path, None);
        for line in 1..=20 {
            cell(&one, line);
            cell(&other, line);
        }
        assert_eq!(
            (
                end(one, its_reports).join("\n"),
                end(other, other_reports).join("\n")
            ),
            (String::new(), String::new())
        );
        let journal = text(&path, "PRAGMA journal_mode").unwrap();
        assert_eq!(journal, "delete");
        let left = "SELECT group_concat(key) || (SELECT count(*) FROM history) FROM ipycodex_meta
             WHERE key NOT IN ('placed', 'recalled')";
        assert_eq!(text(&path, left).unwrap(), "schema40");
    }

    #[test]
    fn locks_that_do_nothing_cost_no_entry_in_silence() {
        for round in 0..3 {
            let (_folder, path) = folder();
            let (record, reports) = start(&path, None);
            cell(&record, 1);
            let over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI;
                    let uri = format!("file:{}?vfs=unix-none", path.display());
                    let Ok(db) = Connection::open_with_flags(uri, flags) else {
                        return;
                    };
                    for line in 1.. {
                        if over.load(Ordering::Relaxed) {
                            return;
                        }
                        // It may find the file damaged.
                        let insert =
                            "INSERT OR REPLACE INTO history VALUES (9, ?1, 'theirs', 'theirs')";
                        let _ = db.execute(insert, [line]);
                    }
                });
                for line in 2..=60 {
                    cell(&record, line);
                }
                over.store(true, Ordering::Relaxed);
            });
            let said = end(record, reports).join("\n");
            let sound = text(&path, "PRAGMA integrity_check").is_ok_and(|found| found == "ok");
            let mine = "SELECT CAST(count(*) AS TEXT) FROM history WHERE source = 'mine'";
            let whole = sound && text(&path, mine).is_ok_and(|count| count == "60");
            assert!(
                whole || said.contains("kept in memory only"),
                "round {round}: {sound}, {said}"
            );
            let last = said.rsplit_once("kept in memory only");
            assert!(
                last.is_none_or(|(_, rest)| !rest.contains("saved again")),
                "round {round}: {said}"
            );
        }
    }
}
