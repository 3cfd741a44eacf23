//! The offline agent behind the same client, as a child process.

use std::path::Path;

use ipycodex::agent::connect::AgentKind;
use ipycodex::agent::{
    AgentEvent, AgentReply, Approvals, Decision, QuestionAnswer, Subject, ThreadMode, WorkStatus,
};

use super::harness::{Harness, exchange, folder, plan, request};

/// Serves when it is run as the child of a test below, and is nothing otherwise.
#[test]
fn served() {
    if std::env::var_os("IPYCODEX_TEST_SERVES_DEMO").is_some() {
        let input = std::io::BufReader::new(std::io::stdin());
        ipycodex::agent::demo::serve(input, std::io::stdout()).unwrap();
    }
}

/// The agent through a program that serves it, whatever its arguments.
fn demo(folder: &Path) -> Harness {
    let program = folder.join("demo");
    let own = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\nIPYCODEX_TEST_SERVES_DEMO=1 exec '{}' --exact codex::demo::served --nocapture\n",
        own.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    Harness::new(plan(AgentKind::Demo { program }, folder, folder))
}

const INPUT: &str = "<context><code>1/0</code><output>Traceback (most recent call last):\n\
                     ZeroDivisionError: division by zero</output></context>\n\
                     <user-request>why? ask &`weather`</user-request>";

#[test]
fn it_answers_from_the_context_and_calls_the_tool_that_is_named() {
    let folder = folder();
    let mut harness = demo(folder.path());
    let events = harness.run(request(INPUT, folder.path()));
    let text = events.text();
    for part in [
        "no AI",
        "> why? ask",
        "- 1 cell since the last prompt",
        "0 prompts before",
        "`ZeroDivisionError: division by zero`",
        "The tool `weather` says: done weather {\"city\":\"demo\"}",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        events.thoughts.values().cloned().collect::<Vec<_>>(),
        ["The context holds 1 cell. 1 tool is named."]
    );
    assert!(events.usage.is_some_and(|usage| usage.output > 0));

    let mut second = request("again", folder.path());
    second.thread = Some(events.thread());
    let again = harness.run(second);
    assert_eq!(again.thread(), events.thread());
    assert!(again.text().contains("- 1 prompt before this one"));
}

#[test]
fn it_plans_and_works_when_it_is_told_to() {
    let folder = folder();
    let events = demo(folder.path()).run(request("make a plan", folder.path()));
    let steps: Vec<_> = events
        .plans
        .iter()
        .map(|plan| plan.iter().map(|step| step.status).collect::<Vec<_>>())
        .collect();
    use WorkStatus::{Done, Running, Waiting};
    assert_eq!(
        steps,
        [
            vec![Running, Waiting],
            vec![Done, Running],
            vec![Done, Done]
        ]
    );
    let [begun, done] = &events.work[..] else {
        panic!("one call, twice: {:?}", events.work);
    };
    assert_eq!(begun.status, Running);
    assert_eq!(
        done.summary_line().as_deref(),
        Some("🔧 weather.now(city='Oslo') => rain")
    );
}

#[test]
fn it_asks_when_it_is_told_to() {
    let decided = QuestionAnswer::from_decision;
    let because = QuestionAnswer::RejectedWithReason("not here".into());
    for (approvals, answer, questions, said) in [
        (
            Approvals::Ask,
            decided(Decision::AllowOnce),
            1,
            "the answer was `accept`",
        ),
        (
            Approvals::Ask,
            decided(Decision::RejectOnce),
            1,
            "the answer was `decline`",
        ),
        (
            Approvals::Ask,
            because,
            1,
            "You told me: I did not allow the command `echo hello`. My reason: not here",
        ),
        (Approvals::Ask, decided(Decision::Stop), 1, ""),
        (
            Approvals::Never,
            decided(Decision::RejectOnce),
            0,
            "the answer was `accept`",
        ),
    ] {
        let folder = folder();
        let mut harness = demo(folder.path());
        let mut asked = request("approve", folder.path());
        asked.settings.approvals = approvals;
        let turn = harness.agent.start(asked);
        let events = harness.finish(turn, |agent, turn, event| {
            if let AgentEvent::QuestionAsked { question, .. } = event {
                assert!(matches!(&question.subject, Subject::Command { command, .. } if command == "echo hello"));
                let (question, answer) = (question.id.clone(), answer.clone());
                agent.reply(turn, AgentReply::Answer { question, answer });
            }
        });
        assert_eq!(events.questions.len(), questions);
        assert_eq!(events.interrupted(), answer == decided(Decision::Stop));
        assert!(events.text().contains(said), "{events:?}");
    }
}

#[test]
fn it_forgets_with_its_process_and_is_seeded_again() {
    let folder = folder();
    let thread = demo(folder.path())
        .run(request("one", folder.path()))
        .thread();
    for threads in [ThreadMode::Session, ThreadMode::Ephemeral] {
        let mut asked = request("three", folder.path());
        asked.thread = Some(thread.clone());
        asked.settings.threads = threads;
        asked.history = vec![exchange("one", "a"), exchange("two", "b")];
        let events = demo(folder.path()).run(asked);
        assert!(
            events.text().contains("- 2 prompts before this one"),
            "{events:?}"
        );
    }
}

#[test]
fn it_is_the_same_each_time_and_can_be_interrupted() {
    let folder = folder();
    let mut harness = demo(folder.path());
    let once = harness.run(request("hello", folder.path())).text();
    assert_eq!(harness.run(request("hello", folder.path())).text(), once);
    let turn = harness.agent.start(request("slowly", folder.path()));
    let events = harness.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::Text { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(events.interrupted(), "{events:?}");
    assert!(events.text().len() < once.len());
    assert_eq!(harness.run(request("hello", folder.path())).text(), once);
}

#[test]
fn dropping_it_in_mid_answer_does_not_hang() {
    let folder = folder();
    let mut harness = demo(folder.path());
    let turn = harness.agent.start(request("slowly", folder.path()));
    while !matches!(harness.next(), AgentEvent::Text { turn: of, .. } if of == turn) {}
}
