//! `startup.ipynb`: a fresh shell replays it while its prompt can be used.

use super::reference::{homes, is_valid};
use crate::repl::shell::{CTRL_C, Shell};
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::pty::SIZE;

const DEMO: [&str; 2] = ["--agent", "demo"];

/// A home whose startup notebook holds these cells.
fn with_startup(home: &Home, cells: &[&str]) {
    let cells: Vec<String> = (1..)
        .zip(cells)
        .map(|(line, source)| {
            format!(
                r#"{{"cell_type": "code", "source": {source:?},
                    "metadata": {{"ipycodex": {{"kind": "code", "line": {line}}}}}}}"#
            )
        })
        .collect();
    let text = format!(
        r#"{{"cells": [{}], "metadata": {{"ipycodex_version": 1}}, "nbformat": 4, "nbformat_minor": 5}}"#,
        cells.join(",")
    );
    home.write_config("startup.ipynb", text);
}

#[test]
fn a_saved_session_is_there_in_the_next_shell() {
    for home in homes() {
        let shell = Shell::of(home);
        shell.cell(1, "import math");
        shell.cell(2, "'''why'''");
        shell.at(3);
        shell.pty.send_line(".hello");
        shell.at(4);
        shell.cell(4, "x = math.floor(2.5)");
        shell.cell(5, "print('from', 'startup')");
        shell.pty.send_line("%ipycodex save");
        shell.shows("Saved 4 code cells and 1 prompt to");
        shell.at(7);
        assert_eq!(shell.leave(), 0);
        let path = shell.home.config().join("startup.ipynb");
        is_valid(&shell.home, &path);

        let mut home = shell.home;
        home.set("PAGER", "cat");
        let shell = Shell::start(home, &DEMO, SIZE);
        shell.at(6);
        shell.shows("from startup");
        shell.cell(6, "x + 1");
        shell.shows("Out[6]: 3");
        shell.pty.send_line("%ipycodex");
        shell.shows("startup notebook");
        shell.at(8);
        // Its code is the session's: it is saved again, and recorded.
        shell.pty.send_line("%ipycodex save");
        shell.shows("Saved 5 code cells and 1 prompt to");
        shell.at(9);
        assert_eq!(shell.answers(2).len(), 2);
        assert_eq!(shell.leave(), 0);
        // A session that goes on has it behind it; scripts are themselves.
        let home = shell.home;
        for arguments in [
            &["-c", "'x' in globals()"][..],
            &["-r", "1", "-c", "'x' in globals()"],
        ] {
            let ran = home.demo(arguments, "");
            assert_eq!(ran.stdout, "False\n", "{ran:?}");
        }
        let shell = Shell::start(home, &["--agent", "demo", "-r", "1"], SIZE);
        shell.shows("In [8]:");
        shell.lacks("startup.ipynb");
    }
}

#[test]
fn the_prompt_can_be_used_at_once_and_what_is_typed_comes_after() {
    for home in homes() {
        with_startup(
            &home,
            &[
                "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)",
                "print('ready', 'now')",
                "y = 5",
            ],
        );
        let shell = Shell::start(home, &DEMO, SIZE);
        // The number counts what is still to come.
        shell.at(4);
        shell.pty.send("y * 2");
        shell.at_with(4, "y * 2");
        shell.home.write("go", "");
        shell.shows("ready now");
        shell.at_with(4, "y * 2");
        shell.pty.send("\r");
        shell.shows("Out[4]: 10");
        shell.at(5);
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn an_input_waits_for_it_and_ctrl_c_stops_it() {
    for home in homes() {
        with_startup(
            &home,
            &[
                "a = 1",
                "import time; print('looping')\nwhile True: time.sleep(0.01)",
                "b = 2",
            ],
        );
        let shell = Shell::start(home, &DEMO, SIZE);
        shell.at(4);
        // Above the prompt: it is there before an input waits.
        shell.shows("looping");
        shell.pty.send_line("a, 'b' in globals()");
        shell.shows("waiting for startup.ipynb; Ctrl-C stops it");
        shell.pty.send(CTRL_C);
        shell.shows("startup.ipynb: 1 of 3 replayed, stopped by you at In [2], 1 more not run");
        shell.shows("Out[3]: (1, False)");
        shell.at(4);
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn what_is_typed_while_an_input_waits_for_it_is_not_lost() {
    for home in homes() {
        with_startup(
            &home,
            &[
                "import os, time; print('loop' + 'ing', end='', flush=True); open('begun', 'w').close()\n\
                 while not os.path.exists('go'): time.sleep(0.01)",
            ],
        );
        let shell = Shell::start(home, &DEMO, SIZE);
        shell.at(2);
        let begun = shell.home.work().join("begun");
        await_true("the startup to begin", || begun.exists());
        shell.pty.send_line("'wai' + 'ted'");
        shell.shows("waiting for startup.ipynb; Ctrl-C stops it");
        shell.shows("looping");
        shell.pty.send("left over");
        shell.home.write("go", "");
        shell.shows("Out[2]: 'waited'");
        shell.at_with(3, "left over");
        shell.pty.send(CTRL_C);
        shell.at(3);
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn a_failing_cell_stops_it_and_the_shell_goes_on() {
    for home in homes() {
        with_startup(&home, &["a = 1", "input('name? ')", "b = 2"]);
        let shell = Shell::start(home, &DEMO, SIZE);
        shell.shows("EOFError");
        shell.shows("startup.ipynb: 1 of 3 replayed, stopped at In [2] (EOFError");
        shell.at(3);
        shell.cell(3, "a, 'b' in globals()");
        shell.shows("Out[3]: (1, False)");
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn a_broken_one_is_named_with_its_place() {
    let home = Home::new();
    home.write_config("startup.ipynb", "{\n \"cells\": [,");
    let shell = Shell::start(home, &DEMO, SIZE);
    shell.shows("`startup.ipynb` is not valid JSON: line 2, column 12: expected value");
    shell.cell(1, "1 + 1");
    shell.shows("Out[1]: 2");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn the_old_snapshot_counts_where_there_is_no_new_one() {
    for home in homes() {
        let old = r#"{"version": 1, "events": [{"kind": "code", "line": 1, "source": "z = 7"},
            {"kind": "prompt", "line": 2, "history_line": 1, "prompt": "hi", "response": "yes"}]}"#;
        home.write_config("startup.json", old);
        let shell = Shell::start(home, &DEMO, SIZE);
        shell.at(3);
        shell.cell(3, "z");
        shell.shows("Out[3]: 7");
        assert_eq!(shell.answers(1), [("hi".to_owned(), "yes".to_owned())]);
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn nothing_is_made_where_there_is_none() {
    let home = Home::new();
    let shell = Shell::of(home);
    shell.cell(1, "1");
    assert_eq!(shell.leave(), 0);
    assert!(!shell.home.config().join("startup.ipynb").exists());
}
