//! The record through its handle, on real files: written when it happens, resumed, taken back, damaged.

mod answers;
mod earlier_cells;
mod resume;
mod undo;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    CellStatus, PromptStart, RecordHandle, RecordOptions, RecordedOutcome, RecordedThread,
    RecordedThreads, SessionSpec, open,
};
use crate::text::report::Report;

pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(future)
}

pub(super) fn start(path: &Path, resume: Option<i64>) -> (RecordHandle, UnboundedReceiver<Report>) {
    start_with(path, resume, false)
}

pub(super) fn start_with(
    path: &Path,
    resume: Option<i64>,
    leave_log: bool,
) -> (RecordHandle, UnboundedReceiver<Report>) {
    open(
        RecordOptions {
            path: path.to_owned(),
            record: true,
            named: false,
            leave_log,
        },
        SessionSpec {
            cwd: "/some/where".into(),
            resume,
            fork: None,
            provider: "codex".into(),
            once: false,
        },
    )
}

/// Ends the session and waits until the thread has let go of the file.
pub(super) fn end(record: RecordHandle, mut reports: UnboundedReceiver<Report>) -> Vec<String> {
    record.close();
    let mut said = Vec::new();
    while let Some(report) = wait(reports.recv()) {
        said.push(report.to_string());
    }
    said
}

pub(super) fn cell(record: &RecordHandle, line: u32, source: &str, output: &str) {
    record.record_input(line, source, source);
    record.record_output(line, output, vec![], CellStatus::Complete, 1);
}

fn directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("state/history.sqlite");
    (directory, path)
}

fn text(path: &Path, query: &str) -> String {
    let db = Connection::open(path).expect("the file opens");
    db.query_row(query, [], |row| row.get::<_, rusqlite::types::Value>(0))
        .map(|value| match value {
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Integer(number) => number.to_string(),
            other => format!("{other:?}"),
        })
        .expect("the query gives a row")
}

#[test]
fn a_session_is_recorded_and_resumed() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    let session = wait(record.session()).expect("a session");
    assert_eq!(
        (session.number, session.next_line, session.resumed),
        (1, 1, false)
    );
    cell(&record, 1, "import math", "");
    record.record_input(2, ".first", ".first");
    let turn = record.begin_prompt(PromptStart::new(2, 1, "first"));
    record.stream_answer(turn, "an");
    record.finish_prompt(turn, RecordedOutcome::Complete, "answer", None);
    record.record_input(3, ".bad", ".bad");
    let turn = record.begin_prompt(PromptStart::new(3, 1, "bad"));
    record.finish_prompt(turn, RecordedOutcome::Failed, "", None);
    cell(&record, 4, "math.pi", "3.14");
    let thread = RecordedThread {
        id: "t".into(),
        digest: "d".into(),
        point: Some("u".into()),
    };
    record.set_thread("codex", Some(thread.clone()));
    let dialog = wait(record.dialog());
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(dialog.prompts.len(), 1);
    assert_eq!(
        (dialog.prompts[0].line, dialog.prompts[0].history_line),
        (2, 1)
    );
    assert_eq!(text(&path, "SELECT num_cmds FROM sessions"), "4");
    assert_eq!(
        text(&path, "SELECT remark FROM sessions"),
        r#"{"cwd":"/some/where","provider":"codex","provider_session_id":"t"}"#
    );
    assert_eq!(text(&path, "SELECT count(*) FROM ai_prompts"), "1");
    for (name, mode) in [("history.sqlite", 0o600), (".", 0o700)] {
        let found = fs::metadata(path.with_file_name(name)).expect("it is there");
        assert_eq!(found.permissions().mode() & 0o777, mode, "{name}");
    }

    let (record, reports) = start(&path, Some(1));
    let session = wait(record.session()).expect("the session");
    assert_eq!(
        (session.number, session.next_line, session.resumed),
        (1, 5, true)
    );
    assert_eq!(wait(record.dialog()), dialog);
    let threads = RecordedThreads {
        current: Some(thread.clone()),
        points: vec![thread],
    };
    assert_eq!(wait(record.recorded_threads()), threads);
    assert_eq!(
        wait(record.dialog()).next_context(),
        "<context><code>math.pi</code><output>3.14</output></context>\n"
    );
    let rows = wait(record.sessions("/some/where".into(), false));
    assert_eq!(
        (rows.len(), rows[0].id, rows[0].last_prompt.as_str()),
        (1, 1, "first")
    );
    assert!(wait(record.sessions("/nowhere".into(), false)).is_empty());
    assert_eq!(wait(record.reset()), 1);
    assert_eq!(wait(record.dialog()).next_context(), "");
    end(record, reports);

    let (record, reports) = start(&path, Some(99));
    let refused = wait(record.session()).expect_err("there is none");
    assert!(refused.message.contains("Session 99 not found"));
    assert!(!refused.hints.is_empty());
    end(record, reports);
}

#[test]
fn a_turn_cut_off_by_death_comes_back_interrupted() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "x", "");
    record.record_input(2, ".p", ".p");
    let turn = record.begin_prompt(PromptStart::new(2, 1, "p"));
    record.stream_answer(turn, "half");
    end(record, reports);
    let (record, reports) = start(&path, Some(1));
    let dialog = wait(record.dialog());
    assert_eq!(
        dialog.prompts[0].response,
        "half\n<system>user interrupted</system>"
    );
    end(record, reports);
}

#[test]
fn files_that_will_not_do() {
    let garbage = "not a database, by any means".repeat(400);
    let check = |prepare: &dyn Fn(&Path), says: &str, recorded: bool| {
        let (_directory, path) = directory();
        fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        prepare(&path);
        let (record, reports) = start(&path, None);
        let session = wait(record.session()).expect("a session all the same");
        assert_eq!(session.recorded, recorded, "{says}");
        cell(&record, 1, "x", "1");
        assert_eq!(wait(record.dialog()).cells.len(), 1, "{says}");
        let said = end(record, reports).join("\n");
        assert!(
            if says.is_empty() {
                said.is_empty()
            } else {
                said.contains(says)
            },
            "{says}: {said}"
        );
        let kept: Vec<_> = fs::read_dir(path.parent().expect("it has one"))
            .expect("it is there")
            .map(|entry| {
                entry
                    .expect("readable")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .filter(|name| name.contains(".corrupt-"))
            .collect();
        assert_eq!(kept.is_empty(), !says.contains("damaged"), "{kept:?}");
    };
    check(&|_| {}, "", true);
    check(&|path| fs::write(path, "").expect("written"), "", true);
    check(
        &|path| fs::write(path, &garbage).expect("written"),
        "was damaged",
        true,
    );
    check(
        &|path| fs::create_dir(path).expect("made"),
        "memory only",
        false,
    );
    let sql = |path: &Path, sql: &str| {
        Connection::open(path)
            .and_then(|db| db.execute_batch(sql))
            .expect("prepared");
    };
    check(
        &|path| sql(path, "CREATE TABLE bookmarks (url)"),
        "another program's",
        false,
    );
    check(
        &|path| {
            let (record, reports) = start(path, None);
            cell(&record, 1, "x", "");
            end(record, reports);
            sql(path, "UPDATE ipycodex_meta SET value = '99'");
        },
        "newer ipycodex",
        false,
    );
    check(
        &|path| {
            sql(path, "CREATE TABLE sessions (session integer primary key autoincrement, start timestamp, end timestamp,
            num_cmds integer, remark text); CREATE TABLE history (session integer, line integer, source text,
            source_raw text, PRIMARY KEY (session, line)); CREATE TABLE ai_prompts (id, x);")
        },
        "kept as `ai_prompts_old_1`",
        true,
    );
}

#[test]
fn a_file_deleted_while_open_is_begun_again() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "x", "");
    let turn = record.begin_prompt(PromptStart::new(2, 1, "p"));
    wait(record.flush());
    fs::remove_file(&path).expect("it is there");
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", path.display()));
    }
    record.finish_prompt(turn, RecordedOutcome::Complete, "answer", None);
    cell(&record, 3, "y", "");
    let said = end(record, reports).join("\n");
    assert!(said.contains("deleted"), "{said}");
    assert_eq!(
        text(&path, "SELECT source FROM history WHERE line = 3"),
        "y"
    );
    assert_eq!(
        text(&path, "SELECT prompt || response FROM ai_prompts"),
        "panswer"
    );
}

#[test]
fn inputs_are_recalled_across_sessions() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "old", "");
    end(record, reports);
    let (record, reports) = start(&path, None);
    record.record_input(1, "new", "new");
    wait(record.flush());
    let recall = record.recall();
    recall.push("new");
    let all: Vec<_> = (0..recall.len()).filter_map(|n| recall.get(n)).collect();
    assert_eq!(
        all.iter().map(|text| &**text).collect::<Vec<_>>(),
        ["old", "new"]
    );
    end(record, reports);
}

#[test]
fn the_log_that_runs_leave_behind_stays_small() {
    let (_directory, path) = directory();
    let log = path.with_file_name("history.sqlite-wal");
    let mut longest = 0;
    for run in 1..=40 {
        let (record, reports) = start_with(&path, None, true);
        cell(&record, 1, &format!("run {run}"), &"x".repeat(20_000));
        assert_eq!(end(record, reports), [] as [&str; 0]);
        let left = fs::metadata(&log).map_or(0, |log| log.len());
        longest = longest.max(left);
        assert!(left < 1 << 20, "{left} bytes after {run} runs");
    }
    assert!(longest > 0, "the end waits for no sync");
    let kept = "SELECT count(*) FROM history JOIN output_history USING (session, line)";
    assert_eq!(text(&path, kept), "40");
}
