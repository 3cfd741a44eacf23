//! Questions to the user: each kind is shown whole and escaped, answered by keys, and one line stays.

use serde_json::{Value, json};

use super::questioning_agent::{Asker, ask, call, command};
use super::sequences::without_question;
use super::shell::CTRL_C;
use crate::support::home::Home;

/// Text that a terminal must not obey: clipboard, title, colour, an order of letters, a line start, C1.
pub(super) const HOSTILE: &str =
    "A\x1b]52;c;ZXZpbA==\x07\x1b]0;t\x07\x1b[31;8mB\u{202e}C\u{e0041}\rD\u{9b}2JE\x08F\u{200b}G";

/// The same, spelled out.
const SPELLED: &str =
    "A^[]52;c;ZXZpbA==^G^[]0;t^G^[[31;8mB\\u{202e}C\\u{e0041}^MD\\u{9b}2JE^HF\\u{200b}G";

fn edit(path: &str, kind: &str, diff: &str) -> Vec<Value> {
    let item = json!({"item": {"type": "fileChange", "id": "e1", "status": "inProgress",
        "changes": [{"path": path, "kind": {"type": kind}, "diff": diff}]}});
    vec![
        json!({"note": "item/started", "params": item}),
        ask(
            "item/fileChange/requestApproval",
            json!({"itemId": "e1", "reason": "because"}),
        ),
    ]
}

fn permissions(path: &str) -> Value {
    let wanted = json!({"network": {"enabled": true}, "fileSystem": {"read": [], "write": [path]}});
    ask(
        "item/permissions/requestApproval",
        json!({"itemId": "p", "cwd": "/some/where", "reason": "to write", "permissions": wanted}),
    )
}

fn link(url: &str) -> Value {
    ask(
        "mcpServer/elicitation/request",
        json!({"serverName": "maps", "mode": "url", "message": "log in", "url": url, "elicitationId": "e"}),
    )
}

fn input(question: &str) -> Value {
    let options = json!([{"label": "sqlite", "description": "one file"},
        {"label": "postgres", "description": "a server"}]);
    ask(
        "item/tool/requestUserInput",
        json!({"itemId": "u", "questions": [
            {"id": "db", "header": "Database", "question": question, "options": options, "isOther": true,
                "isSecret": false},
            {"id": "key", "header": "Key", "question": "The key?", "options": null, "isOther": false, "isSecret": true},
        ]}),
    )
}

fn elicitation(message: &str) -> Value {
    let schema = json!({"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "title": "City"},
        "days": {"type": "integer", "description": "How many"},
    }});
    ask(
        "mcpServer/elicitation/request",
        json!({"serverName": "maps", "mode": "form", "message": message, "requestedSchema": schema}),
    )
}

#[test]
fn a_command_is_shown_and_answered_by_a_key() {
    for (keys, decision, stays) in [
        ("y", "accept", "✓ allowed once: touch a"),
        (
            "s",
            "acceptForSession",
            "✓ allowed for this session: touch a",
        ),
        ("n", "decline", "✗ not allowed: touch a"),
        ("\r", "decline", "✗ not allowed: touch a"),
        ("\x1b", "decline", "✗ not allowed: touch a"),
        ("\x1b[A\x1b[A\r", "accept", "✓ allowed once: touch a"),
        // A paste answers nothing.
        (
            "\x1b[200~y\r\x1b[201~n",
            "decline",
            "✗ not allowed: touch a",
        ),
    ] {
        let (asker, given) = Asker::answered(command("touch a"), keys);
        assert_eq!(given["decision"], decision, "{keys:?}");
        let text = asker.shell.text();
        for part in [
            "? The agent asks to run a command\n    touch a\n  in: /some/where\n  why: to see\n",
            stays,
            "turn over",
        ] {
            assert!(text.contains(part), "{part:?} {keys:?}:\n{text}");
        }
        // The choices are gone.
        assert!(
            !text.contains("▸") && !text.contains("Run this command?"),
            "{text}"
        );
    }
}

#[test]
fn no_and_stop_and_ctrl_c_end_the_turn() {
    for (keys, stays) in [
        ("x", "✗ not allowed, stopped: touch a"),
        (CTRL_C, "· not answered: touch a"),
    ] {
        let asker = Asker::new(json!([[command("touch a")], [command("touch b")]]));
        asker.prompt(1);
        asker.choices();
        asker.shell.pty.send(keys);
        asker.shell.at(2);
        asker.shell.shows(stays);
        asker.shell.lacks("turn over");
        asker.prompt(2);
        asker.choices();
        asker.shell.pty.send("y");
        asker.shell.at(3);
        asker.shell.shows("✓ allowed once: touch b");
    }
}

#[test]
fn what_was_typed_before_stays_for_the_prompt() {
    let turn =
        json!([{"text": "working"}, {"until": "go"}, command("touch a"), command("touch b")]);
    let asker = Asker::new(json!([turn]));
    asker.prompt(1);
    asker.shell.pty.wait_for("working");
    asker.shell.pty.send("y");
    asker.shell.home.write("go", "");
    asker.choices();
    // What follows an answer is not the next one.
    asker.shell.pty.send("ns = 5");
    asker.shell.pty.wait_for("touch b");
    asker.choices();
    asker.shell.pty.send("n");
    asker.shell.at_with(2, "ys = 5");
    let given = asker.given(2);
    assert!(
        given.iter().all(|it| it["decision"] == "decline"),
        "{given:?}"
    );
}

#[test]
fn an_edit_is_a_whole_coloured_diff() {
    let lines: String = (0..60).map(|n| format!("+line {n}\n")).collect();
    let diff = format!("@@ -1,1 +1,60 @@\n-old\n{lines}");
    let asker = Asker::new(json!([edit("/some/where/a.py", "update", &diff)]));
    asker.prompt(1);
    asker.choices();
    let text = asker.shell.text();
    assert!(
        text.contains("  update /some/where/a.py +60 -1\n"),
        "{text}"
    );
    for line in ["  -old", "  +line 0", "  +line 30", "  +line 59"] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    asker
        .shell
        .pty
        .wait_for("(65 lines: its beginning is further up)");
    let raw = asker.shell.pty.raw();
    let has = |bytes: &[u8]| memchr::memmem::find(&raw, bytes).is_some();
    // Green, and what the code's own colours say over it.
    assert!(has(b"\x1b[32m  +line \x1b[38;"));
    asker.shell.pty.send("y");
    asker.shell.at(2);
    assert_eq!(asker.given(1)[0]["decision"], "accept");
    asker.shell.shows("✓ allowed once: /some/where/a.py");
}

#[test]
fn permissions_and_links_are_asked() {
    let (asker, given) = Asker::answered(permissions("/data"), "s");
    assert_eq!(given["scope"], "session");
    asker
        .shell
        .shows("    network\n    write /data\n  in: /some/where\n  why: to write\n");
    asker
        .shell
        .shows("✓ allowed for this session: network, write /data");
    let (_, given) = Asker::answered(permissions("/data"), "n");
    assert_eq!(given["permissions"], json!({}));
    let (asker, given) = Asker::answered(link("https://example.org/?a=1"), "y");
    assert_eq!(given["action"], "accept");
    asker.shell.shows(
        "? The MCP server maps asks you to open a page\n  log in\n    https://example.org/?a=1\n",
    );
    let (_, given) = Asker::answered(link("https://example.org/"), "n");
    assert_eq!(given["action"], "decline");
}

#[test]
fn a_form_is_filled_in_field_by_field() {
    let asker = Asker::new(json!([[input("Which one?")], [input("Which one?")]]));
    let pty = &asker.shell.pty;
    asker.prompt(1);
    pty.wait_for("a number or arrows");
    asker
        .shell
        .shows("  [1/2] Database: Which one?\n  1. sqlite: one file\n  2. postgres: a server\n");
    pty.send("3");
    pty.wait_for("Enter accepts");
    pty.send("my漢x\x7f db\x1b[D\x1b[D\x1b[D-");
    pty.wait_for("> my漢- db");
    pty.send("\r");
    pty.wait_for("[2/2] Key: The key?");
    pty.send("hunter2\r");
    asker.shell.at(2);
    assert_eq!(
        asker.given(1)[0]["answers"],
        json!({"db": {"answers": ["my漢- db"]}, "key": {"answers": ["hunter2"]}})
    );
    asker.shell.shows("✓ Database: my漢- db");
    asker.shell.shows("✓ Key: (hidden)");
    assert!(memchr::memmem::find(&pty.raw(), b"hunter").is_none());
    // Declined, it is no answer.
    asker.prompt(2);
    pty.wait_for("a number or arrows");
    pty.send("2");
    pty.wait_for("[2/2] Key");
    pty.send("\x1b");
    asker.shell.at(3);
    assert_eq!(asker.given(2)[1]["answers"], json!({}));
    asker.shell.shows("✗ declined: Database");
}

#[test]
fn an_mcp_server_can_ask() {
    let asker = Asker::new(json!([[elicitation("Where to?")]]));
    let pty = &asker.shell.pty;
    asker.prompt(1);
    pty.wait_for("Enter accepts");
    asker
        .shell
        .shows("? The MCP server maps asks you\n  Where to?\n");
    pty.send("Köln\r");
    pty.wait_for("[2/2]");
    pty.wait_for("empty line skips");
    pty.send("3\r");
    asker.shell.at(2);
    let given = asker.given(1).remove(0);
    assert_eq!(given["action"], "accept", "{given}");
    assert_eq!(given["content"]["city"], "Köln");
}

#[test]
fn hostile_text_is_spelled_out_in_every_question() {
    let label = |text: &str| text.to_owned();
    let kinds: Vec<(&str, Vec<Value>)> = vec![
        ("command", vec![command(&label(HOSTILE))]),
        (
            "edit",
            edit(HOSTILE, "update", &format!("@@ @@\n+{HOSTILE}\n")),
        ),
        ("add", edit("/p", "add", HOSTILE)),
        ("permissions", vec![permissions(HOSTILE)]),
        ("link", vec![link(HOSTILE)]),
        ("input", vec![input(HOSTILE)]),
        ("elicitation", vec![elicitation(HOSTILE)]),
        (
            "cells",
            vec![call(
                "run_cells",
                json!({"cells": [{"code": format!("'{HOSTILE}'"), "title": HOSTILE}]}),
            )],
        ),
    ];
    for (kind, steps) in kinds {
        let asker = Asker::new(json!([steps]));
        let from = asker.shell.pty.raw().len();
        asker.prompt(1);
        asker
            .shell
            .pty
            .wait_raw(b"\x1b[?2004h", asker.shell.pty.wait_raw(b"? The", from));
        let rows = asker.shell.pty.all_text();
        // Hard-wrapped: rows joined without their margins.
        let joined: String = rows.lines().map(str::trim).collect();
        assert!(
            joined.replace(' ', "").contains(&SPELLED.replace(' ', "")),
            "{kind}:\n{rows}"
        );
        asker.shell.pty.send(CTRL_C);
        asker.shell.at(2);
        let raw = without_question(&asker.shell.pty.raw()[from..]);
        for bytes in [
            "\x1b]52".as_bytes(),
            b"\x1b]0;",
            b"\x1b[31;8m",
            "\u{202e}".as_bytes(),
            "\u{e0041}".as_bytes(),
            "\u{9b}".as_bytes(),
            b"\x07",
            b"\x08",
        ] {
            let found = memchr::memmem::find(&raw, bytes);
            assert!(found.is_none(), "{kind}: {bytes:?}");
        }
    }
}

#[test]
fn a_megabyte_is_shown_whole() {
    let long = format!("echo {}END", "0123456789".repeat(100_000));
    let asker = Asker::new(json!([[command(&long)]]));
    let from = asker.shell.pty.raw().len();
    asker.prompt(1);
    asker.choices();
    let raw = asker.shell.pty.raw();
    let text = String::from_utf8_lossy(&raw[from..]);
    let shown: String = text
        .split("\r\n")
        .filter(|row| row.starts_with("    ") || row.contains("    echo"))
        .map(|row| row.replace("\x1b[1m", "").replace("\x1b[0m", ""))
        .map(|row| row.trim().to_owned())
        .collect();
    assert!(shown.contains(&long), "{} of {}", shown.len(), long.len());
    asker.shell.pty.send("n");
    asker.shell.at(2);
}

#[test]
fn a_narrow_terminal_shows_all_of_it_and_a_wider_one_too() {
    let asker = Asker::of(
        Home::new(),
        json!([[command("echo one two three four five")]]),
        (20, 12),
    );
    asker.prompt(1);
    asker.choices();
    let rows = asker.shell.pty.all_text();
    assert!(
        rows.contains("    echo one two \n    three four five\n"),
        "{rows}"
    );
    assert!(
        rows.contains(
            "  y yes, this once\n  s yes, all session\n▸ n no\n  w no, say why\n  x no, and stop"
        ),
        "{rows}"
    );
    asker.shell.pty.resize(60, 20);
    asker.shell.pty.send("\x1b[A");
    asker.shell.pty.wait_for("▸ s yes, all session");
    let screen = asker.shell.pty.screen_text();
    assert_eq!(screen.matches("Run this command?").count(), 1, "{screen}");
    asker.shell.pty.send("\r");
    asker.shell.at(2);
    assert_eq!(asker.given(1)[0]["decision"], "acceptForSession");
}

#[test]
fn plain_terminals_are_asked_in_plain_words() {
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let mut home = Home::new();
        home.set(name, value);
        let asker = Asker::of(home, json!([[command("touch a")]]), (80, 24));
        asker.prompt(1);
        let from = asker.shell.pty.wait_raw(b"touch a", 0);
        asker.shell.pty.wait_raw(b"no, and stop", from);
        asker.shell.pty.send("y");
        asker.shell.pty.wait_for("✓ allowed once: touch a");
        asker.shell.pty.wait_for("In [2]:");
        assert_eq!(asker.given(1)[0]["decision"], "accept");
        let raw = asker.shell.pty.raw();
        let shown = String::from_utf8_lossy(&raw);
        let (_, question) = shown.split_once("? The agent").unwrap();
        let (question, _) = question.split_once("turn over").unwrap();
        assert!(
            !question.contains("\x1b[1m") && !question.contains("\x1b[3"),
            "{question:?}"
        );
    }
}

#[test]
fn what_happens_meanwhile_is_shown_afterwards() {
    let turn = json!([
        {"text": "first\n\n"},
        {"note": "item/started",
            "params": {"item": {"type": "commandExecution", "id": "x", "command": "sleep 1", "cwd": "/"}}},
        command("touch a"),
        {"text": "second\n\n"},
    ]);
    let asker = Asker::new(json!([turn]));
    asker.prompt(1);
    asker.choices();
    asker.shell.shows("first");
    asker.shell.lacks("second");
    asker.shell.pty.send("y");
    asker.shell.at(2);
    let text = asker.shell.text();
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}:\n{text}"));
    assert!(
        place("first") < place("touch a") && place("✓ allowed") < place("second"),
        "{text}"
    );
}
