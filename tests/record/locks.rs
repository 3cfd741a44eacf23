//! Another program holds the file, or another process the same session: nothing blocks, nothing is written over.

use rusqlite::Connection;

use super::*;
use crate::support::home::Home;

/// A file with two cells of session 1, held by somebody else until `ROLLBACK`.
fn held() -> (tempfile::TempDir, PathBuf, Connection) {
    let (directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "one", "1");
    cell(&record, 2, "two", "2");
    end(record, reports);
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    (directory, path, lock)
}

fn rows(path: &Path, session: i64) -> String {
    text(
        path,
        &format!(
            "SELECT coalesce(group_concat(line || ':' || source || ':' || coalesce(output, ''), ' '), '') FROM
                 (SELECT * FROM history LEFT JOIN output_history USING (session, line) WHERE session = {session} ORDER \
                 BY line)"
        ),
    )
}

#[test]
fn a_fresh_session_gets_its_number_when_the_lock_goes() {
    let (_directory, path, lock) = held();
    let (record, mut reports) = start(&path, None);
    let early = wait(record.session()).unwrap();
    assert_eq!(
        (early.number, early.next_line, early.recorded),
        (0, 1, false)
    );
    cell(&record, 1, "x", "7");
    record.record_input(2, ".p", ".p");
    let turn = record.begin_prompt(PromptStart::new(2, 1, "p"));
    record.finish_prompt(turn, RecordedOutcome::Complete, "answer", None);
    assert_eq!(wait(record.dialog()).prompts.len(), 1);
    let warning = wait(reports.recv()).unwrap();
    assert!(warning.message.contains("locked"), "{warning}");
    lock.execute_batch("ROLLBACK").unwrap();
    let again = wait(reports.recv()).unwrap();
    assert!(again.message.contains("saved again"), "{again}");
    let known = wait(record.session()).unwrap();
    assert_eq!((known.number, known.recorded), (2, true));
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(rows(&path, 2), "1:x:7 2:.p:");
    assert_eq!(
        text(
            &path,
            "SELECT session || prompt || response || history_line FROM ai_prompts"
        ),
        "2panswer1"
    );
}

#[test]
fn a_resumed_session_that_was_locked_is_not_written_over() {
    let (_directory, path, lock) = held();
    let (record, reports) = start(&path, Some(1));
    assert_eq!(wait(record.session()).unwrap().number, 0);
    // Whoever goes on all the same begins at 1: those rows are taken.
    cell(&record, 1, "three", "3");
    cell(&record, 2, "four", "4");
    record.record_input(3, ".p", ".p");
    let turn = record.begin_prompt(PromptStart::new(3, 2, "p"));
    record.finish_prompt(turn, RecordedOutcome::Complete, "answer", None);
    record.hide(2..=2, true);
    lock.execute_batch("ROLLBACK").unwrap();
    wait(record.flush());
    let dialog = wait(record.dialog());
    end(record, reports);
    assert_eq!(rows(&path, 1), "1:one:1 2:two:2 3:three:3 4:four:4 5:.p:");
    assert_eq!(
        (dialog.prompts[0].line, dialog.prompts[0].history_line),
        (5, 4)
    );
    let hidden: Vec<u32> = dialog
        .cells
        .iter()
        .filter(|cell| cell.hidden)
        .map(|cell| cell.line)
        .collect();
    assert_eq!(hidden, [4]);
}

#[test]
fn two_processes_on_one_session_lose_nothing() {
    let (_directory, path, lock) = held();
    lock.execute_batch("ROLLBACK").unwrap();
    let (left, left_reports) = start(&path, Some(1));
    let (right, right_reports) = start(&path, Some(1));
    assert_eq!(wait(left.session()).unwrap().next_line, 3);
    assert_eq!(wait(right.session()).unwrap().next_line, 3);
    for line in 3..=22 {
        cell(&left, line, "left", "l");
        cell(&right, line, "right", "r");
    }
    wait(left.flush());
    wait(right.flush());
    end(left, left_reports);
    end(right, right_reports);
    let count = |source: &str, output: &str| {
        text(
            &path,
            &format!(
                "SELECT count(*) FROM history JOIN output_history USING (session, line)
                 WHERE session = 1 AND source = '{source}' AND output = '{output}'"
            ),
        )
    };
    assert_eq!(
        (count("left", "l"), count("right", "r")),
        ("20".into(), "20".into())
    );
    assert_eq!(count("one", "1"), "1");
    assert_eq!(text(&path, "SELECT max(line) FROM history"), "42");
}

#[test]
fn a_reset_while_locked_is_done_later() {
    let (_directory, path, lock) = held();
    lock.execute_batch("ROLLBACK").unwrap();
    let (record, reports) = start(&path, Some(1));
    let turn = record.begin_prompt(PromptStart::new(3, 2, "p"));
    record.finish_prompt(turn, RecordedOutcome::Complete, "answer", None);
    wait(record.flush());
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(wait(record.reset()), 1);
    assert_eq!(wait(record.dialog()).exchanges(), []);
    assert_eq!(wait(record.dialog()).next_context(), "");
    cell(&record, 4, "later", "");
    lock.execute_batch("ROLLBACK").unwrap();
    wait(record.flush());
    assert_eq!(
        wait(record.dialog()).next_context(),
        "<context><code>later</code></context>\n"
    );
    end(record, reports);
    assert_eq!(text(&path, "SELECT count(*) FROM ai_prompts"), "0");
    assert_eq!(
        text(
            &path,
            "SELECT reset_line FROM ipycodex_sessions WHERE session = 1"
        ),
        "2"
    );
}

#[test]
fn typing_never_waits_for_a_lock() {
    let (_directory, path, lock) = held();
    let (record, mut reports) = start(&path, None);
    let answer = "word ".repeat(1000);
    let turn = record.begin_prompt(PromptStart::new(1, 0, "p"));
    for line in 1..=1000 {
        record.record_input(line, "x", "x");
        record.stream_answer(turn, &answer[..line as usize * 5]);
    }
    // All calls came back though the lock is still held, and what they said is known.
    assert!(!lock.is_autocommit());
    assert_eq!(wait(record.dialog()).cells.len(), 1000);
    record.finish_prompt(turn, RecordedOutcome::Complete, &answer, None);
    assert!(wait(reports.recv()).unwrap().message.contains("locked"));
    lock.execute_batch("ROLLBACK").unwrap();
    wait(record.flush());
    end(record, reports);
    assert_eq!(
        text(&path, "SELECT count(*) FROM history WHERE session = 2"),
        "1000"
    );
    assert_eq!(
        text(&path, "SELECT length(response) FROM ai_prompts"),
        "5000"
    );
}

#[test]
fn a_hundred_thousand_rows_wait_and_are_written() {
    let (_directory, path, lock) = held();
    let (record, mut reports) = start(&path, None);
    for line in 1..=100_000 {
        record.record_input(line, "x = 1", "x = 1");
    }
    assert!(wait(reports.recv()).unwrap().message.contains("locked"));
    lock.execute_batch("ROLLBACK").unwrap();
    assert!(
        wait(reports.recv())
            .unwrap()
            .message
            .contains("saved again")
    );
    wait(record.flush());
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(
        text(&path, "SELECT count(*) FROM history WHERE session = 2"),
        "100000"
    );
}

#[test]
fn what_a_lock_kept_out_to_the_end_is_said() {
    let (_directory, path, _lock) = held();
    let (record, reports) = start(&path, None);
    record.record_input(1, "x", "x");
    let said = end(record, reports).join("\n");
    assert!(said.contains("1 entries could not be written"), "{said}");
}

#[test]
fn a_short_run_tells_what_a_lock_kept_out() {
    let home = Home::new();
    assert_eq!(home.demo(&[], "old = 1\n").code(), 0);
    let lock = Connection::open(home.history()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let runs: [(&[&str], &str, &str); 2] = [
        (&[], "print('new')\n", "new\n"),
        (&["ask", "hi"], "", "Demo answer"),
    ];
    for (arguments, stdin, shows) in runs {
        let ran = home.demo(arguments, stdin);
        assert!(ran.stdout.contains(shows), "{ran:?}");
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(
            ran.stderr.contains("could not be written") && ran.stderr.contains("are lost"),
            "{ran:?}"
        );
    }
}
