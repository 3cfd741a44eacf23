//! `-c`, piped text and `run`: outputs, order, exit codes.

use crate::support::home::{Home, Ran};
use crate::support::peers;

const DEMO: [&str; 2] = ["--agent", "demo"];

fn demo(arguments: &[&str], stdin: &str) -> Ran {
    Home::new().demo(arguments, stdin)
}

/// Arguments, standard input; standard output, exit code, part of standard error.
type Case = (
    &'static [&'static str],
    &'static str,
    &'static str,
    i32,
    &'static str,
);

const CASES: &[Case] = &[
    (&["-c", "1 + 1"], "", "2\n", 0, ""),
    (&["-c", "print('a'); 'b'"], "", "a\n'b'\n", 0, ""),
    (&["-c", "x = 1"], "", "", 0, ""),
    (
        &["-c", "1/0"],
        "",
        "",
        1,
        "ZeroDivisionError: division by zero",
    ),
    (&["-c", "import sys; sys.exit(3)"], "", "", 3, ""),
    (&["-c", "import sys; sys.exit('why')"], "", "", 1, "why"),
    (&["-c", "import sys; sys.exit()"], "", "", 0, ""),
    (&["-c", "exit()"], "", "", 0, ""),
    // What is shown at the exit comes late, and without the end of a line.
    (
        &[],
        "import atexit, time\n_ = atexit.register(lambda: (time.sleep(0.5), print('bye', end='')))\n",
        "bye",
        0,
        "",
    ),
    (&["-c", "x = = 1"], "", "", 1, "SyntaxError"),
    (&["-c", "import os; os._exit(7)"], "", "", 1, "exit code 7"),
    (
        &["-c", "import sys; print('e', file=sys.stderr)"],
        "",
        "",
        0,
        "e\n",
    ),
    (
        &["-c", "input('name? ') * 2"],
        "Ada\n",
        "name? 'AdaAda'\n",
        0,
        "",
    ),
    (
        &["-c", "import asyncio; await asyncio.sleep(0, 5)"],
        "",
        "5\n",
        0,
        "",
    ),
    (&["-c", "!echo shell"], "", "shell\n", 0, ""),
    (
        &[
            "-c",
            "import atexit, threading, time; _ = atexit.register(print, 'bye'); threading.Thread(target=time.sleep, \
             args=(600,)).start()",
        ],
        "",
        "bye\n",
        0,
        "",
    ),
    (&["-c", "def f():\n    return 4\nf()"], "", "4\n", 0, ""),
    (&["-c", ""], "", "", 0, ""),
    // Statement groups.
    (&[], "1 + 1\n2 + 2\n", "2\n4\n", 0, ""),
    (&[], "def f():\n\n    return 4\n\nf()\n", "4\n", 0, ""),
    (&[], "if True:\n    3\nelse:\n    4\n5\n", "5\n", 0, ""),
    (&[], "1\n1/0\n2\n", "1\n2\n", 1, "ZeroDivisionError"),
    (
        &[],
        "1/0\nimport sys\nsys.exit(3)\n'never'\n",
        "",
        1,
        "ZeroDivisionError",
    ),
    (&[], "import sys\nsys.exit(3)\n'never'\n", "", 3, ""),
    (&[], "", "", 0, ""),
    (&[], "\u{feff}1\n", "1\n", 0, ""),
    (&[], "1\r\n2\r\n", "1\n2\n", 0, ""),
    (
        &[],
        "'no newline at the end'",
        "'no newline at the end'\n",
        0,
        "",
    ),
    (&[], "input('x')\n'on'\n", "'on'\n", 1, "EOF"),
    // Cells.
    (&[], "# %%\na = 1\na\n# %% second\na + 1\n", "1\n2\n", 0, ""),
    (
        &[],
        "# %%\nfor x in range(2):\n    print(x)\nx\n",
        "0\n1\n1\n",
        0,
        "",
    ),
    (
        &["run", "-"],
        "# %%\n1\n# %%\n1/0\n# %%\n3\n",
        "1\n",
        1,
        "ZeroDivisionError",
    ),
    (
        &["run", "-", "--allow-errors"],
        "# %%\n1\n# %%\n1/0\n# %%\n3\n",
        "1\n3\n",
        1,
        "ZeroDivisionError",
    ),
];

fn check(home: &Home, more: &[&str], case: &Case) {
    let (arguments, stdin, stdout, code, stderr) = case;
    let ran = home.run(&[&DEMO, more, arguments].concat(), stdin);
    assert_eq!(
        (ran.stdout.as_str(), ran.code()),
        (*stdout, *code),
        "{arguments:?} {stdin:?}: {ran:?}"
    );
    assert!(
        ran.stderr.contains(stderr),
        "{arguments:?} {stdin:?}: {ran:?}"
    );
    // IPython adds a hint of its own to `sys.exit`.
    if stderr.is_empty() && !(more.contains(&"--python") && arguments.concat().contains("exit")) {
        assert_eq!(ran.stderr, "", "{arguments:?} {stdin:?}");
    }
}

#[test]
fn cells_without_ipython() {
    let home = Home::new();
    CASES.iter().for_each(|case| check(&home, &[], case));
}

#[test]
fn cells_with_ipython() {
    let Some(python) = peers::python() else {
        return;
    };
    let home = Home::new();
    // A start takes half a second: the core of the table.
    for case in CASES
        .iter()
        .filter(|(arguments, ..)| arguments.len() != 1)
        .take(9)
        .chain(&CASES[16..20])
    {
        check(&home, &["--python", python.to_str().unwrap()], case);
    }
}

#[test]
fn no_escape_sequence_is_written_to_a_pipe() {
    let ran = demo(&[], "1/0\nhelp\n.hello\n'\\x1b[31m'\nprint({'a': 1})\n");
    assert!(
        !ran.stdout.contains('\x1b') && !ran.stderr.contains('\x1b'),
        "{ran:?}"
    );
}

#[test]
fn files_run_as_cells() {
    let home = Home::new();
    home.write("one.py", "a = 1\n\n\na + 1\n");
    home.write(
        "marked.py",
        "# %%\nlen('first')\n# %%\n.what ran?\n# %%\n3\n",
    );
    home.write(
        "book.ipynb",
        r##"{"cells": [{"cell_type": "markdown", "source": "# x"}, {"cell_type": "code", "source": ["b = 2\n", "b"]},
            {"cell_type": "code", "source": "b + 1"}], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}"##,
    );
    home.write("bad.ipynb", "{]");
    let run = |name: &str| home.demo(&["run", name], "");
    assert_eq!(run("one.py").stdout, "2\n");
    let marked = run("marked.py");
    assert!(
        marked.stdout.starts_with("5\n") && marked.stdout.ends_with("3\n"),
        "{marked:?}"
    );
    assert!(
        marked.stdout.contains("- 1 cell since the last prompt\n"),
        "{marked:?}"
    );
    assert_eq!(run("book.ipynb").stdout, "2\n3\n");
    for (name, said) in [
        ("bad.ipynb", "bad.ipynb"),
        ("missing.py", "missing.py"),
        (".", "`.`"),
    ] {
        let ran = run(name);
        assert_eq!(
            (ran.stdout.as_str(), ran.code()),
            ("", 1),
            "{name}: {ran:?}"
        );
        assert!(ran.stderr.contains(said), "{name}: {ran:?}");
    }
}

#[test]
fn what_is_piped_is_recorded_unless_told_not_to() {
    let home = Home::new();
    let ran = home.run(&DEMO, "a = 1\n.hello\n1/0\n");
    assert_eq!(ran.code(), 1, "{ran:?}");
    let record = rusqlite::Connection::open(home.history()).unwrap();
    let count = |table: &str| {
        record
            .query_row(&format!("select count(*) from {table}"), [], |row| {
                row.get::<_, i64>(0)
            })
            .unwrap()
    };
    assert_eq!(
        (count("sessions"), count("history"), count("ai_prompts")),
        (1, 3, 1)
    );
    home.demo(&["--no-record"], "b = 2\n");
    assert_eq!((count("sessions"), count("history")), (1, 3));
}
