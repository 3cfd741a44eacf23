//! An agent that asks in odd ways, and one that answers look-ups in odd ways: never a hang, never a grant by mistake.

use ipycodex::agent::{
    AgentEvent, AgentReply, Approvals, Decision, FailureKind, Limit, Lookup, LookupReply, Model,
    QuestionAnswer, Sandbox, Subject,
};

use super::faults::faulty;
use super::harness::{Harness, TurnEvents, folder, request};
use super::questions::decided;

/// Plays `fault` in a turn that asks; the n-th question gets the n-th answer, those beyond get none.
fn ask(fault: &str, answers: &[QuestionAnswer]) -> TurnEvents {
    let folder = folder();
    let mut harness = Harness::new(faulty(fault, folder.path()));
    let mut asked = request("first?", folder.path());
    asked.settings.approvals = Approvals::Ask;
    let turn = harness.agent.start(asked);
    let mut answers = answers.iter().cloned();
    let mut last = None;
    let events = harness.finish(turn, |agent, turn, event| {
        if let AgentEvent::QuestionAsked { question, .. } = event {
            last = Some(question.id.clone());
            if let Some(answer) = answers.next() {
                let question = question.id.clone();
                agent.reply(turn, AgentReply::Answer { question, answer });
            }
        }
    });
    if let Some(question) = last {
        let answer = QuestionAnswer::from_decision(Decision::AllowAlways);
        harness
            .agent
            .reply(turn, AgentReply::Answer { question, answer });
    }
    let next = harness.run(request("second?", folder.path()));
    assert_eq!(next.text(), "fine", "{fault}: {next:?}");
    events
}

#[test]
fn what_does_not_say_what_it_wants_is_refused_and_said() {
    let events = ask("malformed approvals", &[]);
    assert_eq!(events.text(), "fine", "{events:?}");
    assert!(events.questions.is_empty(), "{:?}", events.questions);
    assert_eq!(events.progress.len(), 14, "{:?}", events.progress);
    assert!(
        events
            .progress
            .iter()
            .all(|it| it.starts_with("a request of the agent (`"))
    );
}

#[test]
fn a_second_question_under_an_id_in_use_is_not_asked() {
    let events = ask("approvals under one id", &[decided(Decision::AllowOnce)]);
    assert_eq!(
        (events.text().as_str(), events.questions.len()),
        ("accept", 1)
    );
    assert!(
        matches!(&events.questions[0].subject, Subject::Command { command, .. } if command == "first")
    );
}

#[test]
fn questions_with_unknown_fields_are_asked() {
    let answer = QuestionAnswer::Filled(vec![("b".into(), vec!["x".into()])]);
    let events = ask("a question with unknown fields", &[answer]);
    assert_eq!(events.text(), r#"{"answers": {"b": {"answers": ["x"]}}}"#);
    let Subject::Form { fields, .. } = &events.questions[0].subject else {
        panic!("{events:?}");
    };
    assert_eq!(
        (
            fields[0].question.as_str(),
            fields[0].free_text,
            fields[1].free_text
        ),
        ("Why?", true, false)
    );
}

#[test]
fn commands_are_asked_about_whole() {
    let events = ask("a command of 1 MB", &[decided(Decision::RejectOnce)]);
    assert_eq!(events.text(), "decline");
    assert!(
        matches!(&events.questions[0].subject, Subject::Command { command, .. } if *command == "x".repeat(1_000_000))
    );
    let events = ask("bad text in a command", &[decided(Decision::RejectOnce)]);
    assert_eq!(events.text(), "decline");
    let Subject::Command { command, .. } = &events.questions[0].subject else {
        panic!("{events:?}");
    };
    assert_eq!(command, "rm \0\u{fffd}\u{202e}\u{fffd}\u{1b}[2J\n");
}

#[test]
fn questions_that_are_over_are_said_to_be_and_answered_by_nobody() {
    let folder = folder();
    let mut harness = Harness::new(faulty("a question is withdrawn", folder.path()));
    let mut asked = request("first?", folder.path());
    asked.settings.approvals = Approvals::Ask;
    let turn = harness.agent.start(asked);
    let mut open = Vec::new();
    let mut said = false;
    let events = harness.finish(turn, |agent, turn, event| {
        match event {
            AgentEvent::QuestionAsked { question, .. } => open.push(question.id.clone()),
            // It comes after the withdrawal: only then they are answered, and one answer is late.
            AgentEvent::Text { .. } => said = true,
            _ => {}
        }
        if said {
            for question in open.drain(..) {
                let answer = decided(Decision::RejectOnce);
                agent.reply(turn, AgentReply::Answer { question, answer });
            }
        }
    });
    assert_eq!(events.text(), "fine");
    assert_eq!(events.questions.len(), 3);
    assert!(
        matches!(&events.questions[1].subject, Subject::Command { command, .. } if command == "c1")
    );
    assert_eq!(events.withdrawn, [events.questions[1].id.as_str()]);
    let events = ask("the turn ends with a question open", &[]);
    assert_eq!(
        (events.text().as_str(), events.questions.len()),
        ("fine", 1)
    );
    let events = ask("an exit with a question open", &[]);
    assert_eq!(events.failure().kind, FailureKind::Died);
}

#[test]
fn an_answer_that_does_not_fit_is_asked_again() {
    let age = |age: &str| QuestionAnswer::Filled(vec![("age".into(), vec![age.into()])]);
    let events = ask(
        "an elicitation that names no turn",
        &[age("old"), age("36")],
    );
    assert_eq!(events.text(), r#"{"age": 36}"#, "{events:?}");
    let messages: Vec<_> = events
        .questions
        .iter()
        .map(|question| match &question.subject {
            Subject::Form { message, .. } => message.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(messages, ["m", "age: a whole number\n\nm"]);
    assert_ne!(events.questions[0].id, events.questions[1].id);
}

#[test]
fn approvals_that_come_though_they_are_off_grant_no_more_than_the_sandbox() {
    for (sandbox, decision, line) in [
        (
            Sandbox::ReadOnly,
            "decline",
            "did not allow the agent to run: first",
        ),
        (
            Sandbox::FullAccess,
            "accept",
            "allowed the agent to run: first",
        ),
    ] {
        let folder = folder();
        let mut harness = Harness::new(faulty("approvals under one id", folder.path()));
        let mut asked = request("first?", folder.path());
        asked.settings.sandbox = sandbox;
        let events = harness.run(asked);
        assert_eq!(events.text(), decision, "{events:?}");
        assert!(events.questions.is_empty());
        assert!(
            events.progress.contains(&line.to_owned()),
            "{:?}",
            events.progress
        );
    }
}

fn look_up(fault: &str, lookup: Lookup) -> Result<LookupReply, String> {
    let folder = folder();
    let mut harness = Harness::new(faulty(fault, folder.path()));
    let facts = harness.look_up(lookup);
    facts.map_err(|failure| format!("{:?}: {}", failure.kind, failure.message))
}

#[test]
fn models_are_read_to_the_last_page() {
    let model = |name: &str, is_default| Model {
        name: name.into(),
        description: "a b".into(),
        efforts: vec!["low".into(), "high".into()],
        default_effort: "low".into(),
        is_default,
    };
    let expected = LookupReply::Models(vec![model("m0", true), model("m2", false)]);
    assert_eq!(look_up("models on pages", Lookup::Models), Ok(expected));
    assert_eq!(
        look_up("models without end", Lookup::Models),
        Ok(LookupReply::Models(Vec::new()))
    );
}

#[test]
fn limits_are_those_of_the_account() {
    let limit = Limit {
        window: "5 h".into(),
        used_percent: 12.0,
        resets_at: Some(9),
    };
    assert_eq!(
        look_up("limits", Lookup::Limits),
        Ok(LookupReply::Limits(vec![limit]))
    );
    assert_eq!(
        look_up("none", Lookup::Limits),
        Ok(LookupReply::Limits(Vec::new())),
        "no ChatGPT login"
    );
}

#[test]
fn a_look_up_that_fails_says_why() {
    for (fault, lookup, words) in [
        (
            "none",
            Lookup::Models,
            "Refused: the answer of `codex` to `model/list` was not understood",
        ),
        (
            "null result of model/list",
            Lookup::Models,
            "Refused: the answer of `codex` to `model/list` was not understood",
        ),
        (
            "error of model/list",
            Lookup::Models,
            "Refused: `codex` refused `model/list`: \"no\"",
        ),
        (
            "exit at model/list",
            Lookup::Models,
            "Died: `codex` ended before its answer was complete (exit status: 0)",
        ),
        (
            "exit before hello",
            Lookup::Limits,
            "Died: `codex` ended before its answer was complete (exit status: 3): cannot find my home",
        ),
        (
            "silent model/list",
            Lookup::Models,
            "Silent: `codex` did not answer `model/list` within 1 s",
        ),
        (
            "silent account/rateLimits/read",
            Lookup::Limits,
            "Silent: `codex` did not answer",
        ),
        (
            "logged out",
            Lookup::Models,
            "LoggedOut: Codex is not logged in",
        ),
    ] {
        let failure = look_up(fault, lookup).expect_err(fault);
        assert!(failure.starts_with(words), "{fault}: {failure}");
    }
}

#[test]
fn a_look_up_that_gets_no_answer_leaves_the_turn_be() {
    let folder = folder();
    let mut harness = Harness::new(faulty("silent model/list", folder.path()));
    assert!(harness.look_up(Lookup::Models).is_err());
    // The same process: a second one would behave.
    let events = harness.run(request("first?", folder.path()));
    assert_eq!(events.text(), "fine");
    assert!(harness.look_up(Lookup::Models).is_err());
}
