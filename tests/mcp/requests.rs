//! What is asked and answered, in both revisions, in a session without a terminal.

use serde_json::{Value, json};

use super::client::{CURRENT, Client, envelope, piped, result};
use crate::support::home::Home;

const OURS: [&str; 6] = [
    "pyrun",
    "look_back",
    "run_cells",
    "read_output",
    "notebook",
    "load_skill",
];

#[test]
fn whoever_greets_is_served_in_the_revision_before() {
    let home = Home::new();
    let mut client = Client::greeted(&home, &[]);
    assert_eq!(client.tools(), OURS);
    assert_eq!(
        client.call("pyrun", json!({"code": "6 * 7"})),
        ("42".into(), true)
    );
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    let (code, said) = client.leave();
    assert_eq!((code, said.as_str()), (0, ""));
}

#[test]
fn nobody_has_to_greet_in_the_current_revision() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--allow", "cells"]);
    let found = client.ask("server/discover", json!({"_meta": envelope()}));
    let found = &found["result"];
    assert_eq!(found["supportedVersions"][0], CURRENT);
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["capabilities"]["tools"]["listChanged"], true);
    let listed = client.ask("tools/list", json!({"_meta": envelope()}));
    assert_eq!(listed["result"]["cacheScope"], "private");
    assert_eq!(
        listed["result"]["tools"][0]["annotations"]["readOnlyHint"],
        true
    );
    let cells = json!({"cells": [{"code": "x = 1\nprint('seen')\nx + 1"}]});
    let call = json!({"_meta": envelope(), "name": "run_cells", "arguments": cells});
    let ran = client.ask("tools/call", call);
    let (text, well) = result(&ran);
    assert!(well && text.contains("seen\n2"), "{text}");
    assert_eq!(ran["result"]["resultType"], "complete");
    // What ran stays.
    let looked = client.call("pyrun", json!({"code": "x"}));
    assert_eq!(looked, ("1".into(), true));
    client.leave();
}

#[test]
fn pictures_come_as_pictures_and_long_results_are_cut() {
    let home = Home::new();
    let mut client = Client::greeted(&home, &[]);
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let code = format!(
        "import base64\nclass P:\n    def _repr_png_(self): return base64.b64decode('{png}')\nP()"
    );
    let shown = client.ask(
        "tools/call",
        json!({"name": "pyrun", "arguments": {"code": code}}),
    );
    let parts = shown["result"]["content"].as_array().unwrap();
    let picture = parts.iter().find(|part| part["type"] == "image").unwrap();
    assert_eq!(picture["mimeType"], "image/png");
    assert_eq!(picture["data"], png);
    let (long, _) = client.call("pyrun", json!({"code": "print('a' * 100000)"}));
    assert!(
        long.len() < 30_000 && long.contains("read_output"),
        "{}",
        long.len()
    );
    client.leave();
}

#[test]
fn where_nobody_can_be_asked_only_what_was_allowed_is_done() {
    let home = Home::new();
    let cells = || json!({"cells": [{"code": "open('made', 'w').close()"}]});
    let mut client = Client::greeted(&home, &[]);
    let (why, well) = client.call("run_cells", cells());
    assert!(!well && why.contains("`--allow cells`"), "{why}");
    assert!(!home.work().join("made").exists());
    client.leave();
    for allowed in ["cells", "all"] {
        let mut client = Client::greeted(&home, &["--allow", allowed]);
        assert!(client.call("run_cells", cells()).1);
        assert!(home.work().join("made").exists());
        std::fs::remove_file(home.work().join("made")).unwrap();
        client.leave();
    }
}

#[test]
fn what_makes_no_sense_is_refused_and_the_next_request_answered() {
    let home = Home::new();
    let mut client = Client::greeted(&home, &[]);
    let mut refused = |method: &str, params, code: i64, part: &str| {
        let answer = client.ask(method, params);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
    };
    refused(
        "tools/call",
        json!({"name": "os.system"}),
        -32602,
        "there is no tool `os.system`",
    );
    // A function of the namespace that the user did not offer.
    refused(
        "tools/call",
        json!({"name": "exit"}),
        -32602,
        "there are pyrun",
    );
    refused(
        "tools/call",
        json!({"arguments": {}}),
        -32602,
        "`name` is missing",
    );
    refused(
        "tools/call",
        json!({"name": "pyrun", "arguments": [1]}),
        -32602,
        "not an object",
    );
    refused("no/such", json!({}), -32601, "no/such");
    let later = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientCapabilities": {}}});
    refused("tools/list", later, -32022, "2031-01-01");
    client.write(b"{ this is no JSON\n[]\n\xff\xfe\n");
    for code in [-32700, -32600, -32700] {
        let refused = client.expect("a refusal", |said| said["id"].is_null());
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
    client.say(json!({"method": "notifications/cancelled", "params": {"requestId": 999}}));
    let (text, well) = client.call("pyrun", json!({"cod": "1"}));
    assert!(!well && text.contains("pyrun"), "{text}");
    for (arguments, said) in [
        (
            json!({"code": "x", "from": 3, "to": 1}),
            "`from` is 3 and `to` is 1: expected `from` not after `to`",
        ),
        (json!({"code": "x", "from": 0}), "`from`"),
        (json!({"code": " "}), "`code` is empty"),
        (
            json!({"code": "x", "from": 99}),
            "no such cell has run in this interpreter",
        ),
    ] {
        let (text, well) = client.call("look_back", arguments);
        assert!(!well && text.contains(said), "{text}");
    }
    let (text, well) = client.call("look_back", json!({"code": "6 * 7"}));
    assert!(
        well && text.contains("42") && text.contains("It did not change."),
        "{text}"
    );
    assert_eq!(client.call("pyrun", json!({"code": "1"})).0, "1");
    client.leave();
}

#[test]
fn a_client_that_floods_is_refused_what_is_too_much_and_served_the_rest() {
    let home = Home::new();
    let mut client = Client::greeted(&home, &[]);
    client.tools();
    let wanted = 300;
    let ids: Vec<u64> = (0..wanted)
        .map(|n| {
            let arguments = json!({"code": format!("{n}")});
            client.begin(
                "tools/call",
                json!({"name": "pyrun", "arguments": arguments}),
            )
        })
        .collect();
    let answers: Vec<_> = ids.iter().map(|id| client.answer(*id)).collect();
    let served = answers
        .iter()
        .filter(|answer| answer.get("result").is_some())
        .count();
    let refused = answers
        .iter()
        .filter(|answer| {
            answer["error"]["message"]
                .as_str()
                .is_some_and(|it| it.contains("open already"))
        })
        .count();
    assert_eq!(served + refused, wanted);
    assert!(
        served >= 64 && refused > 0,
        "{served} served, {refused} refused"
    );
    assert_eq!(client.call("pyrun", json!({"code": "'next'"})).0, "'next'");
    client.leave();
}

#[test]
fn a_call_that_is_cancelled_ends_and_is_not_answered() {
    let home = Home::new();
    let mut client = Client::greeted(&home, &["--allow", "cells"]);
    let cells = json!({"cells": [{"code": "import time\nwhile True: time.sleep(0.05)"}]});
    let call = json!({"name": "run_cells", "arguments": cells, "_meta": {"progressToken": "t"}});
    let id = client.begin("tools/call", call);
    let progress = client.notice("notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "t");
    client.say(json!({"method": "notifications/cancelled", "params": {"requestId": id}}));
    // The interpreter is free again.
    assert_eq!(client.call("pyrun", json!({"code": "1"})).0, "1");
    assert!(client.is_silent(|said| said["id"] == id));
    client.leave();
}

/// What is said in one go, and the answers: ids, or codes of errors.
#[test]
fn what_was_received_before_the_end_of_input_is_answered() {
    let greet = |revision: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    };
    let call = |id: u64, code: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "pyrun", "arguments": {"code": code}}})
    };
    let ping = |id: Value| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let short = |answer: &Value| match answer["error"]["code"].as_i64() {
        Some(code) => json!([answer["id"], code]),
        None => answer["id"].clone(),
    };
    let home = Home::new();
    let check = |input: &[u8], expected: &[Value]| {
        let shown = String::from_utf8_lossy(input).into_owned();
        let (answers, code) = piped(&home, &[], input);
        let mut told: Vec<Value> = answers
            .iter()
            .map(|answer| match answer.as_array() {
                Some(batch) => json!({"batch": batch.iter().map(short).collect::<Vec<_>>()}),
                None => short(answer),
            })
            .collect();
        // Answers come as they are ready, those of a batch together.
        let by_text = |value: &Value| value.to_string();
        told.sort_by_key(by_text);
        let mut expected = expected.to_vec();
        expected.sort_by_key(by_text);
        assert_eq!((told, code), (expected, 0), "{shown}");
        answers
    };
    let lines = |values: &[Value], end: &str| {
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        (lines.join(end) + end).into_bytes()
    };
    let latest = greet("2025-11-25");
    check(latest.to_string().as_bytes(), &[json!(1)]);
    let said = check(
        &lines(
            &[
                latest.clone(),
                note.clone(),
                call(2, "import time; time.sleep(0.2); 6 * 7"),
            ],
            "\n",
        ),
        &[json!(1), json!(2)],
    );
    assert!(
        said.iter().any(|it| it["id"] == 2 && result(it).0 == "42"),
        "{said:?}"
    );
    let mut odd = b"\xef\xbb\xbf".to_vec();
    odd.extend(lines(
        &[latest.clone(), json!(7), ping(json!("a"))],
        "\r\n\r\n  \r\n",
    ));
    odd.extend(&lines(&[call(3, "1")], "\n")[..40]);
    check(
        &odd,
        &[
            json!(1),
            json!([null, -32600]),
            json!("a"),
            json!([null, -32700]),
        ],
    );
    check(&lines(std::slice::from_ref(&note), "\n"), &[]);
    check(b"", &[]);
    check(b"\n\n", &[]);
    let twice = [
        latest.clone(),
        call(2, "1"),
        call(2, "1"),
        ping(json!(null)),
    ];
    check(
        &lines(&twice, "\n"),
        &[
            json!(1),
            json!(2),
            json!([2, -32600]),
            json!([null, -32600]),
        ],
    );
    let batch = json!([ping(json!(2)), note, call(3, "1"), 7, greet("2025-03-26"), {"id": 4, "method": "none"}]);
    let whole = json!({"batch": [2, [null, -32600], [1, -32600], [4, -32601], 3]});
    for revision in ["2025-03-26", "2024-11-05"] {
        let input = [greet(revision), batch.clone(), json!([note]), json!([])];
        check(
            &lines(&input, "\n"),
            &[json!(1), whole.clone(), json!([null, -32600])],
        );
    }
    for revision in ["2025-06-18", "2025-11-25"] {
        check(
            &lines(&[greet(revision), batch.clone()], "\n"),
            &[json!(1), json!([null, -32600])],
        );
    }
    check(&lines(&[batch], "\n"), &[json!([null, -32600])]);
}
