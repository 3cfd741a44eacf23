//! Ctrl-C and Ctrl-Z: one meaning in each state, and the prompt is back.

use std::path::Path;

use super::shell::{CTRL_C, CTRL_Z, ENDLESS, Shell};
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{Pty, SIZE};

/// What runs, and what shows that it does.
const CELLS: [(&str, &str); 5] = [
    ("import time; print('be' + 'gun'); time.sleep(600)", "begun"),
    ("print('be' + 'gun')\rwhile True: pass\r", "begun"),
    ("input('be' + 'gun')", "begun"),
    (
        "import asyncio; print('be' + 'gun'); await asyncio.sleep(600)",
        "begun",
    ),
    (ENDLESS, "begun"),
];

fn interrupted(arguments: &[&str]) {
    let shell = Shell::start(Home::new(), arguments, SIZE);
    let mut number = 1;
    for (code, begun) in CELLS {
        shell.at(number);
        // A block of several lines comes as a paste.
        let from = shell.pty.raw().len();
        shell.pty.send(&format!("\x1b[200~{code}\x1b[201~"));
        shell.pty.send("\r");
        shell.pty.wait_raw(begun.as_bytes(), from);
        if code.starts_with("input") {
            // Between the question and the reading Python itself does not notice a signal until the next key.
            await_true("the interpreter reads", || asleep(&shell));
        }
        shell.pty.send(CTRL_C);
        shell.at(number + 1);
        shell.cell(number + 1, "'after ' + str(len(In))");
        shell.shows(&format!("Out[{}]: 'after", number + 1));
        number += 2;
    }
    shell.shows("KeyboardInterrupt");
    shell.lacks("variables are lost");
}

/// True when the interpreter of this shell waits for something.
fn asleep(shell: &Shell) -> bool {
    shell.pty.processes().into_iter().any(|process| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.contains("(python") && stat.contains(") S ")
    })
}

#[test]
fn ctrl_c_brings_the_prompt_back_from_everything_that_waits() {
    interrupted(&["--agent", "demo"]);
}

#[test]
fn ctrl_c_brings_the_prompt_back_with_ipython() {
    if let Some(python) = peers::python() {
        interrupted(&["--agent", "demo", "--python", python.to_str().unwrap()]);
    }
}

#[test]
fn the_third_ctrl_c_kills_an_interpreter_that_swallows_them() {
    let shell = Shell::new();
    shell.cell(1, "lost = 1");
    shell
        .pty
        .send_line("import itertools; print('st' + 'uck'); sum(itertools.repeat(0))");
    shell.pty.wait_for("stuck");
    shell.pty.send(CTRL_C);
    shell.pty.send(CTRL_C);
    shell
        .pty
        .wait_for("once more to kill the interpreter (its variables are lost)");
    shell.pty.send(CTRL_C);
    shell.at(3);
    shell.shows("the interpreter ended (killed");
    shell.cell(3, "'lost' in globals()");
    shell.shows("Out[3]: False");
}

#[test]
fn however_slowly_they_come_the_third_kills_and_another_key_keeps() {
    let shell = Shell::new();
    shell.home.write(
        "swallows.py",
        "import time, sys\n\
         print('stuck')\n\
         for n in range(99):\n\
         \x20   try: sys.stdin.readline() and print('got it')\n\
         \x20   except KeyboardInterrupt:\n\
         \x20       end = time.monotonic() + 2.5\n\
         \x20       while time.monotonic() < end: pass\n\
         \x20       print('swallowed', n)\n",
    );
    shell.at(1);
    shell.pty.send_line("exec(open('swallows.py').read())");
    shell.pty.wait_for("stuck");
    let warning = "once more to kill the interpreter";
    let press = |n: u32| {
        shell.pty.send(CTRL_C);
        shell.pty.wait_for_anywhere(&format!("swallowed {n}"));
    };
    press(0);
    press(1);
    shell.pty.wait_for_anywhere(warning);
    // Another key: they are counted anew.
    shell.pty.send_line("x");
    shell.pty.wait_for("got it");
    press(3);
    press(4);
    shell.pty.send(CTRL_C);
    shell.at(2);
    shell.shows("the interpreter ended (killed");
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_goes_on() {
    for (typed, comes_back) in [("", "In [1]:"), ("ab = 1", "In [1]: ab = 1")] {
        let home = Home::new();
        let pty = Pty::spawn_program(
            &home,
            Path::new("/bin/bash"),
            &["--norc", "--noprofile", "-i"],
            SIZE,
        );
        pty.send_line("PS1='shell> '");
        pty.wait_for("shell> ");
        pty.send_line(&format!("{} --agent demo", env!("CARGO_BIN_EXE_ipycodex")));
        pty.wait_for("In [1]:");
        let shell = Shell { home, pty };
        shell.at(1);
        shell.pty.send(typed);
        shell.at_with(1, typed);
        stopped(&shell, CTRL_Z);
        shell.pty.send_line("fg");
        shell.pty.wait_for(comes_back);
        shell.at_with(1, typed);
        shell.pty.send("#");
        shell.at_with(1, &format!("{typed}#"));
        shell.pty.send(CTRL_C);
        shell.at(1);
        // The same while a cell runs.
        shell
            .pty
            .send_line("import time; print('be' + 'gun'); time.sleep(0.5); print('do' + 'ne')");
        shell.pty.wait_for("begun");
        stopped(&shell, CTRL_Z);
        shell.pty.send_line("fg");
        shell.pty.wait_for_anywhere("done");
        shell.at(2);
        shell.cell(2, "6 * 7");
        shell.shows("Out[2]: 42");
    }
}

/// Suspends and sees that the shell has its terminal: it echoes, and lines are lines.
fn stopped(shell: &Shell, key: &str) {
    let from = shell.pty.raw().len();
    let mark = format!("echo $((6 * 111))-{from}");
    shell.pty.send(key);
    shell.pty.wait_raw(b"Stopped", from);
    shell.pty.send_line(&mark);
    shell
        .pty
        .wait_for(&mark.replace("echo $((6 * 111))", "666"));
    shell
        .pty
        .send_line(&format!("stty -a > mode; echo $((6 * 7))-{from}"));
    shell.pty.wait_for(&format!("42-{from}"));
    let mode = std::fs::read_to_string(shell.home.work().join("mode")).unwrap();
    let flags: Vec<&str> = mode
        .split_whitespace()
        .map(|flag| flag.trim_end_matches(';'))
        .collect();
    assert!(
        ["isig", "icanon", "echo", "opost", "icrnl"]
            .iter()
            .all(|flag| flags.contains(flag)),
        "{mode}"
    );
    std::fs::remove_file(shell.home.work().join("mode")).unwrap();
}
