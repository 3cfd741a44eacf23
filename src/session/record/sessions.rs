//! Sessions: begun, resumed, reset, ended. `listing.rs` lists them.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use serde_json::{Map, Value, json};

use super::values::{RecordedThread, RecordedThreads, SessionSpec, SessionStart};
use super::{answer_parts, fork, openers, turns};
use crate::dialog;

/// IPython 9.18 writes the start in local time.
const START: &str = "strftime('%Y-%m-%d %H:%M:%f000', 'now', 'localtime')";

/// IPython 9.18 writes the end in UTC, with its offset.
const END: &str = "strftime('%Y-%m-%d %H:%M:%f000+00:00', 'now')";

fn remark_json(cwd: &str, provider: &str, thread: Option<&str>) -> String {
    let mut map = Map::new(); // keeps the order it is filled in: sorted
    map.insert("cwd".into(), json!(cwd));
    map.insert("provider".into(), json!(provider));
    map.insert("provider_session_id".into(), json!(thread));
    Value::Object(map).to_string()
}

/// Begins or resumes a session; `None` when the number is unknown. Also returns the other processes that have it
/// open.
pub(super) fn begin(
    db: &mut Connection,
    begin: &SessionSpec,
) -> rusqlite::Result<Option<(SessionStart, Vec<u32>)>> {
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut others = Vec::new();
    let number = match begin.resume {
        None => {
            change.execute(
                &format!("INSERT INTO sessions (start, end, num_cmds, remark) VALUES ({START}, NULL, NULL, ?1)"),
                [remark_json(&begin.cwd, &begin.provider, None)],
            )?;
            change.last_insert_rowid()
        }
        Some(number) => {
            let found = change.execute(
                "UPDATE sessions SET end = NULL WHERE session = ?1",
                [number],
            )?;
            if found == 0 {
                return Ok(None);
            }
            others = openers::register(&change, number)?;
            if others.is_empty() {
                recover(&change, number)?;
            }
            number
        }
    };
    if begin.resume.is_none() {
        openers::register(&change, number)?;
    }
    if let Some(origin) = &begin.fork {
        fork::copy(&change, origin.parent, number, origin.before)?;
    }
    change.execute(
        "UPDATE ipycodex_sessions SET once = ?2 WHERE session = ?1",
        params![number, (begin.once && begin.resume.is_none()).then_some(1)],
    )?;
    let last = last_line(&change, number)?;
    change.commit()?;
    let start = SessionStart {
        number,
        next_line: last + 1,
        resumed: begin.resume.is_some() || begin.fork.is_some(),
        recorded: true,
    };
    Ok(Some((start, others)))
}

/// The last In number of the session; 0 without any.
pub(super) fn last_line(db: &Connection, session: i64) -> rusqlite::Result<u32> {
    db.prepare_cached(
        "SELECT max(coalesce((SELECT max(line) FROM history WHERE session = ?1), 0),
                    coalesce((SELECT max(line) FROM ipycodex_turns WHERE session = ?1), 0))",
    )?
    .query_row([session], |row| row.get(0))
}

/// Settles the entries that a dead process left running: turns become interrupted, cells cancelled.
fn recover(db: &Connection, session: i64) -> rusqlite::Result<()> {
    let mut rows = db.prepare(
        "SELECT id, response FROM ipycodex_turns WHERE session = ?1 AND state = 'running' ORDER BY id",
    )?;
    let running: Vec<(i64, String)> = rows
        .query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (id, earlier_form) in running {
        // A file of the first schema has the answer in the row of its turn.
        let response = earlier_form + &answer_parts::read_parts(db, id)?;
        answer_parts::delete_parts(db, id)?;
        turns::publish(db, id, &dialog::interrupted(&response), "cancelled")?;
    }
    db.execute(
        "UPDATE ipycodex_entries SET state = 'cancelled' WHERE session = ?1 AND state = 'running'",
        [session],
    )?;
    Ok(())
}

/// The living process that opened the session last, even if it has ended the session since.
pub(super) fn owner_process(db: &Connection, session: i64) -> rusqlite::Result<Option<u32>> {
    let last: Option<(Option<u32>, Option<i64>)> = db
        .query_row(
            "SELECT process, process_start FROM ipycodex_sessions WHERE session = ?1",
            [session],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    Ok(match last {
        Some((Some(process), Some(since))) if openers::process_start(process) == Some(since) => {
            Some(process)
        }
        _ => None,
    })
}

/// Writes the agent's name and its thread's id where other programs expect them.
pub(super) fn set_agent(
    db: &Connection,
    session: i64,
    provider: &str,
    thread: Option<&str>,
) -> rusqlite::Result<()> {
    let old: Option<String> = db.query_row(
        "SELECT remark FROM sessions WHERE session = ?1",
        [session],
        |row| row.get(0),
    )?;
    let old = old.unwrap_or_default();
    let cwd = match serde_json::from_str::<Value>(&old) {
        Ok(Value::Object(map)) => map
            .get("cwd")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        _ => old,
    };
    db.execute(
        "UPDATE sessions SET remark = ?2 WHERE session = ?1",
        params![session, remark_json(&cwd, provider, thread)],
    )?;
    Ok(())
}

pub(super) fn read_threads(db: &Connection, session: i64) -> rusqlite::Result<RecordedThreads> {
    let thread = |row: &Row<'_>| {
        Ok(RecordedThread {
            id: row.get(0)?,
            digest: row.get(1)?,
            point: row.get(2)?,
        })
    };
    let current = db.query_row(
        "SELECT s.thread, s.digest, (SELECT point FROM ipycodex_threads t WHERE t.session = ?1 AND t.digest = s.digest)
         FROM ipycodex_sessions s WHERE s.session = ?1 AND s.thread IS NOT NULL AND s.digest IS NOT NULL",
        [session],
        thread,
    );
    // The end of a thread holds what it held as long as the session it belongs to has not gone on.
    let mut points = db.prepare(
        "SELECT t.thread, t.digest, t.point FROM ipycodex_threads t WHERE t.session = ?1 AND (t.point IS NOT NULL OR
             EXISTS (SELECT 1 FROM ipycodex_sessions s WHERE s.thread = t.thread AND s.digest = t.digest))",
    )?;
    Ok(RecordedThreads {
        current: current.optional()?,
        points: points
            .query_map([session], thread)?
            .collect::<Result<_, _>>()?,
    })
}

/// Keeps the place in the agent's thread that holds the conversation as it is now.
pub(super) fn keep_point(
    db: &Connection,
    session: i64,
    thread: &RecordedThread,
) -> rusqlite::Result<()> {
    db.execute(
        "INSERT OR REPLACE INTO ipycodex_threads (session, digest, thread, point) VALUES (?1, ?2, ?3, ?4)",
        params![session, thread.digest, thread.id, thread.point],
    )?;
    Ok(())
}

pub(super) fn reset_line(db: &Connection, session: i64) -> rusqlite::Result<u32> {
    let line = db
        .query_row(
            "SELECT reset_line FROM ipycodex_sessions WHERE session = ?1",
            [session],
            |row| row.get(0),
        )
        .optional()?;
    Ok(line.unwrap_or(0))
}

/// Deletes the session's prompts and moves its start to the last line.
pub(super) fn reset(db: &Connection, session: i64) -> rusqlite::Result<()> {
    db.execute("DELETE FROM ai_prompts WHERE session = ?1", [session])?;
    db.execute(
        "UPDATE ipycodex_sessions SET thread = NULL, digest = NULL, reset_line =
             coalesce((SELECT max(line) FROM history WHERE session = ?1), 0) WHERE session = ?1",
        [session],
    )?;
    Ok(())
}

/// Writes the end; an empty session leaves no row. A session that other processes have open stays open.
pub(super) fn end(db: &mut Connection, session: i64) -> rusqlite::Result<()> {
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let count: i64 = change.query_row(
        "SELECT count(*) FROM history WHERE session = ?1",
        [session],
        |row| row.get(0),
    )?;
    let prompts: i64 = change.query_row(
        "SELECT count(*) FROM ipycodex_turns WHERE session = ?1",
        [session],
        |row| row.get(0),
    )?;
    let others = openers::unregister(&change, session)?;
    if !others.is_empty() {
        change.execute(
            "UPDATE sessions SET num_cmds = ?2 WHERE session = ?1",
            params![session, count],
        )?;
    } else if count == 0 && prompts == 0 {
        change.execute("DELETE FROM sessions WHERE session = ?1", [session])?;
        for table in ["ipycodex_sessions", "ipycodex_threads"] {
            change.execute(
                &format!("DELETE FROM {table} WHERE session = ?1"),
                [session],
            )?;
        }
    } else {
        change.execute(
            &format!("UPDATE sessions SET end = {END}, num_cmds = ?2 WHERE session = ?1"),
            params![session, count],
        )?;
    }
    change.commit()
}
