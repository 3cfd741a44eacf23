//! Thirty and more faults of an agent: bounded time, a clear message, and the next turn works.
//!
//! The limits on time are the test runner's; nothing here measures.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ipycodex::agent::connect::{AgentConfig, AgentKind};
use ipycodex::agent::{AgentEvent, FailureKind};

use super::harness::{Harness, TurnEvents, folder, plan, request};
use crate::support::await_true;

pub(crate) fn python() -> String {
    ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|path| Path::new(path).exists())
        .unwrap_or("python3")
        .to_owned()
}

pub(super) fn faulty(fault: &str, folder: &Path) -> AgentConfig {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/agent.py");
    let kind = AgentKind::Codex {
        command: vec![python(), script.display().to_string(), fault.to_owned()],
    };
    let mut plan = plan(kind, folder, folder);
    if fault.contains("silent") || fault.contains("deaf") {
        // Two agents have to start in the first: the one that is silent, and the next that is not.
        plan.timeouts.initialize = Duration::from_secs(4);
        let short = Duration::from_secs(1);
        plan.timeouts.request = short;
        plan.timeouts.cancel = short;
        plan.timeouts.end = short;
    }
    plan
}

/// Plays `fault`, shows the turn to `inspect`, and asserts that the next turn works.
fn check(fault: &str, inspect: impl FnOnce(&TurnEvents)) {
    let folder = folder();
    let mut harness = Harness::new(faulty(fault, folder.path()));
    let events = harness.run(request("first?", folder.path()));
    explained(fault, &events, inspect);
    let next = harness.run(request("second?", folder.path()));
    assert_eq!(next.text(), "fine", "{fault}: {next:?}");
}

fn explained(fault: &str, events: &TurnEvents, inspect: impl FnOnce(&TurnEvents)) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| inspect(events)));
    if let Err(panic) = outcome {
        let mut shown = format!("{events:?}");
        shown.truncate(shown.floor_char_boundary(2000));
        panic!(
            "{fault}: {panic:?}: {shown}",
            panic = panic.downcast_ref::<String>()
        );
    }
}

#[test]
fn a_dead_agent_fails_the_turn() {
    for (fault, partial, words) in [
        (
            "exit before hello",
            "",
            "exit status: 3): cannot find my home",
        ),
        ("help text and exit", "", "printed 2 lines"),
        ("exit at initialize", "", "exit status: 0"),
        ("exit at account/read", "", "exit status: 0"),
        ("exit at thread/start", "", "exit status: 0"),
        ("exit at turn/start", "", "exit status: 0"),
        ("exit mid word", "par", "exit status: 0"),
        ("exit mid tool", "", "exit status: 4"),
        ("killed mid word", "par", "signal: 9"),
        ("stdout closed", "par", "signal: 15"),
    ] {
        check(fault, |events| {
            assert_eq!(events.failure().kind, FailureKind::Died);
            assert_eq!(events.text(), partial);
            let message = &events.failure().message;
            assert!(message.contains(words), "{message}");
            assert!(!message.contains(['\n', '\u{1b}']), "{message}");
            assert_eq!(events.failure().hints, ["the next prompt starts it again"]);
        });
    }
}

#[test]
fn a_silent_agent_fails_the_turn() {
    for (fault, method, seconds) in [
        ("deaf", "initialize", 4),
        ("silent initialize", "initialize", 4),
        ("silent account/read", "account/read", 1),
        ("silent thread/start", "thread/start", 1),
        ("silent turn/start", "turn/start", 1),
    ] {
        check(fault, |events| {
            assert_eq!(events.failure().kind, FailureKind::Silent);
            let expected = format!("`codex` did not answer `{method}` within {seconds} s");
            assert_eq!(events.failure().message, expected);
        });
    }
}

#[test]
fn a_cancel_ends_the_turn_of_an_agent_that_does_not_hear() {
    let folder = folder();
    let mut harness = Harness::new(faulty("deaf to interrupt", folder.path()));
    let turn = harness.agent.start(request("first?", folder.path()));
    let events = harness.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::Text { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(events.interrupted(), "{events:?}");
    assert_eq!(events.text(), "par");
    assert_eq!(
        harness.run(request("second?", folder.path())).text(),
        "fine"
    );
}

#[test]
fn nonsense_does_not_disturb_a_turn() {
    for fault in [
        "junk lines",
        "partial line then pause",
        "byte by byte",
        "duplicate response",
        "unknown request",
        "request without params",
        "request of another turn",
        "unknown notifications",
        "wrong types",
        "null fields",
        "NUL bytes",
        "CRLF",
        "deep nesting",
        "other turns end",
        "not streamed",
        "items never end",
        "stderr flood",
        "end without id",
        "end before the answer",
        "null result of account/read",
        "error of account/read",
        "null result of initialize",
    ] {
        check(fault, |events| {
            assert_eq!(events.text(), "fine");
            assert!(!events.thread().is_empty());
        });
    }
}

#[test]
fn bad_text_is_replaced() {
    check("invalid UTF-8", |events| {
        assert_eq!(events.text(), "fi\u{fffd}\u{fffd}ne");
    });
    check("lone surrogate", |events| {
        assert_eq!(events.text(), "fi\u{fffd}ne");
    });
}

#[test]
fn much_text_arrives_whole() {
    check("64 MB line", |events| {
        assert!(events.text() == "x".repeat(64 * 1024 * 1024));
    });
    check("100,000 deltas", |events| {
        assert!(events.text() == "ab ".repeat(100_000));
    });
}

#[test]
fn a_retry_is_progress_and_voids_what_was_cut() {
    check("retry is progress", |events| {
        assert_eq!(events.text(), "fine");
        assert_eq!(events.progress, ["Reconnecting... 1/5"]);
    });
    check("restarted text", |events| {
        assert_eq!(events.text(), "fine");
        assert_eq!(events.restarted, [0]);
    });
}

#[test]
fn a_request_under_an_id_in_use_is_not_called() {
    check("duplicate request", |events| {
        assert_eq!(events.calls.len(), 1);
        assert_eq!(events.text(), "done weather {}");
    });
}

#[test]
fn an_agent_that_answers_nonsense_fails_the_turn() {
    for (fault, kind, words) in [
        (
            "error of initialize",
            FailureKind::Refused,
            "refused `initialize`: \"no\"",
        ),
        (
            "null result of thread/start",
            FailureKind::Refused,
            "`thread/start` was not understood",
        ),
        (
            "number for id of thread/start",
            FailureKind::Refused,
            "`thread/start` was not understood",
        ),
        (
            "error of thread/start",
            FailureKind::Refused,
            "refused `thread/start`",
        ),
        (
            "null result of turn/start",
            FailureKind::Refused,
            "`turn/start` was not understood",
        ),
        (
            "number for id of turn/start",
            FailureKind::Refused,
            "`turn/start` was not understood",
        ),
        (
            "error of turn/start",
            FailureKind::Refused,
            "refused `turn/start`",
        ),
        (
            "failed without reason",
            FailureKind::Upstream,
            "no reason was given",
        ),
        (
            "unknown status",
            FailureKind::Upstream,
            "no reason was given",
        ),
        ("error info of another shape", FailureKind::Upstream, "a b"),
    ] {
        check(fault, |events| {
            assert_eq!(events.failure().kind, kind);
            assert!(
                events.failure().message.contains(words),
                "{}",
                events.failure().message
            );
        });
    }
}

#[test]
fn a_missing_agent_is_told_with_the_commands_that_mend_it() {
    let folder = folder();
    for command in [
        vec!["no-such-codex".to_owned()],
        vec!["/nonexistent/codex".into()],
    ] {
        let mut harness = Harness::new(plan(
            AgentKind::Codex { command },
            folder.path(),
            folder.path(),
        ));
        harness.agent.warm_up();
        for _ in 0..2 {
            let events = harness.run(request("first?", folder.path()));
            assert_eq!(events.failure().kind, FailureKind::Missing);
            let hints = events.failure().hints.join("\n");
            for part in [
                "npm install -g @openai/codex",
                "codex login",
                "--agent demo",
            ] {
                assert!(hints.contains(part), "{hints}");
            }
        }
    }
}

#[test]
fn dropping_the_agent_ends_a_process_that_does_not_want_to() {
    let folder = folder();
    let script = folder.path().join("stubborn");
    let text = "#!/bin/sh\ntrap '' TERM\n(trap '' TERM; sleep 1000) &\necho $$ $! > pids.new\nmv pids.new pids\n\
                sleep 1000\n";
    std::fs::write(&script, text).unwrap();
    let kind = AgentKind::Codex {
        command: vec!["/bin/sh".into(), script.display().to_string()],
    };
    let mut plan = plan(kind, folder.path(), folder.path());
    plan.timeouts.end = Duration::from_millis(100);
    let mut harness = Harness::new(plan);
    harness.agent.warm_up();
    let pids = folder.path().join("pids");
    await_true("the agent has started", || pids.exists());
    drop(harness);
    for pid in std::fs::read_to_string(pids).unwrap().split_whitespace() {
        let stat = PathBuf::from("/proc").join(pid).join("stat");
        // Killed: reaped already, or a zombie that its new parent has yet to reap.
        await_true("it is killed", || {
            !std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "))
        });
    }
}

#[test]
fn dropping_an_agent_that_nobody_listens_to_does_not_hang() {
    let folder = folder();
    let mut harness = Harness::new(faulty("100,000 deltas", folder.path()));
    harness.agent.start(request("first?", folder.path()));
    while !matches!(harness.next(), AgentEvent::Text { .. }) {}
    // The receiver outlives the agent, full.
    let Harness { agent, .. } = harness;
    drop(agent);
}
