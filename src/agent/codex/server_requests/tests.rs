//! Tests of automatic answers and of repeated questions.

use super::{ask_again, auto_answer};
use crate::codex::questions::AnswerFormat;
use crate::form::Form;
use crate::{
    AgentQuestion, Approvals, Effort, PlanMode, Sandbox, Subject, ThreadMode, TurnSettings,
    WebSearchUse,
};
use serde_json::{Value, json};

fn settings(approvals: Approvals, sandbox: Sandbox) -> TurnSettings {
    TurnSettings {
        model: None,
        effort: Effort::Low,
        search: WebSearchUse::Off,
        cwd: "/".into(),
        threads: ThreadMode::Session,
        approvals,
        sandbox,
        shell: true,
        plan: PlanMode::Off,
        mcp_servers: Vec::new(),
        start_timeout: None,
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
    let answer_format = AnswerFormat::Command { lasting: true };
    let check = |sandbox: Sandbox, expected: Value, line: &str| {
        let (_, answer, said) = auto_answer(
            &settings(Approvals::Never, sandbox),
            &command(),
            &answer_format,
        )
        .expect("settled");
        assert_eq!((answer, said.as_str()), (expected, line));
    };
    let line = "did not allow the agent to run: rm⏎^[[2Jx";
    check(Sandbox::ReadOnly, json!({"decision": "decline"}), line);
    check(
        Sandbox::WorkspaceWrite,
        json!({"decision": "decline"}),
        line,
    );
    check(
        Sandbox::FullAccess,
        json!({"decision": "accept"}),
        "allowed the agent to run: rm⏎^[[2Jx",
    );
    let asked = settings(Approvals::Ask, Sandbox::FullAccess);
    assert_eq!(auto_answer(&asked, &command(), &answer_format), None);
    let form = Subject::Form {
        server: String::new(),
        message: String::new(),
        fields: Vec::new(),
    };
    let never = settings(Approvals::Never, Sandbox::ReadOnly);
    assert_eq!(
        auto_answer(&never, &form, &AnswerFormat::Input),
        None,
        "not theirs to settle"
    );
}

#[test]
fn a_form_asked_again_says_why_once() {
    let form = Form::parse(&json!({"properties": {}})).expect("a form");
    let own = "Who?\n\nTell us.";
    let mut question = AgentQuestion::with_default_options(
        "0",
        Subject::Form {
            server: "s".into(),
            message: own.into(),
            fields: Vec::new(),
        },
    );
    let answer_format = AnswerFormat::Form(form, own.into());
    for (why, id) in [("age: x", "0+"), ("age: y", "0++")] {
        ask_again(&mut question, &answer_format, why);
        assert_eq!(question.id, id);
        let expected = format!("{why}\n\n{own}");
        assert!(matches!(&question.subject, Subject::Form { message, .. } if *message == expected));
    }
}
