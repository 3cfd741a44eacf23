//! Shell mode: what is typed ahead, in whatever phase the shell is, and Ctrl-C at any moment.

use std::time::Duration;

use super::shell::CTRL_C;
use super::shell_mode::{BASH, Own, ZSH, at, command, home, in_shell_mode, recorded, with_both};

with_both!(
    what_is_typed_ahead_in_any_phase_is_never_a_line_of_the_shell,
    ctrl_c_at_any_moment_leaves_a_prompt_that_works,
    hooks_that_are_thrown_out_are_back_after_ctrl_c,
    the_third_ctrl_c_ends_what_holds_the_shell_up,
);

fn what_is_typed_ahead_in_any_phase_is_never_a_line_of_the_shell(own: Own) {
    // Settings that take their time, or ask; hooks before each prompt that do.
    let slow_hook = "PROMPT_COMMAND='sleep 0.2'\nprecmd() { sleep 0.2; }\n";
    for settings in ["sleep 0.5\n", "read -r asked; sleep 0.3\n", slow_hook] {
        let shell = in_shell_mode(home(own, settings));
        // One write: nothing waits for the shell, which has not been started.
        let asked = if settings.contains("asked") {
            "yes\r"
        } else {
            ""
        };
        shell.pty.send(&format!(
            "read -r line; echo first $asked $line\r{asked}for it\recho second\recho third\r"
        ));
        at(&shell, 4);
        let asked = if asked.is_empty() { "" } else { "yes " };
        let first = format!("first {asked}for it");
        let recorded = recorded(&shell);
        assert_eq!(recorded.len(), 3, "{settings}: {recorded:?}");
        for (row, expected) in recorded.iter().zip([&first, "second", "third"]) {
            // The terminal echoes what is typed ahead, before the output or after it.
            let printed = row.3.lines().any(|line| line == expected);
            assert!(printed, "{settings}: {expected:?} in {recorded:?}");
        }
    }
}

fn ctrl_c_at_any_moment_leaves_a_prompt_that_works(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    let mut number = 1;
    for round in 0..20 {
        // A shell may miss one that comes while it starts a program.
        shell.pty.send("while :; do :; done\r");
        std::thread::sleep(Duration::from_micros((round * 211) % 4001));
        shell.pty.send(CTRL_C);
        number += 1;
        at(&shell, number);
    }
    command(&shell, number, "echo still here");
    shell.shows("\nstill here");
}

fn hooks_that_are_thrown_out_are_back_after_ctrl_c(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    at(&shell, 1);
    let all = match own.settings {
        ".zshrc" => "precmd_functions=()",
        _ => "PROMPT_COMMAND= PS1='> '",
    };
    shell
        .pty
        .send_line(&format!("{all}; sh -c 'echo begun; exec sleep 600'"));
    shell.pty.wait_for("\nbegun");
    shell.pty.send(CTRL_C);
    command(&shell, 2, "echo status $?");
    shell.shows("\nstatus 130");
}

fn the_third_ctrl_c_ends_what_holds_the_shell_up(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    at(&shell, 1);
    let stubborn = "trap '' INT; echo begun; while :; do sleep 1; done";
    let press = |times: usize, then: &str| {
        for _ in 0..times {
            shell.pty.send(CTRL_C);
        }
        shell.shows(then);
    };
    // A program that does not listen: it alone goes.
    shell.pty.send_line(&format!("x=5; sh -c \"{stubborn}\""));
    shell.pty.wait_for("\nbegun");
    press(2, "press Ctrl-C once more to kill the program in front");
    press(1, "killing the program in front");
    command(&shell, 2, "echo x is $x; clear");
    // The shell itself.
    shell
        .pty
        .send_line("trap '' INT; echo begun; while :; do :; done");
    shell.pty.wait_for("\nbegun");
    press(2, "press Ctrl-C once more to end the shell");
    press(1, "ending the shell");
    command(&shell, 4, "echo a new one ${x-without}");
    shell.shows("a new one without");
}
