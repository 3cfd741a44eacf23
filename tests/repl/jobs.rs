//! Job control: the program is stopped in each of its states and brought back by the shell that started it.
//!
//! Each state is met, stopped by its Ctrl-Z and by a SIGSTOP from outside (which nobody can prepare for), brought back
//! by `fg`, and then left by Ctrl-C, which has to mean what it means there: a program that is gone, a variable that is
//! gone or a key that the terminal took for itself fails. [`stops`] is told how many rounds each state has.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::recall::ran_in;
use super::shell::{CTRL_C, CTRL_D, CTRL_R, CTRL_Z, Shell, with_settings};
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::pty::{Pty, SIZE};

mod lent_terminal;

const CTRL_U: &str = "\x15";

const PROGRAM: &str = env!("CARGO_BIN_EXE_ipycodex");

/// States that are tried at the same time: they wait more than they compute.
const SIDE_BY_SIDE: usize = 4;

/// What is typed to come into a state, and what shows that it is there.
struct State {
    typed: &'static str,
    shows: &'static str,
    /// Shown again when it goes on; until then Ctrl-C is not typed. Without it Ctrl-C comes at once.
    again: Option<&'static str>,
    /// An input of its own: the next prompt has the next number.
    counts: bool,
    /// Ctrl-C leaves this standing at the prompt.
    left: &'static str,
}

const NONE: State = State {
    typed: "",
    shows: "",
    again: None,
    counts: true,
    left: "",
};

/// States, each with what stops in it and goes on, so many times.
const STATES: [(&str, fn(u32)); 15] = [
    ("at the prompt", at_the_prompt),
    ("while a cell runs", while_a_cell_runs),
    (
        "while a program of a cell runs",
        while_a_program_of_a_cell_runs,
    ),
    (
        "while a cell waits for a line",
        while_a_cell_waits_for_a_line,
    ),
    (
        "while a program of a cell has the screen",
        while_a_program_of_a_cell_has_the_screen,
    ),
    ("while an answer streams", while_an_answer_streams),
    ("while a question is open", while_a_question_is_open),
    (
        "in the search and in the picker",
        in_the_search_and_in_the_picker,
    ),
    ("during a replay", during_a_replay),
    ("during the start", during_the_start),
    ("before the first prompt", before_the_first_prompt),
    (
        "with a program that waits for us",
        with_a_program_that_waits_for_us,
    ),
    ("in the user's editor", lent_terminal::in_the_users_editor),
    ("in a pager", lent_terminal::in_a_pager),
    (
        "in a program that puts something away",
        lent_terminal::in_a_program_that_puts_something_away,
    ),
];

/// Stops it in every state, and brings it back, so many times; states are tried side by side, as tests are.
pub fn stops(rounds: u32) -> String {
    let failed = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some((name, state)) = STATES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begin = Instant::now();
                    if std::panic::catch_unwind(|| state(rounds)).is_err() {
                        failed.lock().unwrap().push(*name);
                    }
                    eprintln!("stopped {rounds} times {name}: {:.0?}", begin.elapsed());
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "stops {failed:?}: see above");
    format!("goes on in {} states", STATES.len())
}

/// A job-control shell in this home.
fn in_bash(home: Home) -> Shell {
    let bash = Path::new("/bin/bash");
    let pty = Pty::spawn_program(&home, bash, &["--norc", "--noprofile", "-i"], SIZE);
    pty.send_line("PS1='shell> '");
    pty.wait_for("shell> ");
    Shell { home, pty }
}

/// The same, with the program at its first prompt.
fn started(home: Home) -> Shell {
    let shell = in_bash(home);
    shell.pty.send_line(&format!("{PROGRAM} --agent demo"));
    shell.at(1);
    shell
}

/// The program in the shell: the process the terminal belongs to.
fn job(shell: &Shell) -> u32 {
    let group = shell.pty.foreground();
    assert_ne!(group, shell.pty.pid(), "the shell has the terminal");
    group
}

/// Stops the program, and brings it back: when this returns, the terminal belongs to it again.
fn stop_and_go(shell: &Shell, stop: impl Fn()) -> usize {
    let group = job(shell);
    let from = shell.pty.raw().len();
    stop();
    let from = shell.pty.wait_raw(b"Stopped", from);
    let from = shell.pty.wait_raw(b"shell> ", from);
    // An answer of the terminal that came while nobody of ours could read it is the shell's, and stands in its line.
    shell.pty.send(CTRL_U);
    shell.pty.send_line("fg");
    // What follows was typed at the program, whatever mode the terminal has by then.
    await_true("the terminal is the program's", || {
        shell.pty.foreground() == group
    });
    from
}

fn round(shell: &Shell, state: &State, number: &mut u32, stop: impl Fn()) {
    shell.at(*number);
    let from = shell.pty.raw().len();
    shell.pty.send(state.typed);
    shell.pty.wait_raw(state.shows.as_bytes(), from);
    let from = stop_and_go(shell, stop);
    if let Some(again) = state.again {
        shell.pty.wait_raw(again.as_bytes(), from);
    }
    shell.pty.send(CTRL_C);
    *number += u32::from(state.counts);
    shell.at_with(*number, state.left);
    if !state.left.is_empty() {
        shell.pty.send(CTRL_C);
        shell.at(*number);
    }
}

fn holds(home: impl Fn() -> Home, state: &State, stops: &[&str], rounds: u32) {
    for stop in stops {
        let shell = started(home());
        shell.cell(1, "kept = 41; import argparse");
        let mut number = 2;
        for _ in 0..rounds {
            round(&shell, state, &mut number, || halt(&shell, stop));
        }
        shell.cell(number, "kept + 1");
        shell.shows(&format!("Out[{number}]: 42"));
        shell.pty.send(CTRL_D);
        shell.pty.wait_until("the shell is back", |screen| {
            screen.contents().trim_end().ends_with("shell>")
        });
    }
}

/// By its key, and from outside.
const BOTH: [&str; 2] = [CTRL_Z, ""];

fn at_the_prompt(rounds: u32) {
    let state = State {
        typed: "not_yet",
        shows: "not_yet",
        again: Some("not_yet"),
        counts: false,
        ..NONE
    };
    holds(Home::new, &state, &BOTH, rounds);
}

fn while_a_cell_runs(rounds: u32) {
    let state = State {
        typed: "import time; print('be' + 'gun'); time.sleep(600)\r",
        shows: "begun",
        ..NONE
    };
    holds(Home::new, &state, &BOTH, rounds);
}

fn while_a_program_of_a_cell_runs(rounds: u32) {
    let state = State {
        typed: "!echo be''gun; sleep 600\r",
        shows: "begun",
        ..NONE
    };
    holds(Home::new, &state, &BOTH, rounds);
}

fn while_a_cell_waits_for_a_line(rounds: u32) {
    let state = State {
        typed: "input('be' + 'gun')\r",
        shows: "begun",
        ..NONE
    };
    holds(Home::new, &state, &BOTH, rounds);
}

fn while_a_program_of_a_cell_has_the_screen(rounds: u32) {
    // Ctrl-Z is that program's then: only a stop from outside.
    let state = State {
        typed: "import tty, os; tty.setraw(0); print('be' + 'gun'); \
                print(repr(os.read(0, 9))); os.system('stty sane')\r",
        shows: "begun",
        ..NONE
    };
    holds(Home::new, &state, &[""], rounds);
}

fn while_an_answer_streams(rounds: u32) {
    let state = State {
        typed: ".slowly\r",
        shows: "You asked",
        ..NONE
    };
    holds(Home::new, &state, &BOTH, rounds);
}

fn while_a_question_is_open(rounds: u32) {
    let state = State {
        typed: ".approve\r",
        shows: "▸ n no",
        again: Some("▸ n no"),
        ..NONE
    };
    let asks = || with_settings(r#"{"approvals": "ask", "sandbox": "danger-full-access"}"#);
    holds(asks, &state, &BOTH, rounds);
    let at_once = State {
        again: None,
        ..state
    };
    holds(asks, &at_once, &BOTH, rounds);
}

fn in_the_search_and_in_the_picker(rounds: u32) {
    let searched = State {
        typed: CTRL_R,
        shows: "kept = 41",
        again: Some("kept = 41"),
        counts: false,
        ..NONE
    };
    holds(Home::new, &searched, &BOTH, rounds);
    let home = || {
        let home = Home::new();
        ran_in(&home, "", &["needle = 2"]);
        home
    };
    let picked = State {
        typed: "%ipycodex resume\r",
        shows: "Resume session",
        again: Some("Resume session"),
        ..NONE
    };
    holds(home, &picked, &BOTH, rounds);
}

fn during_a_replay(rounds: u32) {
    for stop in BOTH {
        let shell = started(Home::new());
        shell.cell(1, "kept = 41");
        shell.at(2);
        let code =
            "import os, time; print('be' + 'gun'); time.sleep(600 * os.path.exists('again'))";
        shell.cell(2, code);
        shell.home.write("again", "");
        let state = State {
            typed: "%ipycodex replay 1-2\r",
            shows: "[2/2] In [2]",
            ..NONE
        };
        let mut number = 3;
        for _ in 0..rounds {
            round(&shell, &state, &mut number, || halt(&shell, stop));
        }
        shell.cell(number, "kept + 1");
        shell.shows(&format!("Out[{number}]: 42"));
    }
}

fn during_the_start(rounds: u32) {
    // A terminal that is asked nothing: an answer that comes while we are stopped would be the shell's.
    let home = Home::with(&[("TERM", "dumb")]);
    let source = "import time; print('be' + 'gun'); time.sleep(600)";
    let cell = format!(
        r#"{{"cell_type": "code", "metadata": {{"ipycodex": {{"kind": "code", "line": 1}}}}, "source": {source:?}}}"#
    );
    let text = format!(
        r#"{{"cells": [{cell}], "metadata": {{"ipycodex_version": 1}}, "nbformat": 4, "nbformat_minor": 5}}"#
    );
    home.write_config("startup.ipynb", text);
    let shell = in_bash(home);
    for _ in 0..rounds {
        for stop in BOTH {
            let from = shell.pty.raw().len();
            shell.pty.send_line(&format!("{PROGRAM} --agent demo"));
            shell.pty.wait_raw(b"begun", from);
            shell.at(2);
            shell.pty.send_line("6 * 7");
            shell.pty.wait_raw(b"Ctrl-C stops it", from);
            stop_and_go(&shell, || halt(&shell, stop));
            shell.pty.send(CTRL_C);
            shell.pty.wait_raw(b"Out[2]: ", from);
            shell.at(3);
            shell.pty.send(CTRL_D);
            await_true("the shell has the terminal", || {
                shell.pty.foreground() == shell.pty.pid()
            });
        }
    }
}

fn before_the_first_prompt(rounds: u32) {
    // At another moment each round, from the first of the program's to one when there is a prompt.
    const LATEST: Duration = Duration::from_millis(250);
    let shell = in_bash(Home::new());
    let rounds = rounds.max(10);
    for round in 0..rounds {
        for stop in BOTH {
            shell
                .pty
                .send_line(&format!("clear; {PROGRAM} --agent demo"));
            // Until then it is a shell, which keeps a stop to itself.
            await_true("the program runs", || {
                let process = shell.pty.foreground();
                let name = std::fs::read_to_string(format!("/proc/{process}/comm"));
                name.is_ok_and(|name| name == "ipycodex\n")
            });
            std::thread::sleep(LATEST * round / rounds);
            stop_and_go(&shell, || halt(&shell, stop));
            shell.cell(1, "6 * 7");
            shell.shows("Out[1]: 42");
            shell.at(2);
            shell.pty.send(CTRL_D);
            await_true("the shell has the terminal", || {
                shell.pty.foreground() == shell.pty.pid()
            });
        }
    }
}

fn with_a_program_that_waits_for_us(rounds: u32) {
    let shell = in_bash(Home::new());
    shell
        .pty
        .send_line(&format!("sh -c '{PROGRAM} --agent demo; echo left'"));
    shell.cell(1, "kept = 41");
    let state = State {
        typed: "import time; print('be' + 'gun'); time.sleep(600)\r",
        shows: "begun",
        ..NONE
    };
    let mut number = 2;
    for _ in 0..rounds {
        round(&shell, &state, &mut number, || shell.pty.send(CTRL_Z));
    }
    shell.cell(number, "kept + 1");
    shell.shows(&format!("Out[{number}]: 42"));
}

#[test]
fn a_suggestion_does_not_stay_behind() {
    let shell = started(Home::new());
    shell.cell(1, "suggested = 'as it was'");
    shell.at(2);
    shell.pty.send("sugg");
    shell.pty.wait_until("the suggestion", |screen| {
        screen
            .contents()
            .contains("In [2]: suggested = 'as it was'")
    });
    let from = shell.pty.raw().len();
    shell.pty.send(CTRL_Z);
    shell.pty.wait_raw(b"Stopped", from);
    shell.pty.wait_until("what is typed, alone", |screen| {
        screen
            .contents()
            .lines()
            .any(|line| line.trim_end() == "In [2]: sugg")
    });
}

#[test]
fn a_cell_goes_on_in_the_background() {
    let shell = started(Home::new());
    shell.at(1);
    let code = "import os, time; print('be' + 'gun')\rwhile not os.path.exists('go'): time.sleep(0.01)\r\ropen('went', \
                'w').close(); time.sleep(600)";
    let from = shell.pty.raw().len();
    shell.pty.send(&format!("\x1b[200~{code}\x1b[201~\r"));
    shell.pty.wait_raw(b"begun", from);
    let group = job(&shell);
    let from = shell.pty.raw().len();
    shell.pty.send(CTRL_Z);
    let from = shell.pty.wait_raw(b"Stopped", from);
    shell.pty.wait_raw(b"shell> ", from);
    shell.pty.send_line("bg");
    // Keys are the shell's, though we could read them.
    shell.pty.send_line("touch go; echo $((6 * 111))");
    shell.pty.wait_for("666");
    await_true("the cell has gone on", || {
        shell.home.work().join("went").exists()
    });
    shell.pty.send_line("fg");
    await_true("the terminal is the program's", || {
        shell.pty.foreground() == group
    });
    // Nothing tells us that we have it again.
    await_true("the terminal's mode is ours", || {
        let flags = shell.pty.termios().local_modes;
        !flags.contains(rustix::termios::LocalModes::ICANON)
    });
    shell.pty.send(CTRL_C);
    shell.at(2);
}

/// Stops the program by a key, or from outside.
fn halt(shell: &Shell, stop: &str) {
    if stop.is_empty() {
        let process = i32::try_from(job(shell)).unwrap();
        let process = rustix::process::Pid::from_raw(process).unwrap();
        rustix::process::kill_process(process, Signal::STOP).unwrap();
    } else {
        shell.pty.send(stop);
    }
}
