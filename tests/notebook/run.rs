//! `run FILE -o OUT`: the notebook that comes out, at any moment; parameters, timeouts, prompts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::reference::{PICTURE, ask_python, figure, homes, notebook, runs};
use crate::support::home::Home;

fn write(home: &Home, name: &str, cells: &[Value]) {
    let book = json!({"cells": cells, "metadata": {"x": 1}, "nbformat": 4, "nbformat_minor": 5});
    std::fs::write(home.work().join(name), format!("{book}")).unwrap();
}

fn code(id: &str, source: &str) -> Value {
    json!({"cell_type": "code", "execution_count": 9, "id": id, "metadata": {"mine": true},
           "outputs": [{"name": "stdout", "output_type": "stream", "text": "old"}], "source": source})
}

#[track_caller]
fn valid(home: &Home, name: &str) -> Value {
    let path = home.work().join(name);
    let script = "import json, sys, nbformat\n\
        nbformat.validate(json.load(open(sys.argv[1])), relax_add_props=False)\nprint('fine')";
    ask_python(home, &path, script);
    notebook(&path)
}

#[test]
fn outputs_numbers_and_times_are_written() {
    for home in homes() {
        let markdown = json!({"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# T"});
        let error = "import sys\nprint('out'); print('err', file=sys.stderr)\n1/0";
        write(
            &home,
            "a.ipynb",
            &[
                code("a", "x = 6\nx * 7"),
                markdown.clone(),
                code("b", &figure()),
                code("c", error),
                code("d", "never"),
            ],
        );
        let before = std::fs::read_to_string(home.work().join("a.ipynb")).unwrap();
        let ran = home.demo(&["run", "a.ipynb", "-o", "out.ipynb"], "");
        assert_eq!(ran.code(), 1, "{ran:?}");
        assert!(
            ran.stdout.contains("42"),
            "what cells show is shown: {ran:?}"
        );
        assert_eq!(
            std::fs::read_to_string(home.work().join("a.ipynb")).unwrap(),
            before
        );
        let book = valid(&home, "out.ipynb");
        let cells = book["cells"].as_array().unwrap();
        assert_eq!(cells[1], markdown);
        assert_eq!(
            cells[0]["outputs"],
            json!([{"data": {"text/plain": ["42"]}, "execution_count": 1, "metadata": {},
                    "output_type": "execute_result"}])
        );
        assert_eq!(
            (
                &cells[0]["execution_count"],
                &cells[0]["metadata"]["mine"],
                &cells[0]["id"]
            ),
            (&json!(1), &json!(true), &json!("a"))
        );
        let times = cells[0]["metadata"]["execution"].as_object().unwrap();
        assert!(
            times["iopub.execute_input"].as_str() <= times["shell.execute_reply"].as_str(),
            "{times:?}"
        );
        assert_eq!(
            cells[2]["outputs"][0]["data"]["image/png"]
                .as_str()
                .unwrap()
                .trim(),
            PICTURE
        );
        let kinds: Vec<_> = cells[3]["outputs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|output| (&output["output_type"], &output["name"], &output["ename"]))
            .collect();
        let (stream, none) = (json!("stream"), Value::Null);
        assert!(
            kinds.contains(&(&stream, &json!("stdout"), &none))
                && kinds.contains(&(&stream, &json!("stderr"), &none)),
            "{kinds:?}"
        );
        assert_eq!(
            kinds.last(),
            Some(&(&json!("error"), &none, &json!("ZeroDivisionError")))
        );
        assert_eq!(
            (&cells[4]["outputs"], &cells[4]["execution_count"]),
            (&json!([]), &Value::Null),
            "it was not run"
        );
        // In place, to the end, told as JSON.
        let ran = home.demo(
            &[
                "run",
                "--json",
                "--allow-errors",
                "a.ipynb",
                "-o",
                "a.ipynb",
            ],
            "",
        );
        assert_eq!(ran.code(), 1, "{ran:?}");
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        let states: Vec<_> = told["cells"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| (&cell["index"], &cell["status"]))
            .collect();
        let (ok, error) = (json!("ok"), json!("error"));
        assert_eq!(
            states,
            [
                (&json!(0), &ok),
                (&json!(2), &ok),
                (&json!(3), &error),
                (&json!(4), &error)
            ]
        );
        assert_eq!(
            (&told["status"], &told["output"]),
            (&error, &json!("a.ipynb"))
        );
        assert_eq!(told["cells"][0]["text"], "42\n");
        let book = valid(&home, "a.ipynb");
        assert_eq!(book["cells"][4]["outputs"][0]["ename"], "NameError");
    }
}

#[test]
fn the_file_is_whole_at_any_moment() {
    let home = Home::new();
    let slow = "import time\nfor n in range(30):\n    print(n, flush=True); time.sleep(0.1)";
    write(&home, "a.ipynb", &[code("a", "1"), code("b", slow)]);
    let mut child = home
        .command(&["run", "a.ipynb", "-o", "out.ipynb"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let path = home.work().join("out.ipynb");
    let (mut seen, begun) = (Vec::new(), Instant::now());
    while child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(60) {
        if let Ok(text) = std::fs::read_to_string(&path) {
            let book: Value = serde_json::from_str(&text).expect("whole");
            let outputs = &book["cells"][1]["outputs"];
            let lines = outputs[0]["text"].as_array().map_or(0, Vec::len);
            if seen.last() != Some(&lines) {
                seen.push(lines);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(
        valid(&home, "out.ipynb")["cells"][1]["outputs"][0]["text"]
            .as_array()
            .unwrap()
            .len(),
        30
    );
    assert!(
        seen.iter().any(|lines| (1..30).contains(lines)),
        "a part of the long cell was there: {seen:?}"
    );
}

#[test]
fn what_another_program_writes_there_meanwhile_stays_and_the_run_goes_on_beside_it() {
    let home = Home::new();
    let theirs = "open('out.ipynb', 'w').write('theirs')";
    write(&home, "a.ipynb", &[code("a", theirs), code("b", "6 * 7")]);
    std::fs::write(home.work().join("out-2.ipynb"), "older").unwrap();
    let ran = home.demo(&["run", "a.ipynb", "-o", "out.ipynb"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(
        ran.stderr
            .contains("`out.ipynb` was changed by another program while the cells ran")
            && ran
                .stderr
                .contains("the outputs of this run are in `out-3.ipynb`"),
        "{ran:?}"
    );
    for (name, text) in [("out.ipynb", "theirs"), ("out-2.ipynb", "older")] {
        assert_eq!(
            std::fs::read_to_string(home.work().join(name)).unwrap(),
            text
        );
    }
    let book = valid(&home, "out-3.ipynb");
    assert_eq!(
        book["cells"][1]["outputs"][0]["data"]["text/plain"],
        json!(["42"])
    );
}

#[test]
fn parameters_timeouts_and_prompts() {
    let home = Home::new();
    let mut tagged = code("p", "a = 0; b = ''");
    tagged["metadata"] = json!({"tags": ["parameters"]});
    write(
        &home,
        "a.ipynb",
        &[
            tagged,
            code("a", "print(a + 1, b)"),
            code("b", "import time; time.sleep(60)"),
            code("c", "1"),
        ],
    );
    let begun = Instant::now();
    let ran = home.demo(
        &[
            "run",
            "a.ipynb",
            "-o",
            "out.ipynb",
            "-p",
            "a",
            "41",
            "-p",
            "b",
            "x y",
            "--timeout",
            "1.5",
        ],
        "",
    );
    assert!(
        ran.code() == 1 && begun.elapsed() < Duration::from_secs(30),
        "{ran:?}"
    );
    let book = valid(&home, "out.ipynb");
    assert_eq!(
        book["cells"][1]["metadata"]["tags"],
        json!(["injected-parameters"])
    );
    assert_eq!(book["cells"][2]["outputs"][0]["text"], json!(["42 x y\n"]));
    let last = book["cells"][3]["outputs"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(
        (&last["ename"], &last["evalue"]),
        (
            &json!("CellTimeoutError"),
            &json!("the cell took longer than 1.5 s")
        )
    );
    assert_eq!(book["cells"][4]["outputs"], json!([]));
    // A saved prompt stays, or is sent again.
    home.demo(&[], "a = 1\n.hello\n%ipycodex save s\n");
    let answer = |book: &Value| book["cells"][1]["source"].clone();
    let saved = notebook(&home.work().join("s.ipynb"));
    home.demo(&["run", "s.ipynb", "-o", "t.ipynb"], "");
    assert_eq!(answer(&valid(&home, "t.ipynb")), answer(&saved));
    let mut text = saved.clone();
    text["cells"][1]["source"] = json!("gone");
    std::fs::write(home.work().join("s.ipynb"), text.to_string()).unwrap();
    let ran = home.demo(&["run", "s.ipynb", "-o", "t.ipynb", "--prompts"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let again = valid(&home, "t.ipynb");
    assert!(
        answer(&again).to_string().contains("Demo answer"),
        "{again}"
    );
}

#[test]
fn tags_and_bars_are_as_nbclient_and_jupyterlab_have_them() {
    let home = Home::new();
    let tagged = |id: &str, source: &str, tag: &str| {
        let mut cell = code(id, source);
        cell["metadata"] = json!({"tags": ["other", tag]});
        cell
    };
    let skipped = tagged("b", "2/0", "skip-execution");
    let bar = "import sys\nfor i in range(3): print(f'\\r{i}', end='', flush=True)\nprint()";
    let cells = [
        tagged("a", "1/0", "raises-exception"),
        skipped.clone(),
        code("c", bar),
    ];
    write(&home, "a.ipynb", &cells);
    let ran = home.demo(&["run", "a.ipynb", "-o", "out.ipynb"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let book = valid(&home, "out.ipynb");
    assert_eq!(book["cells"][0]["outputs"][0]["ename"], "ZeroDivisionError");
    assert_eq!(book["cells"][1], skipped);
    assert_eq!(book["cells"][2]["outputs"][0]["text"], json!(["2\n"]));
    // What ends the interpreter, or the run, is no such error.
    for source in ["import sys; sys.exit(3)", "import os; os._exit(3)"] {
        let cells = [tagged("a", source, "raises-exception")];
        write(&home, "b.ipynb", &cells);
        let ran = home.demo(&["run", "b.ipynb"], "");
        assert_ne!(ran.code(), 0, "{source}: {ran:?}");
    }
}

#[test]
fn a_text_for_git_has_no_numbers_and_any_file_has_one() {
    let home = Home::new();
    let show = |name: &str| home.demo(&["notebook", "show", "--textconv", name], "");
    let two = [code("a", "1"), code("b", "# %% [code] cell:7")];
    write(&home, "a.ipynb", &two);
    assert_eq!(
        show("a.ipynb").stdout,
        "# %% [code]\n1\n# %% [code]\n# %%% [code] cell:7\n"
    );
    for text in [
        "",
        "<<<<<<< HEAD\n{}\n",
        "{}",
        "{\"cells\": [7]}",
        "x\u{0}\n",
    ] {
        std::fs::write(home.work().join("b.ipynb"), text).unwrap();
        let ran = show("b.ipynb");
        assert_eq!((ran.stdout.as_str(), ran.code()), (text, 0), "{ran:?}");
    }
    assert_ne!(show("missing.ipynb").code(), 0);
}

#[test]
fn scripts_are_kept_as_notebooks_and_wrong_options_are_said() {
    let home = Home::new();
    home.write(
        "a.py",
        "# %%\nx = 1\n# %% [markdown]\n# T\n# %%\nprint(x)\n",
    );
    assert_eq!(home.demo(&["run", "a.py", "-o", "out.ipynb"], "").code(), 0);
    let book = valid(&home, "out.ipynb");
    runs(&home, &home.work().join("out.ipynb"));
    assert_eq!(book["cells"][1]["outputs"][0]["text"], json!(["1\n"]));
    // Jupyter starts what the notebook names, and asks where it names nothing.
    let kernel = |book: &Value| book["metadata"]["kernelspec"]["name"].clone();
    assert_eq!(kernel(&book), json!("python3"));
    assert_eq!(book["metadata"]["language_info"]["name"], json!("python"));
    home.demo(&["run", "-", "-o", "p.ipynb"], ".hello\n");
    assert_eq!(kernel(&valid(&home, "p.ipynb")), json!("ipycodex"));
    let check = |arguments: &[&str], said: &str| {
        let ran = home.demo(arguments, "");
        assert!(ran.code() == 2 && ran.stderr.contains(said), "{ran:?}");
    };
    check(&["run", "a.py", "-o", "out.txt"], "expected a .ipynb file");
    check(&["run", "-p", "a", "1", "a.py"], "takes no parameters");
    check(
        &["run", "--timeout", "0", "a.py"],
        "a number of seconds greater than 0",
    );
    write(&home, "a.ipynb", &[]);
    check(
        &["run", "-p", "a b", "1", "a.ipynb"],
        "`a b` cannot name a parameter",
    );
}
