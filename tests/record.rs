//! The record on real files: written when it happens, resumed, damaged, locked, shared, opened by IPython.

mod clock;
pub mod failing_calls;
pub mod faults;
mod foreign_files;
mod ipython;
pub mod kills;
pub mod kills_in_work;
pub mod locks;
mod resume;
mod schemas;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ipycodex::record::{
    Archive, CellStatus, PromptStart, RecordHandle, RecordOptions, RecordedOutcome, SessionSpec,
    open,
};
use ipycodex::text::report::Report;
use rusqlite::Connection;
use tokio::sync::mpsc::UnboundedReceiver;

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(future)
}

fn start(path: &Path, resume: Option<i64>) -> (RecordHandle, UnboundedReceiver<Report>) {
    open(
        RecordOptions {
            path: path.to_owned(),
            record: true,
            named: false,
            leave_log: false,
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
fn end(record: RecordHandle, mut reports: UnboundedReceiver<Report>) -> Vec<String> {
    record.close();
    let mut said = Vec::new();
    while let Some(report) = wait(reports.recv()) {
        said.push(report.to_string());
    }
    said
}

fn cell(record: &RecordHandle, line: u32, source: &str, output: &str) {
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
fn a_locked_file_is_waited_for() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "before", "");
    end(record, reports);
    let lock = Connection::open(&path).expect("the file opens");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    let (record, mut reports) = start(&path, None);
    cell(&record, 1, "x = 1", "1");
    let warning = wait(reports.recv()).expect("it is said");
    assert!(warning.message.contains("locked"), "{warning}");
    assert_eq!(wait(record.dialog()).cells[0].source, "x = 1");
    lock.execute_batch("ROLLBACK").expect("the lock is ours");
    let again = wait(reports.recv()).expect("it is said");
    assert!(again.message.contains("saved again"), "{again}");
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(
        text(&path, "SELECT output FROM output_history WHERE session = 2"),
        "1"
    );
}

#[test]
fn eight_writers_lose_nothing() {
    let (_directory, path) = directory();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (record, reports) = start(&path, None);
                for line in 1..=200 {
                    cell(&record, line, "x", "1");
                }
                wait(record.flush());
                let said = end(record, reports);
                assert!(
                    said.iter()
                        .all(|line| line.contains("locked") || line.contains("saved again")),
                    "{said:?}"
                );
            });
        }
    });
    assert_eq!(text(&path, "SELECT count(*) FROM history"), "1600");
    assert_eq!(
        text(&path, "SELECT count(DISTINCT session) FROM history"),
        "8"
    );
    assert_eq!(text(&path, "PRAGMA integrity_check"), "ok");
}
