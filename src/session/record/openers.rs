//! The processes that have a session open: any number may, and each gets a report about the others.
//!
//! Invariant: a process is identified by its number and start time, so that a dead one is never taken for a living
//! one; the session's own row names a process that has it open, as long as there is one.

use rusqlite::{Connection, params};

/// Registers this process; returns the others that have the session open, in no order.
pub(super) fn register(db: &Connection, session: i64) -> rusqlite::Result<Vec<u32>> {
    let process = std::process::id();
    let others = others(db, session, process)?;
    db.execute(
        "INSERT OR REPLACE INTO ipycodex_openers VALUES (?1, ?2, ?3)",
        params![session, process, process_start(process)],
    )?;
    set_owner(db, session, process)?;
    Ok(others)
}

/// Unregisters this process; returns those that still have the session open.
pub(super) fn unregister(db: &Connection, session: i64) -> rusqlite::Result<Vec<u32>> {
    let process = std::process::id();
    db.execute(
        "DELETE FROM ipycodex_openers WHERE session = ?1 AND process = ?2",
        params![session, process],
    )?;
    let others = others(db, session, process)?;
    if let Some(other) = others.first() {
        set_owner(db, session, *other)?;
    }
    Ok(others)
}

/// The living processes; rows of dead ones are deleted.
fn others(db: &Connection, session: i64, process: u32) -> rusqlite::Result<Vec<u32>> {
    let mut rows = db
        .prepare_cached("SELECT process, process_start FROM ipycodex_openers WHERE session = ?1")?;
    let openers: Vec<(u32, Option<i64>)> = rows
        .query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut living = Vec::new();
    for (opener, since) in openers {
        if since.is_none() || process_start(opener) != since {
            db.execute(
                "DELETE FROM ipycodex_openers WHERE session = ?1 AND process = ?2",
                params![session, opener],
            )?;
        } else if opener != process {
            living.push(opener);
        }
    }
    Ok(living)
}

fn set_owner(db: &Connection, session: i64, process: u32) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO ipycodex_sessions (session, process, process_start) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET process = ?2, process_start = ?3",
        params![session, process, process_start(process)],
    )?;
    Ok(())
}

/// When a living process began, in the kernel's ticks; together with its number a unique name of the process.
pub(super) fn process_start(process: u32) -> Option<i64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn owner(db: &Connection) -> u32 {
        let owner = "SELECT process FROM ipycodex_sessions WHERE session = 1";
        db.query_row(owner, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn the_living_are_told_from_the_dead() {
        let db = file::open_in_memory();
        let (own, parent) = (std::process::id(), std::os::unix::process::parent_id());
        assert_eq!(register(&db, 1).unwrap(), [] as [u32; 0]);
        assert_eq!(unregister(&db, 1).unwrap(), [] as [u32; 0]);
        let insert = |process: u32, since: Option<i64>| {
            let row = "INSERT INTO ipycodex_openers VALUES (1, ?1, ?2)";
            db.execute(row, params![process, since]).unwrap();
        };
        insert(parent, process_start(parent));
        // One that is no more, another process of its number, and one that nothing is known of.
        insert(4_000_000, Some(17));
        insert(1, Some(12_345_678));
        insert(4_000_001, None);
        assert_eq!(register(&db, 1).unwrap(), [parent]);
        assert_eq!(owner(&db), own);
        let left = "SELECT count(*) FROM ipycodex_openers";
        let left = || db.query_row(left, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(left(), 2);
        assert_eq!(register(&db, 2).unwrap(), [] as [u32; 0]);
        assert_eq!(unregister(&db, 1).unwrap(), [parent]);
        assert_eq!((owner(&db), left()), (parent, 2));
    }
}
