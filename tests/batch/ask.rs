//! Prompts without a terminal: `ask` and prompts between cells.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::peers;
use crate::support::responses::{Endpoint, Reply};

#[test]
fn an_answer_is_raw_markdown_and_knows_the_cells() {
    let ran = Home::new().demo(&[], "a = 41\na + 1\n.what ran?\n'after'\n");
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.starts_with("42\n# Demo answer\n\n"), "{ran:?}");
    assert!(ran.stdout.ends_with("\n'after'\n"), "{ran:?}");
    for part in [
        "I am **no AI**",
        "- 2 cells since the last prompt\n",
        "```python\na + 1\n```",
        "| cells | 2 |\n",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    assert!(
        !ran.stdout.contains("> The context holds"),
        "reasoning is not part of the answer: {ran:?}"
    );
}

#[test]
fn ask_takes_a_prompt_standard_input_and_files() {
    let home = Home::new();
    home.write("notes.txt", "file text\n");
    for (arguments, stdin, quoted) in [
        (&["ask", "hello there"][..], "", "> hello there\n"),
        (&["ask"], "from the pipe\n", "> from the pipe\n"),
        (&["ask", "hello", "-f", "notes.txt"], "piped", "> hello\n"),
        (&["ask", "%time or ?"], "", "> %time or ?\n"),
    ] {
        let ran = home.demo(arguments, stdin);
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(ran.stdout.contains(quoted), "{arguments:?}: {ran:?}");
        assert!(ran.stdout.ends_with("\n"), "{ran:?}");
    }
}

#[test]
fn ask_as_json_is_one_object() {
    let ran = Home::new().demo(&["ask", "hello", "--json"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["status"], "complete");
    assert_eq!(report["error"], Value::Null);
    assert!(
        report["answer"].as_str().unwrap().contains("no AI"),
        "{report}"
    );
    assert!(report["output_tokens"].as_i64().unwrap() > 0, "{report}");
}

#[test]
fn ask_says_what_is_wrong() {
    let home = Home::new();
    home.write("list.json", "[]");
    home.write("bad.json", "{");
    home.write("int.json", r#"{"properties": {"a": {"type": "int"}}}"#);
    home.write("latin.txt", b"caf\xe9");
    for (arguments, code, parts) in [
        (&["ask"][..], 2, ["nothing to ask", "hint:"]),
        (
            &["ask", "x", "-f", "missing.txt"],
            1,
            ["missing.txt", "cannot read"],
        ),
        (
            &["ask", "x", "--schema", "missing.json"],
            1,
            ["missing.json", "cannot read"],
        ),
        (
            &["ask", "x", "--schema", "bad.json"],
            1,
            ["bad.json", "not JSON"],
        ),
        (
            &["ask", "x", "--schema", "list.json"],
            1,
            ["list.json", "object"],
        ),
        (&["ask", "x", "-f", "latin.txt"], 1, ["latin.txt", "byte 3"]),
        (
            &["ask", "x", "--image", "list.json"],
            1,
            ["list.json", "PNG"],
        ),
        (
            &["ask", "x", "--session", "99"],
            1,
            ["Session 99 not found", "hint:"],
        ),
        (
            &["ask", "x", "--schema", "int.json"],
            2,
            ["int.json", "expected a JSON type"],
        ),
        (
            &["ask", "x", "--session", "nope"],
            1,
            ["Session nope not found", "hint:"],
        ),
        (
            &["ask", "x", "--think", "q"],
            2,
            ["`q` is not a value for `--think`", "h"],
        ),
        (&["ask", "x", "--nonsense"], 2, ["--nonsense", "Usage"]),
    ] {
        let ran = home.demo(arguments, "");
        assert_eq!(
            (ran.code(), ran.stdout.as_str()),
            (code, ""),
            "{arguments:?}: {ran:?}"
        );
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {arguments:?}: {ran:?}");
        }
    }
}

#[test]
fn a_missing_agent_is_one_error_with_its_remedies() {
    let home = Home::new();
    for (arguments, stdin) in [
        (&["ask", "x"][..], ""),
        (&[], ".x\n1 + 1\n"),
        (&["ask", "x", "--json"], ""),
    ] {
        let ran = home.run(arguments, stdin);
        assert_eq!(ran.code(), 1, "{ran:?}");
        if arguments.contains(&"--json") {
            let report: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(report["status"], "failed");
            assert!(
                report["error"].as_str().unwrap().contains("codex"),
                "{report}"
            );
            continue;
        }
        for part in [
            "npm install -g @openai/codex",
            "codex login",
            "--agent demo",
        ] {
            assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        }
        // What follows still runs.
        assert_eq!(ran.stdout, if stdin.is_empty() { "" } else { "2\n" });
    }
}

#[test]
fn a_session_is_gone_on_with() {
    let home = Home::new();
    let first = home.demo(&[], "a = 1\n.one\n");
    assert_eq!(first.code(), 0, "{first:?}");
    let second = home.demo(&["ask", "two", "--session", "1"], "");
    assert!(
        second.stdout.contains("- 1 prompt before this one"),
        "{second:?}"
    );
    home.demo(&["-r", "1"], "%ipycodex rename my work\n");
    let third = home.demo(&["ask", "three", "--session", "my work"], "");
    assert!(
        third.stdout.contains("- 2 prompts before this one"),
        "{third:?}"
    );
    home.demo(&[], "b = 1\n%ipycodex rename my work\n");
    let several = home.demo(&["ask", "four", "--session", "my work"], "");
    assert_eq!(several.code(), 1, "{several:?}");
    assert!(several.stderr.contains("several sessions"), "{several:?}");
}

/// A schema of each sort that a strict model cannot be held to as it is.
const COUNTS: &str = r#"{"type": "object", "properties": {
    "tags": {"type": "object", "additionalProperties": {"type": "integer"}},
    "at": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "items": false},
    "note": {"type": "string", "default": ""}}, "required": ["tags"]}"#;

#[test]
fn an_answer_fits_the_schema_or_the_exit_code_says_so() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let wrong = r#"{"tags": [{"key": "a", "value": "x"}], "at": null, "note": null}"#;
    let right =
        r#"{"tags": [{"key": "a", "value": 1}], "at": {"item_1": 1, "item_2": "b"}, "note": null}"#;
    let place = "answer.tags.a: expected integer, got \"x\"";
    for (answers, code, stdout) in [
        ([right, ""], 0, "{\"tags\":{\"a\":1},\"at\":[1,\"b\"]}\n"),
        ([wrong, right], 0, "{\"tags\":{\"a\":1},\"at\":[1,\"b\"]}\n"),
        (["no JSON", wrong], 1, ""),
    ] {
        for json in [false, true] {
            let endpoint = Endpoint::answering(move |index, _| Reply::text(answers[index.min(1)]));
            let home = Home::new();
            home.write("counts.json", COUNTS);
            endpoint.write_home(&home.codex(), "gpt-5.5");
            home.install("codex", &codex);
            let ask = [
                "--agent",
                "codex",
                "ask",
                "count",
                "--schema",
                "counts.json",
            ];
            let flags: &[&str] = if json { &["--json"] } else { &[] };
            let ran = home.run(&[&ask, flags].concat(), "");
            assert_eq!(ran.code(), code, "{ran:?}");
            if json {
                let told: Value = serde_json::from_str(&ran.stdout).unwrap();
                let error = told["error"].as_str().unwrap_or_default();
                assert_eq!(
                    told["status"],
                    if code == 0 { "complete" } else { "failed" },
                    "{told}"
                );
                assert!(error.contains(place) || code == 0, "{told}");
                assert!(told["answer"] == stdout.trim_end() || code == 1, "{told}");
            } else {
                assert_eq!(ran.stdout, stdout, "{ran:?}");
                assert!(ran.stderr.contains(place) || code == 0, "{ran:?}");
            }
            let requests = endpoint.requests();
            let format = &requests[0]["text"]["format"];
            assert_eq!(
                (&format["strict"], &format["type"]),
                (&json!(true), &json!("json_schema"))
            );
            let required = &format["schema"]["required"];
            assert_eq!(*required, json!(["tags", "at", "note"]), "{format}");
            if answers[0] == wrong {
                assert!(
                    requests[1]
                        .to_string()
                        .contains("answer.tags.a: expected integer"),
                    "{requests:?}"
                );
            }
        }
    }
}

#[test]
fn an_agent_that_cannot_be_held_to_a_schema_is_told_of_it_and_checked() {
    let home = Home::new();
    home.write(
        "numbers.json",
        r#"{"type": "array", "items": {"type": "integer"}}"#,
    );
    home.write("long.json", r#"{"type": "string", "minLength": 100}"#);
    let python = peers::plain_python();
    let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/acp.py");
    let acp = format!("acp:{} {fake}", python.display());
    for (agent, prompt, schema, code, stdout, stderr) in [
        (acp.as_str(), "[1]", "numbers.json", 0, "[1]\n", ""),
        (
            &acp,
            "[\"x\"]",
            "numbers.json",
            1,
            "",
            "at the second try either",
        ),
        ("demo", "x", "numbers.json", 0, "[1]\n", ""),
        (
            "demo",
            "x",
            "long.json",
            1,
            "",
            "answer: expected at least 100 characters, got 4",
        ),
    ] {
        let ran = home.run(&["--agent", agent, "ask", prompt, "--schema", schema], "");
        assert_eq!((ran.code(), ran.stdout.as_str()), (code, stdout), "{ran:?}");
        assert!(ran.stderr.contains(stderr), "{ran:?}");
    }
}

#[test]
fn a_picture_that_is_all_a_prompt_has_does_not_go_unseen() {
    let home = Home::new();
    let dot: [&[u8]; 2] = [
        b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,",
        b"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;",
    ];
    home.write("dot.gif", dot.concat());
    home.write("broken.png", b"\x89PNG\r\n\x1a\nnothing");
    home.write("notes.txt", "notes");
    let python = peers::plain_python();
    let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/acp.py");
    let blind = format!("acp:{} {fake} blind", python.display());
    for (agent, piped, why) in [
        // What an agent of the protocol can see is known when it has started.
        (&*blind, ".hello\n.look @dot.gif\n", "cannot see pictures"),
        ("demo", ".look @broken.png\n", "the prompt is not sent"),
        ("demo", ".look @gone.png\n", "the prompt is not sent"),
    ] {
        let ran = home.run(&["--agent", agent], piped);
        assert_eq!(ran.code(), 1, "{piped}: {ran:?}");
        assert!(ran.stderr.contains(why), "{piped}: {ran:?}");
        assert!(!ran.stdout.contains("look"), "{piped}: {ran:?}");
    }
    let with_notes = ".hello\n.look @dot.gif @notes.txt\n";
    let ran = home.run(&["--agent", &blind], with_notes);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stderr.contains("left out"), "{ran:?}");
    assert!(ran.stdout.contains("look"), "{ran:?}");
}

#[test]
fn where_nobody_can_be_asked_the_answer_is_no_and_said() {
    let mut home = Home::new();
    home.write_config("config.json", r#"{"approvals": "ask"}"#);
    let command = json!({"ask": "item/commandExecution/requestApproval", "params": {
        "itemId": "i", "command": "touch a\n\u{1b}]0;t\u{7}", "cwd": "/some/where"}});
    let script = home.write("script.json", json!([[command]]).to_string());
    let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/asks.py");
    let python = peers::plain_python();
    let words = [python.to_str(), Some(fake), script.to_str()];
    let words = words.map(|word| word.unwrap());
    home.set("IPYAI_CODEX_CMD", shlex::try_join(words).unwrap());
    let ran = home.run(&["ask", "do it"], "");
    assert_eq!(
        (ran.code(), ran.stdout.as_str()),
        (0, "turn over\n"),
        "{ran:?}"
    );
    assert_eq!(
        ran.stderr,
        "the agent was not given permission (command), because nobody can be asked here: touch a ^[]0;t^G (in \
         /some/where); with `approvals` set to `never` the sandbox decides\n"
    );
    let given = std::fs::read_to_string(home.work().join("answers.jsonl")).unwrap();
    assert_eq!(given, "{\"decision\": \"decline\"}\n");
}

#[test]
fn a_prompt_that_is_a_number_is_a_prompt_and_nothing_else() {
    let ran = Home::new().demo(&["ask", "401"], "");
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.contains("> 401"), "{ran:?}");
}
