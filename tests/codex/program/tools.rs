//! Live functions of the session as tools of the real Codex, on both model families.

use serde_json::json;

use super::{MODELS, call, leave, program};
use crate::support::responses::{Endpoint, Reply, tool_outputs};

#[test]
fn a_live_function_is_called_and_its_result_seen() {
    for model in MODELS {
        let Some(program) = program(
            model,
            Endpoint::script(vec![
                call(model, "f", &json!({"x": 1})),
                Reply::text("It is two."),
                call(model, "f", &json!({"x": "a"})),
                Reply::text("It failed."),
            ]),
        ) else {
            return;
        };
        let pty = program.repl();
        pty.send_line("def f(x: int):");
        pty.wait_for("...:");
        pty.send_line("'''One more.'''");
        pty.send_line("print('called with', x)");
        pty.send_line("return x + 1");
        pty.send_line("");
        pty.wait_for("In [2]:");
        pty.send_line(".what is &`f` of 1?");
        pty.wait_for("In [3]:");
        let screen = pty.screen_text();
        assert!(screen.contains("🔧 f(x=1) => 2\n"), "{model}:\n{screen}");
        assert!(screen.contains("called with 1\n"), "{model}:\n{screen}");
        assert!(screen.contains("It is two."), "{model}:\n{screen}");
        pty.send_line(".and of a letter?");
        pty.wait_for("In [4]:");
        let screen = pty.screen_text();
        let line = "🔧 f(x='a') => Error: TypeError: argument 'x': expected int, got 'a'";
        assert!(
            screen.replace('\n', "").contains(line),
            "{model}:\n{screen}"
        );
        leave(&pty);

        let requests = program.endpoint.requests();
        let outputs = format!("{:?}", tool_outputs(&requests[1]));
        assert!(outputs.contains('2'), "{model}: {outputs}");
        let outputs = format!("{:?}", tool_outputs(&requests[3]));
        assert!(
            outputs.contains("Error: TypeError: argument 'x': expected int"),
            "{model}: {outputs}"
        );
        let answers = program.answers();
        let id = call_id(&answers[0]);
        assert_eq!(
            answers[0],
            format!(
                "<details class='tool-usage-details'>\n<summary><code>f(x=1)</code></summary>\n\n```json\n\
                 {{\"id\": \"{id}\", \"call\": {{\"function\": \"f\", \"arguments\": {{\"x\": 1}}}}, \"result\": \
                 \"2\", \"success\": true}}\n\
                 ```\n\n</details>\n\nIt is two."
            ),
            "{model}"
        );
        assert!(answers[1].contains("\"success\": false"), "{}", answers[1]);
    }
}

fn call_id(answer: &str) -> &str {
    let (_, rest) = answer.split_once("{\"id\": \"").expect("a block");
    rest.split_once('"').expect("an id").0
}

#[test]
fn a_function_that_is_missing_stops_the_prompt() {
    let Some(program) = program("gpt-5.5", Endpoint::script(vec![Reply::text("fine")])) else {
        return;
    };
    let pty = program.repl();
    pty.send_line("n = 1");
    pty.wait_for("In [2]:");
    pty.send_line(".use &`nope` and &`gone`");
    pty.wait_for("NameError: Missing tool(s) in user_ns: gone, nope");
    // Back in the editor, to be mended: cut to its end and written anew.
    pty.wait_for("In [3]: .use &`nope` and &`gone`");
    pty.send("\x15");
    pty.wait_gone("In [3]: .use");
    pty.send_line(".use &`n`");
    pty.wait_for("TypeError: Non-callable tool(s): n");
    pty.wait_for("In [4]: .use &`n`");
    pty.send("\x15");
    pty.send_line(".use nothing");
    pty.wait_for("fine");
    pty.wait_for("In [5]:");
    leave(&pty);
    let requests = program.endpoint.requests();
    assert_eq!(requests.len(), 1, "nothing else was sent");
    assert!(!requests[0].to_string().contains("nope"));
    assert_eq!(
        program.recorded("SELECT prompt FROM ai_prompts"),
        ["use nothing"]
    );
}

#[test]
fn a_tool_that_ends_the_interpreter_ends_no_turn() {
    let Some(program) = program(
        "gpt-5.5",
        Endpoint::script(vec![
            Reply::calls(&[("c1", "f", json!({}))]),
            Reply::text("I am sorry."),
            Reply::text("Still here."),
        ]),
    ) else {
        return;
    };
    let ran = program.piped("import os\ndef f(): os._exit(3)\n\n.try &`f`\n1 + 1\n.and now\n");
    let requests = program.endpoint.requests();
    assert!(requests.len() >= 2, "{ran:?}");
    let outputs = format!("{:?}", tool_outputs(&requests[1]));
    assert!(outputs.contains("Error: "), "{outputs}");
    assert!(
        ran.stdout.contains("I am sorry.") && ran.stdout.contains("2\n"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("Still here."), "{ran:?}");
    assert!(
        ran.stderr.contains("the interpreter ended"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_function_that_is_missing_fails_a_question() {
    let Some(program) = program("gpt-5.5", Endpoint::script(Vec::new())) else {
        return;
    };
    let ran = program.home.run(&["ask", "use &`nope`"], "");
    assert_eq!(
        (ran.code(), ran.stdout.as_str(), ran.stderr.as_str()),
        (1, "", "NameError: Missing tool(s) in user_ns: nope\n")
    );
    assert!(program.endpoint.requests().is_empty());
}
