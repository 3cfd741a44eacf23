//! Clients in a running shell: what its user sees, is asked, and keeps of what was typed.

use serde_json::{Value, json};

use super::client::{Client, piped, result, socket};
use crate::repl::shell::{CTRL_C, Shell};
use crate::support::await_true;

/// A shell whose door stands open.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.cell(1, "x = 41");
    shell.at(2);
    await_true("a door", || socket(&shell.home, shell.pty.pid()).exists());
    shell
}

fn cells(code: &str) -> Value {
    json!({"cells": [{"code": code, "title": "adds one"}]})
}

fn begin(client: &mut Client, code: &str) -> u64 {
    let call = json!({"name": "run_cells", "arguments": cells(code)});
    client.begin("tools/call", call)
}

#[test]
fn a_look_is_a_line_above_what_is_typed() {
    let shell = shell();
    shell.pty.send("y = half");
    shell.at_with(2, "y = half");
    let mut client = Client::greeted(&shell.home, &["--here"]);
    assert_eq!(
        client.call("pyrun", json!({"code": "x + 1"})),
        ("42".into(), true)
    );
    shell.shows("tester: pyrun(code='x + 1') => 42");
    shell.at_with(2, "y = half");
    shell.pty.send_line("done'");
    client.leave();
}

#[test]
fn a_client_that_says_nothing_more_gets_its_answers() {
    let shell = shell();
    let look = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "pyrun", "arguments": {"code": "import time; time.sleep(0.2); x + 1"}}});
    let (said, code) = piped(&shell.home, &["--here"], look.to_string().as_bytes());
    assert_eq!(code, 0);
    assert_eq!(result(&said[0]), ("42".into(), true));
    assert_eq!(said.len(), 1);
    shell.leave();
}

#[test]
fn a_question_waits_above_the_line_and_nothing_typed_answers_it() {
    let shell = shell();
    shell.pty.send("y = ");
    shell.at_with(2, "y =");
    let mut client = Client::greeted(&shell.home, &["--here"]);
    let id = begin(&mut client, "z = x + 1\nprint('it is', z)");
    shell.shows("tester wants to run a cell here: z = x + 1");
    // Whatever is typed is text: `y` would be a yes.
    shell.pty.send("'y' 'n'");
    shell.at_with(2, "y = 'y' 'n'");
    shell.pty.send("\x1ba");
    shell.shows("? tester asks to run a cell in your session");
    shell.shows("Run this in your session?");
    shell.pty.send("y");
    let answer = client.answer(id);
    let (text, well) = result(&answer);
    assert!(well && text.contains("it is 42"), "{text}");
    let decided: String = (shell.record())
        .query_row("select subject from ipycodex_decisions", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(decided.ends_with("(asked by tester)"), "{decided}");
    shell.shows("it is 42");
    // It took a number, and what was typed is there.
    shell.at_with(3, "y = 'y' 'n'");
    shell.pty.send("\r");
    shell.at(4);
    shell.cell(4, "y, z");
    shell.shows("('yn', 42)");
    client.leave();
    assert_eq!(shell.leave(), 0);
}

#[test]
fn an_empty_line_lets_a_question_in_and_no_is_told() {
    let shell = shell();
    let mut client = Client::greeted(&shell.home, &["--here"]);
    let id = begin(&mut client, "z = 1");
    shell.shows("tester wants to run a cell here: z = 1");
    shell.pty.send("\r");
    shell.shows("Run this in your session?");
    shell.pty.send("n");
    let answer = client.answer(id);
    let (text, well) = result(&answer);
    assert!(!well && text.contains("the user said no"), "{text}");
    shell.at(2);
    client.leave();
    shell.leave();
}

#[test]
fn a_question_comes_before_the_input_that_is_submitted() {
    let shell = shell();
    let mut client = Client::greeted(&shell.home, &["--here"]);
    let id = begin(&mut client, "x = 100");
    shell.shows("tester wants to run a cell here");
    shell.pty.send_line("x + 1");
    shell.shows("Run this in your session?");
    shell.pty.send("y");
    assert!(result(&client.answer(id)).1);
    shell.shows("101");
    shell.at(4);
    client.leave();
    shell.leave();
}

#[test]
fn what_was_allowed_for_the_session_runs_at_once_and_the_line_comes_back() {
    let shell = shell();
    let mut client = Client::greeted(&shell.home, &["--here"]);
    let first = begin(&mut client, "a = 1");
    shell.shows("tester wants to run a cell here");
    shell.pty.send("\x1ba");
    shell.shows("Run this in your session?");
    shell.pty.send("s");
    assert!(result(&client.answer(first)).1);
    shell.at(3);
    shell.pty.send("b = (1,");
    shell.at_with(3, "b = (1,");
    let second = begin(&mut client, "for n in range(3): print('row', n)");
    assert!(result(&client.answer(second)).1);
    shell.shows("row 2");
    shell.at_with(4, "b = (1,");
    shell.pty.send_line("2)");
    shell.cell(5, "b");
    shell.shows("(1, 2)");
    client.leave();
    shell.leave();
}

#[test]
fn the_user_stops_a_cell_of_a_client() {
    let shell = shell();
    let mut client = Client::greeted(&shell.home, &["--here"]);
    let id = begin(
        &mut client,
        "import time\nprint('be' + 'gun')\nwhile True: time.sleep(0.1)",
    );
    shell.shows("tester wants to run a cell here");
    shell.pty.send("\x1ba");
    shell.shows("Run this in your session?");
    shell.pty.send("y");
    shell.shows("begun");
    shell.pty.send(CTRL_C);
    let (text, well) = result(&client.answer(id));
    assert!(!well, "{text}");
    shell.at(3);
    shell.cell(3, "x");
    client.leave();
    shell.leave();
}

#[test]
fn a_client_that_leaves_in_a_call_leaves_nothing_behind() {
    let shell = shell();
    // While it asks.
    let mut client = Client::greeted(&shell.home, &["--here"]);
    begin(&mut client, "left = 1");
    shell.shows("tester wants to run a cell here: left = 1");
    client.child.kill().unwrap();
    client.leave();
    shell.shows("tester no longer asks");
    shell.cell(2, "x + 0");
    shell.shows("41");
    // While its cell runs.
    let mut client = Client::greeted(&shell.home, &["--here"]);
    begin(
        &mut client,
        "import time\nprint('be' + 'gun')\nwhile True: time.sleep(0.1)",
    );
    shell.shows("tester wants to run a cell here: import time");
    shell.pty.send("\x1ba");
    shell.shows("Run this in your session?");
    shell.pty.send("y");
    shell.shows("begun");
    client.child.kill().unwrap();
    client.leave();
    shell.at(4);
    shell.cell(4, "x + 1");
    shell.shows("42");
    shell.leave();
}

#[test]
fn two_clients_take_turns_with_the_user() {
    let shell = shell();
    let mut one = Client::greeted(&shell.home, &["--here"]);
    let mut other = Client::greeted(&shell.home, &["--session", "1"]);
    shell.pty.send_line("import time; time.sleep(1); x = 7");
    let ids: Vec<u64> = [&mut one, &mut other]
        .map(|client| {
            client.begin(
                "tools/call",
                json!({"name": "pyrun", "arguments": {"code": "x"}}),
            )
        })
        .into();
    for (client, id) in [&mut one, &mut other].into_iter().zip(ids) {
        let (text, _) = result(&client.answer(id));
        assert!(["41", "7"].contains(&text.as_str()), "{text}");
    }
    shell.at(3);
    one.leave();
    other.leave();
    shell.leave();
}
