//! Stops while another program has the terminal: the user's editor, a pager.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{BOTH, NONE, State, holds, round, started, stop_and_go};
use crate::repl::shell::{CTRL_Z, Shell};
use crate::support::await_true;
use crate::support::home::Home;

pub(super) fn in_the_users_editor(rounds: u32) {
    let home = || {
        let mut home = Home::new();
        home.install_script("my-editor", "#!/bin/sh\necho be''gun\nexec sleep 600\n");
        home.set("VISUAL", "my-editor");
        home
    };
    let state = State {
        typed: "text\x1bOQ",
        shows: "begun",
        counts: false,
        left: "text",
        ..NONE
    };
    holds(home, &state, &BOTH[..1], rounds);
}

pub(super) fn in_a_pager(rounds: u32) {
    let home = |pager: &'static str| {
        move || {
            let mut home = Home::new();
            home.set("PAGER", pager);
            home
        }
    };
    let ours = State {
        typed: "argparse??\r",
        shows: "Space b /text n q",
        again: Some("Space b /text n q"),
        ..NONE
    };
    holds(home("no-such-pager"), &ours, &BOTH, rounds);
    // `less` gives us its own Ctrl-C: `q` leaves it, so it is only brought back.
    if Path::new("/usr/bin/less").exists() {
        let shell = started(home("less")());
        shell.cell(1, "import argparse");
        let mut number = 2;
        for _ in 0..rounds {
            shell.at(number);
            let from = shell.pty.raw().len();
            shell.pty.send_line("argparse??");
            shell.pty.wait_raw(b"Command-line parsing", from);
            let from = stop_and_go(&shell, || stop_less(&shell));
            shell.pty.wait_raw(b"Command-line parsing", from);
            shell.pty.send("q");
            number += 1;
        }
        shell.at(number);
    }
}

/// Ctrl-Z; once more when it came in the moment before `less` waits for a key: it knows of it then and goes on waiting.
fn stop_less(shell: &Shell) {
    let from = shell.pty.raw().len();
    let mut typed = Instant::now();
    shell.pty.send(CTRL_Z);
    await_true("the shell has the terminal", || {
        if typed.elapsed() > Duration::from_secs(2) {
            shell.pty.send(CTRL_Z);
            typed = Instant::now();
        }
        memchr::memmem::find(&shell.pty.raw()[from..], b"Stopped").is_some()
    });
}

/// A pager and an editor that puts something away before it stops.
const SLOW: &str = "#!/usr/bin/env python3
import os, select, signal, time
def say(text): os.write(1, text.encode() + b'\\r\\n')
def stop(*_):
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    time.sleep(0.3)
    say('put' + ' away')
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, stop)
    say('taken' + ' out')
signal.signal(signal.SIGTSTP, stop)
signal.signal(signal.SIGINT, signal.SIG_DFL)
say('be' + 'gun')
# A signal in the moment before a read that waits would be heard after it.
with open('/dev/tty') as tty:
    while not select.select([tty], [], [], 0.05)[0]: pass
    tty.readline()
";

pub(super) fn in_a_program_that_puts_something_away(rounds: u32) {
    for variable in ["PAGER", "VISUAL"] {
        let mut home = Home::new();
        home.install_script("slow", SLOW);
        home.set(variable, "slow");
        let shell = started(home);
        shell.cell(1, "import argparse");
        let state = State {
            typed: ["argparse??\r", "text\x1bOQ"][usize::from(variable == "VISUAL")],
            shows: "begun",
            again: Some("taken out"),
            counts: variable == "PAGER",
            left: ["", "text"][usize::from(variable == "VISUAL")],
        };
        let mut number = 2;
        for _ in 0..rounds {
            let from = shell.pty.raw().len();
            round(&shell, &state, &mut number, || shell.pty.send(CTRL_Z));
            let away = shell.pty.wait_raw(b"put away", from);
            let stopped = shell.pty.wait_raw(b"Stopped", from);
            assert!(
                away < stopped,
                "the shell had the terminal before it was free"
            );
        }
    }
}
