//! One session left for another.

use super::*;
use crate::record::SwitchedSession;

/// Three sessions: 1 has two cells and a name, 2 a cell, the third begins; and what it said.
fn three() -> (
    tempfile::TempDir,
    PathBuf,
    RecordHandle,
    UnboundedReceiver<Report>,
) {
    let (directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "a", "1");
    cell(&record, 2, "b", "2");
    record.rename("mine");
    record.set_thread(
        "codex",
        Some(RecordedThread {
            id: "t".into(),
            digest: "d".into(),
            point: None,
        }),
    );
    end(record, reports);
    let (record, reports) = start(&path, None);
    cell(&record, 1, "c", "3");
    end(record, reports);
    let (record, reports) = start(&path, None);
    (directory, path, record, reports)
}

fn taken(record: &RecordHandle, wanted: &str) -> SwitchedSession {
    wait(record.switch_to(wanted)).expect("it is there")
}

fn refused(record: &RecordHandle, wanted: &str) -> String {
    wait(record.switch_to(wanted)).unwrap_err().message
}

#[test]
fn the_record_goes_on_in_the_other_session() {
    let (_directory, path, record, reports) = three();
    cell(&record, 1, "here", "");
    let first = taken(&record, "mine");
    assert_eq!(
        (
            first.start.number,
            first.start.next_line,
            first.start.resumed
        ),
        (1, 3, true)
    );
    assert_eq!(
        first.threads.current.map(|thread| thread.id).as_deref(),
        Some("t")
    );
    assert_eq!(wait(record.dialog()).cells.len(), 2);
    cell(&record, 3, "there", "");
    assert!(taken(&record, "2").threads.current.is_none());
    cell(&record, 2, "and there", "");
    assert_eq!(end(record, reports), [] as [&str; 0]);
    let all = "SELECT group_concat(session || ':' || line || ':' || source, ' ') FROM
                   (SELECT * FROM history ORDER BY session, line)";
    assert_eq!(
        text(&path, all),
        "1:1:a 1:2:b 1:3:there 2:1:c 2:2:and there 3:1:here"
    );
    let open = "SELECT count(*) FROM sessions WHERE end IS NULL";
    assert_eq!(text(&path, open), "0");
    assert_eq!(text(&path, "SELECT count(*) FROM ipycodex_openers"), "0");
    assert_eq!(
        text(&path, "SELECT num_cmds FROM sessions WHERE session = 1"),
        "3"
    );
}

#[test]
fn a_fork_goes_on_with_copies_and_its_parent_stays_as_it_was() {
    let (_directory, path, record, reports) = three();
    taken(&record, "mine");
    let fork = wait(record.switch_to_fork(2)).expect("it can be written");
    let start = &fork.start;
    assert_eq!(
        (fork.left, fork.forked_at, start.next_line),
        (Some(1), Some(2), 2)
    );
    let number = start.number;
    let thread = |digest: &str| RecordedThread {
        id: "t".into(),
        digest: digest.into(),
        point: None,
    };
    let threads = RecordedThreads {
        current: None,
        points: vec![thread("d")],
    };
    assert_eq!(fork.threads, threads, "the thread is the parent's");
    cell(&record, 2, "new", "");
    let sources = |record: &RecordHandle| {
        let cells = wait(record.dialog()).cells.into_iter();
        cells.map(|cell| cell.source).collect::<Vec<_>>()
    };
    assert_eq!(sources(&record), ["a", "new"]);
    taken(&record, "1");
    assert_eq!(sources(&record), ["a", "b"]);
    // Once the parent has gone on, its thread holds more than the fork.
    record.set_thread("codex", Some(thread("later")));
    let again = taken(&record, &number.to_string());
    assert_eq!(again.threads, RecordedThreads::default());
    assert_eq!(end(record, reports), [] as [&str; 0]);
    let forks = "SELECT session || ' of ' || parent || ' at ' || forked_at FROM ipycodex_sessions WHERE parent > 0";
    assert_eq!(text(&path, forks), format!("{number} of 1 at 2"));
}

#[test]
fn a_session_of_nothing_but_commands_leaves_no_row() {
    let (_directory, path, record, reports) = three();
    for (line, command) in ["%ipycodex sessions", "%ipycodex resume 1"]
        .into_iter()
        .enumerate()
    {
        record.record_input(u32::try_from(line).unwrap() + 1, command, command);
    }
    taken(&record, "1");
    end(record, reports);
    let sessions = "SELECT group_concat(session, ' ') FROM sessions";
    assert_eq!(text(&path, sessions), "1 2");
    assert_eq!(
        text(&path, "SELECT count(*) FROM history WHERE session = 3"),
        "0"
    );
}

#[test]
fn what_cannot_be_taken_up_changes_nothing() {
    let (_directory, path, record, reports) = three();
    cell(&record, 1, "here", "");
    assert_eq!(refused(&record, "99"), "Session 99 not found");
    assert_eq!(refused(&record, "nobody"), "Session nobody not found");
    assert_eq!(refused(&record, "3"), "session 3 is the one you are in");
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    record.record_input(2, "waits", "waits");
    let said = refused(&record, "1");
    assert!(said.contains("cannot be written"), "{said}");
    lock.execute_batch("ROLLBACK").unwrap();
    wait(record.flush());
    assert_eq!(taken(&record, "1").start.number, 1);
    end(record, reports);
    assert_eq!(
        text(
            &path,
            "SELECT group_concat(source, ' ') FROM history WHERE session = 3"
        ),
        "here waits"
    );
}

#[test]
fn without_a_file_there_is_nothing_to_take_up() {
    let (_directory, path) = directory();
    let opening = RecordOptions {
        path,
        record: false,
        named: false,
        leave_log: false,
    };
    let begin = SessionSpec {
        cwd: "/".into(),
        resume: None,
        fork: None,
        provider: "codex".into(),
        once: false,
    };
    let (record, reports) = open(opening, begin);
    assert!(refused(&record, "1").contains("is not recorded"));
    end(record, reports);
}
