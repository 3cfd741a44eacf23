//! Recall beyond the inputs in memory: a search of the whole record, in steps.
//!
//! In: a text. Out: the inputs that may contain it, a few hundred rows per step, in the order in which users look
//! back: those of this directory, then the others, each from new to old. Rows are read in blocks; blocks that the
//! index rules out are never read. Invariant: each result was read from its row.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::index::{self, BLOCK_ROWS, directory_of};
use super::listing::CWD;
use super::read_only::ReadConnection;
use super::values::CellStatus;

/// Blocks read per step.
const BLOCKS_PER_STEP: usize = 12;

/// The longest wait for a file that another program holds.
const PATIENCE: Duration = Duration::from_millis(100);

/// The file and the scope of a search.
#[derive(Debug, Clone)]
pub(super) struct RecallSource {
    pub(super) path: PathBuf,
    /// The directory that comes first.
    pub(super) cwd: String,
    /// The last row when the record was opened.
    pub(super) newest: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputInfo {
    pub directory: String,
    /// How the cell ended, where that was recorded.
    pub state: Option<CellStatus>,
    /// When the input, or else its session, began: local time, `YYYY-MM-DD HH:MM`.
    pub time: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedInput {
    pub text: Arc<str>,
    /// Its row; 0 while unknown.
    pub row: i64,
}

#[derive(Debug)]
pub struct RecallSearch {
    look: ReadConnection,
    source: RecallSource,
    text: String,
    /// Inputs of this directory are still being searched.
    in_cwd_pass: bool,
    /// Blocks still to be read, the next one last; `None`: not known yet.
    blocks: Option<Vec<i64>>,
    /// By session: true when it is of this directory.
    sessions: HashMap<i64, bool>,
}

impl RecallSearch {
    pub(super) fn open(source: &RecallSource, text: &str) -> rusqlite::Result<Self> {
        Ok(RecallSearch {
            look: ReadConnection::open(&source.path, PATIENCE)?.0,
            source: source.clone(),
            text: text.to_owned(),
            in_cwd_pass: true,
            blocks: None,
            sessions: HashMap::new(),
        })
    }

    /// The next matching inputs, maybe none in this step; `None`: there are no more.
    pub fn next_batch(&mut self, fits: impl Fn(&str) -> bool) -> Option<Vec<RecordedInput>> {
        // A record that can no longer be read ends the search.
        self.step(fits).ok().flatten()
    }

    pub fn info(&mut self, input: &RecordedInput) -> Option<InputInfo> {
        let newest = self.source.newest;
        self.look.read(|db| facts(db, input, newest)).ok().flatten()
    }

    fn step(
        &mut self,
        fits: impl Fn(&str) -> bool,
    ) -> rusqlite::Result<Option<Vec<RecordedInput>>> {
        let RecallSearch {
            look,
            source,
            text,
            in_cwd_pass,
            blocks,
            sessions,
        } = self;
        let mut left = match blocks.take() {
            Some(left) => left,
            None => {
                let directory = in_cwd_pass.then_some(source.cwd.as_str());
                look.read(|db| index::candidate_blocks(db, source.newest, directory, text))?
            }
        };
        let mut found = Vec::new();
        for _ in 0..BLOCKS_PER_STEP {
            let Some(block) = left.pop() else { break };
            let rows = look.read(|db| matching_rows(db, block, source.newest, &fits))?;
            for (row, session, text) in rows {
                let in_cwd = match sessions.get(&session) {
                    Some(known) => *known,
                    None => look.read(|db| is_in_directory(db, session, &source.cwd))?,
                };
                sessions.insert(session, in_cwd);
                if in_cwd == *in_cwd_pass {
                    found.push(RecordedInput { text, row });
                }
            }
        }
        if left.is_empty() && !std::mem::take(in_cwd_pass) {
            *blocks = Some(left);
            return Ok((!found.is_empty()).then_some(found));
        }
        if !left.is_empty() {
            *blocks = Some(left);
        }
        Ok(Some(found))
    }
}

fn matching_rows(
    db: &Connection,
    block: i64,
    newest: i64,
    fits: &impl Fn(&str) -> bool,
) -> rusqlite::Result<Vec<(i64, i64, Arc<str>)>> {
    let mut rows = db.prepare_cached(
        "SELECT rowid, session, source_raw FROM history WHERE rowid BETWEEN ?1 AND ?2 ORDER BY rowid DESC",
    )?;
    let last = (block * BLOCK_ROWS + BLOCK_ROWS - 1).min(newest);
    let mut rows = rows.query([block * BLOCK_ROWS, last])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if let Ok(text) = row.get_ref(2)?.as_str()
            && !text.is_empty()
            && fits(text)
        {
            found.push((row.get(0)?, row.get(1)?, Arc::from(text)));
        }
    }
    Ok(found)
}

fn is_in_directory(db: &Connection, session: i64, cwd: &str) -> rusqlite::Result<bool> {
    Ok(directory_of(db, session)?.as_deref() == Some(cwd))
}

pub(super) fn facts(
    db: &Connection,
    input: &RecordedInput,
    newest: i64,
) -> rusqlite::Result<Option<InputInfo>> {
    let row = match input.row {
        // Typed since: the newest row with this text.
        0 => db
            .prepare_cached("SELECT max(rowid) FROM history WHERE rowid > ?1 AND source_raw = ?2")?
            .query_row(params![newest, &*input.text], |row| {
                row.get::<_, Option<i64>>(0)
            })?
            .unwrap_or(0),
        row => row,
    };
    db.prepare_cached(&format!(
        "SELECT coalesce({CWD}, ''), coalesce(e.state, ''),
             coalesce(strftime('%Y-%m-%d %H:%M', e.began_at, 'unixepoch', 'localtime'), substr(s.start, 1, 16), '')
         FROM history h JOIN sessions s ON s.session = h.session
         LEFT JOIN ipycodex_entries e ON e.session = h.session AND e.line = h.line WHERE h.rowid = ?1"
    ))?
    .query_row([row], |row| {
        Ok(InputInfo {
            directory: row.get(0)?,
            state: match row.get_ref(1)?.as_str()? {
                "complete" => Some(CellStatus::Complete),
                "cancelled" => Some(CellStatus::Cancelled),
                "failed" => Some(CellStatus::Failed),
                _ => None,
            },
            time: row.get(2)?,
        })
    })
    .optional()
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    /// 3,000 rows: sessions of ten inputs, alternately in `/here` and `/else`; rows without a session among them.
    fn record(path: &std::path::Path) -> Connection {
        std::fs::write(path, "").unwrap();
        let db = file::connect(path, PATIENCE).unwrap().0;
        db.execute_batch(
            r#"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)
                 INSERT INTO history SELECT i / 10 + 1, i % 10 + 1, '', 'value_' || i || ' = 1' FROM n;
               INSERT INTO sessions (session, start, remark) SELECT DISTINCT session, '2026-01-01 10:00:00.000000',
                 iif(session % 2, '{"cwd":"/here"}', '/else') FROM history;
               UPDATE history SET source_raw = 'ähnlich "wie" needle' || session
                 WHERE (session, line) IN ((3, 1), (4, 2), (299, 3));
               UPDATE history SET source_raw = NULL WHERE (session, line) = (5, 5);
               INSERT INTO ipycodex_entries (session, line, state, began_at) VALUES (3, 1, 'failed', 0);"#,
        )
        .unwrap();
        db
    }

    fn all(source: &RecallSource, text: &str) -> Vec<String> {
        let mut further = RecallSearch::open(source, text).unwrap();
        let mut found = Vec::new();
        while let Some(more) = further.next_batch(|typed| typed.contains(text)) {
            found.extend(more.iter().map(|typed| typed.text.to_string()));
        }
        found
    }

    fn source(path: &std::path::Path) -> RecallSource {
        RecallSource {
            path: path.to_owned(),
            cwd: "/here".into(),
            newest: 3_000,
        }
    }

    #[test]
    fn every_input_is_found_with_or_without_index_and_this_directory_comes_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.sqlite");
        let mut db = record(&path);
        let source = source(&path);
        let mut more = true;
        loop {
            let needles = [299, 3, 4].map(|session| format!("ähnlich \"wie\" needle{session}"));
            assert_eq!(all(&source, "\"wie\" nee"), needles);
            assert_eq!(all(&source, "ä"), needles, "too short for the index");
            assert_eq!(all(&source, "needle299"), needles[..1]);
            assert_eq!(all(&source, "value_7 "), ["value_7 = 1"]);
            assert_eq!(all(&source, "no such thing"), [] as [&str; 0]);
            let everything = all(&source, "");
            assert_eq!(everything.len(), 2_999);
            assert_eq!(
                [&everything[0], &everything[1_498]],
                ["value_2989 = 1", "value_0 = 1"]
            );
            assert_eq!(everything[1_499], "value_2999 = 1");
            if !std::mem::take(&mut more) {
                break;
            }
            while index::index_next(&mut db).unwrap() {}
            assert_eq!(
                index::candidate_blocks(&db, 3_000, None, "no such thing").unwrap(),
                [9, 10, 11]
            );
        }
        // Rows of the newest blocks may come and go: they are not indexed yet.
        db.execute("DELETE FROM history WHERE session > 270", [])
            .unwrap();
        assert!(!index::index_next(&mut db).unwrap());
        assert_eq!(all(&source, "needle3").len(), 1);
        // Another program renumbered the rows: the index no longer holds.
        db.execute_batch(
            "CREATE TEMP TABLE other AS SELECT * FROM history WHERE session > 1 ORDER BY rowid;
             DELETE FROM history; INSERT INTO history SELECT * FROM other;",
        )
        .unwrap();
        assert_eq!(
            index::IndexProgress::read(&db).unwrap(),
            index::IndexProgress::default()
        );
        assert_eq!(all(&source, "needle3").len(), 1);
        while index::index_next(&mut db).unwrap() {}
        assert_eq!(all(&source, "needle3").len(), 1);
        assert_eq!(all(&source, "value_7 "), [] as [&str; 0]);
    }

    #[test]
    fn an_input_has_its_directory_time_and_status() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.sqlite");
        let db = record(&path);
        let mut further = RecallSearch::open(&source(&path), "").unwrap();
        let mut facts = |text: &str, row| {
            let text = text.into();
            further.info(&RecordedInput { text, row })
        };
        let failed = facts("", 21).unwrap();
        assert_eq!(
            (failed.directory.as_str(), failed.state),
            ("/here", Some(CellStatus::Failed))
        );
        assert!(failed.time.starts_with("1970-01-01") || failed.time.starts_with("1969-12-31"));
        let other = facts("", 12).unwrap();
        assert_eq!(
            (other.directory.as_str(), other.state, other.time.as_str()),
            ("/else", None, "2026-01-01 10:00")
        );
        assert_eq!(facts("typed now", 0), None);
        db.execute("INSERT INTO history VALUES (300, 99, '', 'typed now')", [])
            .unwrap();
        assert_eq!(facts("typed now", 0).unwrap().directory, "/else");
    }
}
