//! A session that is forked from another one: its first entries are copies of the other's.
//!
//! In: both numbers, and the In number of the first entry that is not copied. Invariants: the other session is only
//! read; the copies need nothing of it, so that either can be deleted. Absent on purpose: what the turns have cost,
//! which is counted once, and the user's decisions, which belong to the session they were made in.

use rusqlite::{Connection, params};

/// Copies the entries of `parent` with numbers below `before`, and what is known of the agent's threads.
pub(super) fn copy(
    change: &Connection,
    parent: i64,
    session: i64,
    before: u32,
) -> rusqlite::Result<()> {
    for copied in [
        "INSERT INTO history SELECT ?2, line, source, source_raw FROM history WHERE session = ?1 AND line < ?3",
        "INSERT INTO output_history SELECT ?2, line, output FROM output_history WHERE session = ?1 AND line < ?3",
        "INSERT INTO ipycodex_entries (session, line, state, hidden, execution_ms, told, layout, began_at, shell, exit)
             SELECT ?2, line, CASE state WHEN 'running' THEN 'cancelled' ELSE state END, hidden, execution_ms, told,
                 layout, began_at, shell, exit FROM ipycodex_entries WHERE session = ?1 AND line < ?3",
        "INSERT INTO ipycodex_outputs (session, line, position, bundle, picture)
             SELECT ?2, line, position, bundle, picture FROM ipycodex_outputs WHERE session = ?1 AND line < ?3",
        "UPDATE ipycodex_sessions SET parent = ?1, forked_at = ?3, reset_line = coalesce(
             (SELECT reset_line FROM ipycodex_sessions WHERE session = ?1), 0) WHERE session = ?2",
    ] {
        change.execute(copied, params![parent, session, before])?;
    }
    for copied in [
        "INSERT INTO ipycodex_threads SELECT ?2, digest, thread, point FROM ipycodex_threads WHERE session = ?1",
        "INSERT OR IGNORE INTO ipycodex_threads SELECT ?2, digest, thread, NULL FROM ipycodex_sessions
             WHERE session = ?1 AND thread IS NOT NULL AND digest IS NOT NULL",
    ] {
        change.execute(copied, params![parent, session])?;
    }
    copy_exchanges(change, parent, session, before)
}

/// Copies the exchanges, in order: a dialog is read in the order of its rows.
fn copy_exchanges(
    change: &Connection,
    parent: i64,
    session: i64,
    before: u32,
) -> rusqlite::Result<()> {
    let mut rows = change.prepare(
        "SELECT p.id, t.id FROM ai_prompts p LEFT JOIN ipycodex_turns t ON t.prompt_row = p.id
         WHERE p.session = ?1 AND coalesce(t.line, p.history_line + 1) < ?2 ORDER BY p.id",
    )?;
    let exchanges: Vec<(i64, Option<i64>)> = rows
        .query_map(params![parent, before], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    for (prompt, turn) in exchanges {
        change.execute(
            "INSERT INTO ai_prompts (session, prompt, response, history_line)
                 SELECT ?2, prompt, response, history_line FROM ai_prompts WHERE id = ?1",
            params![prompt, session],
        )?;
        change.execute(
            "INSERT INTO ipycodex_turns (session, line, history_line, prompt, response, state, hidden, expansion,
                 replaces_from, replaces_to, prompt_row)
             SELECT ?2, line, history_line, prompt, response, state, hidden, expansion, replaces_from, replaces_to,
                 last_insert_rowid() FROM ipycodex_turns WHERE id = ?1",
            params![turn, session],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{entries, file, sessions};
    use super::*;

    #[test]
    fn the_entries_before_a_number_are_copied_and_the_other_session_stays_as_it_is() {
        let db = file::open_in_memory();
        db.execute_batch(
            "INSERT INTO sessions (session) VALUES (1), (2);
             INSERT INTO ipycodex_sessions (session, reset_line) VALUES (1, 1), (2, 0);
             INSERT INTO history VALUES (1, 1, 'a', 'a'), (1, 2, '.p', '.p'), (1, 3, 'b', 'b'), (1, 4, '.q', '.q');
             INSERT INTO output_history VALUES (1, 1, '1'), (1, 3, '3');
             INSERT INTO ipycodex_entries (session, line, state, hidden) VALUES (1, 1, 'running', 2),
                 (1, 3, 'complete', 1), (1, 4, 'complete', 0);
             INSERT INTO ipycodex_outputs VALUES (1, 1, 0, '{}', 2), (1, 3, 0, '{}', NULL);
             INSERT INTO ai_prompts VALUES (7, 1, 'p', 'answer p', 1), (8, 1, 'q', 'answer q', 3),
                 (9, 1, 'other program', 'r', 2);
             INSERT INTO ipycodex_turns (session, line, history_line, prompt, state, usage, prompt_row, hidden)
                 VALUES (1, 2, 1, 'p', 'complete', '{}', 7, 1), (1, 4, 3, 'q', 'complete', '{}', 8, 0);",
        )
        .unwrap();
        let before = entries::dialog(&db, 1).unwrap();
        copy(&db, 1, 2, 4).unwrap();
        assert_eq!(entries::dialog(&db, 1).unwrap(), before);
        let mut expected = before.clone();
        expected.cells.retain(|cell| cell.line < 4);
        expected.prompts.retain(|prompt| prompt.prompt != "q");
        let mut copied = entries::dialog(&db, 2).unwrap();
        let ids: Vec<i64> = copied.prompts.iter().map(|prompt| prompt.id).collect();
        assert_eq!(ids, [10, 11], "rows of its own, in order");
        for (copy, own) in copied.prompts.iter_mut().zip(&expected.prompts) {
            copy.id = own.id;
        }
        assert_eq!(copied, expected);
        assert_eq!(sessions::last_line(&db, 2).unwrap(), 3);
        let facts = "SELECT parent, forked_at, (SELECT count(*) FROM ipycodex_turns WHERE session = 2 AND usage IS NOT
             NULL), (SELECT group_concat(state) FROM ipycodex_entries WHERE session = 2)
             FROM ipycodex_sessions WHERE session = 2";
        let facts: (i64, u32, u32, String) = db
            .query_row(facts, [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .unwrap();
        assert_eq!(facts, (1, 4, 0, "cancelled,complete".into()));
    }
}
