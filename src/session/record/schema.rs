//! The tables: IPython's three and `ai_prompts` as the contract has them, ours under `ipycodex_`, numbered
//! migrations.
//!
//! IPython's schema is that of IPython 9.18 `core/history.py`. Our schema number lives in `ipycodex_meta`, never in
//! `user_version`. A released migration is never edited; nothing is dropped, a table of another shape is renamed.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

/// Each migrates the schema from its index to the next number.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE IF NOT EXISTS sessions (session integer primary key autoincrement, start timestamp,
        end timestamp, num_cmds integer, remark text);
    CREATE TABLE IF NOT EXISTS history (session integer, line integer, source text, source_raw text,
        PRIMARY KEY (session, line));
    CREATE TABLE IF NOT EXISTS output_history (session integer, line integer, output text,
        PRIMARY KEY (session, line));
    CREATE TABLE IF NOT EXISTS ai_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL,
        prompt TEXT NOT NULL, response TEXT NOT NULL, history_line INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX IF NOT EXISTS idx_ai_prompts_session_id ON ai_prompts (session, id);
    CREATE TABLE ipycodex_sessions (session INTEGER PRIMARY KEY, name TEXT, thread TEXT, digest TEXT,
        reset_line INTEGER NOT NULL DEFAULT 0, process INTEGER, process_start INTEGER);
    CREATE TABLE ipycodex_entries (session INTEGER NOT NULL, line INTEGER NOT NULL, state TEXT NOT NULL,
        hidden INTEGER NOT NULL DEFAULT 0, execution_ms INTEGER, PRIMARY KEY (session, line)) WITHOUT ROWID;
    CREATE TABLE ipycodex_outputs (session INTEGER NOT NULL, line INTEGER NOT NULL, position INTEGER NOT NULL,
        bundle TEXT NOT NULL, PRIMARY KEY (session, line, position)) WITHOUT ROWID;
    CREATE TABLE ipycodex_turns (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, line INTEGER NOT NULL,
        history_line INTEGER NOT NULL, prompt TEXT NOT NULL, response TEXT NOT NULL DEFAULT '', state TEXT NOT NULL,
        hidden INTEGER NOT NULL DEFAULT 0, usage TEXT, prompt_row INTEGER);
    CREATE INDEX ipycodex_turns_session ON ipycodex_turns (session, line);
    CREATE INDEX ipycodex_turns_prompt_row ON ipycodex_turns (prompt_row);
", "
    CREATE TABLE ipycodex_answer_parts (id INTEGER PRIMARY KEY, turn INTEGER NOT NULL, at INTEGER NOT NULL,
        text TEXT NOT NULL);
", "
    ALTER TABLE ipycodex_turns ADD COLUMN expansion TEXT NOT NULL DEFAULT '';
    ALTER TABLE ipycodex_turns ADD COLUMN replaces_from INTEGER;
    ALTER TABLE ipycodex_turns ADD COLUMN replaces_to INTEGER;
    ALTER TABLE ipycodex_outputs ADD COLUMN picture INTEGER;
    UPDATE ipycodex_outputs SET picture = length(bundle) WHERE bundle LIKE '%\"image/png\"%' OR
        bundle LIKE '%\"image/jpeg\"%' OR bundle LIKE '%\"image/gif\"%' OR bundle LIKE '%\"image/webp\"%';
    CREATE INDEX ipycodex_outputs_pictures ON ipycodex_outputs (session, line, position, picture)
        WHERE picture IS NOT NULL;
    CREATE TABLE ipycodex_decisions (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, line INTEGER NOT NULL,
        asked_at INTEGER NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, decision TEXT NOT NULL);
    CREATE INDEX ipycodex_decisions_session ON ipycodex_decisions (session, line);
    ALTER TABLE ipycodex_entries ADD COLUMN told INTEGER;
", "
    ALTER TABLE ipycodex_entries ADD COLUMN layout TEXT;
    CREATE TABLE ipycodex_openers (session INTEGER NOT NULL, process INTEGER NOT NULL, process_start INTEGER,
        PRIMARY KEY (session, process)) WITHOUT ROWID;
", "
    ALTER TABLE ipycodex_sessions ADD COLUMN once INTEGER;
    ALTER TABLE ipycodex_entries ADD COLUMN began_at INTEGER;
    CREATE TABLE ipycodex_places (directory TEXT NOT NULL, session INTEGER NOT NULL, PRIMARY KEY (directory, session))
        WITHOUT ROWID;
    CREATE VIRTUAL TABLE ipycodex_recall USING fts5(texts, content='', columnsize=0, detail=none, tokenize='trigram');
", "
    ALTER TABLE ipycodex_entries ADD COLUMN shell TEXT;
    ALTER TABLE ipycodex_entries ADD COLUMN exit INTEGER;
", "
    ALTER TABLE ipycodex_sessions ADD COLUMN parent INTEGER;
    ALTER TABLE ipycodex_sessions ADD COLUMN forked_at INTEGER;
    CREATE TABLE ipycodex_threads (session INTEGER NOT NULL, digest TEXT NOT NULL, thread TEXT NOT NULL, point TEXT,
        PRIMARY KEY (session, digest)) WITHOUT ROWID;
"];

/// The program that wrote the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    Empty,
    /// Ours or IPython's, with the number of migrations applied.
    Ours(usize),
    Newer(usize),
    Foreign,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum MigrationOutcome {
    /// Ours, up to date.
    Ready {
        /// The new name of a foreign `ai_prompts` table.
        renamed: Option<String>,
    },
    /// Newer or foreign: cannot be used.
    Unsupported(RecordKind),
}

pub(super) fn read_kind(db: &Connection) -> rusqlite::Result<RecordKind> {
    let tables: i64 = db.query_row(
        "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        [],
        |row| row.get(0),
    )?;
    if tables == 0 {
        return Ok(RecordKind::Empty);
    }
    if !(has_columns(
        db,
        "sessions",
        &["session", "start", "end", "num_cmds", "remark"],
    )? && has_columns(db, "history", &["session", "line", "source", "source_raw"])?)
    {
        return Ok(RecordKind::Foreign);
    }
    let now = schema_number(db)?;
    Ok(if now > MIGRATIONS.len() {
        RecordKind::Newer(now)
    } else {
        RecordKind::Ours(now)
    })
}

/// Adds the tables and columns that a file of an earlier version lacks, in memory and for this connection alone:
/// tables empty, columns with their defaults.
pub(super) fn add_missing_tables(db: &Connection) -> rusqlite::Result<()> {
    if schema_number(db)? == MIGRATIONS.len() {
        return Ok(());
    }
    let whole = Connection::open_in_memory()?;
    whole.execute_batch(&MIGRATIONS.concat())?;
    let mut tables = whole.prepare(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
             AND name NOT LIKE 'ipycodex_recall%'",
    )?;
    let mut tables = tables.query([])?;
    while let Some(table) = tables.next()? {
        let (name, sql): (String, String) = (table.get(0)?, table.get(1)?);
        if !exists(db, &name)? {
            db.execute_batch(&sql.replacen("CREATE TABLE", "CREATE TEMP TABLE", 1))?;
            continue;
        }
        let there = columns(db, &name)?;
        let mut missing = String::new();
        let mut all = whole
            .prepare("SELECT name, coalesce(dflt_value, 'NULL') FROM pragma_table_info(?1)")?;
        let mut all = all.query([&name])?;
        while let Some(column) = all.next()? {
            let (column, value): (String, String) = (column.get(0)?, column.get(1)?);
            if !there.contains(&column) {
                missing += &format!(", {value} AS {column}");
            }
        }
        if !missing.is_empty() {
            db.execute_batch(&format!(
                "CREATE TEMP VIEW {name} AS SELECT *{missing} FROM main.{name}"
            ))?;
        }
    }
    Ok(())
}

/// Migrates `db` in one transaction. `before` runs first when an existing schema of ours is about to change.
pub(super) fn migrate(
    db: &mut Connection,
    before: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<MigrationOutcome> {
    let now = match read_kind(db)? {
        RecordKind::Empty => 0,
        RecordKind::Ours(now) => now,
        other => return Ok(MigrationOutcome::Unsupported(other)),
    };
    let prompts = ["id", "session", "prompt", "response", "history_line"];
    let odd_prompts = exists(db, "ai_prompts")? && !exactly_columns(db, "ai_prompts", &prompts)?;
    if now == MIGRATIONS.len() && !odd_prompts {
        return Ok(MigrationOutcome::Ready { renamed: None });
    }
    if now > 0 {
        before(db)?;
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut renamed = None;
    if odd_prompts {
        let name = (1..)
            .map(|n| format!("ai_prompts_old_{n}"))
            .find(|name| matches!(exists(&change, name), Ok(false)))
            .expect("some number is free");
        change.execute_batch(&format!(
            "ALTER TABLE ai_prompts RENAME TO {name}; DROP INDEX IF EXISTS idx_ai_prompts_session_id;"
        ))?;
        renamed = Some(name);
    }
    // Another process may have migrated in the meantime.
    let now = schema_number(&change)?;
    for migration in MIGRATIONS.iter().skip(now) {
        change.execute_batch(migration)?;
    }
    if renamed.is_some() && now > 0 {
        change.execute_batch(
            "CREATE TABLE ai_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL,
                prompt TEXT NOT NULL, response TEXT NOT NULL, history_line INTEGER NOT NULL DEFAULT 0);
             CREATE INDEX idx_ai_prompts_session_id ON ai_prompts (session, id);",
        )?;
    }
    change.execute_batch(
        "CREATE TABLE IF NOT EXISTS ipycodex_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    )?;
    change.execute(
        "INSERT OR REPLACE INTO ipycodex_meta VALUES ('schema', ?1)",
        [MIGRATIONS.len().to_string()],
    )?;
    change.commit()?;
    Ok(MigrationOutcome::Ready { renamed })
}

fn schema_number(db: &Connection) -> rusqlite::Result<usize> {
    if !exists(db, "ipycodex_meta")? {
        return Ok(0);
    }
    let value: Option<String> = db
        .query_row(
            "SELECT value FROM ipycodex_meta WHERE key = 'schema'",
            [],
            |row| row.get(0),
        )
        .optional()?;
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}

fn exists(db: &Connection, table: &str) -> rusqlite::Result<bool> {
    db.query_row(
        "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1)",
        [table],
        |row| row.get(0),
    )
}

fn columns(db: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut rows = db.prepare("SELECT name FROM pragma_table_info(?1, 'main')")?;
    rows.query_map(params![table], |row| row.get(0))?.collect()
}

fn has_columns(db: &Connection, table: &str, wanted: &[&str]) -> rusqlite::Result<bool> {
    let found = columns(db, table)?;
    Ok(wanted
        .iter()
        .all(|name| found.iter().any(|column| column == name)))
}

fn exactly_columns(db: &Connection, table: &str, wanted: &[&str]) -> rusqlite::Result<bool> {
    Ok(columns(db, table)?.len() == wanted.len() && has_columns(db, table, wanted)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of the first `number` migrations; of 0, IPython's own.
    fn earlier(number: usize) -> Connection {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(&MIGRATIONS[..number].concat()).unwrap();
        let version = format!(
            "CREATE TABLE ipycodex_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
             INSERT INTO ipycodex_meta VALUES ('schema', '{number}');
             INSERT INTO ipycodex_turns (session, line, history_line, prompt, state) VALUES (1, 2, 1, 'p', 'running');"
        );
        let ipythons = "CREATE TABLE sessions (session, start, end, num_cmds, remark);
             CREATE TABLE history (session, line, source, source_raw);";
        db.execute_batch(if number == 0 { ipythons } else { &version })
            .unwrap();
        db
    }

    #[test]
    fn a_copy_is_made_where_a_schema_of_ours_changes() {
        for number in 0..=MIGRATIONS.len() {
            let mut db = earlier(number);
            assert_eq!(read_kind(&db).unwrap(), RecordKind::Ours(number));
            let mut copies = 0;
            let mut migrate = || {
                migrate(&mut db, |_| {
                    copies += 1;
                    Ok(())
                })
            };
            for _ in 0..2 {
                assert!(matches!(
                    migrate().unwrap(),
                    MigrationOutcome::Ready { renamed: None }
                ));
            }
            assert_eq!(
                copies,
                usize::from((1..MIGRATIONS.len()).contains(&number)),
                "{number}"
            );
            assert_eq!(read_kind(&db).unwrap(), RecordKind::Ours(MIGRATIONS.len()));
        }
    }

    #[test]
    fn what_an_older_version_writes_that_was_open_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.sqlite");
        let older = Connection::open(&path).unwrap();
        older.execute_batch(&MIGRATIONS[..6].concat()).unwrap();
        older
            .execute_batch(
                "CREATE TABLE ipycodex_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
                 INSERT INTO ipycodex_meta VALUES ('schema', '6');",
            )
            .unwrap();
        let mut newer = Connection::open(&path).unwrap();
        migrate(&mut newer, |_| Ok(())).unwrap();
        older
            .execute_batch(
                "INSERT INTO sessions (session, remark) VALUES (1, '/a');
                 INSERT INTO history VALUES (1, 1, 'x', 'x');
                 INSERT INTO ipycodex_sessions (session, process, process_start) VALUES (1, 2, 3);
                 UPDATE ipycodex_sessions SET thread = 't', digest = 'd' WHERE session = 1;",
            )
            .unwrap();
        let rows = super::super::listing::list(&newer, "/a".as_ref(), false).unwrap();
        assert_eq!((rows.len(), rows[0].fork), (1, None));
        let threads = super::super::sessions::read_threads(&newer, 1).unwrap();
        assert_eq!(threads.current.unwrap().point, None);
        assert_eq!(threads.points, []);
    }

    #[test]
    fn a_table_of_prompts_of_another_form_is_kept_beside_ours() {
        for number in [0, 1, MIGRATIONS.len()] {
            let mut db = earlier(number);
            db.execute_batch(
                "DROP TABLE IF EXISTS ai_prompts; CREATE TABLE ai_prompts (id, x);
                 INSERT INTO ai_prompts VALUES (1, 'theirs'); CREATE TABLE ai_prompts_old_1 (x);",
            )
            .unwrap();
            let outcome = migrate(&mut db, |_| Ok(())).unwrap();
            let name = "ai_prompts_old_2";
            assert!(
                matches!(outcome, MigrationOutcome::Ready { renamed: Some(renamed) } if renamed == name)
            );
            let kept: String = db
                .query_row(&format!("SELECT x FROM {name}"), [], |row| row.get(0))
                .unwrap();
            assert_eq!(kept, "theirs");
            db.execute("INSERT INTO ai_prompts VALUES (1, 1, 'p', 'r', 0)", [])
                .unwrap();
        }
    }

    #[test]
    fn what_an_earlier_version_lacks_is_there_for_a_reader() {
        for number in 0..=MIGRATIONS.len() {
            let db = earlier(number);
            let tables = || -> String {
                let tables = "SELECT group_concat(sql) FROM main.sqlite_schema";
                db.query_row(tables, [], |row| row.get(0)).unwrap()
            };
            let before = tables();
            add_missing_tables(&db).unwrap();
            let turns = "SELECT count(*), max(expansion), max(replaces_from) FROM ipycodex_turns";
            let turns = db.query_row(turns, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            let expected = match number {
                0 => (0, None, None),
                _ => (1, Some(String::new()), None::<i64>),
            };
            assert_eq!(turns.unwrap(), expected, "{number}");
            let entries =
                "SELECT count(*) FROM ipycodex_entries WHERE shell IS NULL AND began_at IS NULL";
            let openers = "SELECT count(*) FROM ipycodex_openers";
            for count in [entries, openers] {
                let count: i64 = db.query_row(count, [], |row| row.get(0)).unwrap();
                assert_eq!(count, 0, "{number}");
            }
            assert_eq!(tables(), before, "{number}");
        }
    }
}
