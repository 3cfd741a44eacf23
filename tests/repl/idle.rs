//! What the prompt wakes for while it waits, and that nothing else wakes it.

use std::collections::BTreeMap;
use std::fs;

use super::shell::{CTRL_C, Shell};

#[test]
fn keys_of_more_than_one_read_are_heard() {
    let shell = Shell::new();
    let typed = "0123456789".repeat(110);
    shell.pty.send(&format!("{typed}END"));
    shell.pty.wait_for("9END");
}

/// How often each thread of the program and of what it started has slept, or was made to wait, by process and thread.
fn wakes(shell: &Shell) -> BTreeMap<String, u64> {
    let mut wakes = BTreeMap::new();
    for process in shell.pty.processes() {
        let tasks = fs::read_dir(format!("/proc/{process}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let read = |name| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let name = format!("{} {:?}", read("comm").trim(), task.path());
            let count = read("status").lines().find_map(|line| {
                line.strip_prefix("voluntary_ctxt_switches:")?
                    .trim()
                    .parse()
                    .ok()
            });
            wakes.insert(name, count.unwrap_or_default());
        }
    }
    wakes
}

/// Nothing of this shell wakes while another one is busy for seconds.
fn sleeps(shell: &Shell, what: &str, other: &Shell, number: &mut u32) {
    let mut pass = || {
        other.cell(*number, "time.sleep(1.5)");
        *number += 1;
    };
    let mut last = BTreeMap::new();
    // What was begun before comes to its end meanwhile.
    for _ in 0..6 {
        let before = wakes(shell);
        pass();
        let after = wakes(shell);
        if before == after {
            return;
        }
        last = after;
        last.retain(|thread, count| before.get(thread) != Some(count));
    }
    panic!("{what}: still awake: {last:?}");
}

#[test]
fn nothing_wakes_while_nothing_happens() {
    let other = Shell::new();
    other.cell(1, "import time");
    let mut number = 2;

    let shell = Shell::new();
    sleeps(&shell, "before any cell", &other, &mut number);
    shell.cell(1, "1 + 1");
    sleeps(&shell, "after a cell", &other, &mut number);
    shell.pty.send("if x:\ry\x1b[A");
    shell.pty.wait_for(":     y");
    sleeps(&shell, "with a text", &other, &mut number);
    shell.pty.send(CTRL_C);
    shell.at(2);
    shell.pty.send_line(".hello");
    shell.at(3);
    sleeps(&shell, "after an answer", &other, &mut number);
}
