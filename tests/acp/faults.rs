//! Agents that are missing, silent, of another version, noisy, or that die: each ends the turn with a reason, and the
//! next prompt works where the agent does.

use std::time::Duration;

use ipycodex::agent::connect::AgentKind;
use ipycodex::agent::connect::Program;
use ipycodex::agent::{AgentEvent, FailureKind};

use super::harness::{request, run_prompt, scripted};
use crate::codex::harness::{self, Harness, folder};

#[test]
fn a_program_that_is_not_there_is_named() {
    let folder = folder();
    let kind = AgentKind::Acp(Program {
        name: "gone".into(),
        command: vec!["/nowhere/agent".into()],
        ..Program::default()
    });
    let mut harness = Harness::new(harness::plan(kind, folder.path(), folder.path()));
    let events = harness.run(request("x", folder.path()));
    let failure = events.failure();
    assert_eq!(failure.kind, FailureKind::Missing);
    assert_eq!(
        failure.message,
        "the agent `gone` is not installed: `/nowhere/agent` was not found"
    );
}

#[test]
fn what_is_wrong_with_the_greeting_or_the_session_is_said() {
    for (fault, expected) in [
        ("silent", "`fake` did not answer `initialize` within 1 s"),
        (
            "another version",
            "`fake` speaks version 2 of the Agent Client Protocol; ipycodex speaks version 1",
        ),
        (
            "nonsense session",
            "the answer of `fake` to `session/new` was not understood",
        ),
    ] {
        let folder = folder();
        let mut plan = scripted(fault, folder.path());
        if fault == "silent" {
            plan.timeouts.initialize = Duration::from_secs(1);
        }
        let mut harness = Harness::new(plan);
        let events = harness.run(request("x", folder.path()));
        assert_eq!(events.failure().message, expected);
    }
}

#[test]
fn a_start_that_takes_its_time_is_told_and_may_take_what_the_turn_allows() {
    let folder = folder();
    let mut plan = scripted("starts when told", folder.path());
    plan.timeouts.initialize = Duration::from_millis(1);
    let mut harness = Harness::new(plan);
    let mut asked = request("hello", folder.path());
    asked.settings.start_timeout = Some(Duration::from_secs(600));
    // Stopped while it starts, the process goes on with that.
    let stopped = harness.agent.start(asked.clone());
    let events = harness.finish(stopped, |agent, turn, event| {
        if let AgentEvent::Starting {
            agent: name, limit, ..
        } = event
        {
            assert_eq!(
                (name.as_str(), *limit),
                ("fake", asked.settings.start_timeout)
            );
            agent.cancel(turn);
        }
    });
    assert!(events.interrupted(), "{events:?}");
    let turn = harness.agent.start(asked.clone());
    let events = harness.finish(turn, |_, _, event| {
        if matches!(event, AgentEvent::Starting { .. }) {
            std::fs::write(folder.path().join("start"), "").unwrap();
        }
    });
    assert_eq!(events.text(), "hello ", "{events:?}");
    assert_eq!(events.sent, 1);
}

#[test]
fn one_that_fails_at_its_start_says_why() {
    let folder = folder();
    let mut harness = Harness::new(scripted("no key", folder.path()));
    let events = harness.run(request("x", folder.path()));
    let message = &events.failure().message;
    assert!(
        message.ends_with("(exit status: 1): Error: no key: set KEY"),
        "{message}"
    );
}

#[test]
fn one_that_nobody_is_logged_in_to_names_its_ways_and_takes_one() {
    let folder = folder();
    let mut harness = Harness::new(scripted("login", folder.path()));
    let events = harness.run(request("hello", folder.path()));
    let failure = events.failure();
    assert_eq!(failure.kind, FailureKind::LoggedOut);
    assert_eq!(failure.hints, ["log in with `%ipycodex login key` (A key)"]);
    let done = harness.agent.log_in("key").blocking_recv().unwrap();
    assert_eq!(done, Ok(()));
    assert_eq!(
        harness.run(request("hello", folder.path())).text(),
        "hello "
    );
}

#[test]
fn noise_big_lines_and_invented_ids_do_not_disturb_a_turn() {
    let events = run_prompt("noise invented fine");
    assert_eq!(events.text(), "-32601fine ");
    let events = super::harness::run_prompt("big");
    assert_eq!(events.text().len(), 100_000_000);
    let folder = folder();
    let mut harness = Harness::new(scripted("stdout logs", folder.path()));
    assert_eq!(
        harness.run(request("hello", folder.path())).text(),
        "hello "
    );
}

#[test]
fn one_that_dies_fails_its_turn_and_is_started_again() {
    let folder = folder();
    let mut harness = Harness::new(scripted("", folder.path()));
    for words in ["die", "die-asking"] {
        let events = harness.run(request(words, folder.path()));
        let failure = events.failure();
        assert_eq!(failure.kind, FailureKind::Died, "{failure:?}");
        assert_eq!(
            harness.run(request("hello", folder.path())).text(),
            "hello "
        );
    }
    let events = harness.run(request("die", folder.path()));
    assert!(
        events.failure().message.ends_with("Traceback: why"),
        "{events:?}"
    );
}

#[test]
fn one_that_reports_an_error_has_failed_the_turn_only() {
    let folder = folder();
    let mut harness = Harness::new(scripted("", folder.path()));
    let events = harness.run(request("fail", folder.path()));
    assert_eq!(
        events.failure().message,
        "`fake` refused `session/prompt`: Internal error (the model is away)"
    );
    assert_eq!(
        harness.run(request("hello", folder.path())).text(),
        "hello "
    );
}

#[test]
fn one_that_does_not_hear_a_cancel_is_ended() {
    let folder = folder();
    let mut plan = scripted("", folder.path());
    plan.timeouts.cancel = Duration::from_millis(300);
    let mut harness = Harness::new(plan);
    let turn = harness.agent.start(request("deaf", folder.path()));
    let events = harness.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::Text { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(events.interrupted(), "{events:?}");
    assert_eq!(
        harness.run(request("hello", folder.path())).text(),
        "hello "
    );
}
