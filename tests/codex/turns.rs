//! The real app-server and its threads: going on, seeding, resuming, one thread a prompt.

use ipycodex::agent::Threads;

use super::bench::exchange;
use super::real::{real, tool_names};
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation};

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
    let mut bench = real.bench();
    bench.agent.warm_up();
    let told = bench.run(real.request("first?"));
    assert_eq!(told.text(), "looking\nhello", "{told:?}");
    assert_eq!(
        told.thoughts.into_values().collect::<Vec<_>>(),
        ["think", "more"]
    );
    assert_eq!(told.sent, 1);
    assert!(told.progress.is_empty(), "{:?}", told.progress);
    let usage = told.usage.expect("counts");
    assert_eq!(
        (usage.input, usage.cached, usage.output, usage.reasoning),
        (100, 40, 10, 2)
    );
    let Some(Ok((false, Some(thread)))) = told.end else {
        panic!("{:?}", told.end);
    };

    let mut second = real.request("second?");
    second.thread = Some(thread.clone());
    second.history = vec![exchange("first?", "hello")];
    let told = bench.run(second);
    assert_eq!(told.thread(), thread);
    let usage = told.usage.expect("counts");
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
    let mut bench = real.bench();
    let mut asked = real.request("third?");
    asked.history = vec![exchange("first?", "a"), exchange("second?", "b")];
    asked.thread = Some("0199a213-81c0-7800-8aa1-bbab2a035a53".into());
    let told = bench.run(asked);
    assert_eq!(told.text(), "c");
    assert_ne!(told.thread(), "0199a213-81c0-7800-8aa1-bbab2a035a53");
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
    let thread = real.bench().run(real.request("first?")).thread();
    let mut second = real.request("second?");
    second.thread = Some(thread.clone());
    second.history = vec![exchange("first?", "something else")];
    assert_eq!(real.bench().run(second).thread(), thread);
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
    let mut bench = real.bench();
    for number in 0..2 {
        let mut asked = real.request("now <b>?");
        asked.settings.threads = Threads::Ephemeral;
        asked.history = vec![exchange("a<b", "c")];
        let told = bench.run(asked);
        assert!(matches!(told.end, Some(Ok((false, None)))), "{told:?}");
        assert_eq!(
            conversation(&real.endpoint.requests()[number]),
            [
                "user: <conversation-history><turn><user>a<b</user><assistant>c</assistant></turn></conversation-histor\
                 y>\nnow <b>?"
            ]
        );
    }
}
