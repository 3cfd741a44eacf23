//! Steps of the interpreter between cells: back, forward, what is said, and what ends with what.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use super::shell::{CTRL_C, Shell, with_settings};
use crate::support::home::Home;
use crate::support::{await_true, peers};

/// No line of what is said here is wrapped.
const WIDE: (u16, u16) = (160, 50);

/// Processes of interpreters that run in this home, those that wait included.
pub(super) fn interpreters(home: &Home) -> Vec<i32> {
    let place = home.path().as_os_str().as_bytes().to_owned();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id: &i32| {
        let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let has = |part| memchr::memmem::find(&words, part).is_some();
        has(b"runner.py") && has(&place)
    })
    .collect()
}

/// A home whose files stay as they are, unasked: these tests are about the interpreter.
fn files_stay() -> Home {
    with_settings(r#"{"rewind_files": "off"}"#)
}

/// Runs a cell, and waits until the interpreter has left a copy of itself: another may go for it. The process between
/// the two is seen for a moment: what is counted has to stand.
pub(super) fn cell(shell: &Shell, number: u32, code: &str) {
    await_copy(shell, || shell.cell(number, code));
}

/// Does this, which runs a cell, and waits for the copy.
pub(super) fn await_copy(shell: &Shell, run: impl FnOnce()) {
    settled(&shell.home);
    let before = interpreters(&shell.home);
    run();
    await_true("another interpreter", || {
        settled(&shell.home);
        interpreters(&shell.home)
            .iter()
            .any(|one| !before.contains(one))
    });
}

/// How many interpreters there are, once that stands.
pub(super) fn settled(home: &Home) -> usize {
    let mut last = interpreters(home).len();
    loop {
        std::thread::sleep(Duration::from_millis(60));
        let now = interpreters(home).len();
        if now == last {
            return now;
        }
        last = now;
    }
}

fn steps(shell: &Shell) {
    shell.at(1);
    await_true("a copy before any cell", || settled(&shell.home) == 2);
    cell(shell, 1, "a = [1]");
    cell(shell, 2, "a.append(2); open('made.txt', 'w').close()");
    cell(shell, 3, "a.append(3)");
}

#[test]
fn a_step_back_and_forward_takes_names_and_the_conversation_along() {
    let mut interpreters = vec![None];
    interpreters.extend(peers::python().map(Some));
    for python in interpreters {
        let mut arguments = vec!["--agent".to_owned(), "demo".into()];
        if let Some(python) = python {
            arguments.extend(["--python".into(), python.display().to_string()]);
        }
        let shell = Shell::start(files_stay(), &arguments, WIDE);
        steps(&shell);
        // Its own place is kept once nothing is asked for a moment, and stays.
        cell(&shell, 4, "%ipycodex back 2");
        shell.shows("Back before In [2] a.append(2); open('made.txt', 'w').close(); stepped over In [2] and In [3]");
        shell.shows("not taken back: what was written to ");
        shell.shows("made.txt");
        shell.cell(5, "%ipycodex history");
        shell.shows("In [2] (hidden): a.append(2)");
        shell.cell(6, "%ipycodex forward");
        shell.shows("Forward again, after In [2] and In [3]");
        cell(&shell, 7, "a, 7");
        shell.shows("Out[7]: ([1, 2, 3], 7)");
        shell.cell(8, "%ipycodex back 2");
        shell.at(9);
        shell.pty.send_line("a, input('and? ')");
        shell.shows("\nand?");
        shell.pty.send_line("9");
        shell.at(10);
        shell.shows("Out[9]: ([1], '9')");
        shell.cell(10, "%ipycodex forward");
        shell.shows("there is nothing to go forward to");
        shell
            .pty
            .send_line("import time; print('sleeps'); time.sleep(60)");
        shell.shows("\nsleeps");
        shell.pty.send(CTRL_C);
        shell.at(12);
        shell.shows("KeyboardInterrupt");
        // The way back from what came after it is there, too.
        shell.cell(12, "%ipycodex back 9");
        shell.shows("Back before In [9]");
        let record = shell.record();
        let hidden: i64 = record
            .query_row("select count(*) from history", [], |row| row.get(0))
            .unwrap();
        assert_eq!(hidden, 12, "nothing leaves the record");
        let place = shell.home.path().to_owned();
        assert_eq!(shell.leave(), 0);
        gone(&place);
    }
}

#[test]
fn what_was_stepped_back_over_is_neither_saved_nor_run_again() {
    let shell = Shell::start(files_stay(), &["--agent", "demo"], WIDE);
    steps(&shell);
    cell(&shell, 4, "%ipycodex back 2");
    shell.shows("stepped over In [2] and In [3]");
    shell.cell(5, "%ipycodex forward");
    shell.shows("Forward again, after In [2] and In [3]");
    shell.cell(6, "%ipycodex back 3");
    shell.shows("Back before In [3]");
    shell.cell(7, "b = len(a)");
    shell.cell(8, "%ipycodex save kept.ipynb");
    shell.shows("kept.ipynb");
    shell.at(9);
    assert_eq!(shell.leave(), 0);
    let home = shell.home;
    let kept = std::fs::read_to_string(home.work().join("kept.ipynb")).unwrap();
    assert!(
        kept.contains("a.append(2)") && !kept.contains("a.append(3)") && kept.contains("len(a)"),
        "{kept}"
    );
    let shell = Shell::start(home, &["--agent", "demo", "-r", "1"], WIDE);
    shell.at(9);
    shell.shows("`%ipycodex replay` runs the 3 cells again");
    shell.cell(9, "%ipycodex replay show");
    shell.shows("In [7]: b = len(a)\n1 cell that was stepped back over is left out: [3]");
    shell.cell(10, "%ipycodex replay");
    shell.shows("session 1: 3 replayed");
    shell.cell(11, "a, b");
    shell.shows("Out[11]: ([1, 2], 2)");
    // By its number it runs all the same; shown, it counts again.
    shell.cell(12, "%ipycodex replay 3");
    shell.cell(13, "a, 13");
    shell.shows("Out[13]: ([1, 2, 3], 13)");
    shell.cell(14, "%ipycodex show 3");
    shell.cell(15, "%ipycodex replay 1-7");
    shell.shows("session 1: 4 replayed");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn a_number_to_step_back_to_is_one_of_this_session() {
    let shell = Shell::start(files_stay(), &["--agent", "demo"], WIDE);
    steps(&shell);
    shell.pty.send_line("%ipycodex new");
    cell(&shell, 1, "b = 1");
    shell.cell(2, "%ipycodex back list");
    shell.shows("\nIn [3] of session 1 ");
    shell.shows("\nIn [1]  ");
    shell.cell(3, "%ipycodex back 2");
    shell.shows(
        "in this interpreter, only another session has run In [2]: `%ipycodex resume` goes to it, \
         and then `%ipycodex back 2` works",
    );
    shell.at(4);
    shell.pty.send_line("%ipycodex resume 1");
    shell.cell(5, "%ipycodex back 1");
    shell.shows("Back before In [1] a = [1]; stepped over In [1] of session 2 and In [1] to In [3], which are out");
    shell.cell(6, "%ipycodex forward");
    shell.shows("Forward again, after In [1] of session 2 and In [1] to In [3]");
    shell.at(7);
    assert_eq!(shell.leave(), 0);
}

#[test]
fn a_step_counts_in_the_sessions_that_the_cells_ran_in() {
    let shell = Shell::start(files_stay(), &["--agent", "demo"], WIDE);
    steps(&shell);
    shell.pty.send_line("%ipycodex new");
    cell(&shell, 1, "b = 1");
    shell.at(2);
    shell.pty.send_line("%ipycodex resume 1");
    shell.cell(5, "%ipycodex back 2");
    shell.shows("stepped over In [1] of session 2 and In [2] and In [3], which are out");
    let out = |expected: &[(u32, u32)]| {
        let record = shell.record();
        let out =
            "select session, line from ipycodex_entries where hidden <> 0 order by session, line";
        let mut rows = record.prepare(out).unwrap();
        await_true("the marks in the record", || {
            let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
            rows.unwrap()
                .map(Result::unwrap)
                .eq(expected.iter().copied())
        });
    };
    out(&[(1, 2), (1, 3), (2, 1)]);
    shell.cell(6, "%ipycodex forward");
    shell.shows("Forward again, after In [1] of session 2 and In [2] and In [3]");
    out(&[]);
    shell.at(7);
    // The same from the other one: what this one saves is what the interpreter has.
    shell.pty.send_line("%ipycodex resume 2");
    shell.at(3);
    shell.cell(3, "%ipycodex back");
    shell.shows("Back before In [1] b = 1; stepped over In [1], which is out");
    shell.cell(4, "%ipycodex back");
    shell.shows("Back before In [3] of session 1 a.append(3); stepped over In [3] of session 1 (");
    shell.at(5);
    shell.pty.send_line("%ipycodex resume 1");
    shell.cell(8, "%ipycodex save kept.ipynb");
    shell.shows("kept.ipynb");
    shell.at(9);
    let kept = std::fs::read_to_string(shell.home.work().join("kept.ipynb")).unwrap();
    assert!(
        kept.contains("a.append(2)") && !kept.contains("a.append(3)"),
        "{kept}"
    );
    shell.cell(9, "%ipycodex forward");
    shell.shows("Forward again, after In [3]");
    shell.cell(10, "%ipycodex forward");
    shell.shows("Forward again, after In [1] of session 2");
    out(&[]);
    assert_eq!(shell.leave(), 0);
}

/// Nothing of this home runs any more.
pub(super) fn gone(place: &std::path::Path) {
    let home: PathBuf = place.to_owned();
    let home = home.as_os_str().as_bytes().to_owned();
    await_true("the end of all interpreters", || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut words = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
        !words.any(|words| {
            words.windows(9).any(|part| part == b"runner.py")
                && words.windows(home.len()).any(|part| part == home)
        })
    });
}

#[test]
fn copies_end_with_the_shell_and_with_the_interpreter_even_when_killed() {
    let shell = Shell::new();
    steps(&shell);
    let process = i32::try_from(shell.pty.pid()).unwrap();
    let place = shell.home.path().to_owned();
    kill(process);
    gone(&place);
    let shell = Shell::new();
    steps(&shell);
    shell.cell(4, "%ipycodex back 3");
    let before = interpreters(&shell.home);
    shell.cell(5, "import os; os.kill(os.getpid(), 9)");
    shell.shows("the interpreter ended");
    let place = shell.home.path().to_owned();
    await_true("the end of the old ones", || {
        let now = interpreters(&shell.home);
        before.iter().all(|old| !now.contains(old))
    });
    shell.cell(6, "'a' in dir()");
    shell.shows("Out[6]: False");
    assert_eq!(shell.leave(), 0);
    gone(&place);
}

fn kill(process: i32) {
    let process = rustix::process::Pid::from_raw(process).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn none_are_kept_where_none_are_wanted_and_what_cannot_be_is_said() {
    let home = with_settings(r#"{"checkpoints": 0}"#);
    let shell = Shell::start(home, &["--agent", "demo"], WIDE);
    shell.cell(1, "a = 1");
    shell.cell(2, "%ipycodex back");
    shell.shows("no checkpoints are kept: `%ipycodex checkpoints 10` keeps ten");
    assert_eq!(interpreters(&shell.home).len(), 1);
    shell.cell(3, "%ipycodex checkpoints 200");
    shell.shows("checkpoints must be a number from 0 to 100, got '200'");
    shell.cell(4, "%ipycodex checkpoints 3");
    shell.shows("checkpoints is 3");
    await_true("a copy", || settled(&shell.home) == 2);
    cell(&shell, 5, "a = 2");
    shell.cell(
        6,
        "import threading, time; threading.Thread(target=time.sleep, args=(99,), name='t', daemon=True).start()",
    );
    // Nobody types so fast: a copy is tried when nothing came for a moment.
    std::thread::sleep(Duration::from_millis(300));
    shell.cell(7, "a = 3");
    shell.cell(8, "%ipycodex back 7");
    shell.shows(
        "there is no checkpoint before In [7]: the thread `t` is running; there is one before In [5] and In [6]",
    );
    shell.cell(9, "%ipycodex back x");
    shell.shows("Usage: %ipycodex back [N|list]");
    shell.cell(10, "%ipycodex back 99");
    shell.shows("In [99] has not run in this interpreter");
}
