//! Turns in the file: begun, made part of the conversation, taken out of it.
//!
//! Invariant: what a turn replaces leaves in the transaction in which its own answer becomes part of the conversation.

use rusqlite::{Connection, OptionalExtension, params};

use super::pictures;
use super::row_map::RowMap;
use super::values::{PromptStart, StoredBundle};

/// Adds the row of a turn; it is the last one inserted.
pub(super) fn begin(
    change: &Connection,
    session: i64,
    rows: &RowMap,
    start: &PromptStart,
    early: bool,
) -> rusqlite::Result<()> {
    // Read from the file, it is a number of the file already.
    let in_file = |line: u32| match early {
        true if line > 0 => rows.lines.to_file(line),
        _ => line,
    };
    let line = rows.lines.to_file(start.line);
    let pictures: Vec<StoredBundle> = start
        .expansion
        .images
        .iter()
        .filter_map(|url| StoredBundle::from_data_url(url))
        .collect();
    pictures::write_bundles(change, session, line, &pictures)?;
    let replaces = start.replaces.as_ref();
    change.execute(
        "INSERT INTO ipycodex_turns (session, line, history_line, prompt, expansion, replaces_from, replaces_to, state)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'running')",
        params![
            session,
            line,
            in_file(start.history_line),
            start.prompt,
            start.expansion.xml,
            replaces.map(|lines| in_file(*lines.start())),
            replaces.map(|lines| in_file(*lines.end())),
        ],
    )?;
    Ok(())
}

/// In the column `hidden`, where 0 is part of the conversation: taken out by the user.
pub(super) const HIDDEN: i64 = 1;

/// The same: the interpreter has stepped back over it.
pub(super) const STEPPED_OVER: i64 = 2;

/// Marks the entries with these numbers of the file; back in the conversation they have no mark at all.
pub(super) fn hide(
    change: &Connection,
    session: i64,
    from: u32,
    to: u32,
    hidden: bool,
) -> rusqlite::Result<()> {
    own_rows(change, session, from, to)?;
    for table in ["ipycodex_entries", "ipycodex_turns"] {
        change.execute(
            &format!(
                "UPDATE {table} SET hidden = (hidden | ?5) * ?4 WHERE session = ?1 AND line BETWEEN ?2 AND ?3"
            ),
            params![session, from, to, hidden, HIDDEN],
        )?;
    }
    Ok(())
}

/// Marks the cell with this number of the file; what the user took out stays out.
pub(super) fn step_over(
    change: &Connection,
    session: i64,
    line: u32,
    over: bool,
) -> rusqlite::Result<()> {
    own_rows(change, session, line, line)?;
    change.execute(
        "UPDATE ipycodex_entries SET hidden = (hidden & ~?3) | (?3 * ?4) WHERE session = ?1 AND line = ?2",
        params![session, line, STEPPED_OVER, over],
    )?;
    Ok(())
}

/// A session of another program has no rows of ours yet.
fn own_rows(change: &Connection, session: i64, from: u32, to: u32) -> rusqlite::Result<()> {
    change.execute(
        "INSERT OR IGNORE INTO ipycodex_entries (session, line, state)
         SELECT session, line, 'complete' FROM history WHERE session = ?1 AND line BETWEEN ?2 AND ?3",
        params![session, from, to],
    )?;
    Ok(())
}

/// Makes a finished turn a part of the conversation; its answer is kept there alone. What it replaces leaves.
pub(super) fn publish(
    db: &Connection,
    turn: i64,
    response: &str,
    state: &str,
) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO ai_prompts (session, prompt, response, history_line)
             SELECT session, prompt, ?2, history_line FROM ipycodex_turns WHERE id = ?1",
        params![turn, response],
    )?;
    db.execute(
        "UPDATE ipycodex_turns SET response = '', state = ?2, prompt_row = last_insert_rowid() WHERE id = ?1",
        params![turn, state],
    )?;
    let replaced: Option<(i64, u32, u32)> = db
        .query_row(
            "SELECT session, replaces_from, replaces_to FROM ipycodex_turns
             WHERE id = ?1 AND replaces_from IS NOT NULL",
            [turn],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    match replaced {
        Some((session, from, to)) => hide(db, session, from, to, true),
        None => Ok(()),
    }
}
