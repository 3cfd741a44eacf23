//! The real app-server when the model's service fails, stammers or floods, or nobody is logged in.

use ipycodex::agent::connect::AgentKind;
use ipycodex::agent::{AgentEvent, FailureKind};

use super::app_server::real;
use super::harness::{Harness, folder, plan, request};
use crate::support::peers;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation};

#[test]
fn a_retried_stream_starts_its_text_again() {
    for cut in [
        Vec::new(),
        vec![Event::Raw(
            "event: response.output_text.delta\ndata: {\"ty".into(),
        )],
    ] {
        let mut events = vec![Event::Begun(vec!["hal".into()])];
        events.extend(cut);
        let Some(real) = real(
            "gpt-5.5",
            Endpoint::script(vec![Reply::Stream(events), Reply::text("whole")]),
        ) else {
            return;
        };
        let events = real.harness().run(real.request("first?"));
        assert_eq!(events.text(), "whole", "{events:?}");
        assert_eq!(events.restarted, [0]);
        assert!(!events.progress.is_empty(), "a retry is said");
    }
}

#[test]
fn failures_of_the_service_are_one_line_with_a_remedy() {
    for (reply, kind, expected, hint) in [
        (
            Reply::status(401, "invalid_api_key", "bad key"),
            FailureKind::LoggedOut,
            "login",
            "codex login",
        ),
        (
            Reply::status(429, "rate_limit", "slow down"),
            FailureKind::Upstream,
            "429",
            "again",
        ),
        (
            Reply::status(429, "insufficient_quota", "no money"),
            FailureKind::Upstream,
            "usage limit",
            "reset",
        ),
        (
            Reply::status(500, "server_error", "oops"),
            FailureKind::Upstream,
            "problem",
            "again",
        ),
        (
            Reply::status(400, "invalid", "a bad request"),
            FailureKind::Upstream,
            "a bad request",
            "",
        ),
        (
            Reply::status(404, "model_not_found", "no such model"),
            FailureKind::Upstream,
            "model is not available",
            "%ipycodex model",
        ),
        (
            Reply::Stream(vec![Event::Failed("context_length_exceeded", "too long")]),
            FailureKind::Upstream,
            "too long for the model",
            "%ipycodex reset",
        ),
        (
            Reply::Stream(vec![Event::Begun(vec!["par".into()])]),
            FailureKind::Upstream,
            "stream disconnected",
            "",
        ),
    ] {
        let fallback = reply.clone();
        let endpoint = Endpoint::answering(move |_, request| {
            if conversation(request)
                .iter()
                .any(|it| it.contains("second?"))
            {
                Reply::text("fine")
            } else {
                reply.clone()
            }
        });
        let Some(real) = real("gpt-5.5", endpoint) else {
            return;
        };
        let mut harness = real.harness();
        let events = harness.run(real.request("first?"));
        let failure = events.failure();
        assert_eq!(failure.kind, kind, "{fallback:?}: {failure:?}");
        assert!(
            failure.message.contains(expected),
            "{fallback:?}: {failure:?}"
        );
        assert!(!failure.message.contains('\n') && !failure.message.contains("{\""));
        assert!(failure.hints.join("\n").contains(hint), "{failure:?}");
        assert_eq!(harness.run(real.request("second?")).text(), "fine");
    }
}

#[test]
fn nobody_logged_in_is_said_at_once() {
    let folder = folder();
    let Some(program) = peers::codex() else {
        return;
    };
    let kind = AgentKind::Codex {
        command: vec![program.display().to_string()],
    };
    let mut harness = Harness::new(plan(kind, folder.path(), folder.path()));
    harness.agent.warm_up();
    for _ in 0..2 {
        let events = harness.run(request("hello?", folder.path()));
        assert_eq!(events.failure().kind, FailureKind::LoggedOut);
        assert_eq!(
            events.failure().hints,
            [
                "log in with `codex login`",
                "or try without Codex: `--agent demo`, in the shell `%ipycodex agent demo`"
            ]
        );
        assert_eq!(events.sent, 0);
    }
}

#[test]
fn big_answers_and_many_deltas_arrive_whole() {
    let big = "x".repeat(1_000_000);
    let many: Vec<String> = (0..20_000).map(|n| format!("{} ", n % 10)).collect();
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![
            Reply::deltas(&[&big]),
            Reply::Stream(vec![
                Event::Message(many.clone(), None),
                Event::Completed([1, 0, 1, 0]),
            ]),
        ]),
    ) else {
        return;
    };
    let mut harness = real.harness();
    assert_eq!(harness.run(real.request("big?")).text(), big);
    assert_eq!(harness.run(real.request("many?")).text(), many.concat());
}

#[test]
fn a_prompt_too_long_for_codex_is_said() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("fine")])) else {
        return;
    };
    let mut harness = real.harness();
    let events = harness.run(real.request(&"x".repeat(1_100_000)));
    assert_eq!(events.failure().kind, FailureKind::Refused);
    assert!(
        events.failure().message.contains("1100000 characters"),
        "{events:?}"
    );
    assert_eq!(harness.run(real.request("short")).text(), "fine");
}

#[test]
fn a_network_that_is_down_is_said_and_can_be_left() {
    let Some(real) = real("gpt-5.5", Endpoint::script(Vec::new())) else {
        return;
    };
    // Nobody listens on port 1.
    let config = real.home().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text.replace(&format!(":{}/", real.endpoint.port()), ":1/");
    std::fs::write(&config, text).unwrap();
    let mut harness = real.harness();
    let turn = harness.agent.start(real.request("first?"));
    let events = harness.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::Progress { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(events.interrupted(), "{events:?}");
    assert!(events.progress[0].contains("Reconnecting"), "{events:?}");
}
