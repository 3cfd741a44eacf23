//! What the agent asks in its turn, and the tools that wait for it.

use super::*;

fn asked(id: &str) -> TurnEvent {
    let subject = Subject::Command {
        command: "x".into(),
        cwd: "/".into(),
        reason: None,
    };
    TurnEvent::Agent(AgentEvent::QuestionAsked {
        turn: TURN,
        question: AgentQuestion::with_default_options(id, subject),
    })
}

fn answered(id: &str, kind: Decision) -> TurnEvent {
    TurnEvent::Answered {
        question: id.into(),
        answer: QuestionAnswer::from_decision(kind),
    }
}

fn withdrawn(id: &str) -> TurnEvent {
    TurnEvent::Agent(AgentEvent::RequestWithdrawn {
        turn: TURN,
        id: id.into(),
    })
}

#[test]
fn a_question_waits_for_the_tool_that_has_the_terminal_and_a_tool_for_the_question() {
    use Decision::AllowOnce;
    check(
        vec![
            call("a"),
            asked("q"),
            call("b"),
            answered("q", AllowOnce),
            returned("1"),
            answered("other", AllowOnce),
            answered("q", AllowOnce),
            answered("q", AllowOnce),
            returned("2"),
        ],
        &[
            "begin f(x=1)",
            "call a",
            "ran f(x=1) => 1",
            "reply a",
            "ask q",
            "reply q",
            "begin f(x=1)",
            "call b",
            "ran f(x=1) => 2",
            "reply b",
        ],
    );
}

#[test]
fn an_answer_that_stops_the_turn_lets_nothing_more_begin() {
    check(
        vec![
            asked("q"),
            call("a"),
            asked("r"),
            answered("q", Decision::Stop),
        ],
        &["ask q", "reply q"],
    );
}

#[test]
fn what_is_withdrawn_is_not_asked_and_not_called_any_more() {
    check(
        vec![
            asked("q"),
            asked("r"),
            call("a"),
            call("b"),
            withdrawn("r"),
            withdrawn("a"),
            withdrawn("q"),
            withdrawn("b"),
            returned("1"),
        ],
        &[
            "ask q",
            "begin f(x=1)",
            "call b",
            "ran f(x=1) => 1",
            "reply b",
        ],
    );
}
