//! Sessions of the record in the form that is saved to a file: cells with their outputs, and prompts with answers.
//!
//! In: the dialog, and for each cell the formats of its values and their places. Out: a [`SavedSession`] without
//! hidden, undone and stepped-over entries, without commands, and without prompts that have no answer. Pending writes
//! count.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use super::entries;
use super::request::RecordWrite;
use super::values::StoredBundle;
use crate::dialog::{Dialog, PromptEntry};
use crate::input::{has_prompt_dot, is_ipycodex_input};
use crate::notebook::{CellTiming, SavedCell, SavedPrompt, SavedSession};
use crate::output::mime::MimeBundle;
use crate::output::shown::{Layout, without_layout};

/// The stored parts of a cell beside its text.
#[derive(Debug, Default)]
pub(super) struct StoredCell {
    bundles: Vec<MimeBundle>,
    layout: Option<String>,
    /// Seconds since 1970.
    began: Option<i64>,
    /// Milliseconds.
    took: Option<i64>,
    /// We wrote a row for the cell.
    ours: bool,
}

/// The current session; `waiting` gives the pending writes.
pub(super) fn with_pending<'a, W: Iterator<Item = &'a RecordWrite>>(
    mut dialog: Dialog,
    mut forms: HashMap<u32, StoredCell>,
    waiting: impl Fn() -> W,
) -> SavedSession {
    entries::overlay(&mut dialog, &mut waiting());
    for write in waiting() {
        match write {
            RecordWrite::Input { line, at, .. } => {
                let began = entries::seconds(*at);
                let ours = true;
                let known = StoredCell {
                    began,
                    ours,
                    ..StoredCell::default()
                };
                forms.insert(*line, known);
            }
            RecordWrite::Output {
                line,
                bundles,
                layout,
                execution_ms,
                ..
            } => {
                let known = forms.entry(*line).or_default();
                let bundles = bundles.iter();
                known.bundles = bundles
                    .filter_map(|it| StoredBundle::parse(&it.json))
                    .collect();
                known.layout = Some(layout.clone());
                known.took = i64::try_from(*execution_ms).ok();
                known.ours = true;
            }
            _ => {}
        }
    }
    assemble(dialog, forms)
}

/// A session in the file; `None` when the number is unknown.
pub(super) fn read(db: &Connection, session: i64) -> rusqlite::Result<Option<SavedSession>> {
    let there = db
        .query_row(
            "SELECT 1 FROM sessions WHERE session = ?1",
            [session],
            |_| Ok(()),
        )
        .optional()?;
    there
        .map(|()| {
            Ok(assemble(
                entries::dialog(db, session)?,
                read_cells(db, session)?,
            ))
        })
        .transpose()
}

pub(super) fn read_cells(
    db: &Connection,
    session: i64,
) -> rusqlite::Result<HashMap<u32, StoredCell>> {
    let mut forms: HashMap<u32, StoredCell> = HashMap::new();
    let mut rows = db.prepare_cached(
        "SELECT line, layout, began_at, execution_ms FROM ipycodex_entries WHERE session = ?1",
    )?;
    let mut rows = rows.query([session])?;
    while let Some(row) = rows.next()? {
        let known = StoredCell {
            layout: row.get(1)?,
            began: row.get(2)?,
            took: row.get(3)?,
            ours: true,
            ..StoredCell::default()
        };
        forms.insert(row.get(0)?, known);
    }
    let mut rows = db.prepare_cached(
        "SELECT line, bundle FROM ipycodex_outputs WHERE session = ?1 ORDER BY line, position",
    )?;
    let mut rows = rows.query([session])?;
    while let Some(row) = rows.next()? {
        let json: String = row.get(1)?;
        // A damaged one keeps its place: the layout refers to bundles by their index.
        let bundle = StoredBundle::parse(&json).unwrap_or_default();
        forms.entry(row.get(0)?).or_default().bundles.push(bundle);
    }
    Ok(forms)
}

fn assemble(dialog: Dialog, mut forms: HashMap<u32, StoredCell>) -> SavedSession {
    let prompts = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
    let prompts = prompts.map(|prompt| saved_prompt(prompt, &dialog, &forms));
    let prompts = prompts.collect();
    let cells = dialog.cells.into_iter();
    let cells = cells.filter(|cell| !cell.is_excluded() && !cell.source.trim().is_empty());
    let cells = cells
        .filter(|cell| !is_ipycodex_input(&cell.source))
        .map(|cell| {
            let forms = forms.remove(&cell.line).unwrap_or_default();
            let layout = forms.layout.as_deref().map(Layout::from_json);
            let ran = forms.began.map(|began| CellTiming {
                began,
                took: forms.took,
            });
            let text = cell.output.unwrap_or_default();
            SavedCell {
                outputs: match &layout {
                    Some(layout) => layout.outputs(&text, forms.bundles),
                    None => without_layout(&text, forms.bundles, !forms.ours),
                },
                ran,
                metadata: layout
                    .map(|layout| layout.metadata().clone())
                    .unwrap_or_default(),
                line: cell.line,
                source: match &cell.shell {
                    Some(shell) => shell.cell.clone(),
                    None => cell.source,
                },
                failed: cell.failed,
            }
        });
    SavedSession::new(cells.collect(), prompts)
}

/// In rows of another program, which increments its number before a cell runs, a prompt names its own line as the
/// last of code.
fn saved_prompt(
    prompt: &PromptEntry,
    dialog: &Dialog,
    forms: &HashMap<u32, StoredCell>,
) -> SavedPrompt {
    let code_before = |line: u32| {
        let end = dialog.cells.partition_point(|cell| cell.line < line);
        let mut before = dialog.cells[..end].iter().rev();
        let code = before.find(|cell| !is_ipycodex_input(&cell.source));
        code.map_or(0, |cell| cell.line)
    };
    let named = dialog
        .cells
        .binary_search_by_key(&prompt.history_line, |cell| cell.line);
    let is_prompt = named.is_ok_and(|at| has_prompt_dot(&dialog.cells[at].source));
    let (line, history_line) = if is_prompt {
        (prompt.history_line, code_before(prompt.history_line))
    } else {
        (prompt.line, prompt.history_line)
    };
    SavedPrompt {
        line,
        history_line,
        prompt: prompt.prompt.clone(),
        response: prompt.response.clone(),
        metadata: forms
            .get(&line)
            .and_then(|forms| forms.layout.as_deref())
            .map(|layout| Layout::from_json(layout).metadata().clone())
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::super::{CellStatus, file};
    use super::*;
    use crate::notebook::SavedEntry;

    fn cells(session: &SavedSession) -> Vec<(u32, &str, bool, Option<CellTiming>)> {
        let cells = session.cells();
        cells
            .map(|cell| (cell.line, &*cell.source, cell.failed, cell.ran))
            .collect()
    }

    fn ran(began: i64, took: Option<i64>) -> Option<CellTiming> {
        Some(CellTiming { began, took })
    }

    #[test]
    fn what_waits_is_saved_like_what_is_in_the_file() {
        let db = file::open_in_memory();
        db.execute_batch(
            "INSERT INTO sessions (session) VALUES (1);
             INSERT INTO history VALUES (1, 1, 'a', 'a'), (1, 2, ' ', ' '), (1, 3, '.p', '.p'),
                 (1, 4, '%ipycodex usage', '%ipycodex usage'), (1, 5, 'hidden', 'hidden'), (1, 6, 'b', 'b');
             INSERT INTO ipycodex_entries (session, line, state, hidden, began_at, execution_ms)
                 VALUES (1, 1, 'complete', 0, 7, 8), (1, 5, 'complete', 1, 7, 8), (1, 6, 'failed', 0, 9, NULL);",
        )
        .unwrap();
        assert_eq!(read(&db, 2).unwrap(), None);
        let saved = read(&db, 1).unwrap().unwrap();
        let in_file = [
            (1, "a", false, ran(7, Some(8))),
            (6, "b", true, ran(9, None)),
        ];
        assert_eq!(cells(&saved), in_file);
        let input = |line, seconds| RecordWrite::Input {
            line,
            source: "c".into(),
            raw: "c".into(),
            shell: None,
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
        };
        let output = RecordWrite::Output {
            line: 7,
            text: "1".into(),
            bundles: Vec::new(),
            layout: String::new(),
            state: CellStatus::Failed,
            execution_ms: 12,
        };
        let waiting = [input(7, 10), output, input(8, 11)];
        let (dialog, forms) = (
            entries::dialog(&db, 1).unwrap(),
            read_cells(&db, 1).unwrap(),
        );
        let saved = with_pending(dialog, forms, || waiting.iter());
        let pending = [
            (7, "c", true, ran(10, Some(12))),
            (8, "c", false, ran(11, None)),
        ];
        assert_eq!(cells(&saved), [in_file, pending].concat());
    }

    #[test]
    fn a_prompt_of_another_program_names_its_own_line() {
        let db = file::open_in_memory();
        db.execute_batch(
            "INSERT INTO sessions (session) VALUES (1);
             INSERT INTO history VALUES (1, 1, 'a', 'a'), (1, 2, '%ipycodex usage', '%ipycodex usage'),
                 (1, 3, '.p', '.p'), (1, 4, 'b', 'b');
             INSERT INTO ai_prompts VALUES (1, 1, 'p', 'theirs', 3), (2, 1, 'q', 'also theirs', 4);
             INSERT INTO ipycodex_turns (session, line, history_line, prompt, state, prompt_row)
                 VALUES (1, 9, 4, 'r', 'complete', 3);
             INSERT INTO ai_prompts VALUES (3, 1, 'r', 'ours', 4);",
        )
        .unwrap();
        let saved = read(&db, 1).unwrap().unwrap();
        let prompts = saved.entries().iter().filter_map(|entry| match entry {
            SavedEntry::Prompt(prompt) => {
                Some((prompt.line, prompt.history_line, &*prompt.response))
            }
            SavedEntry::Code(_) => None,
        });
        let prompts: Vec<_> = prompts.collect();
        assert_eq!(
            prompts,
            [(3, 1, "theirs"), (5, 4, "also theirs"), (9, 4, "ours")]
        );
    }
}
