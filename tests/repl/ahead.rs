//! Keys typed while something runs: all of them come to the editor that follows, once and in order.

use super::shell::{Shell, cursor_line};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;

/// Clears the line.
const CTRL_U: &str = "\x15";

/// Python that takes its time to come up.
fn slow_home() -> Home {
    let home = Home::new();
    let python = peers::plain_python();
    let python = shlex::try_quote(python.to_str().unwrap()).unwrap();
    home.install_script(
        "python3",
        &format!("#!/bin/sh\nsleep 1\nexec {python} \"$@\"\n"),
    );
    home
}

/// Types a cell and Enter, and waits until the editor has let go of it.
fn submit(shell: &Shell, number: u32, code: &str) {
    shell.at(number);
    shell.pty.send_line(code);
    let edited = format!("In [{number}]: ");
    shell
        .pty
        .wait_until("the cursor below the input", |screen| {
            let line = cursor_line(screen);
            !format!("{line} ").starts_with(&edited)
        });
}

/// Types these one after the other, with pauses whose length nobody knows.
fn type_apart(shell: &Shell, keys: &[&str], pauses: usize) {
    for (index, key) in keys.iter().enumerate() {
        shell.pty.send(key);
        for _ in 0..(pauses * (index + 1) * 37) % 1201 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn keys_around_the_end_of_a_cell_come_to_the_next_editor() {
    let shell = Shell::new();
    for round in 0..200 {
        let number = 2 + u32::try_from(round).unwrap();
        let (first, second) = (format!("a{round}"), format!("-b{round}"));
        let third = format!("-c{round}");
        submit(&shell, number - 1, "pass");
        type_apart(&shell, &[&first, &second, &third], round * 7);
        shell.at_with(number, &format!("{first}{second}{third}"));
        shell.pty.send(CTRL_U);
    }
    shell.at(201);
    assert_eq!(shell.inputs(200), ["pass"; 200]);
}

#[test]
fn what_is_typed_while_python_starts_comes_to_the_next_editor() {
    for round in 0..5 {
        let shell = Shell::start(slow_home(), &["--agent", "demo"], SIZE);
        shell.at(1);
        submit(&shell, 1, "def f(x): return x*2");
        type_apart(&shell, &[".use", " f", "; more"], round * 301);
        shell.at_with(2, ".use f; more");
        shell.pty.send(CTRL_U);
        shell.cell(2, "f(21)");
        shell.shows("Out[2]: 42");
        shell.at(3);
    }
}

#[test]
fn what_does_not_fit_into_a_cells_terminal_is_not_lost() {
    let shell = Shell::new();
    // Reads no line before all of them have been typed.
    shell.pty.send_line(
        "import os, sys, time; print('be' + 'gun'); [time.sleep(0.01) for _ in iter(lambda: os.path.exists('go'), True)]; n = [len(sys.stdin.readline()) for _ in range(4000)]",
    );
    shell.pty.wait_for("\nbegun");
    for number in 0..4000 {
        shell.pty.send(&format!("{number:059}\r"));
        if number == 200 {
            shell.home.write("go", "");
        }
    }
    shell.at(2);
    shell.cell(2, "set(n), len(n)");
    shell.shows("Out[2]: ({60}, 4000)");
    shell.at(3);
}
