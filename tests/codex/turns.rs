//! The real app-server and its threads: going on, seeding, resuming, one thread a prompt.

use ipycodex::agent::{ThreadMode, ThreadPoint};
use serde_json::{Value, json};

use super::app_server::{real, tool_names};
use super::harness::exchange;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation, tool_outputs};

#[test]
fn a_turn_streams_and_the_next_goes_on_in_its_thread() {
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![
            Reply::Stream(vec![
                Event::Reasoning(vec!["think".into(), "more".into()]),
                Event::Message(vec!["look".into(), "ing".into()], Some("commentary")),
                Event::Message(vec!["he".into(), "llo".into()], Some("final_answer")),
                Event::Completed([100, 40, 10, 2]),
            ]),
            Reply::text("again"),
        ]),
    ) else {
        return;
    };
    let mut harness = real.harness();
    harness.agent.warm_up();
    let events = harness.run(real.request("first?"));
    assert_eq!(events.text(), "looking\nhello", "{events:?}");
    assert_eq!(
        events.thoughts.into_values().collect::<Vec<_>>(),
        ["think", "more"]
    );
    assert_eq!(events.sent, 1);
    assert!(events.progress.is_empty(), "{:?}", events.progress);
    let usage = events.usage.expect("counts");
    assert_eq!(
        (usage.input, usage.cached, usage.output, usage.reasoning),
        (100, 40, 10, 2)
    );
    let Some(Ok((false, Some(thread)))) = events.end else {
        panic!("{:?}", events.end);
    };

    let mut second = real.request("second?");
    second.thread = Some(thread.clone());
    second.history = vec![exchange("first?", "hello")];
    let events = harness.run(second);
    assert_eq!(events.thread(), thread);
    let usage = events.usage.expect("counts");
    assert_eq!(usage.input, 100, "of this turn alone");
    let requests = real.endpoint.requests();
    assert_eq!(
        conversation(&requests[1]),
        [
            "user: first?",
            "assistant: looking",
            "assistant: hello",
            "user: second?"
        ]
    );
    assert_eq!(
        requests[0]["prompt_cache_key"],
        requests[1]["prompt_cache_key"]
    );
}

#[test]
fn a_conversation_is_seeded_and_seen_in_order() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("c")])) else {
        return;
    };
    let mut harness = real.harness();
    let mut asked = real.request("third?");
    asked.history = vec![exchange("first?", "a"), exchange("second?", "b")];
    asked.thread = Some("0199a213-81c0-7800-8aa1-bbab2a035a53".into());
    let events = harness.run(asked);
    assert_eq!(events.text(), "c");
    assert_ne!(events.thread(), "0199a213-81c0-7800-8aa1-bbab2a035a53");
    let request = &real.endpoint.requests()[0];
    assert_eq!(
        conversation(request),
        [
            "user: first?",
            "assistant: a",
            "user: second?",
            "assistant: b",
            "user: third?"
        ]
    );
    assert!(request.to_string().contains("Be brief."));
    assert!(!request.to_string().contains("web_search"), "{request:#}");
    assert_eq!(request["reasoning"]["effort"], "low");
    assert_eq!(request["reasoning"]["summary"], "detailed");
}

#[test]
fn a_thread_is_resumed_by_another_process() {
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![Reply::text("a"), Reply::text("b")]),
    ) else {
        return;
    };
    let thread = real.harness().run(real.request("first?")).thread();
    let mut second = real.request("second?");
    second.thread = Some(thread.clone());
    second.history = vec![exchange("first?", "something else")];
    assert_eq!(real.harness().run(second).thread(), thread);
    let requests = real.endpoint.requests();
    assert_eq!(
        conversation(&requests[1]),
        ["user: first?", "assistant: a", "user: second?"],
        "from the thread, not seeded"
    );
    let names = tool_names(&requests[1]);
    assert!(names.contains(&"weather".into()), "{names:?}");
}

#[test]
fn an_ephemeral_thread_gets_the_conversation_in_one_text() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("c"); 2])) else {
        return;
    };
    let mut harness = real.harness();
    for number in 0..2 {
        let mut asked = real.request("now <b>?");
        asked.settings.threads = ThreadMode::Ephemeral;
        asked.history = vec![exchange("a<b", "c")];
        let events = harness.run(asked);
        assert!(matches!(events.end, Some(Ok((false, None)))), "{events:?}");
        assert_eq!(
            conversation(&real.endpoint.requests()[number]),
            [
                "user: <conversation-history><turn><user>a<b</user><assistant>c</assistant></turn></conversation-histor\
                 y>\nnow <b>?"
            ]
        );
    }
}

/// All that the model sees before the last item. The ids of items are left out: that of Codex's own instructions is
/// made of the thread's.
pub(super) fn prefix(request: &Value) -> (Vec<Value>, [&Value; 2]) {
    let items = request["input"].as_array().expect("items");
    let mut items = items[..items.len() - 1].to_vec();
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        item.remove("id");
    }
    let rest = ["instructions", "tools"].map(|name| &request[name]);
    (items, rest)
}

#[test]
fn a_fork_after_a_turn_has_the_prefix_of_its_thread() {
    for other_process in [false, true] {
        // The call is part of the thread, and would not be of one that is seeded.
        let call = Reply::calls(&[("c1", "weather", json!({"city": "Oslo"}))]);
        let replies = [
            vec![call],
            ["a", "b", "c", "d", "e"].map(Reply::text).to_vec(),
        ];
        let replies = replies.concat();
        let Some(real) = real("gpt-5.5", Endpoint::script(replies)) else {
            return;
        };
        let mut harness = real.harness();
        let (mut history, mut known): (Vec<_>, Vec<ThreadPoint>) = Default::default();
        for (text, answer) in [("first?", "a"), ("second?", "b"), ("third?", "c")] {
            let mut asked = real.request(text);
            asked.history = history.clone();
            asked.thread = known.last().map(|end| end.thread.clone());
            let events = harness.run(asked);
            let (thread, point) = (events.thread(), events.point);
            known.push(ThreadPoint { thread, point });
            history.push(exchange(text, answer));
        }
        if other_process {
            harness = real.harness();
        }
        let mut asked = real.request("other?");
        asked.history = history[..1].to_vec();
        asked.fork = Some(known[0].clone());
        let events = harness.run(asked);
        assert_eq!(events.text(), "d");
        let fork = events.thread();
        assert_ne!(fork, known[0].thread);
        let requests = real.endpoint.requests();
        assert_eq!(prefix(&requests[4]), prefix(&requests[2]));
        assert_eq!(tool_outputs(&requests[4]).len(), 1);
        assert_eq!(
            conversation(&requests[4]),
            ["user: first?", "assistant: a", "user: other?"]
        );
        // The thread that was forked goes on as it was.
        let mut asked = real.request("fourth?");
        asked.history = history.clone();
        asked.thread = Some(known[0].thread.clone());
        harness.run(asked);
        let last = real.endpoint.requests().pop().unwrap();
        assert_eq!(conversation(&last).len(), 7, "{:?}", conversation(&last));
    }
}

#[test]
fn a_fork_that_cannot_be_is_a_new_thread_with_the_conversation() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("b"); 2])) else {
        return;
    };
    let mut harness = real.harness();
    let thread = harness.run(real.request("first?")).thread();
    for from in [
        ThreadPoint {
            thread: "0199a213-81c0-7800-8aa1-bbab2a035a53".into(),
            point: None,
        },
        ThreadPoint {
            thread,
            point: Some("no turn".into()),
        },
    ] {
        let mut asked = real.request("second?");
        asked.history = vec![exchange("before?", "a")];
        asked.fork = Some(from);
        let events = harness.run(asked);
        assert!(events.end.is_some_and(|end| end.is_ok()));
        let last = real.endpoint.requests().pop().unwrap();
        let expected = ["user: before?", "assistant: a", "user: second?"];
        assert_eq!(conversation(&last), expected);
    }
}
