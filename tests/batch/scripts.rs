//! `run FILE.py ARG…` beside `python FILE.py ARG…`: the same output and exit code in both engines, with the script's
//! own name and lines in tracebacks.

use std::path::PathBuf;

use crate::support::home::{Home, Ran, finish};
use crate::support::peers;

/// Script, arguments, standard input.
const SCRIPTS: &[(&str, &[&str], &str)] = &[
    (
        "import os, sys\nimport sibling\n\
         print(__name__, os.path.isabs(__file__), __file__, __spec__, sys.argv, sibling.WHO)\n\
         print(os.path.samefile(sys.path[0], os.path.dirname(__file__)), '' in sys.path, os.getcwd() in sys.path)\n\
         if __name__ == '__main__':\n    print('main')\n",
        &["--name", "a b", "-n", "3"],
        "",
    ),
    (
        "import sys\nname = input('name? ')\nprint(name, [line for line in sys.stdin])\n",
        &[],
        "Ada\none\ntwo",
    ),
    (
        "import os, subprocess, sys\nprint(os.read(0, 3), flush=True)\nsubprocess.run(['cat'])\n\
         print(sys.stdin.buffer.read())\n",
        &[],
        "abcdef\n",
    ),
    (
        "import sys\nprint(sys.stdin.read(2), sys.stdin.isatty())\ninput()\n",
        &[],
        "x",
    ),
    ("import sys\nprint('a')\nsys.exit(3)\n", &[], ""),
    ("import sys\nsys.exit('why')\n", &[], ""),
    ("raise SystemExit\n", &[], ""),
    ("", &["a"], ""),
    ("print('a')\n1/0\nprint('b')\n", &[], ""),
    ("x = = 1\n", &[], ""),
    (
        "import atexit, threading, time\natexit.register(print, 'bye')\n\
         threading.Thread(target=lambda: (time.sleep(2.5), print('late'))).start()\nprint('main')\n",
        &[],
        "",
    ),
    (
        "import time\nfrom concurrent.futures import ThreadPoolExecutor\n\
         ThreadPoolExecutor().submit(lambda: (time.sleep(0.1), print('done'))) and None\nprint('main')\n",
        &[],
        "",
    ),
    (
        "import inspect, multiprocessing\ndef double(x):\n    return 2 * x\n\
         if __name__ == '__main__':\n    print(inspect.getsource(double))\n\
         \x20   with multiprocessing.get_context('spawn').Pool(1) as pool:\n        print(pool.map(double, [1, 2]))\n",
        &[],
        "",
    ),
    (
        "# %%\nimport sys\n# %% [markdown]\n# Prose.\n# %%\nprint(sys.argv)\n# %%\nprint(input())\nsys.exit(4)\n# %%\n\
         print('never')\n",
        &["--", "--model"],
        "line\n",
    ),
];

fn engines() -> Vec<(&'static str, PathBuf)> {
    let mut engines = vec![("built-in", peers::plain_python())];
    engines.extend(peers::python().map(|python| ("IPython", python)));
    engines
}

fn project(script: &str) -> Home {
    let home = Home::new();
    std::fs::create_dir(home.work().join("project")).unwrap();
    home.write("project/sibling.py", "WHO = 'beside it'\n");
    home.write("project/script.py", script);
    home
}

fn run(home: &Home, python: &str, arguments: &[&str], stdin: &str) -> Ran {
    let ours = ["--python", python, "run", "project/script.py"];
    home.run(&[&ours, arguments].concat(), stdin)
}

#[test]
fn a_script_runs_as_python_runs_it() {
    for (engine, python) in engines() {
        for (script, arguments, stdin) in SCRIPTS {
            let home = project(script);
            let ours = run(&home, python.to_str().unwrap(), arguments, stdin);
            let own: Vec<&str> = arguments.iter().copied().filter(|it| *it != "--").collect();
            let command = home.foreign(&python, &[&["project/script.py"], &own[..]].concat());
            let theirs = finish(command, stdin.as_bytes());
            assert_eq!(
                (ours.stdout.as_str(), ours.code()),
                (theirs.stdout.as_str(), theirs.code()),
                "{engine}\n{script}\n{ours:?}\n{theirs:?}"
            );
            assert_eq!(ours.stderr.is_empty(), theirs.stderr.is_empty(), "{ours:?}");
        }
    }
}

#[test]
fn tracebacks_name_the_script_and_its_lines() {
    let script = "import sys\n\n# %%\ndef fails(x):\n    return 1 / x\n\n# %% [markdown]\n# Prose.\n\n# %%\n\n\
                  print('so far')\nfails(0)\n";
    for (engine, python) in engines() {
        let home = project(script);
        let ran = run(&home, python.to_str().unwrap(), &[], "");
        assert_eq!(
            (ran.stdout.as_str(), ran.code()),
            ("so far\n", 1),
            "{engine}"
        );
        for part in ["project/script.py", "13", "fails(0)", "5", "return 1 / x"] {
            assert!(ran.stderr.contains(part), "{engine}: {part}: {ran:?}");
        }
        home.write("project/script.py", "# %%\na = 1\n# %%\n\nb = = 2\n");
        let ran = run(&home, python.to_str().unwrap(), &[], "");
        assert!(
            ran.stderr.contains("project/script.py"),
            "{engine}: {ran:?}"
        );
        let line = ["line 5", "script.py:5"];
        assert!(
            line.iter().any(|line| ran.stderr.contains(line)),
            "{engine}: {ran:?}"
        );
    }
}

#[test]
fn arguments_are_for_scripts() {
    let home = Home::new();
    home.write("a.ipynb", r#"{"cells": []}"#);
    let ran = home.run(&["run", "a.ipynb", "x"], "");
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(
        ran.stderr.contains("`a.ipynb` takes no arguments"),
        "{ran:?}"
    );
}

#[test]
fn broken_cells_of_a_notebook_are_left_out_and_said() {
    let home = Home::new();
    home.write(
        "a.ipynb",
        r#"{"cells": [{"cell_type": "code", "source": "print(1)"}, 7, {"cell_type": "code", "source": ["x", 5]},
            {"cell_type": "code", "source": "print(2)"}], "metadata": {}, "nbformat": 4}"#,
    );
    for arguments in [
        &["run", "a.ipynb"][..],
        &["-l", "a.ipynb", "-c", "print(2)"],
    ] {
        let ran = home.run(arguments, "");
        assert!(ran.stdout.starts_with("1\n2\n"), "{ran:?}");
        assert_eq!(ran.code(), 0, "{ran:?}");
        for said in [
            "cell 2 of 4 is not a JSON object; it was left out",
            "cell 3 of 4 has a `source` that is neither text nor a list of lines; it was left out",
        ] {
            assert!(ran.stderr.contains(said), "{ran:?}");
        }
    }
}
