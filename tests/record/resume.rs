//! Several processes in one session.

use super::*;

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
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "a", "");
    cell(&record, 2, "b", "");
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
    wait(record.switch_to("1")).expect("it is there");
    let said = end(record, reports).join("\n");
    assert!(said.contains(&told), "{said}");
}
