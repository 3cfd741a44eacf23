//! `%ipycodex open`: a notebook worked on in place, while others write it too.

use serde_json::{Value, json};

use super::reference::{homes, notebook, sources};
use crate::support::home::Home;

const BOOK: &str = r#"{
  "cells": [
    {"cell_type": "code", "execution_count": null, "id": "a", "metadata": {"mine": 1.50},
     "outputs": [], "source": "x = 1"},
    {"cell_type": "markdown", "id": "b", "metadata": {}, "source": ["Text"]},
    {"cell_type": "code", "execution_count": null, "id": "c", "metadata": {},
     "outputs": [], "source": ["y = x\n", "y + 1"]}
  ],
  "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}"#;

fn codes(book: &Value) -> Vec<String> {
    sources(book)
        .into_iter()
        .map(|(_, source)| source)
        .collect()
}

#[test]
fn what_runs_is_written_where_it_belongs() {
    for home in homes() {
        // As lists: what a cell holds is read by another program below.
        home.write("a.ipynb", BOOK.replace("\"x = 1\"", "[\"x = 1\"]"));
        let ran = home.demo(&[],
            "%ipycodex open a.ipynb\n%ipycodex cell 0\nx = 10\nprint('new')\n%ipycodex cell 3\ny = x; y + 1\n\
             %ipycodex close\n'''gone'''\n",
        );
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(
            ran.stdout
                .contains("a.ipynb: 3 cells, nbformat 4.5\n0 code (1 line): x = 1\n"),
            "{ran:?}"
        );
        let path = home.work().join("a.ipynb");
        let book = notebook(&path);
        assert_eq!(
            codes(&book),
            ["x = 10", "print('new')", "Text", "y = x; y + 1"],
            "{book}"
        );
        let outputs = |cell: usize| &book["cells"][cell]["outputs"];
        assert_eq!(outputs(1)[0]["text"], json!(["new\n"]));
        assert_eq!(outputs(3)[0]["data"]["text/plain"], json!(["11"]));
        assert_eq!(book["cells"][0]["id"], "a");
        let text = std::fs::read_to_string(path).unwrap();
        let markdown =
            r#"{"cell_type": "markdown", "id": "b", "metadata": {}, "source": ["Text"]}"#;
        assert!(text.contains(markdown), "{text}");
        assert!(text.contains("\"mine\": 1.50"), "{text}");
    }
}

#[test]
fn what_others_write_meanwhile_is_kept() {
    let home = Home::new();
    home.write("a.ipynb", BOOK.replace("\"x = 1\"", "[\"x = 1\"]"));
    let other = "import json, time; time.sleep(0.5); b = json.load(open('a.ipynb')); \
                 new = dict(cell_type='raw', id='z', metadata={}); new['source'] = ['theirs']; \
                 b['cells'].insert(0, new); f = open('a.ipynb', 'w'); json.dump(b, f); f.close()";
    let stdin =
        format!("%ipycodex open a.ipynb\n%ipycodex cell 0\nx = 7\n{other}\n%ipycodex cell 0\n");
    let ran = home.demo(&[], &stdin);
    assert!(
        ran.stderr
            .contains("was changed by another program; it was read again"),
        "{ran:?}"
    );
    let book = notebook(&home.work().join("a.ipynb"));
    assert_eq!(codes(&book)[..2], ["theirs", "x = 7"], "{book}");
    let said = |text: &str, expected: &str| {
        let ran = home.demo(&[], text);
        assert!(ran.stderr.contains(expected), "{ran:?}");
    };
    said("%ipycodex cell 0\n", "no notebook is open");
    said(
        "%ipycodex open a.ipynb\n%ipycodex cell 9\n",
        "Cell index 9 out of range (0-4)",
    );
    said(
        "%ipycodex open none/a.ipynb\n1\n",
        "cannot open the directory of",
    );
}
