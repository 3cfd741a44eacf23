//! Clients that misbehave, in a session of their own and attached to a running shell: each fault is answered or hung
//! up on in bounded time, and whoever comes next is served.
//!
//! In: what a client does wrong, and the state it does that in. Out: nothing, or a failure that names both. Invariants:
//! the same client, if it has not left, is answered; so is the next one; the shell takes a cell and leaves with 0; no
//! process is left.

use serde_json::{Value, json};

use super::client::{Client, socket};
use crate::repl::shell::Shell;
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::ways::in_both_ways;

/// What the client has done by the time of its fault.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// Nothing.
    Start,
    /// It has greeted and listed the tools.
    Listed,
    /// A cell of it runs.
    Calling,
    /// Its question waits for the user; where there is none, as `Calling`.
    Asking,
}
use State::{Asking, Calling, Listed, Start};

const STATES: [State; 4] = [Start, Listed, Calling, Asking];

/// What a client does.
enum Fault {
    /// It says this, a line each, and is told as often: the code of the error, and a word of it.
    Says(Vec<u8>, i64, &'static str),
    /// It says this, and is told nothing.
    IsIgnored(Vec<u8>),
    /// It says this, reads nothing, and leaves.
    Leaves(Vec<u8>),
    /// It does this.
    Does(fn(&mut Client)),
    /// It does this, with calls that would wait for one that runs.
    Calls(fn(&mut Client)),
}
use Fault::{Calls, Does, IsIgnored, Leaves, Says};

fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

fn call(id: Value, arguments: Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "pyrun", "arguments": arguments}}))
}

#[rustfmt::skip]
fn faults() -> Vec<(&'static str, Fault)> {
    let garbage = |bytes: &[u8]| Says(bytes.to_vec(), -32700, "not JSON");
    let strange = |value: Value, word| Says(line(&value), -32600, word);
    let params = |value: Value| {
        Says(line(&json!({"id": "p", "method": "tools/list", "params": value})), -32600, "`params`")
    };
    let args = |value: Value| Says(call(json!("a"), value), -32602, "`arguments` is not an object");
    vec![
        ("words", garbage(b"hello\n")),
        ("half a message", garbage(b"{\"jsonrpc\": \"2.0\", \"id\": 1,\n")),
        ("two messages in a line", garbage(b"{\"id\": 1} {\"id\": 2}\n")),
        ("bytes", garbage(b"\xff\xfe\x00\x01\n")),
        ("escapes", garbage(b"\x1b[2J\x1b]0;t\x07\n")),
        ("depth", garbage(format!("{}\n", "[".repeat(100_000)).as_bytes())),
        ("a large line", garbage(format!("{}\n", "x".repeat(8 << 20)).as_bytes())),
        ("a number", strange(json!(7), "object")),
        ("nothing", strange(json!({}), "`method` is missing")),
        ("a method of no text", strange(json!({"id": 7, "method": 7}), "`method`")),
        ("an id of null", strange(json!({"id": null, "method": "ping"}), "`id`")),
        ("an id of a half", strange(json!({"id": 1.5, "method": "ping"}), "`id`")),
        ("an id of a list", strange(json!({"id": [1], "method": "ping"}), "`id`")),
        ("an id too large", Says(b"{\"id\": 18446744073709551616, \"method\": \"ping\"}\n".to_vec(), -32600, "`id`")),
        ("another version", strange(json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}), "2.0")),
        ("params of a number", params(json!(7))),
        ("params of a text", params(json!("x"))),
        ("a batch", strange(json!([{"id": 1, "method": "ping"}]), "batch")),
        ("an empty batch", strange(json!([]), "batch")),
        ("a large batch", strange(json!(vec![json!({"id": 1, "method": "ping"}); 10_000]), "batch")),
        ("an answer without an id", strange(json!({"result": {}}), "`id`")),
        ("an unknown method", Says(line(&json!({"id": "u", "method": "of/the_future"})), -32601, "of/the_future")),
        ("an unknown tool", Says(line(&json!({"id": "t", "method": "tools/call", "params": {"name": "os.system"}})),
            -32602, "no tool")),
        ("a tool of a number", Says(line(&json!({"id": "t", "method": "tools/call", "params": {"name": 7}})),
            -32602, "`name`")),
        ("params of a list", Says(line(&json!({"id": "t", "method": "tools/call", "params": [7]})), -32602, "`name`")),
        ("arguments of a list", args(json!([1]))),
        ("arguments of a text", args(json!("code"))),
        ("another revision", Says(line(&json!({"id": "r", "method": "tools/list", "params": {"_meta":
            {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}})), -32022, "2031-01-01")),
        ("empty lines", IsIgnored(b"\n \r\n\t\n\xef\xbb\xbf\n".repeat(1000))),
        ("answers to nothing", IsIgnored((0..1000).flat_map(|id| line(&json!({"id": id, "result": {}}))).collect())),
        ("unknown notices", IsIgnored(line(&json!({"method": "notifications/of_the_future", "params": {"a": 1}}))
            .repeat(2000))),
        ("cancels of nothing", IsIgnored([json!(999), json!(null), json!([]), json!("x"), json!(1.5)].iter()
            .flat_map(|id| line(&json!({"method": "notifications/cancelled", "params": {"requestId": id}})))
            .collect())),
        ("notices of nothing", IsIgnored(line(&json!({"method": "tools/call", "params": {"name": "pyrun"}})))),
        ("odd metadata", Does(|client| {
            for meta in [json!(7), json!([]), json!({"progressToken": [7]}), json!({"progressToken": null})] {
                let listed = client.ask("tools/list", json!({"_meta": meta}));
                assert!(listed["result"]["tools"].is_array(), "{listed}");
            }
        })),
        ("greetings again and again", Does(|client| {
            for version in [json!("2024-11-05"), json!(7), json!(null), json!("2031-01-01"), json!("2025-11-25")] {
                let greeted = client.ask("initialize", json!({"protocolVersion": version, "clientInfo": {"name": 7}}));
                assert!(greeted["result"]["protocolVersion"].is_string(), "{greeted}");
            }
        })),
        ("an id that is open", Calls(|client| {
            let slow = json!({"code": "import time; time.sleep(0.5); 'slow'"});
            for _ in 0..3 {
                client.write(&call(json!("same"), slow.clone()));
            }
            let same = |said: &Value| said["id"] == "same";
            let answers: Vec<Value> = (0..3).map(|_| client.expect("an answer", same)).collect();
            let refused = answers.iter().filter(|it| it["error"]["code"] == -32600).count();
            assert_eq!(refused, 2, "{answers:?}");
        })),
        ("a long id", Calls(|client| {
            let long = "x".repeat(1 << 20);
            client.write(&call(json!(long), json!({"code": "1"})));
            client.expect("an answer", |said| said["id"] == *long);
        })),
        ("calls without waiting", Calls(|client| {
            let call = |n: u32| json!({"name": "pyrun", "arguments": {"code": n.to_string()}});
            let ids: Vec<u64> = (0..200).map(|n| client.begin("tools/call", call(n))).collect();
            for id in ids {
                client.answer(id);
            }
        })),
        ("answers that are not read", Does(|client| {
            let ids: Vec<u64> = (0..3000).map(|_| client.begin("ping", json!({}))).collect();
            for id in ids {
                assert_eq!(client.answer(id)["result"], json!({}));
            }
        })),
        ("an answer after a cancel", Does(|client| {
            let slow = json!({"name": "pyrun", "arguments": {"code": "import time; time.sleep(60)"}});
            let id = client.begin("tools/call", slow);
            for _ in 0..3 {
                client.say(json!({"method": "notifications/cancelled", "params": {"requestId": id}}));
            }
            client.say(json!({"id": id, "result": {}}));
            assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
        })),
        ("code that dies", Calls(|client| {
            for code in ["import os; os._exit(3)", "import os; os.abort()", "1/0", "\u{0}"] {
                assert!(!client.call("pyrun", json!({"code": code})).1, "{code}");
            }
            for _ in 0..5 {
                let endless = json!({"name": "pyrun", "arguments": {"code": "while True: pass"}});
                let id = client.begin("tools/call", endless);
                client.say(json!({"method": "notifications/cancelled", "params": {"requestId": id}}));
                assert_eq!(client.call("pyrun", json!({"code": "1"})).0, "1");
            }
        })),
        ("goes", Leaves(Vec::new())),
        ("goes in a line", Leaves(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"meth".to_vec())),
        ("goes in a long line", Leaves(vec![b'x'; 4 << 20])),
        ("goes with open calls", Leaves(call(json!("o"), json!({"code": "import time; time.sleep(60)"})).repeat(3))),
        ("goes without reading", Leaves(line(&json!({"id": "l", "method": "tools/list"})).repeat(600))),
    ]
}

/// Brings a client to a state; the call that is open then.
fn reach(client: &mut Client, state: State, shell: Option<&Shell>) -> Option<u64> {
    if state == Start {
        return None;
    }
    client.greet();
    client.tools();
    if state == Listed {
        return None;
    }
    let code = "import time\nprint('be' + 'gun', flush=True)\nwhile True: time.sleep(0.01)";
    let call = json!({"name": "run_cells", "arguments": {"cells": [{"code": code}]},
        "_meta": {"progressToken": "t"}});
    let id = client.begin("tools/call", call);
    match (shell, state) {
        (None, _) => {
            client.notice("notifications/progress");
        }
        (Some(shell), Asking) => shell.shows("wants to run a cell here"),
        (Some(shell), _) => {
            shell.shows("wants to run a cell here");
            shell.pty.send("\x1ba");
            shell.shows("Run this in your session?");
            shell.pty.send("y");
            shell.shows("begun");
        }
    }
    Some(id)
}

/// Ends what the state left running; the client is answered.
fn settle(client: &mut Client, open: Option<u64>) {
    if let Some(id) = open {
        client.say(json!({"method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    assert_eq!(client.call("pyrun", json!({"code": "40 + 2"})).0, "42");
}

/// True when the client has left.
fn play(client: &mut Client, fault: &Fault) -> bool {
    match fault {
        Says(bytes, code, word) => {
            client.write(bytes);
            let told = client.expect("a refusal", |said| !said["error"].is_null());
            assert_eq!(told["error"]["code"], *code, "{told}");
            let message = told["error"]["message"].as_str().unwrap();
            assert!(message.contains(word), "{word:?} is not said: {message}");
        }
        IsIgnored(bytes) => {
            client.write(bytes);
            assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
        }
        Leaves(bytes) => {
            client.write(bytes);
            return true;
        }
        Does(act) | Calls(act) => act(client),
    }
    false
}

/// In a session of its own.
fn alone(fault: &Fault, state: State) {
    let home = Home::new();
    let start = || Client::start(&home, &["--allow", "all"]);
    let mut client = start();
    let open = reach(&mut client, state, None);
    if play(&mut client, fault) {
        client.child.kill().unwrap();
        client.leave();
        // The next one has a session of its own.
        client = start();
        settle(&mut client, None);
    } else {
        settle(&mut client, open);
    }
    let (code, said) = client.leave();
    assert_eq!((code, said.contains("panicked")), (0, false), "{said}");
}

/// Attached to a shell on a terminal.
fn attached(fault: &Fault, state: State) {
    let shell = Shell::start(Home::new(), &["--agent", "demo"], (200, 50));
    shell.at(1);
    let process = shell.pty.pid();
    await_true("a socket", || socket(&shell.home, process).exists());
    let start = || Client::start(&shell.home, &["--here"]);
    let mut client = start();
    let open = reach(&mut client, state, Some(&shell));
    if play(&mut client, fault) {
        client.child.kill().unwrap();
    } else {
        settle(&mut client, open);
    }
    client.leave();
    let mut next = start();
    settle(&mut next, None);
    next.leave();
    // What ran took a number.
    let number = if state == Calling { 2 } else { 1 };
    shell.at(number);
    shell.pty.send_line("40 + 2");
    shell.shows(&format!("Out[{number}]: 42"));
    shell.lacks("panicked");
    assert_eq!(shell.leave(), 0);
    await_true("no process is left", || shell.pty.processes().is_empty());
}

/// Each of so many faults, each in a state, attached to a shell and alone.
pub fn each_way(count: u32) -> String {
    let faults = faults();
    let tries: Vec<(&(&str, Fault), State)> = (STATES.into_iter())
        .flat_map(|state| faults.iter().map(move |fault| (fault, state)))
        .filter(|((_, fault), state)| matches!(state, Start | Listed) || !matches!(fault, Calls(_)))
        .collect();
    let name = |((name, _), state): &(&(&str, Fault), State)| format!("{name} in {state:?}");
    in_both_ways(
        &tries,
        count,
        name,
        |((_, fault), state), terminal| match terminal {
            true => attached(fault, *state),
            false => alone(fault, *state),
        },
    )
}
