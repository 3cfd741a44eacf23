//! Which processes have a session open: any number of them may, and each is told of the others.
//!
//! Invariant: a process is named by its number and its beginning, so one that died is never taken for a living one; the
//! session's own row names one that has it open, as long as there is one.

use rusqlite::{Connection, params};

/// This process opens the session: the others that have it open, in no order.
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

/// This process closes it: those that still have it open.
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

/// The living ones; what the dead left is cleared away.
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

/// When a living process began, in the kernel's ticks; with its number it names a process for good.
pub(super) fn process_start(process: u32) -> Option<i64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}
