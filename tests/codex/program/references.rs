//! What prompts refer to and what is cut for the model: the bytes that reach it, on both model families.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{Program, asked, call, endless, leave, program};
use crate::support::responses::{Endpoint, Reply, conversation, tool_outputs};

const MODELS: [&str; 2] = ["gpt-5.5", "gpt-6.1-sol"];

/// What each request asked.
fn told(program: &Program) -> Vec<String> {
    program.endpoint.requests().iter().map(asked).collect()
}

#[test]
fn values_and_commands_stand_before_the_context_and_are_had_once() {
    for model in MODELS {
        let Some(program) = program(model, endless()) else {
            return;
        };
        let ran = program.piped(
            "x = '</variable> & \"co\"'\nd = {'k': [1, 2]}\n\
             .$`x` $`d` $`d['k'][0]` $`len(d['k'])` $`1 +` $`nope` !`printf '<%s>\\n' one two; echo ran >> count` \
             $`gone(x)`\n\
             .and now?\n",
        );
        assert_eq!(ran.code(), 0, "{model}: {ran:?}");
        let told = told(&program);
        let first = "<warnings>The following symbols were referenced but aren't defined in the interpreter: gone, \
                     nope</warnings>\n\
             <variable name=\"1 +\" type=\"SyntaxError\">Error: SyntaxError: invalid syntax</variable>\
             <variable name=\"d\" type=\"dict\">{'k': [1, 2]}</variable>\
             <variable name=\"d['k'][0]\" type=\"int\">1</variable>\
             <variable name=\"len(d['k'])\" type=\"int\">2</variable>\
             <variable name=\"x\" type=\"str\">&lt;/variable&gt; &amp; \"co\"</variable>\
             <shell cmd=\"printf '&lt;%s&gt;\\n' one two; echo ran &gt;&gt; count\">&lt;one&gt;\n&lt;two&gt;</shell>\
             <context><code>x = '&lt;/variable&gt; &amp; \"co\"'</code><code>d = {'k': [1, 2]}</code></context>\n\
             <user-request>$`x` $`d` $`d['k'][0]` $`len(d['k'])` $`1 +` $`nope` !`printf '<%s>\\n' one two; echo ran \
             >> count` $`gone(x)`</user-request>";
        assert_eq!(
            told,
            [first, "<user-request>and now?</user-request>"],
            "{model}"
        );
        // The exchange keeps what it was sent with.
        let history = conversation(&program.endpoint.requests()[1]);
        assert!(
            history.contains(&format!("user: {first}")),
            "{model}: {history:?}"
        );
        let count = std::fs::read_to_string(program.home.work().join("count")).unwrap();
        assert_eq!(count, "ran\n", "{model}");
        assert!(
            ran.stderr
                .contains("not defined in the interpreter: gone, nope"),
            "{ran:?}"
        );
        assert!(
            ran.stderr
                .contains("no value for `1 +`: SyntaxError: invalid syntax"),
            "{ran:?}"
        );
    }
}

#[test]
fn notes_bring_what_they_declare_with_the_next_prompt() {
    let Some(program) = program("gpt-5.5", endless()) else {
        return;
    };
    let ran = program.piped(
        "x, d = 41, [5]\ndef f(): 'F.'\n\ndef g(): 'G.'\n\n\
         '''---\nexposed-vars: x d[0]\nshell-cmds: [echo hi]\nallowed-tools: f gone Bash(git:*)\n---\n\
         see $`x` and &`g`'''\n\
         .a\n.b\n",
    );
    let told = told(&program);
    let expansion = "<variable name=\"d[0]\" type=\"int\">5</variable><variable name=\"x\" \
                     type=\"int\">41</variable><shell cmd=\"echo hi\">hi</shell><context>";
    assert!(told[0].starts_with(expansion), "{ran:?}\n{}", told[0]);
    assert_eq!(told[1], "<user-request>b</user-request>");
    for request in program.endpoint.requests() {
        let tools = request["tools"].to_string();
        for name in ["\"f\"", "\"g\"", "\"read_output\""] {
            assert!(tools.contains(name), "{name}: {tools}");
        }
        assert!(
            !tools.contains("gone") && !tools.contains("Bash"),
            "{tools}"
        );
    }
}

#[test]
fn a_bare_fix_takes_the_last_error() {
    let Some(program) = program("gpt-5.5", endless()) else {
        return;
    };
    program.piped("a = 1\n.fix\n1/0\nb = 2\n.fix\n.explain\n.fix it\n");
    let told = told(&program);
    assert_eq!(told.len(), 4);
    assert!(!told[0].contains("last-error"), "{}", told[0]);
    assert!(told[1].starts_with("<last-error line=\"3\"/><context><code>1/0</code><output>"));
    let again = "<last-error line=\"3\"><code>1/0</code><output>";
    assert!(told[2].starts_with(again), "{}", told[2]);
    assert!(
        told[2].ends_with(
            "ZeroDivisionError: division by \
                           zero</output></last-error><user-request>explain</user-request>"
        ),
        "{}",
        told[2]
    );
    assert_eq!(told[3], "<user-request>fix it</user-request>");
}

#[test]
fn what_was_cut_is_read_by_its_id_also_after_a_resume() {
    for model in MODELS {
        let read = |arguments: Value| call(model, "read_output", &arguments);
        let script = vec![
            read(json!({"id": "cell-1", "offset": 500_000, "limit": 12})),
            read(json!({"id": "cell-1", "query": "row 77777 "})),
            read(json!({"id": "cell-9"})),
            Reply::text("done"),
            read(json!({"id": "cell-1", "offset": -12})),
            Reply::text("again"),
        ];
        let Some(program) = program(model, Endpoint::script(script)) else {
            return;
        };
        let ran = program.piped("for n in range(100_000): print('row', n, '.' * 4)\n\n.look\n");
        assert_eq!(ran.code(), 0, "{model}: {ran:?}");
        let requests = program.endpoint.requests();
        let context = &asked(&requests[0]);
        assert!(
            context.contains(" characters, 100,000 lines in all; 1,")
                && context
                    .contains(" in the middle are left out; read_output(id=\"cell-1\", offset="),
            "{model}: {}",
            &context[9_000..11_500]
        );
        assert!(context.chars().count() < 20_600);
        let output = |n: usize| last_output(&requests[n]);
        let piece = output(1);
        assert!(
            piece.contains("[cell-1: characters 500,000 to 500,012 of 1,"),
            "{model}: {piece}"
        );
        assert!(
            output(2).contains("77778: row 77777 ...."),
            "{model}: {}",
            output(2)
        );
        assert!(
            output(3).contains(
                "Error: there is no shortened output `cell-9`. Shortened outputs, newest first: cell-1 ("
            ),
            "{model}: {}",
            output(3)
        );

        let people = "%ipycodex output cell-9\n%ipycodex output cell-1\n";
        let ran = program.resumed("1", &format!(".go on\n{people}"));
        assert_eq!(ran.code(), 0, "{model}: {ran:?}");
        let (_, whole) = ran.stdout.split_once("row 0 ....\n").unwrap();
        assert!(
            ran.stderr.contains("there is no shortened output `cell-9`"),
            "{model}: {}",
            ran.stderr
        );
        assert!(
            whole.starts_with("row 1 ....\n") && whole.contains("\nrow 99999 ....\n"),
            "{model}: {} bytes",
            whole.len()
        );
        let requests = program.endpoint.requests();
        let last = last_output(&requests[requests.len() - 1]);
        assert!(last.contains(" 99999 ...."), "{model}: {last}");
        let artifacts = program.home.history().with_file_name("artifacts");
        let mode =
            |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&artifacts), 0o700);
        let files = files_below(&artifacts);
        assert_eq!(files.len(), 1, "{files:?}");
        assert!(
            files[0].ends_with("1/cell-1.txt") && mode(&files[0]) == 0o600,
            "{files:?}"
        );
    }
}

/// The text of the last tool result in a request.
fn last_output(request: &Value) -> String {
    fn texts(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().map(texts).collect(),
            Value::Object(part) => part.get("text").map(texts).unwrap_or_default(),
            _ => String::new(),
        }
    }
    tool_outputs(request).last().map(texts).unwrap_or_default()
}

fn files_below(path: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn a_huge_result_and_a_huge_value_are_cut_and_kept() {
    for model in MODELS {
        let script = vec![
            call(model, "f", &json!({})),
            call(
                model,
                "read_output",
                &json!({"id": "tool-2-1", "offset": -3}),
            ),
            call(
                model,
                "read_output",
                &json!({"id": "variable-2-1", "offset": -3}),
            ),
            Reply::text("done"),
        ];
        let Some(program) = program(model, Endpoint::script(script)) else {
            return;
        };
        let ran =
            program.piped("def f(): return 'é' * 300_000 + 'x' * 10_100_015 + 'end'\n\n.&`f` $`str('w' * 300_000)`\n");
        assert_eq!(ran.code(), 0, "{model}: {ran:?}");
        let requests = program.endpoint.requests();
        assert!(
            asked(&requests[0]).contains("read_output(id=\"variable-2-1\", offset="),
            "{model}"
        );
        let outputs: Vec<String> = (1..4).map(|n| last_output(&requests[n])).collect();
        assert!(
            outputs[0].contains("[… 10,400,018 characters, 1 line in all; 10,380,")
                && outputs[0].contains(" in the middle are left out; read_output(id=\"tool-2-1\""),
            "{model}: {}",
            outputs[0].len()
        );
        assert!(
            outputs[1].contains("of 10,400,018]") && outputs[1].contains("end"),
            "{model}: {}",
            outputs[1]
        );
        assert!(outputs[2].contains("www"), "{model}: {}", outputs[2]);
    }
}

#[test]
fn ctrl_c_ends_a_prompt_whose_command_runs() {
    let Some(program) = program("gpt-5.5", endless()) else {
        return;
    };
    let pty = program.repl();
    pty.send_line("n = 1");
    pty.wait_for("In [2]:");
    pty.send_line(".wait !`sleep 600`");
    pty.wait_for("⌛ sleep 600");
    pty.send("\x03");
    pty.wait_for("stopped");
    pty.wait_for("In [3]: .wait !`sleep 600`");
    pty.send("\x15");
    pty.wait_gone("In [3]: .wait");
    pty.send_line("n + 1");
    pty.wait_for("Out[3]: 2");
    pty.wait_for("In [4]:");
    pty.send_line(".hello");
    pty.wait_for("fine");
    pty.wait_for("In [5]:");
    leave(&pty);
    assert_eq!(
        program.endpoint.requests().len(),
        1,
        "nothing else was sent"
    );
    assert_eq!(program.recorded("SELECT prompt FROM ai_prompts"), ["hello"]);
}

#[test]
fn without_python_a_prompt_says_what_it_could_not_have() {
    let Some(program) = program("gpt-5.5", endless()) else {
        return;
    };
    let ran = program
        .home
        .run(&["--python", "/nowhere/python3"], ".see $`x` and !`ls`\n");
    let told = told(&program);
    assert_eq!(told.len(), 1, "{ran:?}");
    assert!(
        told[0].starts_with(
            "<warnings>The following symbols were referenced but aren't defined in the interpreter: x</warnings>\n\
             <shell cmd=\"ls\">Error: "
        ),
        "{}",
        told[0]
    );
    assert!(
        ran.stderr
            .contains("what the prompt refers to could not be evaluated: "),
        "{ran:?}"
    );
}
