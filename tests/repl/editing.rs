//! Typing: numbers, blank lines, several lines typed, pasted or sent at once, searching, recalling, clearing.

use super::shell::{CTRL_C, CTRL_R, Shell, UP};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{SIZE, cursor_line};

/// What is said of an interpreter that takes 5 s to start, which on a busy machine any may.
const SLOW_START: &str = " is still starting after 5 s";

/// The session from its first prompt on, without what is said only on a busy machine: of a slow start, and what a slow
/// cell took.
fn session(shell: &Shell) -> Vec<String> {
    let text = shell.text();
    let (_, session) = text.split_once("In [1]").expect("the first prompt");
    let lines = session.lines().map(str::trim_end);
    let of_slowness = |line: &&str| {
        line.ends_with(SLOW_START) || line.starts_with("took ") || line.starts_with("waiting for ")
    };
    let lines = lines.filter(|line| !of_slowness(line));
    lines.map(str::to_owned).collect()
}

/// What a session of two cells and a prompt looks like, with blank lines as IPython has them.
fn first_session(arguments: &[&str]) {
    let shell = Shell::start(Home::new(), arguments, SIZE);
    shell.cell(1, "1+1");
    shell.cell(2, "a = 3");
    shell.cell(3, "print(a); a + 1");
    let expected = [
        ": 1+1",
        "Out[1]: 2",
        "",
        "In [2]: a = 3",
        "",
        "In [3]: print(a); a + 1",
        "3",
        "Out[3]: 4",
        "",
        "In [4]:",
    ];
    assert_eq!(session(&shell), expected, "{}", shell.text());
}

#[test]
fn a_start_that_takes_long_is_told_and_disturbs_nothing() {
    let home = Home::new();
    let python = peers::plain_python();
    let script = format!(
        "#!/bin/sh\nwhile [ ! -e ../go ]; do sleep 0.05; done\nexec {} \"$@\"\n",
        python.display()
    );
    home.install_script("python3", &script);
    let shell = Shell::of(home);
    shell.pty.send_line("1+1");
    shell.shows(SLOW_START);
    std::fs::write(shell.home.path().join("go"), "").unwrap();
    shell.at(2);
    let expected = [": 1+1", "Out[1]: 2", "", "In [2]:"];
    assert_eq!(session(&shell), expected, "{}", shell.text());
    assert_eq!(shell.text().matches(SLOW_START).count(), 1);
}

#[test]
fn cells_look_as_in_ipython_without_ipython() {
    first_session(&["--agent", "demo"]);
}

#[test]
fn cells_look_as_in_ipython_with_ipython() {
    if let Some(python) = peers::python() {
        first_session(&["--agent", "demo", "--python", python.to_str().unwrap()]);
    }
}

#[test]
fn prompts_take_numbers_and_a_lone_dot_takes_none() {
    let shell = Shell::new();
    shell.cell(1, "a = 1");
    shell.cell(2, ".hello there");
    shell.at(3);
    shell.pty.send_line(".");
    shell.at(3);
    shell.cell(3, "a");
    shell.shows("Out[3]: 1");
    assert_eq!(shell.inputs(3), ["a = 1", ".hello there", "a"]);
}

#[test]
fn a_definition_typed_key_by_key_is_indented() {
    let shell = Shell::new();
    for key in "def f(x):".chars() {
        shell.pty.send(&key.to_string());
    }
    shell.at_with(1, "def f(x):");
    shell.pty.send("\r");
    shell.pty.wait_for("   ...:     ");
    shell.pty.send("if x:");
    shell.pty.wait_for("   ...:     if x:");
    shell.pty.send("\r");
    shell.pty.send("return x + 1");
    shell.pty.wait_for("   ...:         return x + 1");
    shell.pty.send("\r");
    shell.pty.at_line("   ...:");
    shell.pty.send("\r");
    shell.at(2);
    shell.cell(2, "f(41)");
    shell.shows("Out[2]: 42");
    assert_eq!(
        shell.inputs(1)[0].trim_end(),
        "def f(x):\n    if x:\n        return x + 1"
    );
}

#[test]
fn a_definition_sent_in_one_burst_is_one_cell() {
    let shell = Shell::new();
    shell.pty.send("def f(x):\rreturn x + 1\r\rf(41)\r");
    shell.pty.wait_for("Out[2]: 42");
    shell.at(3);
}

#[test]
fn a_paste_never_runs_before_enter() {
    for paste in [
        "a = 5\nprint(a * 100)\n",
        "a = 5\rprint(a * 100)\r",
        "a = 5\r\nprint(a * 100)",
    ] {
        let shell = Shell::new();
        shell.pty.send(&format!("\x1b[200~{paste}\x1b[201~"));
        shell.pty.wait_for("   ...: print(a * 100)");
        // Keys are taken in order: once this one shows, the paste has been dealt with.
        shell.pty.send("#x");
        shell.pty.wait_for("#x");
        shell.lacks("500");
        assert!(shell.inputs(0).is_empty());
        shell.pty.send("\r");
        shell.pty.wait_for("500");
        shell.at(2);
    }
}

#[test]
fn up_searches_by_prefix_and_ctrl_r_anywhere_also_in_the_next_run() {
    let shell = Shell::new();
    shell.cell(1, "alpha = 1");
    shell.cell(2, "beta = 2");
    shell.cell(3, "gamma = 3");
    recalled(&shell, 4);
    assert_eq!(shell.leave(), 0);
    let next = Shell::of(shell.home);
    // Nothing is waited for: the record is read beside the first prompt, and the first key that needs it waits.
    next.cell(1, "gamma = 3");
    recalled(&next, 2);
}

fn recalled(shell: &Shell, number: u32) {
    typed_on(shell, number, UP, "gamma = 3");
    typed_on(shell, number, &format!("{UP}{UP}"), "beta = 2");
    shell.pty.send("al");
    shell.at_with(number, "al");
    typed_on(shell, number, UP, "alpha = 1");
    shell.pty.send(CTRL_R);
    shell.pty.wait_for("(reverse-search)");
    shell.pty.send("ta = ");
    shell.pty.wait_until("the search", |screen| {
        let line = cursor_line(screen);
        line.starts_with("(reverse-search) ta = ") && screen.contents().contains("> beta = 2")
    });
    shell.pty.send("\r");
    shell.at_with(number, "beta = 2");
    shell.pty.send(CTRL_C);
    shell.at(number);
}

fn typed_on(shell: &Shell, number: u32, keys: &str, shown: &str) {
    shell.pty.send(keys);
    shell.at_with(number, shown);
    shell.pty.send(CTRL_C);
    shell.at(number);
}

#[test]
fn ctrl_c_clears_the_line_and_takes_no_number() {
    let shell = Shell::new();
    shell.pty.send("broken(");
    shell.at_with(1, "broken(");
    shell.pty.send(CTRL_C);
    shell.at(1);
    shell.cell(1, "6*7");
    shell.shows("Out[1]: 42");
    assert_eq!(shell.inputs(1), ["6*7"]);
}

#[test]
fn an_unfinished_input_goes_on_and_a_wrong_one_is_an_error() {
    let shell = Shell::new();
    shell.pty.send_line("x = [1,");
    shell.pty.wait_for("   ...:");
    shell.pty.send_line("2]");
    shell.at(2);
    shell.cell(2, "x");
    shell.shows("Out[2]: [1, 2]");
    shell.cell(3, "x = = 1");
    shell.shows("SyntaxError");
    shell.cell(4, ".a prompt \\\rof two lines");
    assert_eq!(shell.answers(1)[0].0, "a prompt \nof two lines");
}
