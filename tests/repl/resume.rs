//! Sessions taken up again: what is shown before the first prompt, what is gone, and cells that run once more.

use std::ffi::OsString;

use super::shell::{CTRL_C, Shell};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{SIZE, cursor_line};

/// Arguments that choose an engine: the built-in one, and IPython's where it is installed.
pub(super) fn engines() -> Vec<Vec<OsString>> {
    let base: Vec<OsString> = vec!["--agent".into(), "demo".into()];
    let mut engines = vec![[base.clone(), vec!["--no-ipython".into()]].concat()];
    if let Some(python) = peers::python() {
        let chosen: Vec<OsString> = vec!["--python".into(), python.into_os_string()];
        engines.push([base, chosen].concat());
    }
    engines
}

pub(super) fn resumed(home: Home, engine: &[OsString], session: &str) -> Shell {
    let mut arguments = engine.to_vec();
    arguments.extend(["-r".into(), session.into()]);
    Shell::start(home, &arguments, SIZE)
}

/// A session that was left: four cells (one raised) and an exchange.
fn left(engine: &[OsString]) -> Home {
    let shell = Shell::start(Home::new(), engine, SIZE);
    shell.cell(1, "import os; base = 40");
    shell.cell(2, "print('shown'); base + 2");
    shell.cell(3, "1/0");
    shell.cell(4, ".what is base?");
    shell.cell(5, "later = base * 2");
    assert_eq!(shell.leave(), 0);
    shell.home
}

#[test]
fn the_conversation_is_shown_and_the_cells_run_again() {
    for engine in engines() {
        let home = left(&engine);
        let mut arguments = engine.clone();
        arguments.extend(["-r".into(), "1".into()]);
        let shell = Shell::start(home, &arguments, (80, 100));
        shell.at(6);
        for text in [
            "── session 1 · started 20",
            "4 cells, 1 prompt ──",
            "In [2]: print('shown'); base + 2\nshown\nOut[2]: 42\n",
            "ZeroDivisionError",
            "In [4]: .what is base?",
            "In [5]: later = base * 2",
        ] {
            shell.shows(text);
        }
        shell.shows("not in this interpreter: os, base, later");
        shell.shows("`%ipycodex replay` runs the 3 cells again (1 that failed is left out)");
        shell.cell(6, "%ipycodex replay show");
        shell.shows("In [5]: later = base * 2\n1 cell that did not end well is left out: [3]");
        shell.cell(7, "%ipycodex replay");
        shell.shows("[1/3] In [1]: import os; base = 40");
        shell.shows("[3/3] In [5]: later = base * 2");
        shell.shows("session 1: 3 replayed");
        shell.cell(8, "later, Out[2], In[5]");
        shell.shows("Out[8]: (80, 42, 'later = base * 2')");
        // Nothing is recorded twice.
        assert_eq!(
            shell.inputs(8)[5..],
            [
                "%ipycodex replay show",
                "%ipycodex replay",
                "later, Out[2], In[5]"
            ]
        );
        let outputs = "select count(*) from output_history where line <= 5";
        let count: i64 = shell
            .record()
            .query_row(outputs, [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 2);
        assert_eq!(shell.leave(), 0);
        shell.shows("To resume: ipycodex -r 1");
    }
}

#[test]
fn a_replay_stops_at_an_error_and_goes_on_after_it() {
    for engine in engines() {
        let shell = Shell::start(Home::new(), &engine, SIZE);
        shell.cell(1, "import os; fine = 1");
        shell.cell(
            2,
            "print('before'); print(os.environ['REPLAY_TEST'] if fine == 2 else 0)",
        );
        shell.cell(3, "last = 3");
        shell.leave();
        let shell = resumed(shell.home, &engine, "1");
        shell.at(4);
        shell.shows("not in this interpreter: os, fine, last");
        // The record is of the user: what is different now makes the second cell fail.
        rusqlite::Connection::open(shell.home.history())
            .unwrap()
            .execute_batch("update history set source_raw = 'import os; fine = 2' where line = 1")
            .unwrap();
        shell.cell(4, "%ipycodex replay");
        shell.shows("before");
        shell.shows("KeyError");
        shell.shows("session 1: 1 of 3 replayed, stopped at In [2]");
        shell.shows("`%ipycodex replay 3` runs the last one");
        shell.cell(5, "'last' in globals()");
        shell.shows("Out[5]: False");
        shell.cell(6, "%ipycodex replay 3");
        shell.cell(7, "last");
        shell.shows("Out[7]: 3");
    }
}

#[test]
fn a_cell_is_skipped_with_a_key_and_all_of_it_stopped_with_another() {
    for engine in engines() {
        let shell = Shell::start(Home::new(), &engine, SIZE);
        shell.cell(1, "import time, os");
        shell.cell(2, "if os.path.exists('slow'): time.sleep(600)");
        shell.leave();
        std::fs::write(shell.home.work().join("slow"), "").unwrap();
        let shell = resumed(shell.home, &engine, "1");
        shell.at(3);
        shell.shows("not in this interpreter: time, os");
        shell.pty.send_line("%ipycodex replay");
        shell.pty.wait_for("s skips it, Ctrl-C stops");
        shell.pty.send("s");
        shell.at(4);
        shell.shows("skipped");
        shell.shows("session 1: 1 of 2 replayed, 1 skipped");
        shell.lacks("KeyboardInterrupt");
        // What is typed meanwhile is for the editor, and so is an s among it.
        shell.pty.send_line("%ipycodex replay 1-2");
        shell.pty.wait_for("s skips it, Ctrl-C stops");
        shell.pty.send("also");
        shell.pty.send(CTRL_C);
        shell.shows("session 1: 1 of 2 replayed, stopped by you at In [2]");
        shell.at_with(5, "also");
    }
}

#[test]
fn nobody_answers_a_replayed_cell_that_asks() {
    let engine = &engines()[0];
    let shell = Shell::start(Home::new(), engine, SIZE);
    shell.at(1);
    shell.pty.send_line("name = input('who? ')");
    // The question, not the code: a line typed right behind Enter is the next editor's.
    shell.pty.wait_for("\nwho? ");
    shell.pty.send_line("me");
    shell.at(2);
    shell.leave();
    let shell = resumed(shell.home, engine, "1");
    shell.at(2);
    shell.shows("not in this interpreter: name");
    shell.cell(2, "%ipycodex replay");
    shell.shows("EOFError");
}

#[test]
fn who_types_at_once_is_not_disturbed() {
    for engine in engines() {
        let home = left(&engine);
        let shell = resumed(home, &engine, "1");
        shell.pty.wait_until("a prompt", |screen| {
            cursor_line(screen).starts_with("In [6]: ")
        });
        shell.pty.send("y = ");
        shell.shows("not in this interpreter: os, base, later");
        shell.pty.send_line("7");
        shell.at(7);
        shell.cell(7, "y * 6");
        shell.shows("Out[7]: 42");
    }
}

#[test]
fn another_session_is_taken_up_in_a_running_one() {
    for engine in engines() {
        let home = left(&engine);
        let shell = Shell::start(home, &engine, SIZE);
        shell.cell(1, "base = 1");
        shell.at(2);
        shell.pty.send_line("%ipycodex resume 99");
        shell.at(3);
        shell.shows("Session 99 not found");
        shell.pty.send_line("%ipycodex resume 1");
        shell.at(6);
        shell.shows("── session 1 · started 20");
        shell.shows("In [5]: later = base * 2");
        // What lives on is not gone.
        shell.shows("not in this interpreter: os, later");
        shell.cell(6, "base");
        shell.shows("Out[6]: 1");
        shell.cell(7, ".and now?");
        let (_, answer) = shell.answers(2).pop().unwrap();
        assert!(answer.contains("- 1 prompt before"), "{answer}");
        shell.cell(8, "%ipycodex replay");
        shell.cell(9, "base, later");
        shell.shows("Out[9]: (40, 80)");
        assert_eq!(shell.leave(), 0);
        shell.shows("To resume: ipycodex -r 1");
        let ended: i64 = shell
            .record()
            .query_row(
                "select count(*) from sessions where end is not null",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(ended, 2);
    }
}

#[test]
fn two_terminals_in_one_session_lose_nothing() {
    let engine = &engines()[0];
    let home = left(engine);
    let first = resumed(home, engine, "1");
    first.at(6);
    let mut arguments = engine.clone();
    arguments.extend(["-r".into(), "1".into()]);
    let pty = crate::support::pty::Pty::spawn(&first.home, &arguments, SIZE);
    pty.wait_for_anywhere("session 1 is open in another ipycodex (process");
    pty.at_line("In [6]:");
    for number in 6..10 {
        first.cell(number, &format!("'first {number}'"));
        pty.send_line(&format!("'second {number}'"));
        pty.at_line(&format!("In [{}]:", number + 1));
    }
    first.cell(10, ".one");
    pty.send_line(".two");
    pty.at_line("In [11]:");
    // Both leave: the session is ended by the last one.
    pty.send("\x04");
    assert_eq!(pty.exit_status().exit_code(), 0);
    let end = "select end is null from sessions where session = 1";
    let open: bool = first.record().query_row(end, [], |row| row.get(0)).unwrap();
    assert!(open, "the first is still in it");
    first.leave();
    let open: bool = first.record().query_row(end, [], |row| row.get(0)).unwrap();
    assert!(!open);
    let inputs = first.inputs(15);
    assert_eq!(inputs.len(), 15);
    for number in 6..10 {
        for whose in ["first", "second"] {
            let input = format!("'{whose} {number}'");
            assert_eq!(inputs.iter().filter(|typed| **typed == input).count(), 1);
        }
    }
    let prompts = first.answers(3);
    let prompts: Vec<&str> = prompts.iter().map(|(prompt, _)| prompt.as_str()).collect();
    assert_eq!(prompts, ["what is base?", "one", "two"]);
    let outputs = "select count(*) from output_history where output like '%first %' or output like '%second %'";
    let count: i64 = first
        .record()
        .query_row(outputs, [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 8);
}

#[test]
fn a_session_of_ipythons_is_taken_up() {
    let Some(python) = peers::python() else {
        return;
    };
    let home = Home::new();
    std::fs::create_dir_all(home.history().parent().unwrap()).unwrap();
    let file = format!("--HistoryManager.hist_file={}", home.history().display());
    let options = [
        "-m",
        "IPython",
        "--simple-prompt",
        "--no-banner",
        "--HistoryManager.db_log_output=True",
        &file,
    ];
    let ran = crate::support::home::finish(
        home.foreign(&python, &options),
        b"seven = 7\nseven * 6\nfiles = !echo hi\n",
    );
    assert_eq!(ran.code(), 0, "{}", ran.stderr);
    // The directory it ran in may be gone by now, and another agent is at work.
    let engine = &engines()[0];
    let shell = resumed(home, engine, "1");
    shell.at(4);
    shell.shows("In [2]: seven * 6\nOut[2]: 42\n");
    shell.shows("not in this interpreter: seven, files");
    shell.cell(4, "%ipycodex replay");
    shell.cell(5, "seven, list(files)");
    shell.shows("Out[5]: (7, ['hi'])");
}

#[test]
fn a_session_whose_directory_is_gone_is_taken_up() {
    let engine = &engines()[0];
    let home = left(engine);
    rusqlite::Connection::open(home.history())
        .unwrap()
        .execute_batch(
            "update sessions set remark = '{\"cwd\": \"/no/where/\\u001b[2J\", \"provider\": \"codex\", \
             \"provider_session_id\": \"t\"}';
             update ipycodex_sessions set thread = 't', digest = 'd', name = 'x' || char(27) || '[2J';
             update history set source_raw = source_raw || ' #' || char(27) || '[2J' where line = 5;",
        )
        .unwrap();
    let shell = resumed(home, engine, "1");
    shell.at(6);
    shell.shows("session 1 · x^[[2J · started");
    shell.shows("In [5]: later = base * 2 #^[[2J");
    shell.cell(6, ".go on");
    assert_eq!(shell.answers(2).len(), 2);
}

#[test]
fn little_room_is_enough() {
    let engine = &engines()[0];
    let mut home = left(engine);
    for size in [(40, 12), (20, 6), (80, 24)] {
        let mut arguments = engine.clone();
        arguments.extend(["-r".into(), "1".into()]);
        let shell = Shell::start(home, &arguments, size);
        shell.at(6);
        shell.shows("── session 1");
        shell.leave();
        home = shell.home;
    }
}
