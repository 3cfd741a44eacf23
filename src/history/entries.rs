//! Inputs, outputs and turns: each write as one short transaction, the dialog read back.

use std::collections::HashMap;
use std::time::SystemTime;

use rusqlite::{Connection, TransactionBehavior, params};

use super::message::Write;
use super::places::Places;
use super::values::{CellEnd, PromptStart, RecordedOutcome, RecordedThread, TurnKey};
use super::waiting::WaitingWrite;
use super::{answers, decisions, pictures, turns, usage};
use crate::dialog::{CellEntry, Dialog, Expansion, PromptEntry, ShellEntry};
use crate::input::shell_cell;

/// Writes changes of `session`, all or none.
pub(super) fn write<'a>(
    db: &mut Connection,
    session: i64,
    places: &mut Places,
    entries: impl Iterator<Item = &'a WaitingWrite> + Clone,
) -> rusqlite::Result<()> {
    // An answer cannot be typed again: it survives a power cut too.
    let precious = entries
        .clone()
        .any(|entry| matches!(entry.write, Write::FinishTurn { .. }));
    if precious {
        db.pragma_update(None, "synchronous", "FULL")?;
    }
    let result = (|| {
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut next = places.clone();
        for entry in entries {
            apply(&change, session, &mut next, entry)?;
        }
        change.commit()?;
        *places = next;
        Ok(())
    })();
    if precious {
        db.pragma_update(None, "synchronous", "NORMAL")?;
    }
    result
}

fn apply(
    change: &Connection,
    session: i64,
    places: &mut Places,
    entry: &WaitingWrite,
) -> rusqlite::Result<()> {
    match &entry.write {
        Write::Input {
            line,
            source,
            raw,
            shell,
            at,
        } => {
            let line = free_line(change, session, places, *line)?;
            change
                .prepare_cached("INSERT INTO history VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![session, line, source, raw])?;
            change
                .prepare_cached("INSERT OR REPLACE INTO ipycodex_entries (session, line, state, began_at, shell) \
                                 VALUES (?1, ?2, 'running', ?3, ?4)")?
                .execute(params![session, line, seconds(*at), shell])?;
        }
        Write::Exited { line, exit } => {
            change.execute(
                "UPDATE ipycodex_entries SET exit = ?3 WHERE session = ?1 AND line = ?2",
                params![session, places.lines.of(*line), exit],
            )?;
        }
        Write::Output {
            line,
            text,
            bundles,
            layout,
            state,
            execution_ms,
        } => {
            let line = places.lines.of(*line);
            if !text.is_empty() {
                change
                    .prepare_cached("INSERT OR REPLACE INTO output_history VALUES (?1, ?2, ?3)")?
                    .execute(params![session, line, text])?;
            }
            pictures::keep(change, session, line, bundles)?;
            change
                .prepare_cached(
                    "INSERT INTO ipycodex_entries (session, line, state, execution_ms, layout)
                     VALUES (?1, ?2, ?3, ?4, nullif(?5, ''))
                     ON CONFLICT DO UPDATE SET state = ?3, execution_ms = ?4, layout = nullif(?5, '')",
                )?
                .execute(params![session, line, state.name(), i64::try_from(*execution_ms).ok(), layout])?;
        }
        Write::BeginTurn { key, start } => {
            turns::begin(change, session, places, start, entry.early)?;
            places.turns.insert(*key, change.last_insert_rowid());
        }
        Write::Stream { key, at, text } => {
            if let Some(turn) = places.turns.get(key) {
                answers::append(change, *turn, *at, text)?;
            }
        }
        Write::FinishTurn {
            key,
            outcome,
            response,
            usage,
        } => {
            let Some(turn) = places.turns.remove(key) else {
                return Ok(()); // its begin was let go
            };
            let state = match outcome {
                RecordedOutcome::Complete => "complete",
                RecordedOutcome::Interrupted => "cancelled",
                RecordedOutcome::Failed => "failed",
            };
            let usage = usage.as_ref().map(usage::json);
            answers::discard(change, turn)?;
            change.execute(
                "UPDATE ipycodex_turns SET usage = ?2 WHERE id = ?1",
                params![turn, usage],
            )?;
            change.execute(
                "UPDATE ipycodex_entries SET state = ?2 WHERE (session, line) IN
                     (SELECT session, line FROM ipycodex_turns WHERE id = ?1)",
                params![turn, state],
            )?;
            if *outcome == RecordedOutcome::Failed {
                change.execute(
                    "UPDATE ipycodex_turns SET response = ?2, state = ?3 WHERE id = ?1",
                    params![turn, response, state],
                )?;
            } else {
                turns::publish(change, turn, response, state)?;
            }
        }
        Write::Thread { thread, provider } => {
            let (id, digest) = match thread {
                Some(RecordedThread { id, digest }) => (Some(id), Some(digest)),
                None => (None, None),
            };
            change.execute(
                "UPDATE ipycodex_sessions SET thread = ?2, digest = ?3 WHERE session = ?1",
                params![session, id, digest],
            )?;
            super::sessions::set_agent(change, session, provider, id.map(String::as_str))?;
        }
        Write::Hide { lines, hidden } => {
            let (from, to) = (
                places.lines.of(*lines.start()),
                places.lines.of(*lines.end()),
            );
            turns::hide(change, session, from, to, *hidden)?;
        }
        Write::StepOver {
            session: other,
            lines,
            over,
        } => {
            for line in lines {
                let here = (session, places.lines.of(*line));
                let (session, line) = other.map_or(here, |other| (other, *line));
                turns::step_over(change, session, line, *over)?;
            }
        }
        Write::Told { line, prompt } => {
            change.execute(
                "UPDATE ipycodex_entries SET told = ?3 WHERE session = ?1 AND line = ?2",
                params![session, places.lines.of(*line), places.lines.of(*prompt)],
            )?;
        }
        Write::Decided(decided) => {
            decisions::write(change, session, places.lines.of(decided.line), decided)?;
        }
        Write::Rename(name) => {
            change.execute(
                "UPDATE ipycodex_sessions SET name = ?2 WHERE session = ?1",
                params![session, name],
            )?;
        }
        Write::Reset => super::sessions::reset(change, session)?,
    }
    Ok(())
}

/// What makes an entry a command of the shell; `source`: as a notebook has it, or as it was typed.
pub(super) fn shell(
    command: Option<String>,
    exit: Option<i32>,
    source: &str,
) -> Option<ShellEntry> {
    command.map(|command| ShellEntry {
        cell: match source.starts_with("%%") {
            true => source.to_owned(),
            // Written before there was zsh.
            false => shell_cell(&command, "bash"),
        },
        command,
        exit,
    })
}

pub(super) fn seconds(at: SystemTime) -> Option<i64> {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

/// The place of an input in the file: its own number, or behind the last row when another has it.
fn free_line(
    db: &Connection,
    session: i64,
    places: &mut Places,
    line: u32,
) -> rusqlite::Result<u32> {
    let place = places.lines.of(line);
    let taken: bool = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM history WHERE session = ?1 AND line = ?2)")?
        .query_row(params![session, place], |row| row.get(0))?;
    if !taken {
        return Ok(place);
    }
    let free = super::sessions::last_line(db, session)? + 1;
    places.lines.move_to(line, free);
    Ok(free)
}

/// The whole session.
pub(super) fn dialog(db: &Connection, session: i64) -> rusqlite::Result<Dialog> {
    let mut cells = db.prepare_cached(
        "SELECT h.line, coalesce(h.source_raw, h.source, ''), o.output, coalesce(e.hidden, 0), e.told,
                coalesce(e.state, '') = 'failed', e.shell, e.exit, coalesce(h.source, '') FROM history h
         LEFT JOIN output_history o ON o.session = h.session AND o.line = h.line
         LEFT JOIN ipycodex_entries e ON e.session = h.session AND e.line = h.line
         WHERE h.session = ?1 ORDER BY h.line",
    )?;
    let cells = cells.query_map([session], |row| {
        Ok(CellEntry {
            line: row.get(0)?,
            source: row.get(1)?,
            output: row.get(2)?,
            hidden: row.get::<_, i64>(3)? & turns::HIDDEN != 0,
            stepped_over: row.get::<_, i64>(3)? & turns::STEPPED_OVER != 0,
            told: row.get(4)?,
            failed: row.get(5)?,
            shell: shell(row.get(6)?, row.get(7)?, &row.get::<_, String>(8)?),
            ..CellEntry::default()
        })
    })?;
    let mut prompts = db.prepare_cached(
        "SELECT p.id, coalesce(t.line, p.history_line + 1), p.history_line, p.prompt, p.response, coalesce(t.hidden, 0),
                coalesce(t.expansion, ''), coalesce(t.state = 'complete', 0)
         FROM ai_prompts p LEFT JOIN ipycodex_turns t ON t.prompt_row = p.id WHERE p.session = ?1 ORDER BY p.id",
    )?;
    let prompts = prompts.query_map([session], |row| {
        Ok(PromptEntry {
            id: row.get(0)?,
            line: row.get(1)?,
            history_line: row.get(2)?,
            prompt: row.get(3)?,
            response: row.get(4)?,
            complete: row.get(7)?,
            hidden: row.get(5)?,
            expansion: Expansion {
                xml: row.get(6)?,
                images: Vec::new(),
            },
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
    let mut begun: HashMap<TurnKey, &PromptStart> = HashMap::new();
    for write in waiting {
        match write {
            Write::Input {
                line,
                source,
                raw,
                shell,
                ..
            } => dialog.cells.push(CellEntry {
                line: *line,
                source: raw.clone(),
                shell: self::shell(shell.clone(), None, source),
                ..CellEntry::default()
            }),
            Write::Output {
                line, text, state, ..
            } => {
                if let Some(cell) = dialog.cells.iter_mut().rfind(|cell| cell.line == *line) {
                    cell.output = (!text.is_empty()).then(|| text.clone());
                    cell.failed = *state == CellEnd::Failed;
                }
            }
            Write::Exited { line, exit } => {
                let cells = dialog.cells.iter_mut().filter(|cell| cell.line == *line);
                for shell in cells.filter_map(|cell| cell.shell.as_mut()) {
                    shell.exit = Some(*exit);
                }
            }
            Write::Told { line, prompt } => {
                for cell in dialog.cells.iter_mut().filter(|cell| cell.line == *line) {
                    cell.told = Some(*prompt);
                }
            }
            Write::BeginTurn { key, start } => {
                begun.insert(*key, start);
            }
            Write::FinishTurn {
                key,
                outcome,
                response,
                ..
            } if *outcome != RecordedOutcome::Failed => {
                if let Some(start) = begun.remove(key) {
                    if let Some(replaced) = &start.replaces {
                        dialog.hide(replaced, true);
                    }
                    dialog.prompts.push(PromptEntry {
                        id: i64::MAX,
                        line: start.line,
                        history_line: start.history_line,
                        prompt: start.prompt.clone(),
                        expansion: Expansion {
                            xml: start.expansion.xml.clone(),
                            images: Vec::new(),
                        },
                        response: response.clone(),
                        complete: *outcome == RecordedOutcome::Complete,
                        hidden: false,
                    });
                }
            }
            Write::Hide { lines, hidden } => dialog.hide(lines, *hidden),
            Write::StepOver {
                session: None,
                lines,
                over,
            } => dialog.step_over(lines, *over),
            Write::Reset => {
                dialog.prompts.clear();
                dialog.reset_line = dialog.cells.iter().map(|cell| cell.line).max().unwrap_or(0);
            }
            _ => {}
        }
    }
    dialog.cells.sort_by_key(|cell| cell.line);
}
