//! What is kept of a turn: the stored answer, how it grows, its texts, the tokens.

use super::*;
use crate::agent::FileWritten;

fn agent(event: AgentEvent) -> TurnEvent {
    TurnEvent::Agent(event)
}

fn command(output: &str) -> CommandRun {
    CommandRun {
        id: "c".into(),
        command: "ls".into(),
        cwd: "/w".into(),
        output: output.into(),
        exit_code: Some(0),
        status: "completed".into(),
    }
}

fn work(title: &str, result: &str) -> TurnEvent {
    agent(AgentEvent::ActivityUpdated {
        turn: TURN,
        activity: Activity {
            id: "w".into(),
            kind: ActivityKind::Mcp,
            title: title.into(),
            status: WorkStatus::Done,
            content: vec![InputPart::Text(result.into())],
            denied: false,
            locations: Vec::new(),
        },
    })
}

fn usage(input: u64) -> Usage {
    Usage {
        input,
        ..Usage::default()
    }
}

#[test]
fn whatever_is_stored_grows_by_its_size_so_that_it_is_saved() {
    let change = || FileChange {
        path: "a.py".into(),
        change: Change::Added("x".into()),
    };
    let steps = || {
        vec![PlanStep {
            text: "look".into(),
            status: WorkStatus::Done,
        }]
    };
    let written = FileWritten {
        change: change(),
        bytes: 1,
    };
    let lines = written.summary().len();
    let ended = |output: &str| AgentEvent::CommandEnded {
        turn: TURN,
        command: command(output),
        title: String::new(),
    };
    let denied = |output: &str| AgentEvent::CommandDenied {
        turn: TURN,
        command: command(output),
        user_knows: true,
    };
    for (events, bytes) in [
        (vec![text("Hel"), text("lo")], 5),
        (
            ["why", "?"]
                .map(|delta| {
                    agent(AgentEvent::Thought {
                        turn: TURN,
                        part: 1,
                        delta: delta.into(),
                    })
                })
                .into(),
            4,
        ),
        (vec![agent(ended("")), agent(ended("abc"))], 5),
        (vec![agent(denied("")), agent(denied("why"))], 5),
        (
            vec![
                agent(AgentEvent::PlanUpdated {
                    turn: TURN,
                    steps: steps(),
                });
                2
            ],
            2,
        ),
        (
            vec![work("w.now()", ""), work("w.now()", "longer than it")],
            28,
        ),
        (
            vec![agent(AgentEvent::FilesChanged {
                turn: TURN,
                changes: vec![change()],
            })],
            "add a.py".len(),
        ),
        (
            vec![agent(AgentEvent::Notice {
                turn: TURN,
                notice: AgentNotice::FileWritten(written.clone()),
            })],
            lines,
        ),
        (vec![call("a"), returned(""), call("b"), returned("abc")], 5),
    ] {
        let mut turn = turn();
        let case = format!("{events:?}");
        for event in events {
            turn.on(event);
        }
        assert!(!turn.stored().is_empty(), "{case}");
        assert_eq!(turn.received_bytes(), bytes, "{case}");
    }
}

#[test]
fn what_is_only_shown_is_not_stored() {
    for event in [
        AgentEvent::Progress {
            turn: TURN,
            message: "again".into(),
        },
        AgentEvent::CommandOutput {
            turn: TURN,
            id: "c".into(),
            delta: "x".into(),
        },
        AgentEvent::Notice {
            turn: TURN,
            notice: AgentNotice::TerminalStarted("ls".into()),
        },
    ] {
        let mut turn = turn();
        turn.on(agent(event));
        assert_eq!((turn.stored().as_str(), turn.received_bytes()), ("", 0));
    }
}

#[test]
fn the_end_has_the_texts_and_the_tokens_of_the_turn_and_of_what_ran_beside_it() {
    let used = |input| {
        agent(AgentEvent::Usage {
            turn: TURN,
            usage: usage(input),
        })
    };
    let another = agent(AgentEvent::Text {
        turn: TURN,
        message: 2,
        delta: "two".into(),
    });
    let beside = |input| TurnEvent::UsedBeside(usage(input));
    for (events, tokens) in [
        (vec![], None),
        (vec![used(1), used(3)], Some(3)),
        (vec![beside(10), beside(20)], Some(30)),
        (vec![beside(10), used(3), beside(20)], Some(33)),
    ] {
        let mut turn = turn();
        for event in
            events
                .into_iter()
                .chain([text("one"), call("a"), returned("r"), another.clone()])
        {
            assert!(turn.on(event).end.is_none());
        }
        let end = turn.on(finished()).end.expect("the end");
        assert_eq!(end.texts, ["one", "two"]);
        assert_eq!(end.usage.map(|usage| usage.input), tokens);
        assert_eq!(end.thread.map(|end| end.thread).as_deref(), Some("T"));
    }
}

#[test]
fn the_start_of_an_agent_is_shown_until_the_prompt_is_sent() {
    let starting = agent(AgentEvent::Starting {
        turn: TURN,
        agent: "codex".into(),
        limit: None,
    });
    let sent = || agent(AgentEvent::Sent { turn: TURN });
    let mut turn = turn();
    let shown = |step: TurnStep| -> Vec<bool> {
        let starts = step.effects.iter().map(|effect| match effect {
            Effect::Emit(_, SessionEvent::Answer(AnswerEvent::AgentStarts(line))) => line.is_some(),
            other => panic!("{}", word(other)),
        });
        starts.collect()
    };
    assert_eq!(shown(turn.on(sent())), [false; 0]);
    assert_eq!(shown(turn.on(starting)), [true]);
    assert_eq!(words(turn.on(text("a"))), ["show a"]);
    assert_eq!(shown(turn.on(sent())), [false]);
    assert_eq!(shown(turn.on(sent())), [false; 0], "once");
}

#[test]
fn without_an_id_nothing_is_told_to_the_agent() {
    let mut turn = Turn::default();
    let mut all = words(turn.on(call("a")));
    all.extend(words(turn.on(returned("1"))));
    assert_eq!(all, ["begin f(x=1)", "call a", "ran f(x=1) => 1"]);
    assert_eq!(words(turn.on(TurnEvent::Started(TURN))), [""; 0]);
    assert_eq!(words(turn.on(call("b"))), ["begin f(x=1)", "call b"]);
    assert_eq!(words(turn.on(returned("2")))[1], "reply b");
    let mut turn = Turn::default();
    let stopped = words(turn.on(TurnEvent::Interrupted));
    assert_eq!(stopped, ["interrupted [] false"]);
}
