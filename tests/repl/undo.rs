//! Exchanges that ran cells, taken back together with the interpreter's steps, as the user sees it.

use super::checkpoints::{await_copy, cell, settled};
use super::shell::{CTRL_C, Shell, with_settings};
use crate::support::{await_true, peers};

const WIDE: (u16, u16) = (160, 50);

/// Cell 1 makes `a`, the exchange [2] runs In[3], which adds to it, cell 4 adds more; each has its checkpoint.
pub(super) fn talk(arguments: &[&str]) -> Shell {
    let home = with_settings(r#"{"run_cells": "auto"}"#);
    let shell = Shell::start(home, arguments, WIDE);
    shell.at(1);
    await_true("a copy before any cell", || settled(&shell.home) == 2);
    cell(&shell, 1, "a = [1]");
    await_copy(&shell, || {
        shell.pty.send_line(".run `a.append(2)`");
        shell.at(4);
    });
    cell(&shell, 4, "a.append(3)");
    shell
}

fn question(shell: &Shell, number: u32, command: &str) {
    shell.at(number);
    shell.pty.send_line(command);
    shell.pty.wait_for("▸ n no, leave it");
}

#[test]
fn the_interpreter_steps_back_with_the_exchange_when_the_user_agrees() {
    let mut interpreters = vec![None];
    interpreters.extend(peers::python().map(Some));
    for python in interpreters {
        let python = python.map(|python| python.display().to_string());
        let mut arguments = vec!["--agent", "demo"];
        arguments.extend(python.iter().flat_map(|python| ["--python", python]));
        let shell = talk(&arguments);
        question(&shell, 5, "%ipycodex undo");
        shell.shows(
            "? The exchange [2] has run a cell in your session\n    In [3] a.append(2)\n    In [4] a.append(3)  (ran \
             after them)\n",
        );
        shell.shows("Step the interpreter back to before this, too?");
        shell.pty.send("y");
        shell.at(6);
        shell.shows("✓ stepping back: the interpreter, before In [3]");
        shell.shows("Back before In [3] a.append(2); stepped over In [3] and In [4]");
        shell.shows("Taken out of the conversation: [2] run `a.append(2)`");
        shell.cell(6, "a");
        shell.shows("Out[6]: [1]");
    }
}

#[test]
fn a_prompt_sent_again_finds_the_interpreter_as_it_was() {
    let shell = talk(&["--agent", "demo"]);
    question(&shell, 5, "%ipycodex retry");
    shell.pty.send(CTRL_C);
    shell.at(6);
    shell.shows("stopped waiting");
    question(&shell, 6, "%ipycodex retry");
    shell.pty.send("y");
    shell.at(9);
    shell.shows("In [8]: a.append(2)");
    cell(&shell, 9, "a");
    shell.shows("Out[9]: [1, 2]");
    shell.pty.send_line(".run `a.append(4)`");
    shell.at(12);
    question(&shell, 12, "%ipycodex undo");
    shell.pty.send("n");
    shell.at(13);
    shell.shows("the interpreter keeps what In [11] did");
    shell.cell(13, "a");
    shell.shows("Out[13]: [1, 2, 4]");
}
