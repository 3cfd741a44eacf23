//! IPython 9.18 on our file, and we on IPython's.

use super::*;
use crate::support::home::{Home, finish};
use crate::support::peers;

/// What IPython prints for a line, on this file.
fn ipython(home: &Home, python: &Path, path: &Path, line: &str) -> String {
    let file = format!("--HistoryManager.hist_file={}", path.display());
    let output = "--HistoryManager.db_log_output=True";
    let command = home.foreign(
        python,
        &[
            "-m",
            "IPython",
            "--simple-prompt",
            "--no-banner",
            output,
            &file,
        ],
    );
    let ran = finish(command, format!("{line}\n").as_bytes());
    assert_eq!(ran.code(), 0, "{}", ran.stderr);
    assert!(
        !ran.stdout.contains("Traceback") && !ran.stderr.contains("ERROR"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    ran.stdout
}

#[test]
fn ipython_reads_our_file() {
    let Some(python) = peers::python() else {
        return;
    };
    let home = Home::new();
    let path = home.path().join("state/history.sqlite");
    let (record, reports) = start(&path, None);
    cell(&record, 1, "needle = 41", "");
    cell(&record, 2, "needle + 1", "42");
    end(record, reports);
    let found = ipython(&home, &python, &path, "%history -g needle");
    assert!(
        found.contains("1/1: needle = 41") && found.contains("1/2: needle + 1"),
        "{found}"
    );
    let last = ipython(&home, &python, &path, "%history -l 3");
    assert!(
        last.contains("needle = 41") && last.contains("needle + 1"),
        "{last}"
    );
    let one = ipython(&home, &python, &path, "%history -n -o 1/1-2");
    assert!(one.contains("42"), "{one}");
    let told = ipython(
        &home,
        &python,
        &path,
        "print([type(x).__name__ for x in get_ipython().history_manager.get_session_info(1)])",
    );
    assert!(
        told.contains("['int', 'datetime', 'datetime', 'int', 'str']"),
        "{told}"
    );
    // Both write the same forms.
    let form = |column: &str, session: i64| {
        let value = text(
            &path,
            &format!("SELECT \"{column}\" FROM sessions WHERE session = {session}"),
        );
        value
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect::<String>()
    };
    assert_eq!(form("start", 1), form("start", 2));
    assert_eq!(form("end", 1), form("end", 2));
    assert_eq!(
        text(&path, "SELECT num_cmds FROM sessions WHERE session = 1"),
        "2"
    );
    let (record, reports) = start(&path, Some(1));
    assert_eq!(wait(record.session()).unwrap().next_line, 3);
    assert_eq!(end(record, reports), [] as [&str; 0]);
}

#[test]
fn ipythons_own_file_keeps_working_in_ipython() {
    let Some(python) = peers::python() else {
        return;
    };
    let home = Home::new();
    let path = home.path().join("state/history.sqlite");
    ipython(&home, &python, &path, "theirs = 1\ntheirs + 1");
    let theirs = "SELECT group_concat(session || line || source || num_cmds, ' ') FROM history JOIN sessions USING \
                  (session) WHERE session = 1";
    let before = text(&path, theirs);
    let (record, reports) = start(&path, None);
    let number = wait(record.session()).unwrap().number;
    cell(&record, 1, "ours = 2", "");
    record.record_input(2, ".p", ".p");
    let turn = record.begin_prompt(PromptStart::new(2, 1, "p"));
    record.finish_prompt(turn, RecordedOutcome::Complete, "answer", None);
    wait(record.flush());
    // Both have it open at once.
    let found = ipython(&home, &python, &path, "%history -g\nafter = 3");
    assert!(
        found.contains("theirs = 1") && found.contains(&format!("{number}/1: ours = 2")),
        "{found}"
    );
    assert_eq!(end(record, reports), [] as [&str; 0]);
    let found = ipython(&home, &python, &path, "%history -g after");
    assert!(found.contains("after = 3"), "{found}");
    assert_eq!(text(&path, theirs), before);
    assert_eq!(text(&path, "PRAGMA integrity_check"), "ok");
    // A session of theirs can be gone on with.
    let (record, reports) = start(&path, Some(1));
    let resumed = wait(record.session()).unwrap();
    assert!(resumed.resumed && resumed.next_line >= 3, "{resumed:?}");
    let rows = wait(record.sessions("/nowhere".into(), true));
    let end_of_theirs = rows.iter().find_map(|row| row.end.clone()).unwrap();
    assert!(
        !end_of_theirs.contains('+'),
        "{end_of_theirs}: not local time"
    );
    assert_eq!(end(record, reports), [] as [&str; 0]);
}

/// A session deleted and names given by way of the archive: IPython goes on with the file as it is.
#[test]
fn ipython_reads_our_file_after_a_deletion() {
    let Some(python) = peers::python() else {
        return;
    };
    let home = Home::new();
    let path = home.path().join("state/history.sqlite");
    for (number, code) in [(1, "needle = 1"), (2, "needle = 2"), (3, "needle = 3")] {
        let (record, reports) = start(&path, None);
        assert_eq!(wait(record.session()).unwrap().number, number);
        cell(&record, 1, code, "out");
        // What was kept private took its number and left a gap.
        cell(&record, 3, "after = 1", "");
        end(record, reports);
    }
    let mut archive = Archive::open(&path, &home.path()).unwrap().unwrap();
    archive.rename(1, "first").unwrap();
    archive.delete(2).unwrap();
    drop(archive);
    let found = ipython(&home, &python, &path, "%history -g needle");
    assert!(
        found.contains("1/1: needle = 1") && found.contains("3/1: needle = 3"),
        "{found}"
    );
    assert!(!found.contains("needle = 2"), "{found}");
    let last = ipython(&home, &python, &path, "%history -n -o 3/1-3");
    assert!(
        last.contains("needle = 3") && last.contains("after = 1"),
        "{last}"
    );
    assert_eq!(text(&path, "PRAGMA integrity_check"), "ok");
    // Its number is not given again.
    assert_eq!(
        text(
            &path,
            "SELECT group_concat(session) FROM sessions WHERE session < 4"
        ),
        "1,3"
    );
    let (record, reports) = start(&path, Some(3));
    assert_eq!(wait(record.session()).unwrap().next_line, 4);
    assert_eq!(end(record, reports), [] as [&str; 0]);
}
