//! Files of earlier versions are taken over, with a copy left beside them.
//!
//! The schemas here are those that were released: they never change, whatever the program makes of them.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::{directory, end, start, text, wait};

pub(super) const FIRST: &str = "
    CREATE TABLE sessions (session integer primary key autoincrement, start timestamp, end timestamp, num_cmds integer,
        remark text);
    CREATE TABLE history (session integer, line integer, source text, source_raw text, PRIMARY KEY (session, line));
    CREATE TABLE output_history (session integer, line integer, output text, PRIMARY KEY (session, line));
    CREATE TABLE ai_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL,
        prompt TEXT NOT NULL, response TEXT NOT NULL, history_line INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX idx_ai_prompts_session_id ON ai_prompts (session, id);
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
    CREATE TABLE ipycodex_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO ipycodex_meta VALUES ('schema', '1');
    INSERT INTO sessions VALUES (1, '2026-11-21 10:00:00.000000', NULL, NULL, '{\"cwd\":\"/w\"}');
    INSERT INTO ipycodex_sessions (session) VALUES (1);
    INSERT INTO history VALUES (1, 1, 'plot()', 'plot()'), (1, 2, '.p', '.p');
    INSERT INTO ipycodex_outputs VALUES (1, 1, 0, \
    '{\"text/plain\":\"<Figure>\",\"image/png\":\"iVBORw0KGgoAAAANSUhE\"}'),
        (1, 1, 1, '{\"text/plain\":\"no picture\"}');
    INSERT INTO ipycodex_turns (session, line, history_line, prompt, response, state)
        VALUES (1, 2, 1, 'p', '', 'running');
";

const SECOND: &str = "
    CREATE TABLE ipycodex_answer_parts (id INTEGER PRIMARY KEY, turn INTEGER NOT NULL, at INTEGER NOT NULL,
        text TEXT NOT NULL);
    UPDATE ipycodex_meta SET value = '2';
";

/// The file made of `sql` is resumed: its answer so far and its picture are there, and one copy of it as it was.
fn check(sql: &str) {
    let (_directory, path) = directory();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let db = Connection::open(&path).unwrap();
    db.execute_batch(sql).unwrap();
    drop(db);
    let before = text(
        &path,
        "SELECT value FROM ipycodex_meta WHERE key = 'schema'",
    );
    let (record, reports) = start(&path, Some(1));
    let dialog = wait(record.dialog());
    assert_eq!(
        dialog.prompts[0].response,
        "half\n<system>user interrupted</system>"
    );
    assert_eq!(
        dialog.exchanges()[0].images,
        ["data:image/png;base64,iVBORw0KGgoAAAANSUhE".into()]
    );
    assert_eq!(end(record, reports), [] as [&str; 0]);
    let copies: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("before-migration"))
        .collect();
    let [copy] = copies.as_slice() else {
        panic!("{copies:?}")
    };
    assert_eq!(schema(copy), before);
    assert!(schema(&path).parse::<u32>().unwrap() > 2);
}

fn schema(path: &Path) -> String {
    text(path, "SELECT value FROM ipycodex_meta WHERE key = 'schema'")
}

#[test]
fn the_first_schema() {
    check(&format!(
        "{FIRST} UPDATE ipycodex_turns SET response = 'half';"
    ));
}

#[test]
fn the_second_schema() {
    check(&format!(
        "{FIRST} {SECOND} INSERT INTO ipycodex_answer_parts (turn, at, text) VALUES (1, 0, 'half');"
    ));
}
