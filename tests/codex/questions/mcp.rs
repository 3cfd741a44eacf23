//! MCP servers ask through the real app-server: forms, answered by their schema, and pages to open.

use super::*;

/// The real app-server with an MCP server whose tool elicits `elicited`; the model calls it.
fn with_asker(model: &str, elicited: &Value) -> Option<Real> {
    let code = model == CODE;
    let endpoint = Endpoint::answering(move |index, _| match index {
        0 if code => Reply::exec(
            "c",
            "const r = await tools.mcp__asker__survey({why: 'so'}); text(JSON.stringify(r));",
        ),
        0 => Reply::Stream(vec![
            Event::NamespaceCall(
                "c".into(),
                "mcp__asker".into(),
                "survey".into(),
                json!({"why": "so"}),
            ),
            Event::Completed([1, 0, 1, 0]),
        ]),
        _ => Reply::text("done"),
    });
    let real = real(model, endpoint)?;
    let file = real.home().join("elicited.json");
    std::fs::write(&file, elicited.to_string()).unwrap();
    let server = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/mcp.py");
    let config = real.home().join("config.toml");
    let mut text = std::fs::read_to_string(&config).unwrap();
    text.push_str(&format!(
        "[mcp_servers.asker]\ncommand = \"python3\"\nargs = [{server:?}, {file:?}]\n"
    ));
    std::fs::write(config, text).unwrap();
    Some(real)
}

#[test]
fn mcp_servers_ask_forms() {
    let elicited = json!({"message": "Who are you?",
        "requestedSchema": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "title": "Name"}, "age": {"type": "integer", "minimum": 0},
        "sure": {"type": "boolean", "default": true},
    }}});
    for model in [PLAIN, CODE] {
        let Some(real) = with_asker(model, &elicited) else {
            return;
        };
        let filled = |age: &str| {
            QuestionAnswer::Filled(vec![
                ("name".into(), vec!["Ada".into()]),
                ("age".into(), vec![age.into()]),
            ])
        };
        let answers = [decided(Decision::AllowOnce), filled("old"), filled("36")];
        let events = ask(&real, &mut real.harness(), "survey", &answers);
        assert_eq!(events.text(), "done", "{model}: {events:?}");
        let Subject::Permissions {
            requested: wanted, ..
        } = &events.questions[0].subject
        else {
            panic!("{events:?}");
        };
        assert_eq!(
            wanted,
            &[
                "call the tool survey of the MCP server asker",
                "with {\"why\":\"so\"}"
            ]
        );
        let Subject::Form {
            server,
            message,
            fields,
        } = &events.questions[1].subject
        else {
            panic!("{events:?}");
        };
        assert_eq!(
            (server.as_str(), message.as_str(), fields.len()),
            ("asker", "Who are you?", 3)
        );
        let seen = seen(&real).replace('\\', "");
        for part in [
            "\"action\": \"accept\"",
            "\"name\": \"Ada\"",
            "\"age\": 36",
            "\"sure\": true",
        ] {
            assert!(seen.contains(part), "{model}: {part}: {seen}");
        }
    }
}

#[test]
fn mcp_servers_ask_for_pages_and_are_refused() {
    let elicited = json!({"mode": "url", "message": "Log in", "url": "https://example.com/login",
        "elicitationId": "e1"});
    for (answers, said) in [
        (
            vec![decided(Decision::AllowAlways), decided(Decision::AllowOnce)],
            "\"action\": \"accept\"",
        ),
        (
            vec![decided(Decision::AllowOnce), decided(Decision::RejectOnce)],
            "\"action\": \"decline\"",
        ),
        (
            vec![decided(Decision::RejectOnce)],
            "user rejected MCP tool call",
        ),
    ] {
        let Some(real) = with_asker(PLAIN, &elicited) else {
            return;
        };
        let events = ask(&real, &mut real.harness(), "survey", &answers);
        assert_eq!(events.text(), "done", "{events:?}");
        if let Some(question) = events.questions.get(1) {
            assert!(
                matches!(&question.subject, Subject::Link { url, .. } if url == "https://example.com/login")
            );
        }
        assert_eq!(events.questions.len(), answers.len());
        let seen = seen(&real).replace('\\', "");
        assert!(seen.contains(said), "{seen}");
    }
}
