//! One session left for another, and several processes in one.

use ipycodex::record::SwitchedSession;

use super::*;

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
    assert_eq!(first.thread.map(|thread| thread.id).as_deref(), Some("t"));
    assert_eq!(wait(record.dialog()).cells.len(), 2);
    cell(&record, 3, "there", "");
    assert!(taken(&record, "2").thread.is_none());
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
        provider: "codex".into(),
        once: false,
    };
    let (record, reports) = open(opening, begin);
    assert!(refused(&record, "1").contains("is not recorded"));
    end(record, reports);
}

/// A process that has the session open as far as the record knows: our parent.
fn another(path: &Path, session: i64) -> u32 {
    let parent = std::os::unix::process::parent_id();
    let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap();
    let began: i64 = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .nth(19)
        .unwrap()
        .parse()
        .unwrap();
    let db = Connection::open(path).unwrap();
    db.execute(
        "INSERT INTO ipycodex_openers VALUES (?1, ?2, ?3)",
        [session, i64::from(parent), began],
    )
    .unwrap();
    parent
}

#[test]
fn whoever_comes_second_is_told_and_leaves_the_session_open() {
    let (_directory, path, record, reports) = three();
    end(record, reports);
    let other = another(&path, 1);
    // One that is no more does not count, nor does another process of its number.
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "INSERT INTO ipycodex_openers VALUES (1, 4000000, 17), (1, 1, 12345678);
         INSERT INTO ipycodex_turns (session, line, history_line, prompt, state) VALUES (1, 3, 2, 'p', 'running');",
    )
    .unwrap();
    drop(db);
    let (record, reports) = start(&path, Some(1));
    assert_eq!(wait(record.session()).unwrap().next_line, 4);
    cell(&record, 4, "mine", "");
    let said = end(record, reports).join("\n");
    let told = format!("session 1 is open in another ipycodex (process {other})");
    assert!(said.contains(&told) && said.contains("hint:"), "{said}");
    // The other goes on: the session is not ended, its turn not broken off.
    for (query, expected) in [
        ("SELECT end IS NULL FROM sessions WHERE session = 1", "1"),
        ("SELECT state FROM ipycodex_turns", "running"),
        (
            "SELECT group_concat(process) FROM ipycodex_openers",
            &other.to_string(),
        ),
        (
            "SELECT process FROM ipycodex_sessions WHERE session = 1",
            &other.to_string(),
        ),
    ] {
        assert_eq!(text(&path, query), expected, "{query}");
    }
    // And whoever takes it up from a running session is told as well.
    let (record, reports) = start(&path, None);
    taken(&record, "1");
    let said = end(record, reports).join("\n");
    assert!(said.contains(&told), "{said}");
}
