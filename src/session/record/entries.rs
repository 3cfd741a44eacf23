//! Inputs, outputs and turns: each write is one short transaction; the dialog is read back.

use std::collections::HashMap;
use std::time::SystemTime;

use rusqlite::{Connection, TransactionBehavior, params};

use super::network::NumberedWrites;
use super::pending::PendingWrite;
use super::request::RecordWrite;
use super::row_map::RowMap;
use super::values::{CellStatus, PromptStart, RecordedOutcome, RecordedThread, TurnKey};
use super::{answer_parts, decisions, pictures, turns, usage};
use crate::dialog::{CellEntry, Dialog, Expansion, PromptEntry, ShellEntry};
use crate::input::shell_cell;

/// Writes changes of `session`, all or none; where machines share the file, with the number of this write.
pub(super) fn write<'a>(
    db: &mut Connection,
    session: i64,
    number: Option<&NumberedWrites>,
    rows: &mut RowMap,
    entries: impl Iterator<Item = &'a PendingWrite> + Clone,
) -> rusqlite::Result<()> {
    // An answer cannot be typed again: its commit is synced, to survive a power cut.
    let precious = entries
        .clone()
        .any(|entry| matches!(entry.write, RecordWrite::FinishTurn { .. }));
    if precious {
        db.pragma_update(None, "synchronous", "FULL")?;
    }
    let result = (|| {
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut next = rows.clone();
        for entry in entries {
            apply(&change, session, &mut next, entry)?;
        }
        if let Some(number) = number {
            number.leave(&change)?;
        }
        change.commit()?;
        *rows = next;
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
    rows: &mut RowMap,
    entry: &PendingWrite,
) -> rusqlite::Result<()> {
    match &entry.write {
        RecordWrite::Input {
            line,
            source,
            raw,
            shell,
            at,
        } => {
            let line = free_line(change, session, rows, *line)?;
            change
                .prepare_cached("INSERT INTO history VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![session, line, source, raw])?;
            change
                .prepare_cached("INSERT OR REPLACE INTO ipycodex_entries (session, line, state, began_at, shell) \
                                 VALUES (?1, ?2, 'running', ?3, ?4)")?
                .execute(params![session, line, seconds(*at), shell])?;
        }
        RecordWrite::ShellExit { line, exit } => {
            change.execute(
                "UPDATE ipycodex_entries SET exit = ?3 WHERE session = ?1 AND line = ?2",
                params![session, rows.lines.to_file(*line), exit],
            )?;
        }
        RecordWrite::Output {
            line,
            text,
            bundles,
            layout,
            state,
            execution_ms,
        } => {
            let line = rows.lines.to_file(*line);
            if !text.is_empty() {
                change
                    .prepare_cached("INSERT OR REPLACE INTO output_history VALUES (?1, ?2, ?3)")?
                    .execute(params![session, line, text])?;
            }
            pictures::write_bundles(change, session, line, bundles)?;
            change
                .prepare_cached(
                    "INSERT INTO ipycodex_entries (session, line, state, execution_ms, layout)
                     VALUES (?1, ?2, ?3, ?4, nullif(?5, ''))
                     ON CONFLICT DO UPDATE SET state = ?3, execution_ms = ?4, layout = nullif(?5, '')",
                )?
                .execute(params![session, line, state.name(), i64::try_from(*execution_ms).ok(), layout])?;
        }
        RecordWrite::BeginTurn { key, start } => {
            turns::begin(change, session, rows, start, entry.early)?;
            rows.turns.insert(*key, change.last_insert_rowid());
        }
        RecordWrite::Stream { key, at, text } => {
            if let Some(turn) = rows.turns.get(key) {
                answer_parts::write_part(change, *turn, *at, text)?;
            }
        }
        RecordWrite::FinishTurn {
            key,
            outcome,
            response,
            usage,
        } => {
            let Some(turn) = rows.turns.remove(key) else {
                return Ok(()); // the row of its begin was dropped
            };
            let state = match outcome {
                RecordedOutcome::Complete => "complete",
                RecordedOutcome::Interrupted => "cancelled",
                RecordedOutcome::Failed => "failed",
            };
            let usage = usage.as_ref().map(usage::json);
            answer_parts::delete_parts(change, turn)?;
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
        RecordWrite::Thread { thread, provider } => {
            let (id, digest) = match thread {
                Some(RecordedThread { id, digest, .. }) => (Some(id), Some(digest)),
                None => (None, None),
            };
            if let Some(thread) = thread.as_ref().filter(|thread| thread.point.is_some()) {
                super::sessions::keep_point(change, session, thread)?;
            }
            change.execute(
                "UPDATE ipycodex_sessions SET thread = ?2, digest = ?3 WHERE session = ?1",
                params![session, id, digest],
            )?;
            super::sessions::set_agent(change, session, provider, id.map(String::as_str))?;
        }
        RecordWrite::Hide { lines, hidden } => {
            let (from, to) = (
                rows.lines.to_file(*lines.start()),
                rows.lines.to_file(*lines.end()),
            );
            turns::hide(change, session, from, to, *hidden)?;
        }
        RecordWrite::StepOver {
            session: other,
            lines,
            over,
        } => {
            for line in lines {
                let here = (session, rows.lines.to_file(*line));
                let (session, line) = other.map_or(here, |other| (other, *line));
                turns::step_over(change, session, line, *over)?;
            }
        }
        RecordWrite::InAnswer { line, prompt } => {
            change.execute(
                "UPDATE ipycodex_entries SET told = ?3 WHERE session = ?1 AND line = ?2",
                params![
                    session,
                    rows.lines.to_file(*line),
                    rows.lines.to_file(*prompt)
                ],
            )?;
        }
        RecordWrite::Decision(decided) => {
            decisions::write(change, session, rows.lines.to_file(decided.line), decided)?;
        }
        RecordWrite::Rename(name) => {
            change.execute(
                "UPDATE ipycodex_sessions SET name = ?2 WHERE session = ?1",
                params![session, name],
            )?;
        }
        RecordWrite::Reset => super::sessions::reset(change, session)?,
    }
    Ok(())
}

/// Marks an entry as a shell command; `source` is as a notebook has it, or as typed.
pub(super) fn shell(
    command: Option<String>,
    exit: Option<i32>,
    source: &str,
) -> Option<ShellEntry> {
    command.map(|command| ShellEntry {
        cell: match source.starts_with("%%") {
            true => source.to_owned(),
            // Rows written before zsh was supported name no shell.
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

/// The line of an input in the file: its own number, or one behind the last row when the number is taken.
fn free_line(db: &Connection, session: i64, rows: &mut RowMap, line: u32) -> rusqlite::Result<u32> {
    let place = rows.lines.to_file(line);
    let taken: bool = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM history WHERE session = ?1 AND line = ?2)")?
        .query_row(params![session, place], |row| row.get(0))?;
    if !taken {
        return Ok(place);
    }
    let free = super::sessions::last_line(db, session)? + 1;
    rows.lines.shift(line, free);
    Ok(free)
}

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
            in_answer_of: row.get(4)?,
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

/// Applies pending writes to a dialog read from the file (or to an empty one).
pub(super) fn overlay(dialog: &mut Dialog, waiting: &mut dyn Iterator<Item = &RecordWrite>) {
    let mut begun: HashMap<TurnKey, &PromptStart> = HashMap::new();
    for write in waiting {
        match write {
            RecordWrite::Input {
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
            RecordWrite::Output {
                line, text, state, ..
            } => {
                if let Some(cell) = dialog.cells.iter_mut().rfind(|cell| cell.line == *line) {
                    cell.output = (!text.is_empty()).then(|| text.clone());
                    cell.failed = *state == CellStatus::Failed;
                }
            }
            RecordWrite::ShellExit { line, exit } => {
                let cells = dialog.cells.iter_mut().filter(|cell| cell.line == *line);
                for shell in cells.filter_map(|cell| cell.shell.as_mut()) {
                    shell.exit = Some(*exit);
                }
            }
            RecordWrite::InAnswer { line, prompt } => {
                for cell in dialog.cells.iter_mut().filter(|cell| cell.line == *line) {
                    cell.in_answer_of = Some(*prompt);
                }
            }
            RecordWrite::BeginTurn { key, start } => {
                begun.insert(*key, start);
            }
            RecordWrite::FinishTurn {
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
            RecordWrite::Hide { lines, hidden } => dialog.hide(lines, *hidden),
            RecordWrite::StepOver {
                session: None,
                lines,
                over,
            } => dialog.step_over(lines, *over),
            RecordWrite::Reset => {
                dialog.prompts.clear();
                dialog.reset_line = dialog.cells.iter().map(|cell| cell.line).max().unwrap_or(0);
            }
            _ => {}
        }
    }
    dialog.cells.sort_by_key(|cell| cell.line);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_seconds_since_1970() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(seconds(at(0)), Some(0));
        assert_eq!(seconds(at(7) + Duration::from_millis(900)), Some(7));
        assert_eq!(
            seconds(SystemTime::UNIX_EPOCH - Duration::from_secs(1)),
            None
        );
    }

    #[test]
    fn what_waits_to_be_written_is_part_of_the_dialog() {
        let input = |line, shell: Option<&str>| RecordWrite::Input {
            line,
            source: format!("code {line}"),
            raw: format!("raw {line}"),
            shell: shell.map(str::to_owned),
            at: SystemTime::UNIX_EPOCH,
        };
        let output = |line, text: &str, state| RecordWrite::Output {
            line,
            text: text.to_owned(),
            bundles: Vec::new(),
            layout: String::new(),
            state,
            execution_ms: 0,
        };
        let finish = |key, outcome| RecordWrite::FinishTurn {
            key: TurnKey(key),
            outcome,
            response: format!("answer {key}"),
            usage: None,
        };
        let begin = |key, line| RecordWrite::BeginTurn {
            key: TurnKey(key),
            start: Box::new(PromptStart::new(line, 1, "p")),
        };
        let waiting = [
            input(9, None),
            input(1, None),
            input(2, Some("ls")),
            output(1, "1", CellStatus::Complete),
            output(9, "", CellStatus::Failed),
            output(7, "of nobody", CellStatus::Failed),
            RecordWrite::ShellExit { line: 2, exit: 3 },
            RecordWrite::InAnswer { line: 9, prompt: 4 },
            begin(4, 4),
            begin(5, 5),
            begin(6, 6),
            begin(8, 8),
            finish(4, RecordedOutcome::Complete),
            finish(5, RecordedOutcome::Failed),
            finish(6, RecordedOutcome::Interrupted),
        ];
        let mut dialog = Dialog::default();
        overlay(&mut dialog, &mut waiting.iter());
        let cells: Vec<_> = dialog
            .cells
            .iter()
            .map(|cell| {
                (
                    cell.line,
                    &*cell.source,
                    cell.output.as_deref(),
                    cell.failed,
                    cell.in_answer_of,
                )
            })
            .collect();
        let expected = [
            (1, "raw 1", Some("1"), false, None),
            (2, "raw 2", None, false, None),
            (9, "raw 9", None, true, Some(4)),
        ];
        assert_eq!(cells, expected);
        let shell = dialog.cells[1].shell.as_ref().unwrap();
        assert_eq!((shell.command.as_str(), shell.exit), ("ls", Some(3)));
        let prompts = dialog.prompts.iter();
        let prompts: Vec<_> = prompts
            .map(|prompt| (prompt.line, &*prompt.response, prompt.complete))
            .collect();
        assert_eq!(prompts, [(4, "answer 4", true), (6, "answer 6", false)]);
        overlay(&mut dialog, &mut [RecordWrite::Reset].iter());
        assert_eq!((dialog.prompts.len(), dialog.reset_line), (0, 9));
    }
}
