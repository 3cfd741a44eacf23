//! Recall of typed inputs, for the editor: a shared list in memory, filled by the history thread.
//!
//! Its order is that in which users look back, last first: inputs of this session, of this directory, all others;
//! each from old to new. Invariant: no text is in it twice; the last occurrence stays. The list never touches the
//! database; it holds the newest few thousand inputs and those typed now. Older ones are searched in the record
//! ([`Recall::search`]).

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use rusqlite::{Connection, ToSql};

use super::listing::{self, Scope};
use super::recall_search::{RecallSearch, RecallSource, RecordedInput};

/// Inputs loaded from the record, at most; of other directories at most half as many.
pub(super) const MAX_LOADED: u32 = 5_000;

/// Inputs in a file whose last row was `newest` when it was opened, newest first: of `session`, of `cwd`, of all
/// others.
pub(super) fn earlier(
    db: &Connection,
    session: i64,
    cwd: &str,
    newest: i64,
) -> rusqlite::Result<Vec<RecordedInput>> {
    let mut found = Vec::new();
    let scope = Scope::Directory(cwd.into());
    let [cwd, inside] = listing::directory_values(&scope);
    let here = listing::directory_condition("?4", "?5");
    for (sessions, most) in [
        ("s.session = ?3".to_owned(), MAX_LOADED),
        (format!("s.session <> ?3 AND {here}"), MAX_LOADED),
        (
            format!("s.session <> ?3 AND NOT coalesce({here}, 0)"),
            MAX_LOADED / 2,
        ),
    ] {
        // CROSS: sessions from the newest on, so that the scan ends with the last row needed.
        let mut rows = db.prepare(&format!(
            "SELECT h.source_raw, h.rowid FROM sessions s CROSS JOIN history h ON h.session = s.session
             WHERE {sessions} AND h.source_raw <> '' AND h.rowid <= ?2
             ORDER BY s.session DESC, h.line DESC LIMIT ?1"
        ))?;
        let values: [&dyn ToSql; 5] = [&most, &newest, &session, &cwd, &inside];
        let mut rows = rows.query(&values[..rows.parameter_count()])?;
        while let Some(row) = rows.next()? {
            found.push(RecordedInput {
                text: Arc::from(row.get_ref(0)?.as_str()?),
                row: row.get(1)?,
            });
        }
        if found.len() >= MAX_LOADED as usize {
            break;
        }
    }
    found.truncate(MAX_LOADED as usize);
    Ok(found)
}

/// Typed inputs; cheap to clone, all clones share one list.
#[derive(Debug, Clone, Default)]
pub struct Recall {
    inputs: Arc<RwLock<Vec<RecordedInput>>>,
    loaded: Arc<(Mutex<bool>, Condvar)>,
    /// The file; unset before the record is loaded, and without a file.
    source: Arc<OnceLock<RecallSource>>,
}

impl Recall {
    fn read(&self) -> RwLockReadGuard<'_, Vec<RecordedInput>> {
        self.inputs.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn len(&self) -> usize {
        self.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// The input at `index`, 0 being the oldest. Indices move up once, when the record has been loaded.
    pub fn get(&self, index: usize) -> Option<Arc<str>> {
        self.read().get(index).map(|typed| Arc::clone(&typed.text))
    }

    /// All inputs, newest first.
    pub fn newest_first(&self) -> Vec<RecordedInput> {
        self.read().iter().rev().cloned().collect()
    }

    /// A search of the record beyond this list; `None` without a readable file. Returns inputs that may contain
    /// `text` (all for an empty one), those of the list included.
    pub fn search(&self, text: &str) -> Option<RecallSearch> {
        RecallSearch::open(self.source.get()?, text).ok()
    }

    /// The first input, in the order of recall, that begins with `start` and is longer. Never waits.
    pub fn find_by_prefix(&self, start: &str) -> Option<Arc<str>> {
        let inputs = self.inputs.try_read().ok()?;
        let texts = inputs.iter().rev().map(|typed| &typed.text);
        let mut goes_on =
            texts.filter(|known| known.len() > start.len() && known.starts_with(start));
        goes_on.next().cloned()
    }

    /// Waits until the record has been loaded, at most `patience`.
    pub fn wait_loaded(&self, patience: Duration) {
        let (loaded, changed) = &*self.loaded;
        let guard = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        // After the timeout, the inputs present are used.
        drop(changed.wait_timeout_while(guard, patience, |loaded| !*loaded));
    }

    /// Appends an input as the newest; an earlier equal text is removed.
    pub fn push(&self, text: &str) {
        let mut inputs = self.inputs.write().unwrap_or_else(PoisonError::into_inner);
        inputs.retain(|known| *known.text != *text);
        inputs.push(RecordedInput {
            text: text.into(),
            row: 0,
        });
    }

    /// Inserts `older` (newest first, in the order of recall) before the inputs typed in the meantime. `source`
    /// locates further inputs.
    pub(super) fn load(
        &self,
        older: impl IntoIterator<Item = RecordedInput>,
        source: Option<RecallSource>,
    ) {
        if let Some(source) = source {
            // The record is loaded once.
            let _ = self.source.set(source);
        }
        let mut inputs = self.inputs.write().unwrap_or_else(PoisonError::into_inner);
        let mut seen: HashSet<Arc<str>> =
            inputs.iter().map(|typed| Arc::clone(&typed.text)).collect();
        let mut before: Vec<_> = older
            .into_iter()
            .filter(|typed| seen.insert(Arc::clone(&typed.text)))
            .collect();
        before.reverse();
        inputs.splice(..0, before);
        let (loaded, changed) = &*self.loaded;
        *loaded.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn texts(recall: &Recall) -> Vec<String> {
        (0..recall.len())
            .map(|index| recall.get(index).unwrap().to_string())
            .collect()
    }

    #[test]
    fn no_text_is_there_twice_and_the_last_place_counts() {
        let recall = Recall::default();
        ["a", "b", "a"].iter().for_each(|text| recall.push(text));
        let older = ["b", "c", "d", "c"].map(|text| RecordedInput {
            text: text.into(),
            row: 1,
        });
        recall.load(older, None);
        assert_eq!(texts(&recall), ["d", "c", "b", "a"]);
        let newest = recall.newest_first();
        assert!(
            newest
                .iter()
                .map(|input| &*input.text)
                .eq(["a", "b", "c", "d"])
        );
        recall.push("c");
        assert_eq!(texts(&recall), ["d", "b", "a", "c"]);
        recall.push("cab");
        assert_eq!(recall.find_by_prefix("c").as_deref(), Some("cab"));
        assert_eq!(recall.find_by_prefix("cab"), None);
    }

    #[test]
    fn this_session_comes_first_then_this_directory_then_the_others() {
        let db = file::open_in_memory();
        db.execute_batch(
            r#"INSERT INTO sessions (session, remark) VALUES (1, '{"cwd":"/here"}'), (2, '{"cwd":"/else"}'),
                   (3, '/here'), (4, NULL), (5, '{"cwd":"/else"}'), (6, '{"cwd":"/here"}');
               INSERT INTO history VALUES (1, 1, '', 'here 1'), (1, 2, '', 'here 2'), (2, 1, '', 'own 1'),
                   (3, 1, '', 'here 3'), (4, 1, '', 'else 1'), (5, 1, '', 'else 2'), (2, 2, '', 'own 2'),
                   (2, 3, '', ''), (6, 1, '', 'too late');"#,
        )
        .unwrap();
        let found = earlier(&db, 2, "/here", 8).unwrap();
        let found: Vec<&str> = found.iter().map(|typed| &*typed.text).collect();
        let expected = [
            "own 2", "own 1", "here 3", "here 2", "here 1", "else 2", "else 1",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn half_as_many_are_loaded_of_other_directories() {
        for (directory, expected) in [("/here", MAX_LOADED), ("/else", MAX_LOADED / 2)] {
            let db = file::open_in_memory();
            db.execute_batch(&format!(
                "INSERT INTO sessions (session, remark) VALUES (1, '{directory}'), (2, '/here');
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= {MAX_LOADED})
                     INSERT INTO history SELECT 1, i, '', 'row ' || i FROM n;"
            ))
            .unwrap();
            let found = earlier(&db, 2, "/here", i64::MAX).unwrap();
            assert_eq!(found.len(), expected as usize, "{directory}");
            assert_eq!(&*found[0].text, format!("row {}", MAX_LOADED + 1));
        }
    }
}
