//! Codex itself as a client, on the scripted endpoint: `codex exec` works in a running shell.

use serde_json::{Value, json};

use super::client::socket;
use crate::repl::shell::Shell;
use crate::support::home::{Home, finish};
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply};
use crate::support::{await_true, peers};

/// The model: it looks, then runs a cell, then says what it was told last.
fn model() -> Endpoint {
    Endpoint::answering(|index, request| {
        let cells = json!({"cells": [{"code": "found = x + 1", "title": "keeps it"}]});
        match index {
            0 => call("pyrun", json!({"code": "x + 1"})),
            1 => call("run_cells", cells),
            _ => Reply::text(&format!("told: {}", last_output(request))),
        }
    })
}

/// A call of one of our tools. Codex lists them to models that search for tools, and takes calls of all.
fn call(tool: &str, arguments: Value) -> Reply {
    let called = Event::NamespaceCall("c1".into(), "mcp__ipycodex".into(), tool.into(), arguments);
    Reply::Stream(vec![called, Event::Completed([100, 40, 10, 2])])
}

fn last_output(request: &Value) -> String {
    let items = request["input"].as_array().into_iter().flatten();
    let mut outputs = items.filter(|item| item["type"] == "function_call_output");
    outputs
        .next_back()
        .map_or(String::new(), |item| item["output"].to_string())
}

#[test]
fn codex_exec_works_in_the_shell_of_its_directory() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let endpoint = model();
    let home = Home::new();
    endpoint.write_home(&home.codex(), "gpt-5.5");
    let config = home.codex().join("config.toml");
    let mut text = std::fs::read_to_string(&config).unwrap();
    let program = env!("CARGO_BIN_EXE_ipycodex");
    let run = home.path().join("run");
    text.push_str(&format!(
        "\n[mcp_servers.ipycodex]\ncommand = {program:?}\nargs = [\"mcp\", \"--here\"]\n\
         default_tools_approval_mode = \"approve\"\nenv = {{ XDG_RUNTIME_DIR = {run:?} }}\n"
    ));
    std::fs::write(&config, text).unwrap();
    let shell = Shell::of(home);
    shell.cell(1, "x = 41");
    shell.at(2);
    shell.pty.send("half a li");
    await_true("a door", || socket(&shell.home, shell.pty.pid()).exists());
    let told = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let arguments = ["exec", "--skip-git-repo-check", "what is x + 1?"];
            finish(shell.home.foreign(&codex, &arguments), b"")
        });
        let asked = "wants to run a cell here: found = x + 1";
        await_true("a question, or the end of Codex", || {
            running.is_finished() || shell.text().contains(asked)
        });
        if running.is_finished() {
            let ran = running.join().unwrap();
            panic!("nothing was asked: {} {}", ran.stdout, ran.stderr);
        }
        shell.pty.send("\x1ba");
        shell.shows("Run this in your session?");
        shell.pty.send("y");
        running.join().unwrap()
    });
    assert_eq!(told.code(), 0, "{told:?}");
    assert!(
        told.stdout.contains("told: ") && told.stdout.contains("ran"),
        "{told:?}"
    );
    shell.shows("pyrun(code='x + 1') => 42");
    shell.at_with(3, "half a li");
    shell.pty.send("\x15found\r");
    shell.at(4);
    shell.shows("42");
    shell.leave();
}
