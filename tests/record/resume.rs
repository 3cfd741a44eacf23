//! One session left for another, and several processes in one.

use ipycodex::history::SwitchedSession;

use super::*;

/// Three sessions: 1 has two cells and a name, 2 a cell, the third begins; and what it said.
fn three() -> (
    tempfile::TempDir,
    PathBuf,
    History,
    UnboundedReceiver<Report>,
) {
    let (directory, path) = directory();
    let (history, reports) = start(&path, None);
    cell(&history, 1, "a", "1");
    cell(&history, 2, "b", "2");
    history.rename("mine");
    history.thread(
        "codex",
        Some(RecordedThread {
            id: "t".into(),
            digest: "d".into(),
        }),
    );
    end(history, reports);
    let (history, reports) = start(&path, None);
    cell(&history, 1, "c", "3");
    end(history, reports);
    let (history, reports) = start(&path, None);
    (directory, path, history, reports)
}

fn taken(history: &History, wanted: &str) -> SwitchedSession {
    wait(history.switch_to(wanted)).expect("it is there")
}

fn refused(history: &History, wanted: &str) -> String {
    wait(history.switch_to(wanted)).unwrap_err().message
}

#[test]
fn the_record_goes_on_in_the_other_session() {
    let (_directory, path, history, reports) = three();
    cell(&history, 1, "here", "");
    let first = taken(&history, "mine");
    assert_eq!(
        (
            first.start.number,
            first.start.next_line,
            first.start.resumed
        ),
        (1, 3, true)
    );
    assert_eq!(first.thread.map(|thread| thread.id).as_deref(), Some("t"));
    assert_eq!(wait(history.dialog()).cells.len(), 2);
    cell(&history, 3, "there", "");
    assert!(taken(&history, "2").thread.is_none());
    cell(&history, 2, "and there", "");
    assert_eq!(end(history, reports), [] as [&str; 0]);
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
    let (_directory, path, history, reports) = three();
    for (line, command) in ["%ipycodex sessions", "%ipycodex resume 1"]
        .into_iter()
        .enumerate()
    {
        history.input(u32::try_from(line).unwrap() + 1, command, command);
    }
    taken(&history, "1");
    end(history, reports);
    let sessions = "SELECT group_concat(session, ' ') FROM sessions";
    assert_eq!(text(&path, sessions), "1 2");
    assert_eq!(
        text(&path, "SELECT count(*) FROM history WHERE session = 3"),
        "0"
    );
}

#[test]
fn what_cannot_be_taken_up_changes_nothing() {
    let (_directory, path, history, reports) = three();
    cell(&history, 1, "here", "");
    assert_eq!(refused(&history, "99"), "Session 99 not found");
    assert_eq!(refused(&history, "nobody"), "Session nobody not found");
    assert_eq!(refused(&history, "3"), "session 3 is the one you are in");
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    history.input(2, "waits", "waits");
    let said = refused(&history, "1");
    assert!(said.contains("cannot be written"), "{said}");
    lock.execute_batch("ROLLBACK").unwrap();
    wait(history.flush());
    assert_eq!(taken(&history, "1").start.number, 1);
    end(history, reports);
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
    let opening = Opening {
        path,
        record: false,
        named: false,
        leave_log: false,
    };
    let begin = Begin {
        cwd: "/".into(),
        resume: None,
        provider: "codex".into(),
        once: false,
    };
    let (history, reports) = open(opening, begin);
    assert!(refused(&history, "1").contains("is not recorded"));
    end(history, reports);
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
    let (_directory, path, history, reports) = three();
    end(history, reports);
    let other = another(&path, 1);
    // One that is no more does not count, nor does another process of its number.
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "INSERT INTO ipycodex_openers VALUES (1, 4000000, 17), (1, 1, 12345678);
         INSERT INTO ipycodex_turns (session, line, history_line, prompt, state) VALUES (1, 3, 2, 'p', 'running');",
    )
    .unwrap();
    drop(db);
    let (history, reports) = start(&path, Some(1));
    assert_eq!(wait(history.session()).unwrap().next_line, 4);
    cell(&history, 4, "mine", "");
    let said = end(history, reports).join("\n");
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
    let (history, reports) = start(&path, None);
    taken(&history, "1");
    let said = end(history, reports).join("\n");
    assert!(said.contains(&told), "{said}");
}
