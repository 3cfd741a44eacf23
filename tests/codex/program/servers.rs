//! MCP servers of the user's reach Codex as configuration of its thread; its calls of them are shown, asked for and
//! recorded.

use std::path::PathBuf;

use super::*;
use crate::support::responses::reply::Event;

/// The model calls the tool of the server.
fn survey() -> Reply {
    let arguments = json!({"why": "so"});
    let call = Event::NamespaceCall("c1".into(), "mcp__asker".into(), "survey".into(), arguments);
    Reply::Stream(vec![call, Event::Completed([1, 0, 1, 0])])
}

/// How the server is started: it elicits an empty form.
fn asker(program: &Program) -> (&'static str, [PathBuf; 2]) {
    let elicited = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
    let elicited = program.home.write("elicited.json", elicited.to_string());
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/mcp.py");
    ("python3", [server, elicited])
}

#[test]
fn a_server_that_was_added_is_called_and_recorded() {
    let endpoint = Endpoint::answering(|index, _| match index {
        0 => survey(),
        _ => Reply::text("done"),
    });
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let (command, [server, elicited]) = asker(&program);
    let ran = program.piped(&format!(
        "%ipycodex mcp add asker -- {command} {} {}\n.ask around\n",
        quoted(&server),
        quoted(&elicited)
    ));
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stdout.contains("done"), "{ran:?}");
    let answers = program.recorded("select response from ai_prompts");
    assert!(answers[0].contains("asker.survey"), "{answers:?}");
    let outputs = program.endpoint.requests().last().unwrap()["input"].to_string();
    assert!(outputs.contains("survey says"), "{outputs}");
}

#[test]
fn its_calls_are_asked_for_where_approvals_are() {
    let endpoint = Endpoint::answering(|index, _| match index {
        0 | 1 => survey(),
        _ => Reply::text("done"),
    });
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let (command, arguments) = asker(&program);
    program.configure(json!({"approvals": "ask",
        "mcp_servers": {"asker": {"command": command, "args": arguments}}}));
    let pty = program.repl();
    pty.send_line(".ask around");
    pty.wait_for("survey");
    pty.wait_for("▸ n no");
    pty.send("n");
    pty.wait_for("✗ not allowed: call the tool survey of the MCP server asker");
    pty.wait_for("▸ n no");
    pty.send("y");
    pty.wait_for("? The MCP server asker asks you");
    // What was refused is not told again when the call fails.
    assert!(!pty.screen_text().contains("user rejected MCP tool call"));
    pty.send("\x03");
    pty.wait_for("In [2]:");
    leave(&pty);
    assert_eq!(
        program.recorded("select kind || ' ' || decision from ipycodex_decisions order by id")[..2],
        ["permissions no", "permissions once"]
    );
}
