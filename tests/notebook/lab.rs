//! JupyterLab in a browser: it opens what was written, and has a notebook open that is worked on in place.

use std::process::Command;

use serde_json::{Value, json};

use super::reference::{figure, notebook, sources};
use crate::support::home::{Home, finish};
use crate::support::lab::Lab;

const SCRIPT: &str = include_str!("../data/notebook/lab.mjs");

/// The command that opens a notebook of the home, and types something into its first code cell.
fn browser(lab: &Lab, home: &Home, name: &str, typed: &str) -> Command {
    let cells = notebook(&home.work().join(name))["cells"]
        .as_array()
        .unwrap()
        .len();
    lab.browser(home, SCRIPT, "lab", name, &[&cells.to_string(), typed])
}

/// What it shows of a notebook.
fn shows(lab: &Lab, home: &Home, name: &str) -> Value {
    let ran = finish(browser(lab, home, name, ""), b"");
    assert_eq!(ran.code(), 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
}

#[test]
fn what_was_written_is_opened() {
    let home = Home::new();
    let Some(lab) = Lab::start(&home) else {
        return;
    };
    let cells = format!(
        "# %%\nimport sys; print('told'); print('warned', file=sys.stderr); 6 * 7\n# %%\n{}\n# %%\n1 / 0\n",
        figure()
    );
    home.write("a.py", cells);
    let ran = home.run(&["run", "a.py", "-o", "run.ipynb", "--allow-errors"], "");
    assert!(home.work().join("run.ipynb").exists(), "{ran:?}");
    let edit = [
        "notebook",
        "insert",
        "run.ipynb",
        "--type",
        "markdown",
        "--content",
        "# Prose",
    ];
    assert_eq!(home.run(&edit, "").code(), 0);
    let shown = shows(&lab, &home, "run.ipynb");
    let told = shown["outputs"].to_string();
    for part in ["told", "warned", "42", "ZeroDivisionError"] {
        assert!(told.contains(part), "{part}: {shown}");
    }
    assert_eq!(shown["cells"], 4, "{shown}");
    // What was written to standard error, and the traceback.
    assert_eq!(shown["errors"], 2, "{shown}");
    assert_eq!(shown["images"], json!([1]), "{shown}");
    assert!(
        shown["prose"][0].as_str().unwrap().starts_with("Prose"),
        "{shown}"
    );

    home.demo(
        &[],
        "a = 1\n'a note'\n.hello\na + 1\n%ipycodex save saved\n",
    );
    let shown = shows(&lab, &home, "saved.ipynb");
    assert_eq!(shown["code"], json!(["a = 1", "a + 1"]), "{shown}");
    assert_eq!(shown["numbers"], json!(["[1]:", "[4]:"]), "{shown}");
    assert_eq!(shown["prose"].as_array().unwrap().len(), 2, "{shown}");
}

#[test]
fn a_notebook_is_worked_on_in_both() {
    let home = Home::new();
    let Some(lab) = Lab::start(&home) else {
        return;
    };
    home.write("a.py", "x = 1\n");
    assert_eq!(home.run(&["run", "a.py", "-o", "a.ipynb"], "").code(), 0);
    // While the first cell runs, somebody types into the notebook in the browser, and saves.
    let browser = browser(&lab, &home, "a.ipynb", "theirs = 2; ");
    let words = std::iter::once(browser.get_program()).chain(browser.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    let words = serde_json::to_string(&words).unwrap();
    let (packages, chromium) = (lab.packages.display(), lab.chromium.display());
    let cell = format!(
        "import os, subprocess; os.environ.update(PACKAGES='{packages}', CHROMIUM='{chromium}'); \
         subprocess.run({words}).returncode"
    );
    let stdin = format!("%ipycodex open a.ipynb\n{cell}\n'after'; 2 + 3\n");
    let ran = home.demo(&[], &stdin);
    assert!(
        ran.stderr
            .contains("a.ipynb was changed by another program; it was read again"),
        "{ran:?}"
    );
    let book = notebook(&home.work().join("a.ipynb"));
    let code = sources(&book);
    assert_eq!(code.len(), 3, "{book}");
    assert!(code[0].1.contains("theirs = 2; "), "{book}");
    assert_eq!(
        book["cells"][1]["outputs"][1]["data"]["text/plain"],
        json!(["0"]),
        "{book}"
    );
    assert_eq!(
        book["cells"][2]["outputs"][0]["data"]["text/plain"],
        json!(["5"]),
        "{book}"
    );
    let shown = shows(&lab, &home, "a.ipynb");
    assert_eq!(shown["cells"], 3, "{shown}");
}
