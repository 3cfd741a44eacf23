//! How a turn ends: an interrupt, a lost agent, an agent that stops.

use super::*;

#[test]
fn an_interrupt_ends_the_turn_at_once_and_keeps_the_part() {
    check(
        vec![text("Hel"), TurnEvent::Interrupted, text("lo"), finished()],
        &[
            "show Hel",
            "cancel",
            "interrupted [Hel\n<system>user interrupted</system>] false",
        ],
    );
}

#[test]
fn an_interrupt_before_the_first_word_keeps_nothing() {
    check(
        vec![TurnEvent::Interrupted, TurnEvent::Interrupted],
        &["cancel", "interrupted [] false"],
    );
}

#[test]
fn an_interrupt_stops_the_running_tool_and_its_return_is_dropped() {
    let mut turn = turn();
    let mut words: Vec<String> = Vec::new();
    for event in [call("a"), call("b"), TurnEvent::Interrupted, returned("1")] {
        words.extend(super::words(turn.on(event)));
    }
    assert_eq!(
        words[..4],
        ["begin f(x=1)", "call a", "cancel", "interrupt tool"]
    );
    assert_eq!(words.len(), 5, "{words:?}");
    assert!(words[4].starts_with("interrupted"), "{words:?}");
}

#[test]
fn a_lost_agent_fails_the_turn_and_stops_its_tool() {
    check(
        vec![call("a"), failed()],
        &["begin f(x=1)", "call a", "interrupt tool", "failed false"],
    );
    check(vec![text("Hel"), failed()], &["show Hel", "failed false"]);
}

#[test]
fn an_agent_that_stops_by_itself_leaves_no_thread() {
    let stopped = TurnEvent::Agent(AgentEvent::Finished {
        turn: TURN,
        interrupted: true,
        thread: Some("T".into()),
        point: None,
    });
    check(
        vec![text("a"), stopped],
        &[
            "show a",
            "interrupted [a\n<system>user interrupted</system>] false",
        ],
    );
}

#[test]
fn a_return_nobody_waits_for_is_ignored() {
    check(vec![returned("1"), finished()], &["complete [] true"]);
}
