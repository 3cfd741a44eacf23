//! Inputs, outputs and turns: each write as one short transaction, the dialog read back.

use std::collections::HashMap;

use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::json;

use super::{Outcome, RecordedThread, State, TurnKey, Write};
use crate::dialog::{CellEntry, Dialog, PromptEntry};

/// Rows of the turns that run.
pub(super) type Turns = HashMap<TurnKey, i64>;

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Cancelled => "cancelled",
            State::Failed => "failed",
        }
    }
}

/// Writes one change of `session`, whole or not at all.
pub(super) fn write(
    db: &mut Connection,
    session: i64,
    turns: &mut Turns,
    write: &Write,
) -> rusqlite::Result<()> {
    // An answer cannot be typed again: it survives a power cut too.
    let precious = matches!(write, Write::FinishTurn { .. });
    if precious {
        db.pragma_update(None, "synchronous", "FULL")?;
    }
    let result = change(db, session, turns, write);
    if precious {
        db.pragma_update(None, "synchronous", "NORMAL")?;
    }
    result
}

fn change(
    db: &mut Connection,
    session: i64,
    turns: &mut Turns,
    write: &Write,
) -> rusqlite::Result<()> {
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut begun = None;
    match write {
        Write::Input { line, source, raw } => {
            change
                .prepare_cached("INSERT OR REPLACE INTO history VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![session, line, source, raw])?;
            change
                .prepare_cached("INSERT OR REPLACE INTO ipycodex_entries (session, line, state) VALUES (?1, ?2, 'running')")?
                .execute(params![session, line])?;
        }
        Write::Output {
            line,
            text,
            bundles,
            state,
            execution_ms,
        } => {
            if !text.is_empty() {
                change
                    .prepare_cached("INSERT OR REPLACE INTO output_history VALUES (?1, ?2, ?3)")?
                    .execute(params![session, line, text])?;
            }
            for (position, bundle) in (0_i64..).zip(bundles) {
                change
                    .prepare_cached(
                        "INSERT OR REPLACE INTO ipycodex_outputs VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![session, line, position, bundle])?;
            }
            change
                .prepare_cached(
                    "INSERT INTO ipycodex_entries (session, line, state, execution_ms) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO UPDATE SET state = ?3, execution_ms = ?4",
                )?
                .execute(params![session, line, state.name(), i64::try_from(*execution_ms).ok()])?;
        }
        Write::BeginTurn {
            key,
            line,
            history_line,
            prompt,
        } => {
            change.execute(
                "INSERT INTO ipycodex_turns (session, line, history_line, prompt, state) VALUES (?1, ?2, ?3, ?4, 'running')",
                params![session, line, history_line, prompt],
            )?;
            begun = Some((*key, change.last_insert_rowid()));
        }
        Write::Stream { key, response } => {
            change
                .prepare_cached("UPDATE ipycodex_turns SET response = ?2 WHERE id = ?1")?
                .execute(params![turns.get(key), response])?;
        }
        Write::FinishTurn {
            key,
            outcome,
            response,
            usage,
        } => {
            let row = turns.get(key);
            let state = match outcome {
                Outcome::Complete => "complete",
                Outcome::Interrupted => "cancelled",
                Outcome::Failed => "failed",
            };
            let usage = usage.map(|usage| {
                json!({"cached": usage.cached, "input": usage.input, "output": usage.output, "reasoning": usage.reasoning})
                    .to_string()
            });
            change.execute(
                "UPDATE ipycodex_turns SET response = ?2, state = ?3, usage = ?4 WHERE id = ?1",
                params![row, response, state, usage],
            )?;
            change.execute(
                "UPDATE ipycodex_entries SET state = ?2 WHERE (session, line) IN
                     (SELECT session, line FROM ipycodex_turns WHERE id = ?1)",
                params![row, state],
            )?;
            if *outcome != Outcome::Failed {
                publish(&change, row.copied())?;
            }
        }
        Write::Thread(thread) => {
            let (id, digest) = match thread {
                Some(RecordedThread { id, digest }) => (Some(id), Some(digest)),
                None => (None, None),
            };
            change.execute(
                "UPDATE ipycodex_sessions SET thread = ?2, digest = ?3 WHERE session = ?1",
                params![session, id, digest],
            )?;
            super::sessions::set_remark_thread(&change, session, id.map(String::as_str))?;
        }
        Write::Hide { line, hidden } => {
            for table in ["ipycodex_entries", "ipycodex_turns"] {
                change.execute(
                    &format!("UPDATE {table} SET hidden = ?3 WHERE session = ?1 AND line = ?2"),
                    params![session, line, hidden],
                )?;
            }
        }
        Write::Rename(name) => {
            change.execute(
                "UPDATE ipycodex_sessions SET name = ?2 WHERE session = ?1",
                params![session, name],
            )?;
        }
    }
    change.commit()?;
    if let Some((key, row)) = begun {
        turns.insert(key, row);
    }
    Ok(())
}

/// Makes a finished turn a part of the conversation.
pub(super) fn publish(db: &Connection, turn: Option<i64>) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO ai_prompts (session, prompt, response, history_line)
             SELECT session, prompt, response, history_line FROM ipycodex_turns WHERE id = ?1",
        params![turn],
    )?;
    db.execute(
        "UPDATE ipycodex_turns SET prompt_row = last_insert_rowid() WHERE id = ?1",
        params![turn],
    )?;
    Ok(())
}

/// The whole session.
pub(super) fn dialog(db: &Connection, session: i64) -> rusqlite::Result<Dialog> {
    let mut cells = db.prepare_cached(
        "SELECT h.line, coalesce(h.source_raw, h.source, ''), o.output, coalesce(e.hidden, 0) FROM history h
         LEFT JOIN output_history o ON o.session = h.session AND o.line = h.line
         LEFT JOIN ipycodex_entries e ON e.session = h.session AND e.line = h.line
         WHERE h.session = ?1 ORDER BY h.line",
    )?;
    let cells = cells.query_map([session], |row| {
        Ok(CellEntry {
            line: row.get(0)?,
            source: row.get(1)?,
            output: row.get(2)?,
            hidden: row.get(3)?,
        })
    })?;
    let mut prompts = db.prepare_cached(
        "SELECT p.id, coalesce(t.line, p.history_line + 1), p.history_line, p.prompt, p.response, coalesce(t.hidden, 0)
         FROM ai_prompts p LEFT JOIN ipycodex_turns t ON t.prompt_row = p.id WHERE p.session = ?1 ORDER BY p.id",
    )?;
    let prompts = prompts.query_map([session], |row| {
        Ok(PromptEntry {
            id: row.get(0)?,
            line: row.get(1)?,
            history_line: row.get(2)?,
            prompt: row.get(3)?,
            response: row.get(4)?,
            hidden: row.get(5)?,
        })
    })?;
    Ok(Dialog {
        cells: cells.collect::<Result<_, _>>()?,
        prompts: prompts.collect::<Result<_, _>>()?,
        reset_line: super::sessions::reset_line(db, session)?,
    })
}

/// Applies writes that wait to a dialog read from the file (or to an empty one).
pub(super) fn overlay(dialog: &mut Dialog, waiting: &mut dyn Iterator<Item = &Write>) {
    let mut begun: HashMap<TurnKey, PromptEntry> = HashMap::new();
    for write in waiting {
        match write {
            Write::Input { line, raw, .. } => dialog.cells.push(CellEntry {
                line: *line,
                source: raw.clone(),
                output: None,
                hidden: false,
            }),
            Write::Output { line, text, .. } if !text.is_empty() => {
                if let Some(cell) = dialog.cells.iter_mut().rfind(|cell| cell.line == *line) {
                    cell.output = Some(text.clone());
                }
            }
            Write::BeginTurn {
                key,
                line,
                history_line,
                prompt,
            } => {
                begun.insert(
                    *key,
                    PromptEntry {
                        id: i64::MAX,
                        line: *line,
                        history_line: *history_line,
                        prompt: prompt.clone(),
                        ..PromptEntry::default()
                    },
                );
            }
            Write::FinishTurn {
                key,
                outcome,
                response,
                ..
            } if *outcome != Outcome::Failed => {
                if let Some(mut entry) = begun.remove(key) {
                    entry.response.clone_from(response);
                    dialog.prompts.push(entry);
                }
            }
            Write::Hide { line, hidden } => {
                for cell in dialog.cells.iter_mut().filter(|cell| cell.line == *line) {
                    cell.hidden = *hidden;
                }
                for prompt in dialog
                    .prompts
                    .iter_mut()
                    .filter(|prompt| prompt.line == *line)
                {
                    prompt.hidden = *hidden;
                }
            }
            _ => {}
        }
    }
    dialog.cells.sort_by_key(|cell| cell.line);
}
