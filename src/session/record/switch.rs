//! Switches to another session: ends the current one and begins, forks or resumes the other.
//!
//! Invariants: when the other session cannot be resumed, the current one stays as it is; pending writes belong to the
//! session in which they were made, so all of them are written before the switch.

use rusqlite::{Connection, OptionalExtension, params};

use super::row_map::RowMap;
use super::sessions;
use super::store::Store;
use super::values::{ForkOrigin, RecordedThreads, SwitchTarget, SwitchedSession};
use crate::input::is_ipycodex_input;
use crate::text::report::Report;

/// Inputs read to decide that a session holds commands only.
const LOOKED_AT: u32 = 100;

pub(super) fn switch(store: &mut Store, target: &SwitchTarget) -> Result<SwitchedSession, Report> {
    if !store.opening.record {
        let why =
            "this run is not recorded (`--no-record`), so it cannot change to another session";
        return Err(Report::failure(why));
    }
    let settled = store.pending.is_empty() && store.running_turns.is_empty() && !store.is_failing();
    let (Some(db), Some(present), true) = (&mut store.db, &store.session, settled) else {
        return Err(
            Report::failure("the history file cannot be written at the moment")
                .hint("the session here goes on; try again when it can"),
        );
    };
    let present = present.number;
    let not_found = || match target {
        SwitchTarget::Known(target) => not_found(target),
        SwitchTarget::New | SwitchTarget::Fork(_) => not_found(""),
    };
    let begin_in = |db: &mut Connection, number: Option<i64>, origin: Option<ForkOrigin>| {
        let mut begin = store.begin.clone();
        (begin.resume, begin.fork) = (number, origin);
        let begun = sessions::begin(db, &begin)?;
        Ok(begun.map(|begun| (begin, begun)).ok_or_else(not_found))
    };
    let changed = match target {
        SwitchTarget::New => begin_in(db, None, None),
        SwitchTarget::Fork(before) => {
            let before = store.rows.lines.to_file(*before);
            let parent = present;
            begin_in(db, None, Some(ForkOrigin { parent, before }))
        }
        SwitchTarget::Known(target) => find_session(db, target).and_then(|found| match found {
            Some(number) if number == present => Ok(Err(Report::failure(format!(
                "session {number} is the one you are in"
            )))),
            Some(number) => begin_in(db, Some(number), None),
            None => Ok(Err(not_found())),
        }),
    };
    let (begin, (start, others)) = match changed {
        Ok(changed) => changed?,
        Err(error) => {
            let report = Report::failure("the session could not be taken up").because(&error);
            store.on_error(&error);
            return Err(report);
        }
    };
    if let Err(error) = forget_commands(db, present).and_then(|()| sessions::end(db, present)) {
        store.on_error(&error);
    }
    store.begin = begin;
    store.session = Some(start.clone());
    store.rows = RowMap::default();
    store.numbers_known = true;
    store.report_other_openers(start.number, &others);
    let threads = store.read(RecordedThreads::default(), sessions::read_threads);
    let left = store.read(None, |db, _| find_session(db, &present.to_string()));
    Ok(SwitchedSession {
        left,
        start,
        forked_at: match target {
            SwitchTarget::Fork(before) => Some(*before),
            SwitchTarget::New | SwitchTarget::Known(_) => None,
        },
        threads,
    })
}

fn not_found(target: &str) -> Report {
    Report::failure(format!("Session {target} not found"))
        .hint("`ipycodex sessions --all` lists what can be resumed")
}

/// The session of that number, else the newest one of that name.
fn find_session(db: &Connection, target: &str) -> rusqlite::Result<Option<i64>> {
    if let Ok(number) = target.parse::<i64>() {
        return db
            .query_row(
                "SELECT session FROM sessions WHERE session = ?1",
                [number],
                |row| row.get(0),
            )
            .optional();
    }
    db.query_row(
        "SELECT session FROM ipycodex_sessions WHERE name = ?1 AND session IN (SELECT session FROM sessions)
         ORDER BY session DESC LIMIT 1",
        [target],
        |row| row.get(0),
    )
    .optional()
}

/// Deletes a session that holds only commands and has no name, as if it were empty.
fn forget_commands(db: &Connection, session: i64) -> rusqlite::Result<()> {
    let mut rows = db.prepare_cached(
        "SELECT coalesce(source_raw, source, '') FROM history WHERE session = ?1
             AND NOT EXISTS (SELECT 1 FROM ipycodex_turns WHERE session = ?1)
             AND NOT EXISTS (SELECT 1 FROM ai_prompts WHERE session = ?1)
             AND NOT EXISTS (SELECT 1 FROM ipycodex_sessions WHERE session = ?1 AND name IS NOT NULL) LIMIT ?2",
    )?;
    let inputs: Vec<String> = rows
        .query_map(params![session, LOOKED_AT], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let is_command =
        |source: &String| is_ipycodex_input(source) && !source.trim_start().starts_with('.');
    let nothing_done = inputs.iter().all(is_command);
    if !inputs.is_empty() && nothing_done && inputs.len() < LOOKED_AT as usize {
        db.execute("DELETE FROM history WHERE session = ?1", [session])?;
        db.execute("DELETE FROM ipycodex_entries WHERE session = ?1", [session])?;
    }
    Ok(())
}
