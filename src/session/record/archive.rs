//! The sessions of a record file, for callers that do not record: list, preview, search, rename, delete.
//!
//! Uses a connection of its own beside the history thread's, so that a list can be read before a session begins and
//! while one runs. Invariants: reading changes, creates and renames nothing; a session that a living process has open
//! is never deleted; a deleted session is gone from all tables at once, IPython's included.
//!
//! Absent on purpose: the confirmation, which the caller of [`Archive::delete`] asks for.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::listing::{self, Scope};
use super::read_only::ReadConnection;
use super::schema::{self, MigrationOutcome, RecordKind};
use super::search::{SearchHit, SearchPlan};
use super::values::SessionRow;
use super::{damage, file};
use super::{index, saved_session, search, sessions, sqlite_error};
use crate::artifacts;
use crate::notebook::SavedSession;
use crate::text::needle::Needle;
use crate::text::report::Report;

/// The longest wait for a file that another program writes to.
const PATIENCE: Duration = Duration::from_secs(2);

/// Inputs of a preview at most.
const INPUTS: u32 = 12;

/// The sessions of one file, opened for reading. Methods that read fail when the file cannot be read.
#[derive(Debug)]
pub struct Archive {
    look: Option<ReadConnection>,
    plan: Option<SearchPlan>,
    path: PathBuf,
    artifacts: PathBuf,
}

/// The end of a session, by which the user recognises it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPreview {
    /// The last prompt, and the start of its stored answer.
    pub exchange: Option<(String, String)>,
    /// In numbers and texts of the inputs after that prompt (without a prompt: the last inputs), oldest first.
    pub inputs: Vec<(u32, String)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordHealth {
    pub bytes: u64,
    pub sessions: usize,
    /// The number of migrations applied; 0: IPython wrote the file.
    pub schema: usize,
    /// Faults that SQLite finds; at most five.
    pub faults: Vec<String>,
}

impl Archive {
    /// Opens the record at `path`; `None` when the file is missing or empty. `artifacts` is the directory of texts
    /// too long for the record.
    ///
    /// # Errors
    /// The file is not a record of ours or IPython's, is damaged, or is locked by another program.
    pub fn open(path: &Path, artifacts: &Path) -> Result<Option<Self>, Report> {
        match std::fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(path).because(error)),
            Ok(found) if !found.is_file() => {
                return Err(unreadable(path)
                    .because("it is not a file")
                    .hint("name another file with --hist-file"));
            }
            // SQLite would take a file of one byte for an empty one.
            Ok(found) if found.len() == 1 => {
                return Err(damage::damage_report(path, &damage::not_a_database()));
            }
            Ok(_) => {}
        }
        match ReadConnection::open(path, PATIENCE) {
            Ok((_, RecordKind::Empty)) => Ok(None),
            Ok((look, RecordKind::Ours(_))) => Ok(Some(Archive {
                look: Some(look),
                plan: None,
                path: path.to_owned(),
                artifacts: artifacts.to_owned(),
            })),
            Ok((_, other)) => Err(file::foreign_report(path, other)),
            Err(error) => Err(failed(path, &error)),
        }
    }

    pub fn health(&mut self) -> Result<RecordHealth, Report> {
        let path = self.path.clone();
        let bytes = std::fs::metadata(&path).map_or(0, |found| found.len());
        let Some(look) = &mut self.look else {
            return Ok(RecordHealth::default());
        };
        look.read(|db| {
            let mut check = db.prepare("PRAGMA quick_check(5)")?;
            let said = check.query_map([], |row| row.get::<_, String>(0))?;
            let said: Vec<String> = said.collect::<Result<_, _>>()?;
            Ok(RecordHealth {
                bytes,
                sessions: db
                    .query_row("SELECT count(*) FROM sessions", [], |row| {
                        row.get::<_, i64>(0)
                    })
                    .map(|count| usize::try_from(count).unwrap_or(0))?,
                schema: match schema::read_kind(db)? {
                    RecordKind::Ours(migrations) => migrations,
                    _ => 0,
                },
                faults: said.into_iter().filter(|line| line != "ok").collect(),
            })
        })
        .map_err(|error| failed(&path, &error))
    }

    /// The scope of `cwd`, or of the git root above it when `cwd` has no listed sessions.
    pub fn nearby_scope(&mut self, cwd: &Path) -> Result<Scope, Report> {
        self.read(|db| listing::nearby(db, cwd))
    }

    /// Like [`Archive::nearby_scope`], for a search: sessions that no list of a directory shows count too.
    pub fn search_scope(&mut self, cwd: &Path) -> Result<Scope, Report> {
        self.read(|db| listing::nearby_with_unlisted(db, cwd))
    }

    /// At most `most` sessions with a number below `before`, newest first; empty sessions are left out.
    pub fn page(
        &mut self,
        scope: &Scope,
        before: i64,
        most: u32,
    ) -> Result<Vec<SessionRow>, Report> {
        self.read(|db| listing::page(db, scope, before, most))
    }

    pub fn preview(&mut self, session: i64) -> Result<SessionPreview, Report> {
        self.read(|db| glance(db, session))
    }

    /// The numbers of the sessions with this name, newest first.
    pub fn named(&mut self, name: &str) -> Result<Vec<i64>, Report> {
        self.read(|db| {
            let mut rows = db.prepare_cached(
                "SELECT session FROM ipycodex_sessions WHERE name = ?1 AND session IN (SELECT session FROM sessions)
                 ORDER BY session DESC",
            )?;
            rows.query_map([name], |row| row.get(0))?.collect()
        })
    }

    /// A session in the form that is saved to a file; `None` when the number is unknown.
    pub fn read_session(&mut self, session: i64) -> Result<Option<SavedSession>, Report> {
        self.read(|db| saved_session::read(db, session))
    }

    /// Names a session; a blank name removes the name.
    ///
    /// # Errors
    /// The name is a number, or the file cannot be written.
    pub fn rename(&mut self, session: i64, name: &str) -> Result<(), Report> {
        let name = name.trim();
        if name.parse::<i64>().is_ok() {
            return Err(Report::failure("a name must not be a number"));
        }
        let name = (!name.is_empty()).then_some(name);
        self.write(|db| {
            db.execute(
                "INSERT INTO ipycodex_sessions (session, name) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET name = ?2",
                params![session, name],
            )
        })?;
        Ok(())
    }

    /// Deletes a session from every table, and its artifacts.
    ///
    /// # Errors
    /// A living process has the session open, or the file cannot be written; the session is unchanged then.
    pub fn delete(&mut self, session: i64) -> Result<(), Report> {
        let holder = self.write(|db| delete(db, session))?;
        match holder {
            None => {
                artifacts::delete_session(&self.artifacts, &self.path, session);
                Ok(())
            }
            Some(process) if process == std::process::id() => Err(Report::failure(format!(
                "session {session} is the one that runs here"
            ))),
            Some(process) => Err(Report::failure(format!(
                "session {session} is open in another ipycodex (process {process})"
            ))),
        }
    }

    /// Entries that contain `needle`, in sessions with a number below `before`: newest first, in at most `most`
    /// sessions. Also returns the last session searched; `None` when there are no more.
    pub fn search(
        &mut self,
        needle: &Needle,
        scope: &Scope,
        before: i64,
        most: u32,
    ) -> Result<(Vec<SearchHit>, Option<i64>), Report> {
        let known = self.plan.take();
        let plan = self.read(|db| SearchPlan::new(db, needle, known.as_ref()))?;
        let found = self.read(|db| search::find(db, &plan, scope, before, most));
        self.plan = Some(plan);
        found
    }

    fn read<T>(&mut self, query: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, Report> {
        let look = match self.look.take() {
            Some(look) => Ok(look),
            None => ReadConnection::open(&self.path, PATIENCE).map(|(look, _)| look),
        };
        look.and_then(|look| self.look.insert(look).read(query))
            .map_err(|error| failed(&self.path, &error))
    }

    fn write<T>(
        &mut self,
        change: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Report> {
        // While a read-only connection is open, SQLite shares the log's index within this process as read-only.
        self.look = None;
        let changed = match file::connect(&self.path, PATIENCE) {
            Ok((mut db, MigrationOutcome::Ready { .. })) => change(&mut db),
            Ok((_, MigrationOutcome::Unsupported(kind))) => {
                return Err(file::foreign_report(&self.path, kind));
            }
            Err(error) => Err(error),
        };
        changed.map_err(|error| {
            if sqlite_error::is_locked(&error) {
                return failed(&self.path, &error);
            }
            Report::failure(format!("`{}` cannot be written", self.path.display())).because(error)
        })
    }
}

fn unreadable(path: &Path) -> Report {
    Report::failure(format!("`{}` cannot be read", path.display()))
}

fn failed(path: &Path, error: &rusqlite::Error) -> Report {
    if sqlite_error::is_locked(error) {
        return Report::failure(format!("`{}` is locked by another program", path.display()))
            .hint("close that program, then try again");
    }
    if sqlite_error::is_corrupt(error) {
        return damage::damage_report(path, error);
    }
    let report = unreadable(path).because(error);
    if sqlite_error::is_transient(error) {
        // A log without its index, or an interrupted change: only a connection that writes can recover it.
        return report.hint(format!(
            "if it was not closed properly, starting `ipycodex --hist-file {}` once repairs it",
            path.display()
        ));
    }
    report
}

fn glance(db: &Connection, session: i64) -> rusqlite::Result<SessionPreview> {
    let exchange: Option<(u32, String, String)> = db
        .query_row(
            "SELECT coalesce(t.line, p.history_line + 1), substr(p.prompt, 1, 4000), substr(p.response, 1, 8000)
             FROM ai_prompts p LEFT JOIN ipycodex_turns t ON t.prompt_row = p.id
             WHERE p.session = ?1 ORDER BY p.id DESC LIMIT 1",
            [session],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    let after = exchange.as_ref().map_or(0, |(line, ..)| *line);
    let mut rows = db.prepare_cached(
        "SELECT line, substr(coalesce(source_raw, source, ''), 1, 2000) FROM history
         WHERE session = ?1 AND line > ?2 ORDER BY line DESC LIMIT ?3",
    )?;
    let mut inputs: Vec<(u32, String)> = rows
        .query_map(params![session, after, INPUTS], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    inputs.reverse();
    Ok(SessionPreview {
        exchange: exchange.map(|(_, prompt, answer)| (prompt, answer)),
        inputs,
    })
}

fn delete(db: &mut Connection, session: i64) -> rusqlite::Result<Option<u32>> {
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let open: Option<bool> = change
        .query_row(
            "SELECT end IS NULL FROM sessions WHERE session = ?1",
            [session],
            |row| row.get(0),
        )
        .optional()?;
    if open == Some(true)
        && let Some(process) = sessions::owner_process(&change, session)?
    {
        return Ok(Some(process));
    }
    change.execute(
        "DELETE FROM ipycodex_answer_parts WHERE turn IN (SELECT id FROM ipycodex_turns WHERE session = ?1)",
        [session],
    )?;
    for table in tables(&change)? {
        change.execute(
            &format!("DELETE FROM \"{table}\" WHERE session = ?1"),
            [session],
        )?;
    }
    // The index must not keep pieces of the deleted texts.
    index::clear(&change)?;
    change.commit()?;
    Ok(None)
}

/// IPython's tables, `ai_prompts`, and each of our tables with a session column.
fn tables(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut rows = db.prepare_cached(
        "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
         WHERE m.type = 'table' AND c.name = 'session'
             AND (m.name IN ('sessions', 'history', 'output_history', 'ai_prompts') OR m.name LIKE 'ipycodex\\_%' \
             ESCAPE '\\')",
    )?;
    rows.query_map([], |row| row.get(0))?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions 1 (`mine`, two cells and a prompt) and 2 (open in `process`, which began at `since`).
    fn archive(process: u32, since: i64) -> (tempfile::TempDir, Archive, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.sqlite");
        assert!(Archive::open(&path, directory.path()).unwrap().is_none());
        std::fs::write(&path, "").unwrap();
        assert!(Archive::open(&path, directory.path()).unwrap().is_none());
        let db = file::connect(&path, PATIENCE).unwrap().0;
        db
            .execute_batch(&format!(
                "INSERT INTO sessions (session, end, remark) VALUES (1, 'x', '/a'), (2, NULL, '/a');
                 INSERT INTO ipycodex_sessions (session, name, process, process_start)
                     VALUES (1, 'mine', NULL, NULL), (2, NULL, {process}, {since});
                 INSERT INTO history VALUES (1, 1, 'a', 'a'), (1, 2, '.q', '.q'), (1, 3, 'b', 'b'), (2, 1, 'c', 'c');
                 INSERT INTO output_history VALUES (1, 1, 'o'), (2, 1, 'o');
                 INSERT INTO ai_prompts VALUES (1, 1, 'q', 'answer', 1);
                 INSERT INTO ipycodex_turns (id, session, line, history_line, prompt, state, prompt_row)
                     VALUES (7, 1, 2, 1, 'q', 'complete', 1);
                 INSERT INTO ipycodex_answer_parts (turn, at, text) VALUES (7, 0, 'part'), (8, 0, 'other');
                 INSERT INTO ipycodex_entries (session, line, state) VALUES (1, 1, 'complete'), (2, 1, 'complete');
                 INSERT INTO ipycodex_outputs (session, line, position, bundle) VALUES (1, 1, 0, '{{}}');
                 INSERT INTO ipycodex_decisions (session, line, asked_at, kind, subject, decision)
                     VALUES (1, 2, 0, 'cells', 's', 'no');"
            ))
            .unwrap();
        let archive = Archive::open(&path, directory.path()).unwrap().unwrap();
        (directory, archive, db)
    }

    /// Rows of session 1 and of all others, over every table.
    fn rows(db: &Connection) -> (i64, i64) {
        let mut counts = (0, 0);
        for table in tables(db).unwrap() {
            let (own, all): (i64, i64) = db
                .query_row(
                    &format!("SELECT count(*) FILTER (WHERE session = 1), count(*) FROM {table}"),
                    [],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .unwrap();
            counts = (counts.0 + own, counts.1 + all - own);
        }
        counts
    }

    #[test]
    fn a_deleted_session_is_gone_from_every_table_and_the_others_stay() {
        let (_directory, mut archive, db) = archive(1, 0);
        assert_eq!(rows(&db), (11, 5));
        archive.delete(1).unwrap();
        assert_eq!(rows(&db), (0, 5));
        let parts = "SELECT group_concat(text) FROM ipycodex_answer_parts";
        let parts: String = db.query_row(parts, [], |row| row.get(0)).unwrap();
        assert_eq!(parts, "other");
        assert_eq!(archive.named("mine").unwrap(), [] as [i64; 0]);
        archive.delete(1).expect("it is gone already");
        archive
            .delete(2)
            .expect("its process died: another has its number");
    }

    #[test]
    fn what_a_living_process_has_open_stays() {
        let own = std::process::id();
        let since = super::super::openers::process_start(own).unwrap();
        let (_directory, mut archive, db) = archive(own, since);
        let refused = archive.delete(2).unwrap_err();
        assert_eq!(refused.message, "session 2 is the one that runs here");
        let parent = std::os::unix::process::parent_id();
        let since = super::super::openers::process_start(parent).unwrap();
        db.execute(
            "UPDATE ipycodex_sessions SET process = ?1, process_start = ?2 WHERE session = 2",
            params![parent, since],
        )
        .unwrap();
        let refused = archive.delete(2).unwrap_err();
        let said = format!("session 2 is open in another ipycodex (process {parent})");
        assert_eq!(refused.message, said);
        assert_eq!(rows(&db), (11, 5));
    }

    #[test]
    fn names_are_given_found_and_taken_away() {
        let (_directory, mut archive, _db) = archive(1, 0);
        archive.rename(2, " mine ").unwrap();
        assert_eq!(archive.named("mine").unwrap(), [2, 1]);
        archive.rename(2, "").unwrap();
        assert_eq!(archive.named("mine").unwrap(), [1]);
        assert!(archive.rename(1, "12").is_err());
        assert_eq!(archive.named("mine").unwrap(), [1]);
    }

    #[test]
    fn a_glance_shows_the_last_exchange_and_what_came_after() {
        let (_directory, mut archive, _db) = archive(1, 0);
        let glance = archive.preview(1).unwrap();
        assert_eq!(glance.exchange, Some(("q".into(), "answer".into())));
        assert_eq!(glance.inputs, [(3, "b".into())]);
        let glance = archive.preview(2).unwrap();
        assert_eq!(
            (glance.exchange, glance.inputs),
            (None, vec![(1, "c".into())])
        );
        assert_eq!(archive.preview(99).unwrap(), SessionPreview::default());
    }

    #[test]
    fn the_health_of_a_record_is_its_size_its_sessions_and_its_faults() {
        let (directory, mut archive, _db) = archive(1, 0);
        let path = directory.path().join("history.sqlite");
        let expected = RecordHealth {
            bytes: std::fs::metadata(&path).unwrap().len(),
            sessions: 2,
            schema: 7,
            faults: Vec::new(),
        };
        assert_eq!(archive.health().unwrap(), expected);
    }

    #[test]
    fn what_is_no_record_is_named_by_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.sqlite");
        let open = || Archive::open(&path, directory.path()).map(|archive| archive.is_some());
        assert!(!open().unwrap());
        std::fs::write(&path, "x").unwrap();
        assert!(
            open()
                .unwrap_err()
                .message
                .contains("is not a history file")
        );
        std::fs::write(&path, "no database at all").unwrap();
        assert!(open().is_err());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(open().unwrap_err().message.contains("cannot be read"));
    }
}
