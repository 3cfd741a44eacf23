//! `load`, `-l` and `ipycodex FILE`: numbers, the record, the conversation; strangers' notebooks; what stops it.

use super::reference::{homes, notebook, sources};
use crate::repl::shell::{Shell, inputs, record};
use crate::support::home::Home;
use crate::support::pty::SIZE;

const SAVED: &str = r##"{"cells": [
 {"cell_type": "code", "metadata": {"ipycodex": {"kind": "code", "line": 3}},
  "source": ["x = math.tau\n", "x"], "outputs": []},
 {"cell_type": "markdown", "metadata": {"ipycodex": {"kind": "prompt", "line": 2, "history_line": 1, "prompt": "hi"}},
  "source": ["said\n", "before"]},
 {"cell_type": "code", "metadata": {"ipycodex": {"kind": "code", "line": 1}}, "source": "import math", "outputs": []},
 {"cell_type": "code", "metadata": {}, "source": "added = 1", "outputs": []}],
 "metadata": {"ipycodex_version": 1}, "nbformat": 4, "nbformat_minor": 5}"##;

#[test]
fn a_saved_session_goes_on_in_a_fresh_shell() {
    for home in homes() {
        home.write("saved.ipynb", SAVED);
        let shell = Shell::start(home, &["--agent", "demo", "saved.ipynb"], SIZE);
        shell.at(4);
        shell.shows("6.283185307179586");
        shell.shows("Loaded 2 code cells and 1 prompt from saved.ipynb.");
        shell.cell(4, "round(x, 2), 'added' in globals()");
        shell.shows("(6.28, False)");
        shell.pty.send_line("%ipycodex context");
        shell.shows("earlier exchanges: 1");
        shell.at(6);
        assert_eq!(
            shell.answers(1),
            [("hi".to_owned(), "said\nbefore".to_owned())]
        );
        let recorded = shell.inputs(5);
        assert_eq!(recorded[..3], ["import math", ".hi", "x = math.tau\nx"]);
        let after: i64 = shell
            .record()
            .query_row("select history_line from ai_prompts", [], |row| row.get(0))
            .unwrap();
        assert_eq!(after, 1);
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn what_is_typed_while_a_file_loads_comes_to_the_editor() {
    for home in homes() {
        home.write(
            "slow.py",
            "import os, time; print('loop' + 'ing')\nwhile not os.path.exists('go'): time.sleep(0.01)\n",
        );
        let shell = Shell::start(home, &["--agent", "demo", "slow.py"], SIZE);
        shell.shows("looping");
        shell.pty.send("6 *");
        shell.home.write("go", "");
        shell.at_with(2, "6 *");
        shell.pty.send_line(" 7");
        shell.shows("Out[2]: 42");
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn a_file_is_loaded_wherever_it_is_named() {
    let home = Home::new();
    home.write("saved.ipynb", SAVED);
    for (arguments, stdin) in [
        (vec!["-l", "saved"], "x > 6\n"),
        (vec!["-l", "saved.ipynb", "-c", "x > 6"], ""),
        (vec!["saved.ipynb"], "x > 6\n"),
        (vec![], "%ipycodex load saved\nx > 6\n"),
    ] {
        let ran = home.demo(&arguments, stdin);
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(ran.stdout.ends_with("True\n"), "{ran:?}");
        assert!(
            ran.stdout
                .contains("Loaded 2 code cells and 1 prompt from saved.ipynb.\n"),
            "{ran:?}"
        );
    }
    // What was loaded is saved with what came after.
    let ran = home.demo(&["saved.ipynb"], "y = 1\n%ipycodex save again\n");
    assert!(
        ran.stdout
            .contains("Saved 3 code cells and 1 prompt to again.ipynb."),
        "{ran:?}"
    );
    let again = sources(&notebook(&home.work().join("again.ipynb")));
    let again: Vec<&str> = again.iter().map(|(_, source)| source.as_str()).collect();
    assert_eq!(
        again,
        ["import math", "said\nbefore", "x = math.tau\nx", "y = 1"]
    );
}

#[test]
fn a_strangers_notebook_is_code_and_notes() {
    for home in homes() {
        home.write(
            "other.ipynb",
            r##"{"cells": [{"cell_type": "markdown", "source": "# Title\n\"quoted\""},
                {"cell_type": "code", "source": "a = 1"}, {"cell_type": "code", "source": ".never sent"},
                {"cell_type": "code", "source": "a + 1"}],
                "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 2}"##,
        );
        let ran = home.demo(&["other.ipynb"], "%ipycodex context\n");
        assert!(ran.stdout.contains("\n2\n"), "{ran:?}");
        assert!(
            ran.stdout
                .contains("Loaded 3 code cells and 0 prompts from other.ipynb."),
            "{ran:?}"
        );
        assert!(
            ran.stdout.contains("<note># Title\n\"quoted\"</note>"),
            "{ran:?}"
        );
        assert!(
            ran.stderr
                .contains("left out 1 cell that holds prompts or commands"),
            "{ran:?}"
        );
        assert!(
            inputs(&record(&home.history()))
                .iter()
                .all(|source| !source.starts_with('.'))
        );
    }
}

#[test]
fn a_failing_cell_stops_it_and_what_is_left_out_is_said() {
    for home in homes() {
        home.write(
            "a.py",
            "# %%\nprint('one')\n# %%\n1/0\n# %%\nprint('three')\n# %%\nprint('four')\n",
        );
        let shell = Shell::start(home, &["--agent", "demo", "a.py"], SIZE);
        shell.at(3);
        shell.shows("ZeroDivisionError: division by zero");
        shell.shows("a.py: 1 of 4 replayed, stopped at In [2] (ZeroDivisionError: division by");
        shell.shows("2 more not run");
        shell.lacks("three\n");
        assert_eq!(shell.leave(), 0);
        let ran = shell.home.demo(&["-l", "a.py"], "print('never')\n");
        assert_eq!((ran.code(), ran.stdout.as_str()), (1, "one\n"), "{ran:?}");
    }
}

#[test]
fn nobody_answers_a_loaded_cell() {
    for home in homes() {
        home.write("a.py", "name = input('name? ')");
        let shell = Shell::start(home, &["--agent", "demo", "a.py"], SIZE);
        shell.at(2);
        shell.shows("EOFError");
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn what_cannot_be_loaded_is_said() {
    let home = Home::new();
    home.write("broken.ipynb", "{\n \"cells\": [,");
    home.write(
        "r.ipynb",
        r#"{"cells": [], "metadata": {"language_info": {"name": "R"}}}"#,
    );
    for (arguments, code, said) in [
        (
            vec!["nope.ipynb"],
            1,
            "error: Notebook not found: nope.ipynb\n",
        ),
        (
            vec!["-l", "nope"],
            1,
            "error: Notebook not found: nope.ipynb\n",
        ),
        (vec!["nope.py"], 1, "error: Script not found: nope.py\n"),
        (
            vec!["nope"],
            2,
            "error: `nope` is neither a command nor a file to load\n",
        ),
        (
            vec!["broken.ipynb"],
            1,
            "`broken.ipynb` is not valid JSON: line 2, column 12: expected value\n",
        ),
        (
            vec!["r.ipynb"],
            1,
            "`r.ipynb` is written in R, and cells here are Python\n",
        ),
    ] {
        let ran = home.demo(&arguments, "print('never')\n");
        assert_eq!((ran.code(), ran.stdout.as_str()), (code, ""), "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    let ran = home.demo(
        &[],
        "%ipycodex load nope\n%ipycodex load\n%ipycodex load .\n",
    );
    assert!(
        ran.stderr.contains("Notebook not found: nope.ipynb\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("Usage: %ipycodex load <filename>\n"),
        "{ran:?}"
    );
}
