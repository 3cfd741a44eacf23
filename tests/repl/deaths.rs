//! The interpreter dies: what is said is true, a fresh one is there, the record is whole.

use super::shell::Shell;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;

const DEATHS: [(&str, &str); 3] = [
    ("import os; os._exit(7)", "exit code 7"),
    ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
];

fn death(code: &str, cause: &str, arguments: &[&str]) {
    let shell = Shell::start(Home::new(), arguments, SIZE);
    shell.cell(1, "lost = 1");
    shell.cell(2, code);
    shell.shows("the interpreter ended");
    let text = shell.text();
    let said = text
        .lines()
        .find(|line| line.contains("the interpreter ended"));
    assert!(
        said.is_some_and(|line| line.contains(cause)),
        "{cause}: {text}"
    );
    shell.shows("are lost");
    shell.shows("not run again");
    shell.cell(3, "'lost' in globals(), 40 + 2");
    shell.shows("Out[3]: (False, 42)");
    // What was run is offered, and the record has it all.
    shell.pty.send("\x1b[A\x1b[A");
    shell.at_with(4, code);
    shell.pty.send("\x03");
    assert_eq!(
        shell.inputs(3),
        ["lost = 1", code, "'lost' in globals(), 40 + 2"]
    );
}

#[test]
fn an_interpreter_that_dies_is_named_with_its_cause_and_replaced() {
    for (code, cause) in DEATHS {
        death(code, cause, &["--agent", "demo"]);
    }
}

#[test]
fn an_interpreter_with_ipython_that_dies_is_replaced() {
    if let Some(python) = peers::python() {
        let (code, cause) = DEATHS[0];
        death(
            code,
            cause,
            &["--agent", "demo", "--python", python.to_str().unwrap()],
        );
    }
}

#[test]
fn an_interpreter_killed_at_the_prompt_is_said_and_replaced() {
    let shell = Shell::new();
    shell.cell(1, "import os; print('pid', os.getpid(), 'end')");
    let text = shell.text();
    let (_, rest) = text.rsplit_once("pid ").unwrap();
    let process: i32 = rest.split_once(" end").unwrap().0.trim().parse().unwrap();
    shell.pty.send("half = ");
    shell.at_with(2, "half = ");
    let process = rustix::process::Pid::from_raw(process).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    shell.pty.wait_for("the interpreter ended");
    shell.at_with(2, "half = ");
    shell.pty.send_line("5; half");
    shell.at(3);
    shell.shows("Out[2]: 5");
}

#[test]
fn closed_streams_and_deep_recursion_do_no_lasting_harm() {
    for (code, shown) in [
        ("import sys; sys.stdout.close()", "In [2]"),
        ("import os; os.close(1)", "In [2]"),
        ("f = lambda n: f(n + 1); f(0)", "RecursionError"),
        ("import sys; sys.exit(3)", "In [2]"),
        ("import os; os.closerange(3, 64)", "In [2]"),
        ("print('\\ud800')", "In [2]"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ] {
        let shell = Shell::new();
        shell.cell(1, code);
        shell.shows(shown);
        shell.cell(2, "40 + 2");
        shell.shows("Out[2]: 42");
    }
}
