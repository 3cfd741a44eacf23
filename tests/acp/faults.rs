//! Agents that are missing, silent, of another version, noisy, or that die: each ends the turn with a reason, and the
//! next prompt works where the agent does.

use std::time::Duration;

use ipycodex::agent::acp::Program;
use ipycodex::agent::connect::AgentKind;
use ipycodex::agent::{AgentEvent, FailureKind};

use super::bench::{request, scripted, told};
use crate::codex::bench::{self, Bench, folder};

#[test]
fn a_program_that_is_not_there_is_named() {
    let folder = folder();
    let kind = AgentKind::Acp(Program {
        name: "gone".into(),
        command: vec!["/nowhere/agent".into()],
        ..Program::default()
    });
    let mut bench = Bench::new(bench::plan(kind, folder.path(), folder.path()));
    let told = bench.run(request("x", folder.path()));
    let failure = told.failure();
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
            plan.patience.initialize = Duration::from_secs(1);
        }
        let mut bench = Bench::new(plan);
        let told = bench.run(request("x", folder.path()));
        assert_eq!(told.failure().message, expected);
    }
}

#[test]
fn a_start_that_takes_its_time_is_told_and_may_take_what_the_turn_allows() {
    let folder = folder();
    let mut plan = scripted("starts when told", folder.path());
    plan.patience.initialize = Duration::from_millis(1);
    let mut bench = Bench::new(plan);
    let mut asked = request("hello", folder.path());
    asked.settings.start = Some(Duration::from_secs(600));
    // Stopped while it starts, the process goes on with that.
    let stopped = bench.agent.start(asked.clone());
    let told = bench.finish(stopped, |agent, turn, event| {
        if let AgentEvent::Starting {
            agent: name, limit, ..
        } = event
        {
            assert_eq!((name.as_str(), *limit), ("fake", asked.settings.start));
            agent.cancel(turn);
        }
    });
    assert!(told.interrupted(), "{told:?}");
    let turn = bench.agent.start(asked.clone());
    let told = bench.finish(turn, |_, _, event| {
        if matches!(event, AgentEvent::Starting { .. }) {
            std::fs::write(folder.path().join("start"), "").unwrap();
        }
    });
    assert_eq!(told.text(), "hello ", "{told:?}");
    assert_eq!(told.sent, 1);
}

#[test]
fn one_that_fails_at_its_start_says_why() {
    let folder = folder();
    let mut bench = Bench::new(scripted("no key", folder.path()));
    let told = bench.run(request("x", folder.path()));
    let message = &told.failure().message;
    assert!(
        message.ends_with("(exit status: 1): Error: no key: set KEY"),
        "{message}"
    );
}

#[test]
fn one_that_nobody_is_logged_in_to_names_its_ways_and_takes_one() {
    let folder = folder();
    let mut bench = Bench::new(scripted("login", folder.path()));
    let told = bench.run(request("hello", folder.path()));
    let failure = told.failure();
    assert_eq!(failure.kind, FailureKind::LoggedOut);
    assert_eq!(failure.hints, ["log in with `%ipycodex login key` (A key)"]);
    let done = bench.agent.log_in("key").blocking_recv().unwrap();
    assert_eq!(done, Ok(()));
    assert_eq!(bench.run(request("hello", folder.path())).text(), "hello ");
}

#[test]
fn noise_big_lines_and_invented_ids_do_not_disturb_a_turn() {
    let told = told("noise invented fine");
    assert_eq!(told.text(), "-32601fine ");
    let told = super::bench::told("big");
    assert_eq!(told.text().len(), 100_000_000);
    let folder = folder();
    let mut bench = Bench::new(scripted("stdout logs", folder.path()));
    assert_eq!(bench.run(request("hello", folder.path())).text(), "hello ");
}

#[test]
fn one_that_dies_fails_its_turn_and_is_started_again() {
    let folder = folder();
    let mut bench = Bench::new(scripted("", folder.path()));
    for words in ["die", "die-asking"] {
        let told = bench.run(request(words, folder.path()));
        let failure = told.failure();
        assert_eq!(failure.kind, FailureKind::Died, "{failure:?}");
        assert_eq!(bench.run(request("hello", folder.path())).text(), "hello ");
    }
    let told = bench.run(request("die", folder.path()));
    assert!(
        told.failure().message.ends_with("Traceback: why"),
        "{told:?}"
    );
}

#[test]
fn one_that_reports_an_error_has_failed_the_turn_only() {
    let folder = folder();
    let mut bench = Bench::new(scripted("", folder.path()));
    let told = bench.run(request("fail", folder.path()));
    assert_eq!(
        told.failure().message,
        "`fake` refused `session/prompt`: Internal error (the model is away)"
    );
    assert_eq!(bench.run(request("hello", folder.path())).text(), "hello ");
}

#[test]
fn one_that_does_not_hear_a_cancel_is_ended() {
    let folder = folder();
    let mut plan = scripted("", folder.path());
    plan.patience.cancel = Duration::from_millis(300);
    let mut bench = Bench::new(plan);
    let turn = bench.agent.start(request("deaf", folder.path()));
    let told = bench.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::Text { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(told.interrupted(), "{told:?}");
    assert_eq!(bench.run(request("hello", folder.path())).text(), "hello ");
}
