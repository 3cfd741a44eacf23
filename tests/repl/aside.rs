//! Turns of the agent beside the prompt: how they begin, what they may do, what comes of them, and what ends them.

use std::fs;

use rustix::process::Signal;

use super::background::{WAIT, WIDE, open, start};
use super::checkpoints::{cell, interpreters};
use super::shell::{CTRL_C, CTRL_D, Shell};
use crate::support::await_true;
use crate::support::home::Home;

const ALT_ENTER: &str = "\x1b\r";

/// Begins a turn that runs this code, as In number `number`, and waits until it works.
fn aside(shell: &Shell, number: u32, code: &str) {
    shell.at(number);
    shell
        .pty
        .send_line(&format!("%ipycodex aside .run `{code}`"));
    shell.shows(&format!("In [{number}] works beside the prompt"));
    shell.at(number + 1);
}

fn merge(shell: &Shell, number: u32) {
    shell.pty.send_line(&format!("%ipycodex merge {number}"));
    shell.pty.wait_for("Bring it here?");
}

#[test]
fn a_prompt_typed_while_a_cell_runs_goes_beside_it_and_the_rest_to_the_cell() {
    let shell = start();
    cell(&shell, 2, "a = [1]");
    shell
        .pty
        .send_line("a.append(2); print('o' + 'n'); wait('go'); name = input('who? ')");
    shell.pty.wait_for("\non");
    shell
        .pty
        .send(&format!(".run `made = len(a)`{ALT_ENTER}Ada\r"));
    shell.shows("In [4] works beside the prompt");
    open(&shell, "go");
    shell.shows("In [4] has answered after ");
    shell.shows(": 1 cell; added made; `%ipycodex merge 4` brings it here");
    shell.cell(5, "a, name");
    shell.shows("Out[5]: ([1, 2], 'Ada')");
    merge(&shell, 4);
    shell.pty.send("m");
    shell.shows("Brought over from In [4]: made");
    shell.at(8);
    shell.cell(8, "made");
    shell.shows("Out[8]: 1");
    // What is no prompt is the cell's, as any key.
    shell
        .pty
        .send_line("print('o' + 'n', 9); wait('on'); x = input()");
    shell.pty.wait_for("\non 9");
    shell.pty.send(&format!("no prompt{ALT_ENTER}"));
    open(&shell, "on");
    shell.at(10);
    shell.cell(10, "x");
    shell.shows("no prompt");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn several_work_at_once_and_none_of_them_changes_anything() {
    let shell = start();
    let home = shell.home.work();
    cell(&shell, 2, "a = 1");
    aside(&shell, 3, "a = 3; wait('3'); open('theirs', 'w')");
    aside(&shell, 4, "a = 4; wait('4'); b = a");
    shell.cell(5, "%ipycodex jobs");
    shell.shows("In [3]  works for ");
    shell.shows("In [4]  works for ");
    shell.cell(6, "a");
    shell.shows("Out[6]: 1");
    // Ctrl-C is for what is in front.
    shell.pty.send_line("%ipycodex wait 4");
    shell.pty.send(CTRL_C);
    shell.shows("stopped waiting");
    open(&shell, "4");
    shell.shows("In [4] has answered after ");
    open(&shell, "3");
    shell.shows("In [3] has answered after ");
    shell.at(8);
    shell.cell(8, "%ipycodex show 3");
    shell.shows("Permission denied: 'theirs'");
    assert!(!home.join("theirs").exists());
    merge(&shell, 4);
    shell.pty.send("n");
    shell.shows("In [4] stays as it is: `%ipycodex merge 4` asks again");
    shell.at(10);
    shell.cell(10, "%ipycodex kill 3");
    shell.shows("what In [3] has left was dropped");
    shell.cell(11, "a = 2");
    merge(&shell, 4);
    shell.pty.send("m");
    shell.shows("? `a` was changed by In [4] and here");
    shell.pty.wait_for("Which one?");
    shell.pty.send("b");
    shell.shows("Brought over from In [4]: a_4, b");
    shell.at(14);
    shell.cell(14, "a, a_4, b");
    shell.shows("Out[14]: (2, 4, 4)");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn files_come_where_they_belong_and_replace_none_unasked() {
    let shell = start();
    let work = shell.home.work();
    let write = "p = os.environ['TMPDIR'] + '/files/'; os.makedirs(p + 'sub'); [open(p + n, 'w').write('theirs') for \
                 n in ('sub/new', 'one.txt', 'two', 'same', 'late')]; os.symlink('/etc/passwd', p + 'link'); del p";
    fs::write(work.join("same"), "theirs").unwrap();
    fs::write(work.join("one.txt"), "mine").unwrap();
    aside(&shell, 2, write);
    shell.shows("1 cell; wrote late, one.txt, sub/new, two; `%ipycodex merge 2` brings it here");
    fs::write(work.join("two"), "mine").unwrap();
    fs::write(work.join("late"), "mine").unwrap();
    merge(&shell, 2);
    shell.shows("another file  one.txt  6 B");
    shell.shows("new file      sub/new  6 B");
    shell.pty.send("m");
    for (name, key) in [("late", "m"), ("one.txt", "b"), ("two", "t")] {
        shell.pty.wait_for(&format!(
            "In [2] has written {name}, and another one is here"
        ));
        shell.pty.wait_for("Which one?");
        shell.pty.send(key);
    }
    shell.shows("Brought over from In [2]: one_2.txt, sub/new, two");
    for (name, expected) in [
        ("late", "mine"),
        ("one.txt", "mine"),
        ("one_2.txt", "theirs"),
        ("sub/new", "theirs"),
        ("two", "theirs"),
    ] {
        assert_eq!(
            fs::read_to_string(work.join(name)).unwrap(),
            expected,
            "{name}"
        );
    }
    assert!(!work.join("link").exists());
    await_true("its folder is removed", || {
        let left = fs::read_dir(shell.home.path().join("tmp")).unwrap();
        let mut left = left.flatten().map(|entry| entry.file_name());
        !left.any(|name| name.to_string_lossy().contains("branch"))
    });
    assert_eq!(shell.leave(), 0);
}

#[test]
fn its_code_cannot_pose_as_the_interpreter_at_the_prompt() {
    let shell = start();
    cell(&shell, 2, "a = 1");
    let frame = "{'type': 'moved', 'pid': os.getpid()}";
    let told =
        format!("__import__('sys').modules['_ipycodex_runner'].host.frames.send({frame}, False)");
    aside(&shell, 3, &format!("{told}; print('to' + 'ld')"));
    shell.shows("In [3] has answered after ");
    shell.cell(4, "%ipycodex kill 3");
    shell.pty.send_line("print('be' + 'gun'); wait('never')");
    shell.pty.wait_for("begun");
    shell.pty.send(CTRL_C);
    shell.shows("KeyboardInterrupt");
    shell.at(6);
    shell.cell(6, "a");
    shell.shows("Out[6]: 1");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn where_it_cannot_begin_it_says_why() {
    let shell = start();
    shell.cell(
        2,
        "import threading; go = threading.Event(); t = threading.Thread(target=go.wait); t.start()",
    );
    shell.cell(3, "%ipycodex aside .hello");
    shell.shows("In [3] was not begun: the interpreter cannot be forked now: the thread `");
    shell.cell(4, "go.set(); t.join()");
    shell.cell(5, "%ipycodex aside hello");
    shell.shows("Usage: %ipycodex aside .PROMPT");
    shell.cell(6, "%ipycodex checkpoints 0");
    shell.cell(7, "%ipycodex aside .hello");
    shell.shows(
        "In [7] was not begun: the interpreter cannot be forked now: no checkpoints are kept",
    );
    shell.cell(8, "%ipycodex jobs");
    shell.shows("Nothing works beside the prompt.");
    assert_eq!(shell.leave(), 0);
    let unrecorded = Shell::start(Home::new(), &["--agent", "demo", "--no-record"], WIDE);
    unrecorded.cell(1, "%ipycodex aside .hello");
    unrecorded.shows("In [1] was not begun: this session is not in the history file");
    let ran = Home::new().demo(&["-c", "%ipycodex aside .hello"], "");
    assert!(ran.stderr.contains("nobody is at a prompt here"), "{ran:?}");
}

#[test]
fn it_ends_when_it_is_told_to_with_the_interpreter_and_with_the_shell() {
    let shell = start();
    aside(&shell, 2, "wait('never')");
    shell.cell(3, "%ipycodex kill 2");
    shell.shows("In [2] was ended");
    shell.cell(4, "%ipycodex jobs");
    shell.shows("Nothing works beside the prompt.");
    aside(&shell, 5, "wait('never')");
    shell.pty.send_line("%ipycodex restart");
    shell.shows("a new interpreter is ready");
    shell.shows("In [5] has answered after ");
    shell.pty.send_line(WAIT);
    shell.at(8);
    aside(&shell, 8, "wait('never')");
    shell.pty.send(CTRL_D);
    shell.shows("these jobs would end: `In [8] .run `wait('never')``");
    shell.pty.send(CTRL_D);
    assert_eq!(shell.pty.exit_status().exit_code(), 0);
    await_true("no interpreter is left", || {
        interpreters(&shell.home).is_empty()
    });
    let killed = start();
    aside(&killed, 2, "wait('never')");
    aside(&killed, 3, "os.system('exec sleep 1235')");
    killed.pty.signal(Signal::KILL);
    await_true("nothing is left", || killed.pty.processes().is_empty());
}
