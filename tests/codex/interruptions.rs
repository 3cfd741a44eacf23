//! The real app-server when something ends before its time: tool calls, turns, threads, processes.

use ipycodex::agent::{AgentEvent, AgentReply, FailureKind, InputPart, WebSearchUse};
use serde_json::json;

use super::app_server::{real, running, tool_names};
use super::harness::exchange;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation};

#[test]
fn a_cancel_while_a_tool_runs_voids_its_result() {
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![
            Reply::calls(&[
                ("c1", "weather", json!({"city": "Oslo"})),
                ("c2", "weather", json!({"city": "Rome"})),
            ]),
            Reply::text("fine"),
        ]),
    ) else {
        return;
    };
    let mut harness = real.harness();
    let turn = harness.agent.start(real.request("first?"));
    // The app-server asks for both at once; which comes first is its own affair.
    let mut open = Vec::new();
    while open.len() < 2 {
        if let AgentEvent::ToolCalled { call, .. } = harness.next() {
            open.push(call.id);
        }
    }
    harness.agent.cancel(turn);
    // The session's Python was interrupted and answers all the same, once too often even.
    for _ in 0..2 {
        harness.agent.reply(
            turn,
            AgentReply::ToolResult {
                call: open[0].clone(),
                success: false,
                content: vec![InputPart::Text("interrupted".into())],
            },
        );
    }
    let events = harness.finish(turn, |_, _, _| {});
    assert!(events.interrupted(), "{events:?}");
    assert!(events.calls.is_empty(), "no call after a cancel");
    assert_eq!(harness.run(real.request("second?")).text(), "fine");
}

#[test]
fn a_cancel_of_a_turn_that_is_over_does_nothing() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("a"); 2])) else {
        return;
    };
    let mut harness = real.harness();
    let turn = harness.agent.start(real.request("first?"));
    harness.finish(turn, |_, _, _| {});
    harness.agent.cancel(turn);
    assert_eq!(harness.run(real.request("second?")).text(), "a");
}

#[test]
fn a_thread_with_a_failed_prompt_in_it_is_not_gone_on_with() {
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::answering(|index, _| match index {
            1 => Reply::status(400, "invalid", "a bad request"),
            _ => Reply::text("fine"),
        }),
    ) else {
        return;
    };
    let mut harness = real.harness();
    let thread = harness.run(real.request("first?")).thread();
    let go_on = |text: &str| {
        let mut request = real.request(text);
        request.thread = Some(thread.clone());
        request.history = vec![exchange("first?", "fine")];
        request
    };
    let failed = harness.run(go_on("second?"));
    assert_eq!(failed.failure().kind, FailureKind::Upstream);
    let events = harness.run(go_on("third?"));
    assert_ne!(events.thread(), thread);
    assert_eq!(
        conversation(&real.endpoint.requests()[2]),
        ["user: first?", "assistant: fine", "user: third?"]
    );
}

#[test]
fn searching_is_a_property_of_the_thread() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("a"); 3])) else {
        return;
    };
    let mut harness = real.harness();
    let thread = harness.run(real.request("first?")).thread();
    let mut second = real.request("second?");
    second.settings.search = WebSearchUse::High;
    second.thread = Some(thread.clone());
    second.history = vec![exchange("first?", "a")];
    assert_ne!(harness.run(second).thread(), thread);
    let requests = real.endpoint.requests();
    assert_eq!(
        conversation(&requests[1]),
        ["user: first?", "assistant: a", "user: second?"]
    );
    let search = |index: usize| {
        requests[index]["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|tool| tool["type"] == "web_search")
            .cloned()
    };
    assert_eq!(search(0), None, "{:?}", tool_names(&requests[0]));
    let tool = search(1).expect("the tool");
    assert_eq!(tool["search_context_size"], "high", "{tool}");
    assert_eq!(tool["external_web_access"], true, "{tool}");
}

#[test]
fn an_app_server_killed_in_a_turn_is_said_and_started_again() {
    let Some(real) = real("gpt-5.5", running("kill -9 $PPID")) else {
        return;
    };
    let mut harness = real.harness();
    let events = harness.run(real.request("first?"));
    assert_eq!(events.failure().kind, FailureKind::Died, "{events:?}");
    assert!(events.failure().message.contains("signal: 9"), "{events:?}");
    assert_eq!(harness.run(real.request("second?")).text(), "ran");
}

#[test]
fn dropping_the_agent_in_mid_answer_ends_its_process() {
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![Reply::Stream(vec![
            Event::Begun(vec!["par".into()]),
            Event::Hold,
        ])]),
    ) else {
        return;
    };
    let mut harness = real.harness();
    let turn = harness.agent.start(real.request("first?"));
    while !matches!(harness.next(), AgentEvent::Text { turn: of, .. } if of == turn) {}
    drop(harness);
    // Whoever still ran with this home would show it.
    let home = real.home().display().to_string();
    let alive = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("environ")).ok())
        .filter(|variables| {
            String::from_utf8_lossy(variables).contains(&format!("CODEX_HOME={home}"))
        })
        .count();
    assert_eq!(alive, 0);
    real.endpoint.release();
}

#[test]
fn an_answer_can_be_made_to_fit_a_schema() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("{}"); 2])) else {
        return;
    };
    let mut harness = real.harness();
    let mut asked = real.request("first?");
    asked.schema = Some(json!({"type": "object", "properties": {}, "additionalProperties": false}));
    let thread = harness.run(asked).thread();
    let mut second = real.request("second?");
    second.thread = Some(thread);
    harness.run(second);
    let requests = real.endpoint.requests();
    assert_eq!(requests[0]["text"]["format"]["type"], "json_schema");
    assert!(requests[1]["text"]["format"].is_null(), "that turn only");
}
