//! Turns in the file: begun, made part of the conversation, hidden.
//!
//! Invariant: the entries that a turn replaces leave the conversation in the transaction in which its answer joins
//! it.

use rusqlite::{Connection, OptionalExtension, params};

use super::pictures;
use super::row_map::RowMap;
use super::values::{PromptStart, StoredBundle};

/// Inserts the row of a turn, which is the last one of its table.
pub(super) fn begin(
    change: &Connection,
    session: i64,
    rows: &RowMap,
    start: &PromptStart,
    early: bool,
) -> rusqlite::Result<()> {
    // A number read from the file is one of the file already.
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

/// Value of the column `hidden`: hidden by the user. 0 is part of the conversation.
pub(super) const HIDDEN: i64 = 1;

/// Value of the column `hidden`: the interpreter has stepped back over the cell.
pub(super) const STEPPED_OVER: i64 = 2;

/// Hides or shows the entries with these numbers of the file; shown entries have no mark at all.
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

/// Marks the cell with this number of the file; a cell that the user hid stays hidden.
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

/// Inserts our rows for lines of a session of another program, which has none.
fn own_rows(change: &Connection, session: i64, from: u32, to: u32) -> rusqlite::Result<()> {
    change.execute(
        "INSERT OR IGNORE INTO ipycodex_entries (session, line, state)
         SELECT session, line, 'complete' FROM history WHERE session = ?1 AND line BETWEEN ?2 AND ?3",
        params![session, from, to],
    )?;
    Ok(())
}

/// Makes a finished turn part of the conversation, which then holds the only copy of its answer, and removes the
/// entries that it replaces.
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

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn numbers_from_before_the_session_was_known_move_with_their_inputs() {
        let db = file::open_in_memory();
        let mut rows = RowMap::default();
        rows.lines.shift(1, 10);
        for (early, history_line, expected) in [(true, 1, 10), (true, 0, 0), (false, 1, 1)] {
            let start = PromptStart {
                replaces: Some(1..=1),
                ..PromptStart::new(2, history_line, "p")
            };
            begin(&db, 1, &rows, &start, early).unwrap();
            let last = "SELECT line, history_line, replaces_from, replaces_to FROM ipycodex_turns ORDER BY id DESC";
            let numbers =
                |row: &rusqlite::Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]);
            let replaced = if early { 10 } else { 1 };
            let found: [u32; 4] = db.query_row(last, [], numbers).unwrap();
            assert_eq!(found, [11, expected, replaced, replaced], "{early}");
        }
    }
}
