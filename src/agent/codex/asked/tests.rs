//! Tests of what is answered without asking, and of asking again.

use super::{asked_again, settled};
use crate::agent::codex::questions::AnswerForm;
use crate::agent::form::Form;
use crate::agent::{
    AgentQuestion, Approvals, Effort, Sandbox, Subject, Threads, TurnSettings, WebSearchUse,
};
use serde_json::{Value, json};

fn settings(approvals: Approvals, sandbox: Sandbox) -> TurnSettings {
    TurnSettings {
        model: None,
        effort: Effort::Low,
        search: WebSearchUse::Off,
        cwd: "/".into(),
        threads: Threads::Session,
        approvals,
        sandbox,
        shell: true,
        mcp_servers: Vec::new(),
        start: None,
    }
}

fn command() -> Subject {
    Subject::Command {
        command: "rm\n\u{1b}[2Jx".into(),
        cwd: "/".into(),
        reason: None,
    }
}

#[test]
fn a_user_who_is_not_asked_grants_what_the_sandbox_allows() {
    let asking = AnswerForm::Command { lasting: true };
    let check = |sandbox: Sandbox, expected: Value, line: &str| {
        let (_, answer, said) =
            settled(&settings(Approvals::Never, sandbox), &command(), &asking).expect("settled");
        assert_eq!((answer, said.as_str()), (expected, line));
    };
    let line = "did not allow the agent to run: rm [2Jx";
    check(Sandbox::ReadOnly, json!({"decision": "decline"}), line);
    check(
        Sandbox::WorkspaceWrite,
        json!({"decision": "decline"}),
        line,
    );
    check(
        Sandbox::FullAccess,
        json!({"decision": "accept"}),
        "allowed the agent to run: rm [2Jx",
    );
    let asked = settings(Approvals::Ask, Sandbox::FullAccess);
    assert_eq!(settled(&asked, &command(), &asking), None);
    let form = Subject::Form {
        server: String::new(),
        message: String::new(),
        fields: Vec::new(),
    };
    let never = settings(Approvals::Never, Sandbox::ReadOnly);
    assert_eq!(
        settled(&never, &form, &AnswerForm::Input),
        None,
        "not theirs to settle"
    );
}

#[test]
fn a_form_asked_again_says_why_once() {
    let form = Form::read(&json!({"properties": {}})).expect("a form");
    let own = "Who?\n\nTell us.";
    let mut question = AgentQuestion::usual(
        "0",
        Subject::Form {
            server: "s".into(),
            message: own.into(),
            fields: Vec::new(),
        },
    );
    let asking = AnswerForm::Form(form, own.into());
    for (why, id) in [("age: x", "0+"), ("age: y", "0++")] {
        asked_again(&mut question, &asking, why);
        assert_eq!(question.id, id);
        let expected = format!("{why}\n\n{own}");
        assert!(matches!(&question.subject, Subject::Form { message, .. } if *message == expected));
    }
}
