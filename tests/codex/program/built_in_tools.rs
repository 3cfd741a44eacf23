//! The built-in tools with the real Codex, on both model families: what the model is told of them, what it gets back,
//! what later prompts send, what the record holds.

use serde_json::{Value, json};

use super::{MODELS, Program, asked, call, program};
use crate::support::responses::{Endpoint, Reply, conversation, tool_outputs};

/// A program whose agent may run cells unasked.
pub(super) fn unasked(model: &str, replies: Vec<Reply>) -> Option<Program> {
    let program = program(model, Endpoint::script(replies))?;
    program.configure(json!({"run_cells": "auto"}));
    Some(program)
}

pub(super) fn cells(model: &str, codes: &[&str]) -> Reply {
    let cells: Vec<Value> = codes.iter().map(|code| json!({"code": code})).collect();
    call(model, "run_cells", &json!({ "cells": cells }))
}

fn look(model: &str, code: &str) -> Reply {
    call(model, "pyrun", &json!({ "code": code }))
}

/// Everything the model got back in the `n`th request, as text.
pub(super) fn outputs(program: &Program, n: usize) -> String {
    let outputs = tool_outputs(&program.endpoint.requests()[n]);
    let text: Vec<String> = outputs.iter().map(as_text).collect();
    text.join("\n")
}

fn as_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(as_text).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => part.get("text").map(as_text).unwrap_or_default(),
        _ => String::new(),
    }
}

#[test]
fn the_model_is_told_what_each_tool_is_for() {
    for model in MODELS {
        let Some(program) = unasked(model, vec![Reply::text("fine"), Reply::text("fine")]) else {
            return;
        };
        program.piped(".hello\n%ipycodex run_cells off\n");
        let request = program.endpoint.requests()[0].to_string();
        for told in [
            "runs code in a throw-away copy of it",
            "Nothing it does lasts",
            "as if the user had typed them",
            "The first cell that fails stops the rest",
            "all its variables are lost",
            "Seconds a cell may take",
            "Read a skill of the list in <skills>",
        ] {
            assert!(request.contains(told), "{model}: {told}\n{request}");
        }
    }
}

#[test]
fn a_look_sees_the_namespace_and_changes_nothing() {
    for model in MODELS {
        let code = "print('x is', x)\nx = 2\nopen('made', 'w')";
        let replies = vec![
            look(model, "x + 1"),
            Reply::text("Forty-two."),
            look(model, code),
            Reply::text("No."),
        ];
        let Some(program) = unasked(model, replies) else {
            return;
        };
        let ran = program.piped("x = 41\n.what is x + 1?\n.change it\nx\n");
        assert_eq!(ran.code(), 0, "{ran:?}");
        if outputs(&program, 1).contains("pyrun did not run") {
            return; // this kernel protects nothing
        }
        assert!(outputs(&program, 1).contains("42"), "{model}");
        let second = outputs(&program, 3);
        assert!(
            second.contains("x is 41\nError: PermissionError"),
            "{model}: {second}"
        );
        assert!(!program.home.work().join("made").exists());
        assert!(ran.stdout.ends_with("41\n"), "{ran:?}");
        assert_eq!(
            program.recorded("SELECT source FROM history ORDER BY line"),
            ["x = 41", ".what is x + 1?", ".change it", "x"]
        );
    }
}

#[test]
fn cells_run_in_the_live_session_and_the_model_is_told_once() {
    for model in MODELS {
        let replies = vec![
            cells(model, &["y = x + 1\nprint('y made')", "y"]),
            Reply::text("Done."),
            Reply::text("Later."),
        ];
        let Some(program) = unasked(model, replies) else {
            return;
        };
        let ran = program.piped("x = 41\n.make y\ny + 1\n.and now?\n");
        assert!(
            ran.stdout.contains("y made") && ran.stdout.contains("43"),
            "{ran:?}"
        );
        let result = "ran\nIn[3]:\ny made\nIn[4]:\n42";
        assert!(
            outputs(&program, 1).contains(result),
            "{model}: {}",
            outputs(&program, 1)
        );
        assert_eq!(
            program.recorded("SELECT line || ' ' || source FROM history ORDER BY line"),
            [
                "1 x = 41",
                "2 .make y",
                "3 y = x + 1\nprint('y made')",
                "4 y",
                "5 y + 1",
                "6 .and now?"
            ]
        );
        assert_eq!(
            program.recorded("SELECT output FROM output_history ORDER BY line"),
            ["y made", "42", "43"]
        );
        let requests = program.endpoint.requests();
        assert_eq!(
            asked(&requests[2]),
            "<context><code>y + 1</code><output>43</output></context>\n<user-request>and now?</user-request>"
        );
        assert_eq!(
            requests[0]["prompt_cache_key"], requests[2]["prompt_cache_key"],
            "one thread"
        );
        // Taken up by another process and seeded anew, the model sees the same, once.
        program.configure(json!({"run_cells": "auto", "threads": "ephemeral"}));
        program.resumed("1", ".again?\n");
        let seeded = asked(program.endpoint.requests().last().unwrap());
        assert_eq!(
            seeded.matches("y = x + 1").count(),
            2,
            "summary and call: {seeded}"
        );
        assert!(!seeded.contains("<code>y = x + 1"), "{seeded}");
    }
}

#[test]
fn cells_of_an_exchange_that_left_the_conversation_are_context() {
    let model = "gpt-5.5";
    let replies = vec![
        cells(model, &["y = 1"]),
        Reply::text("Done."),
        Reply::text("Later."),
    ];
    let Some(program) = unasked(model, replies) else {
        return;
    };
    program.piped(".make y\n");
    let record = rusqlite::Connection::open(program.home.history()).unwrap();
    let hidden = record.execute("UPDATE ipycodex_turns SET hidden = 1", []);
    assert_eq!(hidden, Ok(1));
    drop(record);
    program.resumed("1", ".and now?\n");
    let request = program.endpoint.requests().pop().unwrap();
    assert_eq!(
        conversation(&request),
        ["user: <context><code>y = 1</code></context>\n<user-request>and now?</user-request>"]
    );
}

#[test]
fn failures_are_named_and_the_interpreter_is_kept_or_not() {
    let check = |codes: &[&str], expected: &str, then: &str, shown: &str| {
        let model = "gpt-5.5";
        let Some(program) = unasked(model, vec![cells(model, codes), Reply::text("I see.")]) else {
            return;
        };
        let ran = program.piped(&format!("x = 41\n.go\n{then}\n"));
        let result = outputs(&program, 1);
        assert!(result.contains(expected), "{codes:?}: {result}\n{ran:?}");
        assert!(ran.stdout.contains("I see."), "{codes:?}: {ran:?}");
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(all.contains(shown), "{codes:?}: {ran:?}");
    };
    check(
        &["a = 1", "1/0", "b = 1"],
        "cell 2 of 3 (In[4]) failed: ZeroDivisionError: division by zero; cell 3 was not run\nIn[3]: no output\n\
         In[4]:\n",
        "x + a",
        "42\n",
    );
    check(
        &["import os; os._exit(3)", "x"],
        "cell 1 of 2 (In[3]) failed: the interpreter ended (exit code 3), all variables are lost",
        "1 + 1",
        "2\n",
    );
    check(&["exit()", "x"], "[exit was ignored", "x + 1", "42\n");
    check(&["raise SystemExit(3)"], "SystemExit", "x + 1", "42\n");
    check(&["def f(:"], "SyntaxError", "x + 1", "42\n");
    check(
        &["import sys; sys.stdin.readline(); input()"],
        "failed: EOFError",
        "x + 1",
        "42\n",
    );
    check(
        &["%ipycodex run_cells auto"],
        "which only the user gives",
        "x + 1",
        "42\n",
    );
    check(
        &["print('\\ud800\\x00')", "'\\x1b[31mred'"],
        "In[4]:",
        "x + 1",
        "42\n",
    );
}

#[test]
fn a_reset_starts_the_interpreter_anew() {
    let model = "gpt-5.5";
    let reset = json!({"cells": [{"code": "x"}, {"code": "'x' in globals()", "reset": true}]});
    let replies = vec![call(model, "run_cells", &reset), Reply::text("Anew.")];
    let Some(program) = unasked(model, replies) else {
        return;
    };
    let ran = program.piped("x = 41\n.go\n'x' in globals()\n");
    let result = outputs(&program, 1);
    assert!(
        result.contains("In[3]:\n41\nIn[4]:\nFalse"),
        "{result}\n{ran:?}"
    );
    assert!(ran.stdout.ends_with("False\n"), "{ran:?}");
}

#[test]
fn a_cell_that_takes_too_long_is_interrupted() {
    let model = "gpt-5.5";
    let slow = json!({"cells": [{"code": "import time\ntime.sleep(1000)"}], "timeout": 1});
    let swallows = json!({"cells": [{"code": "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\
                                              time.sleep(1000)"}], "timeout": 1});
    let replies = vec![
        call(model, "run_cells", &slow),
        Reply::text("Slow."),
        call(model, "run_cells", &swallows),
        Reply::text("Stubborn."),
    ];
    let Some(program) = unasked(model, replies) else {
        return;
    };
    let ran = program.piped("x = 41\n.go\nx + 1\n.go\n1 + 1\n");
    let result = outputs(&program, 1);
    let expected = "timed out after 1 s; it was interrupted, variables are kept";
    assert!(result.contains(expected), "{result}");
    assert!(
        ran.stdout.contains("42\n") && ran.stdout.ends_with("2\n"),
        "{ran:?}"
    );
    let result = outputs(&program, 3);
    let expected =
        "did not react to the interrupt; the interpreter was killed, all variables are lost";
    assert!(result.contains(expected), "{result}");
}

#[test]
fn a_picture_of_a_cell_is_seen() {
    let model = "gpt-5.5";
    let code = "from IPython.display import Image\nimport base64\n\
                display(Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgG\
                AWjR9awAAAABJRU5ErkJggg==')))";
    let Some(program) = unasked(model, vec![cells(model, &[code]), Reply::text("A dot.")]) else {
        return;
    };
    let ran = program.piped(".draw\n");
    let request = program.endpoint.requests()[1].to_string();
    if request.contains("No module named") {
        return; // no IPython here
    }
    assert!(
        request.contains("data:image/png;base64,iVBOR"),
        "{ran:?}\n{request}"
    );
}

#[test]
fn parallel_calls_of_code_mode_run_one_after_the_other() {
    let script = "const cell = {cells: [{code: 'a.append(len(a)); a'}]}; \
                  const all = await Promise.all([tools.run_cells(cell), tools.run_cells(cell), tools.run_cells({}), \
                  tools.run_cells(cell)]); text(all.join('\\n'));";
    let Some(program) = unasked(
        "gpt-6.1-sol",
        vec![Reply::exec("c1", script), Reply::text("Done.")],
    ) else {
        return;
    };
    let ran = program.piped("a = []\n.go\na\n");
    let result = outputs(&program, 1);
    for part in [
        "In[3]:\n[0]",
        "In[4]:\n[0, 1]",
        "In[5]:\n[0, 1, 2]",
        "Error: run_cells: `cells` is missing: expected a list of at least one cell, {code, title?, reset?, \
         language?}",
    ] {
        assert!(result.contains(part), "{part}: {result}\n{ran:?}");
    }
    assert!(ran.stdout.ends_with("[0, 1, 2]\n"), "{ran:?}");
}
