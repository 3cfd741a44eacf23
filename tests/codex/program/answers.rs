//! What the agent does and says besides calling tools: reasoning, commands, searches, retries.

use serde_json::{Value, json};

use super::{Program, leave, program};
use crate::codex::app_server::running;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation, tool_outputs};

const COUNTS: [u64; 4] = [1234, 0, 56, 0];

#[test]
fn reasoning_and_searches_are_shown_and_stored() {
    let Some(program) = program(
        "gpt-5.5",
        Endpoint::script(vec![Reply::Stream(vec![
            Event::Reasoning(vec!["**Thinking** hard".into(), "and more".into()]),
            Event::Search("rust 2026".into()),
            Event::Message(vec!["It ".into(), "is *so*.".into()], Some("final_answer")),
            Event::Completed(COUNTS),
        ])]),
    ) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".why?");
    pty.wait_for("In [2]:");
    let screen = pty.screen_text();
    for line in [
        "> Thinking hard\n",
        "> and more\n",
        "searched: rust 2026\n",
        "It is so.\n",
        "1,234 in · 56 out · ",
        " s · window 0% full",
    ] {
        assert!(screen.contains(line), "{line}:\n{screen}");
    }
    leave(&pty);
    assert_eq!(
        program.answers(),
        ["<thinking>\n**Thinking** hard\n\nand more\n</thinking>\n\n\
          <details class='tool-usage-details'>\n<summary><code>searched: rust 2026</code></summary>\n\n```json\n\
          {\"id\": \"ws_0_2\", \"work\": {\"kind\": \"search\", \"title\": \"searched: rust 2026\"}, \"result\": \"\", \
          \"success\": true}\n```\n\n</details>\n\nIt is *so*."]
    );
}

#[test]
fn a_command_is_one_line_and_a_stored_block() {
    // One stream alone: Codex reads two in any order.
    let command = "echo out && echo 'e<r'; exit 3";
    let script = format!(
        "const r = await tools.exec_command({{cmd: {}}}); text(r.output);",
        json!(command)
    );
    let code_mode = Endpoint::script(vec![Reply::exec("c1", &script), Reply::text("ran")]);
    for (model, endpoint) in [("gpt-5.5", running(command)), ("gpt-6.1-sol", code_mode)] {
        let Some(program) = program(model, endpoint) else {
            return;
        };
        let pty = program.repl();
        pty.send_line(".run it");
        pty.wait_for("In [2]:");
        let screen = pty.screen_text();
        let line = "\n🔧 echo out && echo 'e<r'; exit 3 [exit 3] => out e<r\n";
        assert!(screen.contains(line), "{model}: {screen}");
        assert_eq!(screen.matches('🔧').count(), 1, "{screen}");
        assert!(!screen.contains('⌛'), "{screen}");
        assert!(screen.contains("\nran\n"), "{screen}");
        leave(&pty);
        check_stored(&program);
        let told = format!("{:?}", tool_outputs(&program.endpoint.requests()[1]));
        assert!(told.contains("e<r"), "{told}");
    }
}

fn check_stored(program: &Program) {
    let stored = program.answers().join("\n");
    let (summary, rest) = stored
        .strip_prefix("<details class='tool-usage-details'>\n<summary><code>")
        .and_then(|rest| rest.split_once("</code></summary>\n\n```json\n"))
        .unwrap_or_else(|| panic!("{stored}"));
    let (line, rest) = rest.split_once('\n').unwrap();
    assert_eq!(rest, "```\n\n</details>\n\nran");
    assert_eq!(
        summary,
        "echo out &amp;&amp; echo &#x27;e&lt;r&#x27;; exit 3"
    );
    let data: Value = serde_json::from_str(line).unwrap();
    assert_eq!(
        data["call"],
        json!({"function": "commandExecution", "arguments": {
            "command": "echo out && echo 'e<r'; exit 3",
            "cwd": program.home.work(),
        }})
    );
    assert_eq!(data["result"], "out\ne<r\n");
    assert_eq!(
        (data["exit_code"].as_i64(), data["status"].as_str()),
        (Some(3), Some("failed"))
    );
    let keys: Vec<&String> = data.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "call", "result", "exit_code", "status"]);
}

/// The answer after `first` went wrong is shown once, is the one recorded, and is what the model sees later.
fn retried(first: Reply, on_screen: &str) {
    let Some(program) = program(
        "gpt-5.5",
        Endpoint::script(vec![
            first,
            Reply::text("the whole answer"),
            Reply::text("next"),
        ]),
    ) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".first?");
    pty.wait_for("In [2]:");
    let screen = pty.screen_text();
    assert!(screen.contains(on_screen), "{on_screen}:\n{screen}");
    assert_eq!(screen.matches("the whole answer").count(), 1, "{screen}");
    assert!(!screen.contains("error:"), "{screen}");
    pty.send_line(".second?");
    pty.wait_for("In [3]:");
    leave(&pty);
    assert_eq!(program.answers(), ["the whole answer", "next"]);
    let requests = program.endpoint.requests();
    assert_eq!(
        conversation(&requests[2]),
        [
            "user: <user-request>first?</user-request>",
            "assistant: the whole answer",
            "user: <user-request>second?</user-request>"
        ]
    );
}

#[test]
fn a_stream_that_is_cut_starts_again() {
    retried(
        Reply::Stream(vec![Event::Begun(vec!["the whole ans".into()])]),
        "Reconnecting... 1/2 (stream disconnected before completion: stream closed before\n   response.completed)\n\
         ↻ the connection was lost; the answer starts again\n",
    );
}

#[test]
fn a_service_in_trouble_is_asked_again_without_a_word() {
    retried(
        Reply::status(500, "server_error", "oops"),
        "In [1]: .first?\nthe whole answer\n100 in",
    );
}

#[test]
fn a_refusal_is_one_line_with_a_remedy_and_the_prompt_comes_back() {
    let Some(program) = program(
        "gpt-5.5",
        Endpoint::script(vec![
            Reply::status(429, "rate_limit_exceeded", "slow down"),
            Reply::text("fine"),
        ]),
    ) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".first?");
    pty.wait_for("In [2]: .first?");
    let screen = pty.screen_text();
    assert_eq!(screen.matches("error: ").count(), 1, "{screen}");
    assert!(
        screen.contains("error: too many requests (HTTP 429)")
            && screen.contains("  hint: wait a moment, then send the prompt again\n"),
        "{screen}"
    );
    pty.send("\r");
    pty.wait_for("fine");
    pty.wait_for("In [3]:");
    leave(&pty);
    assert_eq!(program.answers(), ["fine"], "a failed turn is no answer");
    assert_eq!(
        program.recorded("SELECT state FROM ipycodex_turns ORDER BY id"),
        ["failed", "complete"]
    );
    assert_eq!(
        conversation(&program.endpoint.requests()[1]),
        ["user: <user-request>first?</user-request>"]
    );
}

#[test]
fn a_piped_answer_is_raw() {
    let Some(program) = program(
        "gpt-5.5",
        Endpoint::script(vec![Reply::Stream(vec![
            Event::Reasoning(vec!["hm".into()]),
            Event::Message(
                ["# T", "itle\n\n| a | b |\n|-", "--|---|\n| 1 | 2 |"]
                    .map(String::from)
                    .into(),
                None,
            ),
            Event::Completed(COUNTS),
        ])]),
    ) else {
        return;
    };
    let ran = program.home.run(&["ask", "a table"], "");
    let expected = "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (expected, ""));
    assert_eq!(ran.code(), 0);
}
