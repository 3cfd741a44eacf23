//! Whole clients: Jupyter's conformance tests, `jupyter execute`, VS Code by what it sends, our own shell on our own
//! kernel.

use serde_json::{Value, json};

use super::harness::Harness;
use crate::support::home::{Home, finish};
use crate::support::pty::Pty;
use crate::support::{await_true, peers};

#[test]
fn the_conformance_tests_of_jupyter_pass() {
    let Some(harness) = Harness::new() else {
        return;
    };
    let ran = harness.python("conformance.py", &[]);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("Ran 12 tests"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("skipped"), "{}", ran.stderr);
}

#[test]
fn the_flow_of_vs_code_goes_through() {
    // Its set-up asks for matplotlib.
    let Some(python) = peers::lab() else {
        return;
    };
    let home = Home::new();
    let mut harness = Harness { home, python };
    harness.install(&["--agent", "demo"]);
    let ran = harness.python("vscode.py", &[]);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
}

fn notebook(sources: &[&str]) -> String {
    let cell = |(number, source): (usize, &&str)| {
        json!({"cell_type": "code", "id": format!("c{number}"), "metadata": {}, "source": source,
               "execution_count": null, "outputs": []})
    };
    let cells: Vec<Value> = sources.iter().enumerate().map(cell).collect();
    json!({"cells": cells, "metadata": {"kernelspec": {"name": "ipycodex", "display_name": "x"}},
           "nbformat": 4, "nbformat_minor": 5})
    .to_string()
}

#[test]
fn jupyter_execute_runs_a_notebook_whose_prompts_can_be_read() {
    let Some(harness) = Harness::new() else {
        return;
    };
    let cells = ["x = 41", "print(x); x + 1", ".what is $`x`?", "'the end'"];
    let path = harness.home.write("book.ipynb", notebook(&cells));
    let execute = harness.beside("jupyter-execute");
    let words = ["--inplace", "book.ipynb"];
    let ran = finish(harness.home.foreign(&execute, &words), b"");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let book: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let outputs = |cell: usize| book["cells"][cell]["outputs"].as_array().unwrap();
    assert_eq!(outputs(1)[0]["text"][0], "41\n");
    assert_eq!(outputs(1)[1]["data"]["text/plain"][0], "42");
    let answers: Vec<String> = outputs(2)
        .iter()
        .map(|output| output["data"]["text/markdown"].to_string())
        .collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].contains("reasoning"), "{answers:?}");
    assert_eq!(outputs(3)[0]["data"]["text/plain"][0], "'the end'");
    // The file is a session for us, too.
    let ran = harness
        .home
        .run(&["--agent", "demo", "run", "book.ipynb"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stdout.contains("42"), "{ran:?}");
}

#[test]
fn jupyter_run_runs_a_file() {
    let Some(harness) = Harness::new() else {
        return;
    };
    harness.home.write("file.py", "print(6 * 7)\n");
    let words = ["--kernel=ipycodex", "file.py"];
    let ran = finish(
        harness.home.foreign(&harness.beside("jupyter-run"), &words),
        b"",
    );
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "42\n"), "{ran:?}");
}

#[test]
fn a_cell_that_fails_stops_jupyter_execute() {
    let Some(harness) = Harness::new() else {
        return;
    };
    for (source, said) in [
        ("1 / 0", "ZeroDivisionError"),
        ("%ipycodex nonsense", "Unknown command"),
    ] {
        harness
            .home
            .write("book.ipynb", notebook(&[source, "print('on')"]));
        let execute = harness.beside("jupyter-execute");
        let ran = finish(
            harness.home.foreign(&execute, &["--inplace", "book.ipynb"]),
            b"",
        );
        assert_ne!(ran.code(), 0, "{source}: {ran:?}");
        assert!(ran.stderr.contains(said), "{source}: {ran:?}");
    }
}

#[test]
fn our_own_shell_runs_on_our_own_kernel() {
    let Some(harness) = Harness::new() else {
        return;
    };
    let text = "x = 41\nprint(x + 1)\n.what is $`x`?\n";
    let words = ["--runtime", "jupyter:ipycodex", "--agent", "demo"];
    let ran = harness.home.run(&words, text);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stdout.contains("42\n"), "{ran:?}");
}

#[test]
fn a_console_prints_answers_asks_and_interrupts() {
    let Some(harness) = Harness::new() else {
        return;
    };
    let console = harness.beside("jupyter-console");
    let pty = Pty::spawn_program(
        &harness.home,
        &console,
        &["--kernel", "ipycodex"],
        (100, 60),
    );
    pty.wait_for("In [1]:");
    pty.send("6 * 7\r");
    pty.wait_for("Out[1]: 42");
    pty.wait_for("In [2]:");
    pty.send(".what was that?\r");
    pty.wait_for_anywhere("# Demo answer");
    pty.wait_for("In [3]:");
    pty.send("input('name? ').upper()\r");
    pty.wait_for("\nname? ");
    // The console drops what is typed before its own prompt reads: it is typed until it stands there.
    await_true("the name at the console's own prompt", || {
        if !pty.screen_text().contains("name? bob") {
            pty.send("\x15bob");
        }
        pty.screen_text().contains("name? bob")
    });
    pty.send("\r");
    pty.wait_for("'BOB'");
    pty.wait_for("In [4]:");
    pty.send("import time; print('o' + 'n!'); time.sleep(50)\r");
    pty.wait_for("on!");
    pty.send("\x03");
    pty.wait_for("KeyboardInterrupt");
    pty.wait_for("In [5]:");
    pty.send("exit\r");
    assert!(pty.exit_status().success());
}
