//! Cells in the background: the prompt has what was there before them; their names come back, whole or by a merge.

use std::fs;

use rusqlite::OptionalExtension;

use super::checkpoints::{await_copy, cell, interpreters, settled};
use super::shell::{CTRL_C, CTRL_D, Shell, with_settings};
use crate::support::home::Home;
use crate::support::{await_true, peers};

const CTRL_B: &str = "\x02";
pub(super) const WIDE: (u16, u16) = (150, 60);
/// Defines `wait(name)`, which waits for a file.
pub(super) const WAIT: &str = "import os, time; wait = lambda name: any(iter(lambda: os.path.exists(name) or \
                               time.sleep(.01), True))";
const FILES_STAY: &str = r#"{"rewind_files": "off"}"#;
const BEHIND: &str = "goes on in the background";

/// With `wait(name)`, which waits for a file, and a copy to go back to.
pub(super) fn start() -> Shell {
    started(Shell::start(
        with_settings(FILES_STAY),
        &["--agent", "demo"],
        WIDE,
    ))
}

fn started(shell: Shell) -> Shell {
    shell.at(1);
    await_true("a copy before any cell", || settled(&shell.home) == 2);
    cell(&shell, 1, WAIT);
    shell
}

pub(super) fn open(shell: &Shell, name: &str) {
    fs::write(shell.home.work().join(name), "").unwrap();
}

/// Types a cell, and moves it to the background once it has printed `on`.
fn behind(shell: &Shell, number: u32, code: &str) {
    shell.at(number);
    await_copy(shell, || {
        shell
            .pty
            .send_line(&format!("print('o' + 'n', {number}); {code}"));
        shell.pty.wait_for(&format!("\non {number}"));
        shell.pty.send(CTRL_B);
        shell.shows(&format!("In [{number}] {BEHIND}"));
        shell.at(number + 1);
    });
}

/// The output that the record has of this cell.
fn recorded(shell: &Shell, number: u32) -> Option<String> {
    let output = "select output from output_history where line = ?";
    let found = shell.record().query_row(output, [number], |row| row.get(0));
    found.optional().unwrap()
}

#[test]
fn the_prompt_goes_on_before_the_cell_and_gets_its_state_when_nothing_ran() {
    let mut pythons = vec![None];
    pythons.extend(peers::python().map(Some));
    for python in pythons {
        let home = with_settings(FILES_STAY);
        let mut arguments = vec!["--agent".to_owned(), "demo".to_owned()];
        if let Some(python) = &python {
            arguments.extend(["--python".to_owned(), python.display().to_string()]);
        }
        let shell = started(Shell::start(home, &arguments, WIDE));
        cell(&shell, 2, "a = [1]");
        let before = interpreters(&shell.home);
        behind(&shell, 3, "a.append(2); wait('go'); b = a; print('last')");
        shell.pty.send_line("%ipycodex jobs");
        shell.shows("In [3]  runs for ");
        shell.at(5);
        open(&shell, "go");
        shell.shows("In [3] has ended after ");
        shell.shows(
            ": added b; changed a; its state is at the prompt; its output: `%ipycodex show 3`",
        );
        let score = fs::read_to_string("/proc/self/oom_score_adj").unwrap();
        shell.cell(5, "a, b is a, int(open('/proc/self/oom_score_adj').read())");
        shell.shows(&format!("([1, 2], True, {})", score.trim()));
        assert_eq!(recorded(&shell, 3).unwrap(), "on 3\nlast");
        shell.cell(6, "%ipycodex jobs");
        shell.shows("Nothing works beside the prompt.");
        // The way back is still there, but for the copy that had the prompt.
        shell.pty.send_line("%ipycodex back 2");
        shell.shows("a, b is a");
        shell.cell(8, "'a' in dir()");
        shell.shows("False");
        assert!(!before.is_empty());
        assert_eq!(shell.leave(), 0);
        await_true("no interpreter is left", || {
            interpreters(&shell.home).is_empty()
        });
    }
}

#[test]
fn names_come_over_by_a_merge_when_something_ran_meanwhile() {
    let shell = start();
    cell(&shell, 2, "a = [1]; data = {'x': 1}; gone = 1; both = 0");
    let work = "a.append(2); view = {'d': data}; del gone; both = 1; f = lambda: both; g = (1 for _ in a); wait('go')";
    behind(&shell, 3, work);
    cell(&shell, 4, "both = 2; a.append(3); mine = 1");
    open(&shell, "go");
    shell.shows(
        "added f, g, view; changed a, both; deleted gone; `%ipycodex merge 3` brings them here",
    );
    shell.pty.send_line("%ipycodex merge 3");
    shell.shows(
        "? `a` was changed by In [3] and here\n  there: list of 2\n  here: list of 2\nWhich one?\n",
    );
    shell.pty.wait_for("both, theirs as `a_3`");
    shell.pty.send("b");
    shell.shows("? `both` was changed by In [3] and here\n  there: 1\n  here: 2\n");
    shell.pty.wait_for("theirs as `both_3`");
    shell.pty.send("m");
    shell.at(6);
    shell.shows("Brought over from In [3]: a_3, f, view; deleted gone\n");
    shell.shows("`g` stays behind: ");
    let state = "a, a_3, both, f(), view['d'] is data, 'gone' in dir(), mine";
    shell.cell(6, state);
    shell.shows("([1, 3], [1, 2], 2, 2, True, False, 1)");
    shell.cell(7, "%ipycodex merge 3");
    shell.shows("In [3] is not beside the prompt");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn a_merge_that_is_stopped_changes_nothing_and_can_be_made_again() {
    let shell = start();
    cell(&shell, 2, "a = 1");
    behind(&shell, 3, "a = 2; new = 3; wait('go')");
    cell(&shell, 4, "a = 4");
    open(&shell, "go");
    shell.shows("`%ipycodex merge 3` brings them here");
    for (number, key) in [(5, "n"), (6, CTRL_C)] {
        shell.pty.send_line("%ipycodex merge 3");
        shell.pty.wait_for("▸ n no, bring nothing over");
        shell.pty.send(key);
        shell.at(number + 1);
        shell.pty.send("\x0c");
        shell.at(number + 1);
    }
    shell.cell(7, "a, 'new' in dir()");
    shell.shows("(4, False)");
    shell.pty.send_line("%ipycodex merge 3");
    shell.pty.wait_for("▸ n no, bring nothing over");
    shell.pty.send("t");
    shell.at(9);
    shell.cell(9, "a, new");
    shell.shows("(2, 3)");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn a_cell_may_begin_there_be_watched_and_be_killed() {
    let shell = start();
    let code = "%%background\nprint('first'); print('half', end=' ', flush=True); open('there', 'w').close()\n\
                wait('go'); print('whole'); wait('end')\n\n\n";
    shell.at(2);
    shell.pty.send(&code.replace('\n', "\r"));
    shell.shows(&format!("In [2] {BEHIND}"));
    shell.at(3);
    let there = shell.home.work().join("there");
    await_true("half a line", || there.exists());
    shell.pty.send_line("%ipycodex show 2");
    shell.pty.wait_for("\nfirst\nhalf");
    open(&shell, "go");
    shell.pty.wait_for("\nhalf whole");
    shell.pty.send(CTRL_C);
    shell.shows("stopped waiting");
    shell.at(4);
    shell.pty.send_line("%ipycodex wait 2");
    shell.pty.wait_for("wait 2");
    shell.pty.send(CTRL_C);
    shell.at(5);
    // Ctrl-C goes to the cell in front only.
    shell.pty.send_line("print('in ' + 'front'); wait('never')");
    shell.pty.wait_for("\nin front");
    shell.pty.send(CTRL_C);
    shell.shows("KeyboardInterrupt");
    shell.at(6);
    shell.cell(6, "%ipycodex jobs");
    shell.shows("In [2]  runs for ");
    shell.pty.send(CTRL_D);
    shell.shows("these jobs would end: `In [2] print('first');");
    shell.cell(7, "%ipycodex kill 2");
    shell.shows("In [2] has ended with its interpreter (killed on request) after ");
    shell.cell(8, "1 + 1");
    shell.shows("Out[8]: 2");
    assert_eq!(recorded(&shell, 2).unwrap().lines().next(), Some("first"));
    assert_eq!(shell.leave(), 0);
}

#[test]
fn what_goes_wrong_there_is_told_and_costs_the_prompt_nothing() {
    let shell = start();
    for (number, code, told) in [
        (
            2,
            "wait('a'); 1/0",
            "In [2] has failed (ZeroDivisionError: division by zero) after ",
        ),
        (
            4,
            "wait('b'); os._exit(3)",
            "In [4] has ended with its interpreter (it exited, crashed or was killed: out of memory?) after ",
        ),
        (
            6,
            "wait('c'); os.kill(os.getpid(), 11)",
            "In [6] has ended with its interpreter (it exited, crashed or was killed: out of memory?) after ",
        ),
        (8, "wait('d'); os.system('exec sleep 1234')", ""),
    ] {
        behind(&shell, number, code);
        cell(&shell, number + 1, "x = 1");
        let gate = ["a", "b", "c", "d"][number as usize / 2 - 1];
        open(&shell, gate);
        shell.shows(told);
    }
    await_true("a program of the cell's", || commands_hold("sleep 1234"));
    shell.cell(10, "%ipycodex kill 8");
    shell.shows("In [8] has ended with its interpreter (killed on request) after ");
    assert!(!commands_hold("sleep 1234"));
    shell.cell(11, "x");
    shell.shows("Out[11]: 1");
    behind(&shell, 12, "new = 1; wait('e')");
    cell(&shell, 13, "x = 2");
    open(&shell, "e");
    shell.shows("`%ipycodex merge 12` brings them here");
    shell.pty.send_line("%ipycodex restart");
    shell.shows("the names of In [12] are gone: its interpreter ended: ");
    shell.at(15);
    assert_eq!(shell.leave(), 0);
    await_true("no interpreter is left", || {
        interpreters(&shell.home).is_empty()
    });
}

fn commands_hold(text: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).replace('\0', " ").trim() == text)
}

#[test]
fn its_output_is_there_after_its_end_and_its_session_is_not_left() {
    let shell = start();
    behind(&shell, 2, "x = input('name? ')");
    shell.cell(3, "%ipycodex jobs");
    shell.shows("In [2]  waits for input; `answer 2 TEXT`");
    for (number, leaving) in [(4, "new"), (5, "fork"), (6, "resume 1")] {
        shell.cell(number, &format!("%ipycodex {leaving}"));
    }
    let refused = "In [2] is beside the prompt, so this session stays";
    assert_eq!(shell.text().matches(refused).count(), 3, "{}", shell.text());
    shell.pty.send_line("%ipycodex kill 2");
    shell.shows("; its output: `%ipycodex show 2`");
    shell.at(8);
    shell.pty.send("\x0c");
    shell.cell(8, "%ipycodex show 2");
    shell.pty.wait_for("show 2\non 2\nname?");
    shell.cell(9, "%ipycodex hide 2");
    shell.cell(10, "%ipycodex show 2");
    shell.shows("Shown: 2");
    shell.pty.send_line("%ipycodex new");
    shell.shows("Session 2 begins here");
}

#[test]
fn its_input_is_answered_from_the_prompt() {
    let shell = start();
    behind(
        &shell,
        2,
        "x = [input('name? '), input('age? ')]; wait('go')",
    );
    cell(&shell, 3, "y = 1");
    shell.cell(4, "%ipycodex jobs");
    shell.shows("In [2]  waits for input; `answer 2 TEXT`");
    shell.pty.send_line("%ipycodex answer 2 Ada of  London");
    shell.pty.send_line("%ipycodex show 2");
    shell.pty.wait_for("name? Ada of  London\nage?");
    shell.pty.send(CTRL_C);
    shell.shows("stopped waiting");
    shell.pty.send_line("%ipycodex answer 2 36");
    open(&shell, "go");
    shell.shows("In [2] has ended after ");
    shell.pty.send_line("%ipycodex answer 2 more");
    shell.shows("In [2] does not wait for input");
    shell.pty.send_line("%ipycodex merge 2");
    shell.shows("Brought over from In [2]: x");
    shell.pty.send_line("x");
    shell.shows("['Ada of  London', '36']");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn a_cell_that_has_no_copy_before_it_stays_in_front() {
    let shell = start();
    shell.cell(2, "import threading; go = threading.Event(); threading.Thread(target=go.wait, daemon=True).start()");
    let number = 3;
    shell.pty.send_line("print('o' + 'n'); wait('go'); a = 1");
    shell.pty.wait_for("\non");
    shell.pty.send(CTRL_B);
    shell.shows(&format!(
        "the cell stays in front: there is no checkpoint before In [{number}]: "
    ));
    open(&shell, "go");
    shell.cell(number + 1, "a");
    shell.shows(&format!("Out[{}]: 1", number + 1));
    let code = "%%background\nb = 1\n\n\n";
    shell.pty.send(&code.replace('\n', "\r"));
    shell.shows("not run, since it cannot go to the background: the thread `");
    shell.cell(number + 3, "'b' in dir()");
    shell.shows("False");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn cells_go_there_one_after_the_other() {
    let shell = start();
    cell(&shell, 2, "a = []");
    for number in 3..6 {
        // Both keys in one read: it goes there as soon as it runs.
        shell.at(number);
        let code = format!("wait('{number}'); n{number} = a + [{number}]");
        await_copy(&shell, || {
            shell.pty.send(&format!("{code}\r{CTRL_B}"));
            shell.shows(&format!("In [{number}] {BEHIND}"));
            shell.at(number + 1);
        });
    }
    for number in [4, 5, 3] {
        open(&shell, &number.to_string());
        shell.shows(&format!("In [{number}] has ended after "));
    }
    // The last one had the prompt again, since nothing ran; what the others have is brought over.
    shell.at(6);
    for number in [3, 4] {
        shell.pty.send_line(&format!("%ipycodex merge {number}"));
        shell.shows(&format!("Brought over from In [{number}]: n{number}"));
    }
    shell.cell(8, "n3, n4, n5");
    shell.shows("([3], [4], [5])");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn where_nobody_is_at_a_prompt_it_is_a_cell_as_any_other() {
    let home = Home::new();
    let ran = home.demo(&["-c", "%%background\nprint(6 * 7)"], "");
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "42\n"));
}

#[test]
fn what_is_written_while_a_cell_is_there_is_no_part_of_its_step() {
    let shell = started(Shell::start(Home::new(), &["--agent", "demo"], WIDE));
    shell.at(2);
    await_copy(&shell, || {
        shell.pty.send_line(
            "open('early.txt', 'w').close(); print('o' + 'n'); wait('go'); open('late.txt', 'w').close()",
        );
        shell.pty.wait_for("\non");
        shell.pty.send(CTRL_B);
        shell.shows(&format!("In [2] {BEHIND}"));
        shell.at(3);
    });
    open(&shell, "mine.txt");
    cell(&shell, 3, "open('front.txt', 'w').close()");
    open(&shell, "go");
    shell.shows("In [2] has ended after ");
    shell.cell(4, "%ipycodex changes");
    shell.shows("In [2]  created  early.txt\nIn [3]  created  front.txt\n");
    for other in ["late.txt", "mine.txt", "created  go"] {
        let listed = shell.text();
        let listed = listed.rsplit("%ipycodex changes").next().unwrap();
        assert!(!listed.contains(other), "{listed}");
    }
}

#[test]
fn the_key_can_be_another() {
    let home = with_settings(r#"{"keys": {"background": "ctrl-g"}}"#);
    let shell = started(Shell::start(home, &["--agent", "demo"], WIDE));
    shell.at(2);
    shell.pty.send_line("print('o' + 'n'); wait('go')");
    shell.pty.wait_for("\non");
    shell.pty.send("\x07");
    shell.shows(&format!("In [2] {BEHIND}"));
    open(&shell, "go");
    shell.shows("In [2] has ended after ");
}
