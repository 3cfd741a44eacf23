//! A session as it was before this process resumed it: its last entries as shown, and the cells to run again.
//!
//! Out: a [`SessionTail`], for which only the requested number of entries is read, and of each text no more than can
//! be shown; or every cell with how it ended. Sessions of IPython's own have neither states nor prompts: their cells
//! count as successful.

use rusqlite::{Connection, OptionalExtension, params};

use super::request::RecordWrite;
use super::turns::STEPPED_OVER;
use super::values::{CellStatus, RecordedCell, SessionTail, TailEntry};
use crate::input::{has_prompt_dot, is_ipycodex_input};
use crate::output::shown::Layout;

/// Characters that are read of an output or an answer.
const MAX_CHARACTERS: i64 = 64 << 10;

/// Inputs that are classified to count cells without commands; in a longer session, commands count as cells.
const MAX_CLASSIFIED: u32 = 1000;

/// The end of a session: at most `most` entries.
pub(super) fn read(
    db: &Connection,
    session: i64,
    most: u32,
) -> rusqlite::Result<Option<SessionTail>> {
    let Some(mut earlier) = summary(db, session)? else {
        return Ok(None);
    };
    // Commands among them are skipped, up to a bound for sessions of nothing but commands.
    let mut inputs = db.prepare_cached(
        "SELECT h.line, coalesce(h.source_raw, h.source, ''), coalesce(substr(o.output, 1, ?3), ''),
                coalesce(e.hidden, 0), t.hidden, substr(p.response, 1, ?3),
                e.layout, e.state IS NULL
         FROM history h
         LEFT JOIN output_history o ON o.session = h.session AND o.line = h.line
         LEFT JOIN ipycodex_entries e ON e.session = h.session AND e.line = h.line
         LEFT JOIN ipycodex_turns t ON t.session = h.session AND t.line = h.line AND t.prompt_row IS NOT NULL
         LEFT JOIN ai_prompts p ON p.id = t.prompt_row
         WHERE h.session = ?1 AND h.line > 0 ORDER BY h.line DESC LIMIT ?2",
    )?;
    let looked_at = most.saturating_mul(4);
    let found = inputs.query_map(params![session, looked_at, MAX_CHARACTERS], |row| {
        let answer: Option<String> = row.get(5)?;
        let hidden: Option<bool> = row.get(4)?;
        let (source, shown): (String, String) = (row.get(1)?, row.get(2)?);
        let layout: Option<String> = row.get(6)?;
        // IPython stores only values.
        let foreign: bool = row.get(7)?;
        let value = match layout {
            Some(layout) => Layout::from_json(&layout).value(&shown),
            None => (foreign && !shown.is_empty()).then_some(0..shown.len()),
        };
        Ok(TailEntry {
            line: row.get(0)?,
            is_answer: answer.is_some(),
            value: value.filter(|_| answer.is_none()),
            shown: answer.unwrap_or(shown),
            source,
            hidden: hidden.unwrap_or(row.get(3)?),
        })
    })?;
    for entry in found {
        let entry = entry?;
        if entry.is_answer || !is_command(&entry.source) {
            earlier.entries.push(entry);
        }
    }
    for exchange in unnumbered(db, session, most)? {
        let typed = earlier.entries.iter_mut().find(|entry| {
            let is_prompt = has_prompt_dot(&entry.source);
            entry.line == exchange.line && !entry.is_answer && is_prompt
        });
        match typed {
            Some(entry) => {
                (entry.shown, entry.value, entry.is_answer) = (exchange.shown, None, true);
            }
            None => earlier.entries.push(exchange),
        }
    }
    let newest_first = |entry: &TailEntry| (std::cmp::Reverse(entry.line), !entry.is_answer);
    earlier.entries.sort_by_key(newest_first);
    earlier
        .entries
        .truncate(usize::try_from(most).unwrap_or(usize::MAX));
    earlier.entries.reverse();
    Ok(Some(earlier))
}

/// Prompts and answers of a program that records no numbers of their own: they stand behind the last code before
/// them.
fn unnumbered(db: &Connection, session: i64, most: u32) -> rusqlite::Result<Vec<TailEntry>> {
    let mut prompts = db.prepare_cached(
        "SELECT p.history_line + 1, p.prompt, substr(p.response, 1, ?3) FROM ai_prompts p
         LEFT JOIN ipycodex_turns t ON t.prompt_row = p.id
         WHERE p.session = ?1 AND t.id IS NULL ORDER BY p.id DESC LIMIT ?2",
    )?;
    let rows = prompts.query_map(params![session, most, MAX_CHARACTERS], |row| {
        let prompt: String = row.get(1)?;
        Ok(TailEntry {
            line: row.get(0)?,
            source: crate::input::prompt_source(&prompt),
            shown: row.get(2)?,
            value: None,
            is_answer: true,
            hidden: false,
        })
    })?;
    rows.collect()
}

fn summary(db: &Connection, session: i64) -> rusqlite::Result<Option<SessionTail>> {
    db.query_row(
        "SELECT coalesce(s.start, ''), i.name,
                CASE WHEN json_valid(s.remark) THEN json_extract(s.remark, '$.cwd') ELSE s.remark END,
                CASE WHEN (SELECT count(*) FROM history h WHERE h.session = s.session) > ?2
                THEN (SELECT count(*) FROM history h WHERE h.session = s.session)
                     - (SELECT count(*) FROM ipycodex_turns t WHERE t.session = s.session)
                ELSE (SELECT count(*) FROM history h WHERE h.session = s.session AND h.line > 0
                     AND substr(ltrim(coalesce(h.source_raw, h.source), char(10, 13, 32)), 1, 1) <> '.'
                     AND ltrim(coalesce(h.source_raw, h.source), char(10, 13, 32, 37)) NOT LIKE 'ipycodex%') END,
                (SELECT count(*) FROM ai_prompts p WHERE p.session = s.session),
                CASE WHEN json_valid(s.remark) THEN json_extract(s.remark, '$.provider') END
         FROM sessions s LEFT JOIN ipycodex_sessions i ON i.session = s.session WHERE s.session = ?1",
        params![session, MAX_CLASSIFIED],
        |row| {
            Ok(SessionTail {
                session,
                start: row.get(0)?,
                name: row.get(1)?,
                cwd: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
                cells: row.get(3)?,
                prompts: row.get(4)?,
                provider: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
                entries: Vec::new(),
            })
        },
    )
    .optional()
}

/// Every cell of a session, in order; prompts and commands, ours and the shell's, are left out.
pub(super) fn read_cells(db: &Connection, session: i64) -> rusqlite::Result<Vec<RecordedCell>> {
    let mut rows = db.prepare_cached(
        "SELECT h.line, coalesce(h.source_raw, h.source, ''), coalesce(e.state, 'complete') = 'complete',
                coalesce(e.hidden, 0) FROM history h
         LEFT JOIN ipycodex_entries e ON e.session = h.session AND e.line = h.line
         WHERE h.session = ?1 AND h.line > 0 AND e.shell IS NULL ORDER BY h.line",
    )?;
    let rows = rows.query_map([session], |row| {
        Ok(RecordedCell {
            line: row.get(0)?,
            source: row.get(1)?,
            succeeded: row.get(2)?,
            stepped_over: row.get::<_, i64>(3)? & STEPPED_OVER != 0,
        })
    })?;
    let cells: Vec<RecordedCell> = rows.collect::<Result<_, _>>()?;
    Ok(cells
        .into_iter()
        .filter(|cell| !is_ipycodex_input(&cell.source) && !cell.source.trim().is_empty())
        .collect())
}

/// Adds the cells of pending writes.
pub(super) fn overlay_cells(
    cells: &mut Vec<RecordedCell>,
    waiting: &mut dyn Iterator<Item = &RecordWrite>,
) {
    for write in waiting {
        match write {
            RecordWrite::Input {
                line,
                raw,
                shell: None,
                ..
            } if !is_ipycodex_input(raw) => cells.push(RecordedCell {
                line: *line,
                source: raw.clone(),
                succeeded: false,
                stepped_over: false,
            }),
            RecordWrite::Output { line, state, .. } => {
                if let Some(cell) = cells.iter_mut().rfind(|cell| cell.line == *line) {
                    cell.succeeded = *state == CellStatus::Complete;
                }
            }
            RecordWrite::StepOver {
                session: None,
                lines,
                over,
            } => {
                step_over(cells, |line| lines.contains(&line), *over);
            }
            RecordWrite::Hide {
                lines,
                hidden: false,
            } => step_over(cells, |line| lines.contains(&line), false),
            _ => {}
        }
    }
}

fn step_over(cells: &mut [RecordedCell], is_selected: impl Fn(u32) -> bool, over: bool) {
    for cell in cells.iter_mut().filter(|cell| is_selected(cell.line)) {
        cell.stepped_over = over;
    }
}

fn is_command(source: &str) -> bool {
    is_ipycodex_input(source) && !has_prompt_dot(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_wait_to_be_written_are_cells() {
        let input = |line, raw: &str, shell: Option<&str>| RecordWrite::Input {
            line,
            source: raw.into(),
            raw: raw.into(),
            shell: shell.map(str::to_owned),
            at: std::time::UNIX_EPOCH,
        };
        let output = |line, state| RecordWrite::Output {
            line,
            text: String::new(),
            bundles: Vec::new(),
            layout: String::new(),
            state,
            execution_ms: 0,
        };
        let step = |session, line, over| RecordWrite::StepOver {
            session,
            lines: vec![line],
            over,
        };
        let hide = |line, hidden| RecordWrite::Hide {
            lines: line..=line,
            hidden,
        };
        let waiting = [
            input(1, "a", None),
            input(2, "b", None),
            input(3, ".p", None),
            input(4, "ls", Some("ls")),
            input(5, "c", None),
            input(6, "d", None),
            output(1, CellStatus::Complete),
            output(2, CellStatus::Failed),
            step(None, 1, true),
            step(None, 2, true),
            step(None, 2, false),
            step(Some(9), 5, true),
            step(None, 6, true),
            hide(5, true),
            hide(6, false),
        ];
        let mut cells = Vec::new();
        overlay_cells(&mut cells, &mut waiting.iter());
        let cells = cells.iter();
        let cells: Vec<_> = cells
            .map(|cell| (cell.line, cell.succeeded, cell.stepped_over))
            .collect();
        let expected = [
            (1, true, true),
            (2, false, false),
            (5, false, false),
            (6, false, false),
        ];
        assert_eq!(cells, expected);
    }
}
