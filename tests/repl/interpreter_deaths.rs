//! An interpreter that dies, in each way and each state: it is said with its cause, and the next input works.

use rustix::process::Signal;

use super::checkpoints::interpreters;
use super::questioning_agent::{Asker, call, command};
use super::shell::{Shell, with_settings};
use super::shell_mode::ALT_S;
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::ways::Outcome::{Dies, Works};
use crate::support::ways::{Case, Outcome, both_ways};

/// What code does, and what is said of it.
#[rustfmt::skip]
const DEATHS: &[(&str, Outcome)] = &[
    ("import os; os._exit(7)", Dies("exit code 7")),
    ("import os; os.abort()", Dies("SIGABRT")),
    ("import ctypes; ctypes.string_at(0)", Dies("SIGSEGV")),
    ("import ctypes; getattr(ctypes.CDLL(None), 'raise')(7)", Dies("SIGBUS")),
    ("import ctypes, sys; sys.setrecursionlimit(10**8); f = ctypes.CFUNCTYPE(None)(lambda: f()); f()", Dies("SIGSEGV")),
    ("import os; os.kill(os.getpid(), 9)", Dies("SIGKILL")),
    ("import os; os.kill(os.getpid(), 15)", Dies("SIGTERM")),
    ("import os; os.kill(os.getpid(), 1)", Dies("SIGHUP")),
    ("import os; os.killpg(0, 9)", Dies("SIGKILL")),
    ("import os, time; os.kill(os.getppid(), 9); time.sleep(1000)", Dies("ended")),
    ("import os; os.execv('/bin/true', ['true'])", Dies("exit code 0")),
    ("import os; os.close(199)", Dies("ended")),
    ("import os; os.closerange(3, 1000)", Dies("ended")),
    ("import os; os.write(199, b'x' * 100000); os._exit(7)", Dies("exit code 7")),
    ("import os; os.write(199, b'nonsense\\n' * 1000); import time; time.sleep(1000)", Dies("not understood")),
    ("import os, time; time.sleep(1000) if os.fork() == 0 else os._exit(7)", Dies("exit code 7")),
    ("import threading, os, time; threading.Timer(0.1, os._exit, [7]).start(); time.sleep(1000)", Dies("exit code 7")),
    ("import resource as r; r.setrlimit(r.RLIMIT_CPU, (1, 1)); any(iter(int, 1))", Dies("ended")),
    ("import os; type('A', (), {'__repr__': lambda self: os._exit(7)})()", Dies("exit code 7")),
    // What ends with it ends with it; what goes on goes on.
    ("import sys; sys.stdout.close()", Works("")),
    ("import os; os.close(1); os.close(2)", Works("")),
    // In the tool that a turn calls.
    (".use &`dies`", Dies("exit code 7")),
];

/// So many of them, on a terminal and through a pipe; then in the states that only a terminal has.
pub fn each_way(count: u32) -> String {
    let name = |(code, _): &(&str, Outcome)| (*code).to_owned();
    let ways = both_ways(DEATHS, count, name, |(code, outcome)| {
        let home = with_settings("{}");
        home.write_config("startup.py", "def dies(): __import__('os')._exit(7)");
        let case = Case {
            arguments: &["--agent", "demo"],
            first: code,
            outcome: *outcome,
            second: ("'dies' in globals()", "True"),
        };
        (home, case)
    });
    if count as usize == DEATHS.len() {
        for (state, test) in STATES {
            for signal in [Signal::KILL, Signal::SEGV] {
                eprintln!("{state}, {signal:?}");
                test(signal);
            }
        }
    }
    ways
}

/// A state, in which this signal comes from outside.
type Killed = fn(Signal);

/// States with somebody at the keyboard.
const STATES: &[(&str, Killed)] = &[
    ("while a name is completed", while_completing),
    ("while a cell runs", while_running),
    ("while a cell reads a line", while_reading),
    ("while a question is open", while_asked),
    ("while a tool of a turn runs", while_a_tool_runs),
    ("at the prompt, checkpoints waiting", at_the_prompt),
    ("after a step back", after_a_step_back),
    ("the shell of shell mode", in_shell_mode),
];

fn kill_all(home: &Home, signal: Signal) {
    for process in interpreters(home) {
        let process = rustix::process::Pid::from_raw(process).unwrap();
        // One that has ended is one less.
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// The prompt of this number takes a cell.
fn goes_on(shell: &Shell, number: u32) {
    shell.at(number);
    shell.cell(number, "40 + 2");
    shell.shows(&format!("Out[{number}]: 42"));
    assert_eq!(shell.leave(), 0);
    await_true("no process is left", || shell.pty.processes().is_empty());
}

fn while_completing(signal: Signal) {
    let shell = Shell::new();
    let signal = signal.as_raw();
    let dir = format!("lambda self: os.kill(os.getpid(), {signal})");
    shell.cell(
        1,
        &format!("import os; x = type('A', (), {{'__dir__': {dir}}})()"),
    );
    shell.pty.send("x.");
    shell.at_with(2, "x.");
    shell.pty.send("\t");
    shell.shows("the interpreter ended (");
    shell.at_with(2, "x.");
    shell.pty.send("\x03");
    goes_on(&shell, 2);
}

fn while_running(signal: Signal) {
    let shell = Shell::new();
    shell.at(1);
    shell
        .pty
        .send_line("import time; print('be' + 'gun'); time.sleep(1000)");
    shell.shows("begun");
    kill_all(&shell.home, signal);
    shell.shows("the interpreter ended");
    goes_on(&shell, 2);
}

fn while_reading(signal: Signal) {
    let shell = Shell::new();
    shell.at(1);
    shell.pty.send_line("input('your' + ' name? ')");
    shell.shows("your name?");
    kill_all(&shell.home, signal);
    shell.shows("the interpreter ended");
    goes_on(&shell, 2);
}

fn while_asked(signal: Signal) {
    let asker = Asker::new(serde_json::json!([[command("ls")]]));
    asker.shell.cell(1, "x = 1");
    asker.prompt(2);
    asker.choices();
    let before = interpreters(&asker.shell.home);
    kill_all(&asker.shell.home, signal);
    await_true("another interpreter", || {
        let now = interpreters(&asker.shell.home);
        now.iter().any(|process| !before.contains(process))
    });
    asker.choices();
    asker.shell.pty.send("n");
    assert_eq!(asker.given(1)[0]["decision"], "decline");
    asker.shell.shows("the interpreter ended");
    goes_on(&asker.shell, 3);
}

fn while_a_tool_runs(signal: Signal) {
    let code = "import time; print('be' + 'gun', flush=True); time.sleep(1000)";
    let turn = serde_json::json!([[call(
        "run_cells",
        serde_json::json!({"cells": [{"code": code}]})
    )]]);
    let asker = Asker::new(turn);
    asker.prompt(1);
    asker.choices();
    asker.shell.pty.send("y");
    asker.shell.shows("begun");
    kill_all(&asker.shell.home, signal);
    asker.shell.shows("the interpreter ended");
    goes_on(&asker.shell, 3);
}

fn at_the_prompt(signal: Signal) {
    let shell = Shell::new();
    shell.cell(1, "x = 1");
    shell.cell(2, "x = 2");
    kill_all(&shell.home, signal);
    shell.shows("the interpreter ended");
    shell.at(3);
    shell.pty.send_line("%ipycodex back");
    shell.at(4);
    goes_on(&shell, 4);
}

fn after_a_step_back(signal: Signal) {
    let shell = Shell::new();
    shell.cell(1, "x = 1");
    shell.cell(2, "import os; y = 2");
    shell.cell(3, "%ipycodex back");
    shell.cell(
        4,
        &format!("import os; os.kill(os.getpid(), {})", signal.as_raw()),
    );
    shell.shows("the interpreter ended (");
    goes_on(&shell, 5);
}

fn in_shell_mode(signal: Signal) {
    let shell = Shell::new();
    shell.pty.send(ALT_S);
    shell.pty.wait_until("a prompt of the shell", |screen| {
        !screen.contents().contains("In [1]: ") || screen.contents().contains("$")
    });
    shell
        .pty
        .send_line(&format!("kill -{} $$", signal.as_raw()));
    shell.shows("SIG");
    shell.pty.send(ALT_S);
    shell.pty.wait_until("a prompt of cells", |screen| {
        crate::support::pty::cursor_line(screen).starts_with("In [")
    });
    shell.pty.send_line("40 + 2");
    shell.shows("]: 42");
}
