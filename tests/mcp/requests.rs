//! What is asked and answered, in both revisions, in a session without a terminal.

use serde_json::json;

use super::client::{CURRENT, Client, envelope, result};
use crate::support::home::Home;

const OURS: [&str; 5] = [
    "pyrun",
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
    client.say(json!({"method": "notifications/cancelled", "params": {"requestId": 999}}));
    let (text, well) = client.call("pyrun", json!({"cod": "1"}));
    assert!(!well && text.contains("pyrun"), "{text}");
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
