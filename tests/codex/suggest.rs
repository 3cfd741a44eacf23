//! Completions by the real app-server: asked beside a turn, stopped, told of failures; and by the whole program.

use std::time::Duration;

use ipycodex::agent::{AgentEvent, FailureKind, SuggestReply, SuggestRequest};
use serde_json::Value;
use tokio::sync::oneshot::Receiver;

use super::app_server::{Real, real, running, tool_names};
use super::harness::{Harness, plan};
use super::program::{leave, program};
use crate::support::await_true;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation};

fn wanted(real: &Real, prefix: &str) -> SuggestRequest {
    SuggestRequest {
        instructions: "Complete the text.".into(),
        input: format!("<prefix>{prefix}</prefix>"),
        model: None,
        cwd: real.work(),
    }
}

fn told(told: Receiver<SuggestReply>) -> SuggestReply {
    let wait = async { tokio::time::timeout(Duration::from_secs(60), told).await };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime
        .block_on(wait)
        .expect("in time")
        .expect("an agent that lives")
}

/// True for a request of a completion.
fn is_completion(request: &Value) -> bool {
    conversation(request)
        .iter()
        .any(|line| line.contains("<prefix>"))
}

#[test]
fn the_last_message_is_the_completion_whatever_comes_with_it() {
    for model in ["gpt-5.5", "gpt-6.1-sol"] {
        let reply = Reply::Stream(vec![
            Event::Reasoning(vec!["**Thinking** about it".into()]),
            Event::Message(vec!["Let me ".into(), "see.".into()], Some("commentary")),
            Event::Message(vec!["al ".into(), "+ 1".into()], Some("final_answer")),
            Event::Completed([100, 0, 10, 2]),
        ]);
        let Some(real) = real(model, Endpoint::script(vec![reply.clone(), reply])) else {
            return;
        };
        let mut harness = real.harness();
        let first = harness.agent.suggest(wanted(&real, "tot"));
        assert_eq!(told(first), Ok("al + 1".into()));
        let mut other = wanted(&real, "x");
        other.model = Some("gpt-5.5".into());
        let second = harness.agent.suggest(other);
        assert_eq!(told(second), Ok("al + 1".into()));
        let requests = real.endpoint.requests();
        assert_eq!(conversation(&requests[0]), ["user: <prefix>tot</prefix>"]);
        assert_eq!(conversation(&requests[1]), ["user: <prefix>x</prefix>"]);
        assert_eq!(requests[0]["model"], model);
        assert_eq!(requests[1]["model"], "gpt-5.5");
        assert_eq!(requests[0]["reasoning"]["effort"], "low");
        let text = requests[0].to_string();
        assert!(text.contains("Complete the text."), "{text}");
        for tool in tool_names(&requests[1]) {
            assert!(
                ["request_user_input", "apply_patch"].contains(&tool.as_str()),
                "{tool}"
            );
        }
    }
}

#[test]
fn a_turn_that_runs_goes_on_and_its_thread_knows_nothing() {
    let endpoint = Endpoint::answering(|_, request| match is_completion(request) {
        true => Reply::text("al"),
        false if conversation(request).len() == 1 => Reply::Stream(vec![
            Event::Begun(vec!["begun".into()]),
            Event::Hold,
            Event::Message(vec!["done".into()], None),
            Event::Completed([1, 0, 1, 0]),
        ]),
        false => Reply::text("second"),
    });
    let Some(real) = real("gpt-5.5", endpoint) else {
        return;
    };
    let mut harness = real.harness();
    let turn = harness.agent.start(real.request("first?"));
    while !matches!(harness.next(), AgentEvent::Text { .. }) {}
    for _ in 0..3 {
        let suggested = harness.agent.suggest(wanted(&real, "tot"));
        assert_eq!(told(suggested), Ok("al".into()));
    }
    real.endpoint.release();
    let first = harness.finish(turn, |_, _, _| {});
    let mut request = real.request("second?");
    request.thread = Some(first.thread());
    assert_eq!(harness.run(request).text(), "second");
    let last = real.endpoint.requests().pop().unwrap();
    assert!(!is_completion(&last), "{:?}", conversation(&last));
    let kept = real.home().join("sessions");
    let rollouts = walk(&kept);
    assert_eq!(rollouts.len(), 1, "one thread is kept: {rollouts:?}");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn one_that_nobody_waits_for_is_stopped_and_others_go_on() {
    let endpoint = Endpoint::answering(|index, _| match index {
        0 => Reply::Stream(vec![Event::Begun(vec!["al".into()]), Event::Hold]),
        _ => Reply::text("one"),
    });
    let Some(real) = real("gpt-5.5", endpoint) else {
        return;
    };
    let mut harness = real.harness();
    let dropped = harness.agent.suggest(wanted(&real, "tot"));
    real.endpoint.wait_for(1);
    drop(dropped);
    await_true("the connection of the first is given up", || {
        real.endpoint.abandoned() == 1
    });
    // Dropped at every stage on the way.
    for _ in 0..5 {
        drop(harness.agent.suggest(wanted(&real, "x")));
    }
    let suggested = harness.agent.suggest(wanted(&real, "y"));
    assert_eq!(told(suggested), Ok("one".into()));
    assert_eq!(harness.run(real.request("and a turn?")).text(), "one");
    real.endpoint.release();
}

#[test]
fn what_a_model_tries_to_do_is_not_done_and_fails_nothing() {
    let Some(real) = real("gpt-5.5", running("touch made")) else {
        return;
    };
    let mut harness = real.harness();
    let suggested = told(harness.agent.suggest(wanted(&real, "tot")));
    assert_eq!(suggested, Ok("ran".into()));
    assert!(!real.work().join("made").exists());
}

#[test]
fn failures_are_told_to_whoever_asked_alone() {
    let reply = |_: usize, request: &Value| match is_completion(request) {
        true => Reply::status(400, "bad", "no such thing"),
        false => Reply::text("fine"),
    };
    let Some(real) = real("gpt-5.5", Endpoint::answering(reply)) else {
        return;
    };
    let mut harness = real.harness();
    let failure = told(harness.agent.suggest(wanted(&real, "tot"))).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Upstream);
    assert_eq!(harness.run(real.request("a turn?")).text(), "fine");

    let missing = ipycodex::agent::connect::AgentKind::Codex {
        command: vec!["/nowhere/codex".into()],
    };
    let mut harness = Harness::new(plan(missing, &real.home(), &real.work()));
    let failure = told(harness.agent.suggest(wanted(&real, "tot"))).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Missing);
}

#[test]
fn the_program_suggests_and_records_nothing_of_it() {
    let endpoint = Endpoint::answering(|_, request| {
        if is_completion(request) {
            Reply::text("```python\nx = total + 1\n```")
        } else {
            Reply::text("an answer")
        }
    });
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let pty = program.repl();
    pty.send_line("total = 1");
    pty.wait_for("In [2]:");
    pty.send("x = tot");
    pty.wait_for("In [2]: x = tot");
    pty.send("\x1b.");
    pty.wait_for("In [2]: x = total + 1");
    pty.send("\x1b[C\r");
    pty.wait_for("In [3]:");
    pty.send_line("x");
    pty.wait_for("Out[3]: 2");
    pty.wait_for("In [4]:");
    pty.send_line(".what is x?");
    pty.wait_for("an answer");
    pty.wait_for("In [5]:");
    leave(&pty);
    assert_eq!(program.answers(), ["an answer"]);
    let requests = program.endpoint.requests();
    let input = conversation(&requests[0]).join("\n");
    assert!(
        input.contains(
            "<context><code>total = 1</code></context>\n<current-input>\n<prefix>x = tot</prefix>\n\
                        </current-input>\n"
        ),
        "{input}"
    );
    let prompt = requests.last().unwrap().to_string();
    assert!(!prompt.contains("current-input"), "{prompt}");
}
