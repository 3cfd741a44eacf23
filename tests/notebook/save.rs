//! `save`: what is in the file, what is left out, what is not overwritten.

use serde_json::{Value, json};

use super::reference::{PICTURE, figure, homes, is_valid, notebook, runs, sources};
use crate::support::home::Home;

#[test]
fn a_session_is_saved_with_all_it_showed() {
    for home in homes() {
        let figure = figure();
        let stdin = format!(
            "print('a'); print('b')\n'''why'''\n.hello there\nprint('c'); 6 * 7\n%ipycodex think\n{figure}\n\
             def f():\n    return 1\n\n1/0\n%ipycodex save out\n"
        );
        let ran = home.demo(&[], &stdin);
        assert_eq!(ran.code(), 1, "1/0 failed: {ran:?}");
        let saved = "Saved 6 code cells and 1 prompt to out.ipynb.\n";
        assert!(ran.stdout.contains(saved), "{ran:?}");
        assert!(ran.stderr.contains("these cells failed: 8\n"), "{ran:?}");
        let path = home.work().join("out.ipynb");
        is_valid(&home, &path);
        let notebook = notebook(&path);
        assert_eq!(notebook["metadata"], json!({"ipycodex_version": 1}));
        let cells = notebook["cells"].as_array().unwrap();
        let lines: Vec<_> = cells
            .iter()
            .map(|cell| {
                let known = &cell["metadata"]["ipycodex"];
                (
                    known["kind"].as_str().unwrap(),
                    known["line"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                ("code", 1),
                ("code", 2),
                ("prompt", 3),
                ("code", 4),
                ("code", 6),
                ("code", 7),
                ("code", 8)
            ]
        );
        assert_eq!(
            cells[0]["outputs"],
            json!([{"name": "stdout", "output_type": "stream", "text": ["a\n", "b\n"]}])
        );
        assert_eq!(cells[2]["metadata"]["ipycodex"]["prompt"], "hello there");
        assert_eq!(cells[2]["metadata"]["ipycodex"]["history_line"], 2);
        let outputs = cells[3]["outputs"].as_array().unwrap();
        assert_eq!(outputs[0]["text"], json!(["c\n"]));
        assert_eq!(outputs[1]["output_type"], "execute_result");
        assert_eq!(outputs[1]["data"]["text/plain"], json!(["42"]));
        assert_eq!(
            (&outputs[1]["execution_count"], outputs.len()),
            (&json!(4), 2)
        );
        let data = cells[4]["outputs"][0]["data"]["image/png"]
            .as_str()
            .unwrap();
        assert_eq!(data.trim(), PICTURE);
        let error = &cells[6]["outputs"][0];
        assert_eq!(
            (&error["output_type"], &error["ename"], &error["evalue"]),
            (
                &json!("error"),
                &json!("ZeroDivisionError"),
                &json!("division by zero")
            )
        );
        let traceback = error["traceback"].to_string();
        assert!(
            traceback.contains("1/0") && !traceback.contains("u001b"),
            "{traceback}"
        );
    }
}

#[test]
fn jupyter_runs_what_was_saved() {
    let home = Home::new();
    home.demo(
        &[],
        "import math\n'note'\n.hi\nprint(math.pi)\n%ipycodex save out.ipynb\n",
    );
    runs(&home, &home.work().join("out.ipynb"));
}

#[test]
fn everything_of_a_resumed_session_is_saved_but_what_was_taken_back() {
    for home in homes() {
        home.demo(&[], "a = 1\n.first\nb = 2\n.second\nc = 3\n");
        let ran = home.demo(
            &["-r", "1"],
            "print('d')\n.third\n%ipycodex hide 3-4\n%ipycodex undo\n%ipycodex save all\n",
        );
        let saved = "Saved 3 code cells and 1 prompt to all.ipynb.\n";
        assert!(ran.stdout.contains(saved), "{ran:?}");
        let path = home.work().join("all.ipynb");
        is_valid(&home, &path);
        let saved = notebook(&path);
        let sources = sources(&saved);
        let code: Vec<&str> = sources
            .iter()
            .filter(|(kind, _)| kind == "code")
            .map(|(_, source)| source.as_str())
            .collect();
        assert_eq!(code, ["a = 1", "c = 3", "print('d')"]);
        assert_eq!(saved["cells"][1]["metadata"]["ipycodex"]["prompt"], "first");
    }
}

#[test]
fn in_prompt_mode_code_is_saved_without_its_mark_and_prompts_without_dots() {
    let home = Home::new();
    let ran = home.demo(
        &["-p"],
        "hello there\n;x = 1\n!echo shell\n.with a dot\n%ipycodex save out\n",
    );
    assert!(
        ran.stdout
            .contains("Saved 2 code cells and 2 prompts to out.ipynb.\n"),
        "{ran:?}"
    );
    let saved = notebook(&home.work().join("out.ipynb"));
    let cells = saved["cells"].as_array().unwrap();
    let told: Vec<String> = cells
        .iter()
        .map(|cell| {
            let prompt = cell["metadata"]["ipycodex"]["prompt"].as_str();
            prompt.map_or_else(
                || cell["source"][0].as_str().unwrap().to_owned(),
                |prompt| format!("? {prompt}"),
            )
        })
        .collect();
    assert_eq!(
        told,
        ["? hello there", "x = 1", "!echo shell", "? with a dot"]
    );
}

#[test]
fn what_somebody_made_is_not_overwritten() {
    let home = Home::new();
    let foreign = "{\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}";
    let path = home.write("mine.ipynb", foreign);
    let ran = home.demo(
        &[],
        "a = 1\n%ipycodex save mine\n%ipycodex save 'other one'\n",
    );
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(
        ran.stderr.contains("is a notebook of another program"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("`%ipycodex save -f mine.ipynb` replaces it"),
        "{ran:?}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), foreign);
    assert!(home.work().join("other one.ipynb").exists());
    // Another session's work; the same session's grows.
    let ran = home.demo(&[], "b = 1\n%ipycodex save 'other one'\n");
    assert!(
        ran.stderr.contains("a cell that is not in this session"),
        "{ran:?}"
    );
    let ran = home.demo(
        &["-r", "1"],
        "c = 1\n%ipycodex save 'other one'\n%ipycodex save -f mine\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    is_valid(&home, &path);
    // A directory of another's, and one that is not there.
    let ran = home.demo(&["-r", "1"], "%ipycodex save no/where\n%ipycodex save /\n");
    assert!(ran.stderr.contains("no/where.ipynb"), "{ran:?}");
}

#[test]
fn names_are_meant_from_the_sessions_directory() {
    let home = Home::new();
    std::fs::create_dir(home.work().join("below")).unwrap();
    let ran = home.demo(
        &[],
        "import os; os.chdir('below')\n%ipycodex save here\n%ipycodex save ~/there\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(home.work().join("below/here.ipynb").exists());
    assert!(home.path().join("home/there.ipynb").exists());
}

#[test]
fn streams_times_and_what_others_added_stay() {
    let home = Home::new();
    let code = "import sys; print('o'); print('e', file=sys.stderr); print('p')";
    let stdin = format!("{code}\n'a note'\n%ipycodex save out\n");
    let ran = home.demo(&[], &stdin);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let path = home.work().join("out.ipynb");
    let saved = notebook(&path);
    // Two pipes: which comes first is not told.
    let printed = |cell: &Value, stream: &str| -> String {
        let outputs = cell["outputs"].as_array().unwrap().iter();
        let lines = outputs.filter(|output| output["name"] == stream);
        let lines = lines.flat_map(|output| output["text"].as_array().unwrap());
        lines.map(|line| line.as_str().unwrap()).collect()
    };
    let cell = &saved["cells"][0];
    let both = ["stdout", "stderr"].map(|stream| printed(cell, stream));
    assert_eq!(both, ["o\np\n", "e\n"], "{saved}");
    let times = &cell["metadata"]["execution"];
    let [began, ended] = ["iopub.execute_input", "shell.execute_reply"]
        .map(|key| times[key].as_str().unwrap_or_else(|| panic!("{saved}")));
    assert!(began <= ended && began.ends_with('Z'), "{times}");

    // Somebody tags a cell and chooses a kernel; the session goes on.
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replacen(
        "\"line\": 1\n    }",
        "\"line\": 1\n    },\n    \"tags\": [\n     \"mine\"\n    ]",
        1,
    );
    let kernel = "\"kernelspec\": {\n   \"display_name\": \"X\",\n   \"name\": \"x\"\n  }";
    let text = text.replacen(
        "\"ipycodex_version\": 1",
        &format!("\"ipycodex_version\": 1,\n  {kernel}"),
        1,
    );
    std::fs::write(&path, &text).unwrap();
    let ran = home.demo(&["-r", "1"], "b = 1\n%ipycodex save out\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    is_valid(&home, &path);
    let grown = std::fs::read_to_string(&path).unwrap();
    let (cells, rest) = text.split_at(text.find("\n  }\n ],\n").unwrap());
    assert!(grown.starts_with(cells), "{grown}");
    assert!(grown.ends_with(rest), "{grown}");
    assert_eq!(notebook(&path)["cells"].as_array().unwrap().len(), 3);

    // What is loaded elsewhere takes it along; an exchange, too.
    let exchange = r#"{"cell_type": "markdown", "id": "said", "metadata": {"ipycodex":
        {"kind": "prompt", "line": 3, "history_line": 2, "prompt": "hi"}, "tags": ["kept"]}, "source": "yes"}"#;
    let grown = grown.replacen("\n ],\n", &format!(",\n  {exchange}\n ],\n"), 1);
    std::fs::write(&path, grown).unwrap();
    let ran = home.demo(&[], "%ipycodex load out\n%ipycodex save copy\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let path = home.work().join("copy.ipynb");
    is_valid(&home, &path);
    let copy = notebook(&path);
    assert_eq!(copy["cells"][0]["metadata"]["tags"], json!(["mine"]));
    assert_eq!(printed(&copy["cells"][0], "stderr"), "e\n", "{copy}");
    let said = &copy["cells"][2]["metadata"];
    assert_eq!(said["ipycodex"]["prompt"], "hi", "{copy}");
    assert_eq!(said["tags"], json!(["kept"]), "{copy}");
}
