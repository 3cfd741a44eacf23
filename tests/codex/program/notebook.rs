//! The `notebook` tool with the real Codex, on both model families: files read, changed and run, and what is refused.

use serde_json::{Value, json};

use super::MODELS;
use super::built_in_tools::{outputs, unasked};
use crate::support::responses::Reply;

const BOOK: &str = r#"{
  "cells": [
    {"cell_type": "code", "execution_count": null, "id": "a", "metadata": {"mine": 1.50},
     "outputs": [], "source": "x = 1"},
    {"cell_type": "markdown", "id": "b", "metadata": {}, "source": ["Text"]}
  ],
  "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}"#;

/// How a model of this family makes its call of this number.
fn tool(model: &str, number: usize, arguments: &Value) -> Reply {
    let id = format!("c{number}");
    match model {
        "gpt-5.5" => Reply::calls(&[(id.as_str(), "notebook", arguments.clone())]),
        _ => Reply::exec(&id, &format!("text(await tools.notebook({arguments}));")),
    }
}

#[test]
fn files_are_read_changed_and_run() {
    for model in MODELS {
        let ask = |number: usize, action: &str, more: Value| {
            let mut arguments = json!({"action": action, "path": "a.ipynb"});
            arguments
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().cloned().unwrap());
            tool(model, number, &arguments)
        };
        let replies = vec![
            ask(0, "list", json!({})),
            ask(1, "read", json!({})),
            ask(
                2,
                "edit",
                json!({"cell": 0, "content": "x = 20\nprint('seen')\nx + 1"}),
            ),
            ask(3, "run", json!({"cell": 0})),
            ask(4, "read", json!({"cell": 0, "outputs": true})),
            ask(5, "delete", json!({"cell": 5})),
            Reply::text("Done."),
        ];
        let Some(program) = unasked(model, replies) else {
            return;
        };
        program.home.write("a.ipynb", BOOK);
        let ran = program.piped(".work\nx\n");
        assert!(
            ran.stdout.ends_with("20\n"),
            "the live session ran it: {ran:?}"
        );
        let told = outputs(&program, 6);
        for part in [
            "a.ipynb: 2 cells, nbformat 4.5",
            "0 code (1 line): x = 1",
            "# %% [code] cell:0\nx = 1\n# %% [markdown] cell:1\nText",
            "Edited code cell 0 in a.ipynb: 2 cells.",
            r#""cellIndex":0,"cellType":"code","totalCells":2,"cellSource":"x = 20\nprint('seen')\nx + 1""#,
            "Cell 0 of a.ipynb ran as In[2]; its outputs are in the file.",
            "# %% [output] cell:0\nseen\n21",
            "Cell index 5 out of range (0-1)",
        ] {
            assert!(told.contains(part), "{model}: {part}\n{told}");
        }
        let text = std::fs::read_to_string(program.home.work().join("a.ipynb")).unwrap();
        let book: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(book["cells"][0]["execution_count"], 2);
        assert_eq!(
            book["cells"][0]["outputs"][1]["data"]["text/plain"],
            json!(["21"])
        );
        assert!(text.contains(r#""mine": 1.50}"#), "{text}");
        let times = &book["cells"][0]["metadata"]["execution"];
        assert!(times["shell.execute_reply"].is_string(), "{text}");
        let end = &BOOK[BOOK.find("    {\"cell_type\": \"markdown\"").unwrap()..];
        assert!(text.ends_with(end), "{text}");
    }
}

#[test]
fn what_is_not_allowed_or_has_changed_is_refused() {
    for model in MODELS {
        let edit = |number: usize, path: &str| {
            tool(
                model,
                number,
                &json!({"action": "edit", "path": path, "cell": 0, "content": "y"}),
            )
        };
        let replies = vec![
            tool(model, 0, &json!({"action": "read", "path": "a.ipynb"})),
            Reply::text("Seen."),
            edit(1, "a.ipynb"),
            edit(2, "../outside.ipynb"),
            tool(
                model,
                3,
                &json!({"action": "insert", "path": "a.txt", "content": "x"}),
            ),
            Reply::text("Refused."),
        ];
        let Some(program) = unasked(model, replies) else {
            return;
        };
        program.home.write("a.ipynb", BOOK);
        let outside = program.home.path().join("outside.ipynb");
        std::fs::write(&outside, BOOK).unwrap();
        program.piped(
            ".look\nt = open('a.ipynb').read(); _ = open('a.ipynb', 'w').write(t + ' ')\n.change\n",
        );
        let told = outputs(&program, 5);
        for part in [
            "`a.ipynb` was changed by another program since you looked at it",
            "nothing was written",
            "expected an .ipynb file, not `a.txt`",
        ] {
            assert!(told.contains(part), "{model}: {part}\n{told}");
        }
        assert_eq!(std::fs::read_to_string(outside).unwrap(), BOOK);
        assert_eq!(
            std::fs::read_to_string(program.home.work().join("a.ipynb")).unwrap(),
            format!("{BOOK} ")
        );
    }
}
