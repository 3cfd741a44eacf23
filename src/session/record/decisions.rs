//! The user's decisions on approvals: one row each, never changed.

use std::time::UNIX_EPOCH;

use rusqlite::{Connection, params};

use super::values::RecordedDecision;

/// Inserts a decision made during the prompt at `line`, a number of the file.
pub(super) fn write(
    db: &Connection,
    session: i64,
    line: u32,
    decided: &RecordedDecision,
) -> rusqlite::Result<()> {
    let asked_at = decided.asked_at.duration_since(UNIX_EPOCH);
    let asked_at = asked_at.map_or(0, |since| since.as_millis());
    db.execute(
        "INSERT INTO ipycodex_decisions (session, line, asked_at, kind, subject, decision)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            session,
            line,
            i64::try_from(asked_at).unwrap_or(i64::MAX),
            decided.kind,
            decided.subject,
            decided.decision
        ],
    )?;
    Ok(())
}
