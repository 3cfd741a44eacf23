//! Tests of questions: what each request shows, and each answer to it.

use super::{AnswerFormat, AnswerOutcome, parse};
use crate::codex::turn::Edits;
use crate::properties;
use crate::{Change, Decision, FileChange, QuestionAnswer, Subject};
use proptest::prelude::{any, prop_assert, proptest};
use serde_json::{Value, json};

const COMMAND: &str = "item/commandExecution/requestApproval";
const EDIT: &str = "item/fileChange/requestApproval";
const PERMISSIONS: &str = "item/permissions/requestApproval";
const INPUT: &str = "item/tool/requestUserInput";
const ELICITATION: &str = "mcpServer/elicitation/request";

fn edits() -> Edits {
    let change = FileChange {
        path: "/p/a".into(),
        change: Change::Added("x\n".into()),
    };
    Edits::from([("e1".into(), vec![change])])
}

fn asked(method: &str, params: Value) -> (Subject, AnswerFormat) {
    parse(method, params.clone(), &edits()).unwrap_or_else(|error| panic!("{params}: {error:?}"))
}

fn decided(answer_format: &AnswerFormat, decision: Decision) -> Value {
    match answer_format.answer(&QuestionAnswer::from_decision(decision)) {
        AnswerOutcome::Answer(value) => value,
        AnswerOutcome::AskAgain(why) => panic!("{why}"),
    }
}

#[test]
fn a_command_is_shown_as_it_runs() {
    for (params, command, reason) in [
        (
            json!({"command": "/bin/bash -lc 'echo a'", "cwd": "/p"}),
            "echo a",
            None,
        ),
        (
            json!({"command": "/tmp/bash -lc 'echo a'", "cwd": "/p"}),
            "/tmp/bash -lc 'echo a'",
            None,
        ),
        (
            json!({"command": "rm -rf /", "cwd": "/p", "reason": "why not"}),
            "rm -rf /",
            Some("why not"),
        ),
        (
            json!({"command": "a\0b\u{202e}\u{1b}[2J\n", "cwd": "/p", "future": [1]}),
            "a\0b\u{202e}\u{1b}[2J\n",
            None,
        ),
    ] {
        let (subject, answer_format) = asked(COMMAND, params);
        let expected = Subject::Command {
            command: command.into(),
            cwd: "/p".into(),
            reason: reason.map(Into::into),
        };
        assert_eq!(subject, expected);
        assert!(answer_format.is_approval());
    }
    let input = json!({"command": "quit()", "kind": "writeStdin", "itemId": "c0", "approvalId": "c1", "cwd": "/p",
        "reason": "r"});
    let expected = Subject::Input {
        program: "c0".into(),
        text: "quit()".into(),
        cwd: "/p".into(),
        reason: Some("r".into()),
    };
    assert_eq!(asked(COMMAND, input).0, expected);
    let more = json!({"command": "a", "cwd": "/p", "reason": "r",
        "additionalPermissions": {"network": {"enabled": true}, "fileSystem": {"write": ["/w"], "read": null}}});
    let expected = Subject::Permissions {
        requested: vec!["run: a".into(), "network".into(), "write /w".into()],
        cwd: "/p".into(),
        reason: Some("r".into()),
    };
    assert_eq!(asked(COMMAND, more).0, expected);
}

#[test]
fn decisions_are_in_the_words_of_the_request() {
    let plain = asked(COMMAND,
        json!({"command": "a", "availableDecisions": ["accept", {"acceptWithExecpolicyAmendment": {}}, "cancel"]})).1;
    let typed = asked(
        COMMAND,
        json!({"command": "a", "kind": "writeStdin", "availableDecisions": ["accept", "cancel"]}),
    )
    .1;
    let edit = asked(EDIT, json!({"itemId": "e1"})).1;
    for (answer_format, session) in [
        (&plain, "acceptForSession"),
        (&typed, "accept"),
        (&edit, "acceptForSession"),
    ] {
        assert_eq!(
            decided(answer_format, Decision::AllowOnce),
            json!({"decision": "accept"})
        );
        assert_eq!(
            decided(answer_format, Decision::AllowAlways),
            json!({"decision": session})
        );
        assert_eq!(
            decided(answer_format, Decision::RejectOnce),
            json!({"decision": "decline"})
        );
        assert_eq!(
            decided(answer_format, Decision::Stop),
            json!({"decision": "cancel"})
        );
        assert_eq!(answer_format.refusal(), json!({"decision": "decline"}));
    }
}

#[test]
fn an_edit_shows_its_changes() {
    let changes = edits()["e1"].clone();
    let reason = Some("r".to_owned());
    let expected = Subject::Edit {
        changes: changes.clone(),
        reason,
    };
    assert_eq!(
        asked(EDIT, json!({"itemId": "e1", "reason": "r"})).0,
        expected
    );
    let rooted = asked(
        EDIT,
        json!({"itemId": "e1", "reason": null, "grantRoot": "/r"}),
    )
    .0;
    let reason = Some("(it also wants: write /r)".to_owned());
    assert_eq!(rooted, Subject::Edit { changes, reason });
    let bare = asked(EDIT, json!({"itemId": "gone", "grantRoot": "/r"})).0;
    assert!(matches!(bare, Subject::Permissions { requested, .. } if requested == ["write /r"]));
}

#[test]
fn permissions_are_granted_as_asked() {
    let wanted = json!({"network": {"enabled": true}, "fileSystem": {"read": ["/etc"], "write": ["/z"], "entries": [
        {"path": {"type": "path", "path": "/etc"}, "access": "read"},
        {"path": {"type": "glob_pattern", "pattern": "/x/*"}, "access": "deny"},
        {"path": {"type": "special", "value": {"kind": "root"}}, "access": "write"},
    ]}});
    let (subject, answer_format) = asked(
        PERMISSIONS,
        json!({"cwd": "/p", "reason": null, "permissions": wanted}),
    );
    let Subject::Permissions {
        requested: lines,
        cwd,
        reason,
    } = subject
    else {
        panic!("{subject:?}");
    };
    assert_eq!((cwd.as_str(), reason), ("/p", None));
    assert_eq!(
        lines,
        [
            "network",
            "read /etc",
            "write /z",
            "deny /x/*",
            "write {\"type\":\"special\",\"value\":{\"kind\":\"root\"}}"
        ]
    );
    assert_eq!(
        decided(&answer_format, Decision::AllowOnce),
        json!({"permissions": wanted, "scope": "turn"})
    );
    assert_eq!(
        decided(&answer_format, Decision::AllowAlways),
        json!({"permissions": wanted, "scope": "session"})
    );
    for refusal in [
        decided(&answer_format, Decision::RejectOnce),
        decided(&answer_format, Decision::Stop),
        answer_format.refusal(),
    ] {
        assert_eq!(refusal, json!({"permissions": {}, "scope": "turn"}));
    }
    let half = asked(
        PERMISSIONS,
        json!({"permissions": {"network": {"enabled": true}, "fileSystem": null}}),
    )
    .1;
    assert_eq!(
        decided(&half, Decision::AllowOnce)["permissions"],
        json!({"network": {"enabled": true}})
    );
    let network = json!({"networkApprovalContext": {"host": "h", "protocol": "https"}, "command": "curl h",
        "availableDecisions": ["accept", "acceptForSession", "cancel"]});
    let (subject, answer_format) = asked(COMMAND, network);
    assert!(
        matches!(subject, Subject::Permissions { requested, .. } if requested == ["network: https h", "for: curl h"])
    );
    assert_eq!(
        decided(&answer_format, Decision::AllowAlways),
        json!({"decision": "acceptForSession"})
    );
}

#[test]
fn questions_of_the_model_are_a_form() {
    let (subject, answer_format) = asked(
        INPUT,
        json!({"isBlocking": false, "questions": [
            {"id": "color", "header": "Color", "question": "Which?", "isOther": true, "isSecret": false,
                "options": [{"label": "Blue", "description": "b"}]},
            {"id": "key", "header": "Key", "question": "What?", "isOther": false, "isSecret": true, "options": null},
        ]}),
    );
    let Subject::Form { server, fields, .. } = subject else {
        panic!("{subject:?}")
    };
    assert_eq!(server, "");
    assert_eq!(fields[0].options, [("Blue".to_owned(), "b".to_owned())]);
    assert_eq!((fields[0].free_text, fields[0].secret), (true, false));
    assert_eq!(
        (fields[1].free_text, fields[1].secret),
        (true, true),
        "no options: free text"
    );
    let answers = vec![
        ("color".to_owned(), vec!["Red".to_owned()]),
        ("key".to_owned(), Vec::new()),
    ];
    assert_eq!(
        answer_format.answer(&QuestionAnswer::Filled(answers)),
        AnswerOutcome::Answer(json!({"answers": {"color": {"answers": ["Red"]}}}))
    );
    assert_eq!(answer_format.refusal(), json!({"answers": {}}));
}

#[test]
fn elicitations_are_forms_links_and_calls() {
    let schema =
        json!({"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}});
    let (subject, form) = asked(
        ELICITATION,
        json!({"serverName": "s", "mode": "form", "_meta": null, "message": "m", "requestedSchema": schema}),
    );
    let Subject::Form {
        server,
        message,
        fields,
    } = &subject
    else {
        panic!("{subject:?}")
    };
    assert_eq!((&**server, &**message, fields.len()), ("s", "m", 1));
    let filled = |age: &str| {
        form.answer(&QuestionAnswer::Filled(vec![(
            "age".into(),
            vec![age.into()],
        )]))
    };
    assert_eq!(
        filled("3"),
        AnswerOutcome::Answer(json!({"action": "accept", "content": {"age": 3}, "_meta": null}))
    );
    assert_eq!(
        filled("x"),
        AnswerOutcome::AskAgain("age: a whole number".into())
    );
    assert_eq!(
        form.refusal(),
        json!({"action": "decline", "content": null, "_meta": null})
    );
    assert_eq!(decided(&form, Decision::Stop)["action"], "cancel");

    let (subject, link) = asked(
        ELICITATION,
        json!({"serverName": "s", "mode": "url", "message": "m", "url": "https://e/", "elicitationId": "1"}),
    );
    assert!(matches!(subject, Subject::Link { url, .. } if url == "https://e/"));
    assert_eq!(decided(&link, Decision::AllowOnce)["action"], "accept");
    assert_eq!(decided(&link, Decision::RejectOnce)["action"], "decline");
    assert!(!link.is_approval());

    let meta = json!({"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"], "tool_name": "t",
        "tool_params": {"a": 1}});
    let (subject, tool) = asked(
        ELICITATION,
        json!({"serverName": "s", "mode": "form", "message": "Allow?", "_meta": meta,
            "requestedSchema": {"type": "object", "properties": {}}}),
    );
    assert!(
        matches!(&subject, Subject::Permissions { requested, reason, .. }
        if requested == &["call the tool t of the MCP server s", "with {\"a\":1}"]
            && reason.as_deref() == Some("Allow?"))
    );
    assert_eq!(
        decided(&tool, Decision::AllowOnce),
        json!({"action": "accept", "content": {}, "_meta": null})
    );
    assert_eq!(
        decided(&tool, Decision::AllowAlways),
        json!({"action": "accept", "content": {}, "_meta": {"persist": "session"}})
    );
    assert!(tool.is_approval());
}

#[test]
fn what_does_not_say_what_it_wants_is_an_error() {
    for (method, params, code) in [
        (COMMAND, json!({}), -32602),
        (COMMAND, json!(null), -32602),
        (COMMAND, json!({"command": ""}), -32602),
        (COMMAND, json!({"command": ["rm", "-rf"]}), -32602),
        (EDIT, json!({}), -32602),
        (EDIT, json!({"itemId": "unknown"}), -32602),
        (PERMISSIONS, json!({"cwd": "/"}), -32602),
        (PERMISSIONS, json!({"permissions": {}}), -32602),
        (
            PERMISSIONS,
            json!({"permissions": {"network": {"enabled": false}}}),
            -32602,
        ),
        (
            PERMISSIONS,
            json!({"permissions": {"fileSystem": {"write": 7}}}),
            -32602,
        ),
        (INPUT, json!({"questions": []}), -32602),
        (INPUT, json!({"questions": [{"question": "no id"}]}), -32602),
        (ELICITATION, json!({"mode": "url", "url": ""}), -32602),
        (ELICITATION, json!({"mode": "form"}), -32602),
        (
            ELICITATION,
            json!({"mode": "openai/userVerification", "challenge": "c"}),
            -32602,
        ),
        ("item/future/ask", json!({}), -32601),
        ("execCommandApproval", json!({"command": ["a"]}), -32601),
    ] {
        let error = parse(method, params.clone(), &edits()).expect_err("no question");
        assert_eq!(error.code, code, "{method} {params}");
    }
}

proptest! {
    #![proptest_config(properties::cases(properties::USUAL))]

    #[test]
    fn no_answer_grants_what_was_not_decided(text in any::<String>(), session in any::<bool>()) {
        let filled = QuestionAnswer::Filled(vec![(text.clone(), vec![text])]);
        for answer_format in [AnswerFormat::Command { lasting: session }, AnswerFormat::Edit,
            AnswerFormat::Tool { lasting: session },
            AnswerFormat::Link] {
            for answer in [&filled, &QuestionAnswer::Declined] {
                let AnswerOutcome::Answer(value) = answer_format.answer(answer) else { panic!("no form") };
                prop_assert!(!value.to_string().contains("accept"), "{}", value);
            }
        }
    }
}
