//! The turn as tables of events: events in, expected effects out.

mod ends;
mod questions;
mod record;

use serde_json::json;

use super::*;
use crate::Reply;
use crate::agent::{
    Activity, ActivityKind, AgentFailure, Change, CommandRun, FailureKind, FileChange, PlanStep,
    Subject, TurnId, WorkStatus,
};
use crate::dialog::{DENIED, display_form};
use crate::events::SessionEvent;

const TURN: TurnId = TurnId(1);

fn text(delta: &str) -> TurnEvent {
    TurnEvent::Agent(AgentEvent::Text {
        turn: TURN,
        message: 1,
        delta: delta.into(),
    })
}

fn call(id: &str) -> TurnEvent {
    let call = ToolCall {
        id: id.into(),
        name: "f".into(),
        arguments: json!({"x": 1}),
    };
    TurnEvent::Agent(AgentEvent::ToolCalled { turn: TURN, call })
}

fn finished() -> TurnEvent {
    TurnEvent::Agent(AgentEvent::Finished {
        turn: TURN,
        interrupted: false,
        thread: Some("T".into()),
        point: None,
    })
}

fn returned(text: &str) -> TurnEvent {
    TurnEvent::ToolReturned(ToolReturn {
        text: text.into(),
        content: vec![InputPart::Text(text.into())],
        success: true,
        denied: false,
    })
}

fn failed() -> TurnEvent {
    let failure = AgentFailure {
        kind: FailureKind::Died,
        message: "gone".into(),
        hints: Vec::new(),
    };
    TurnEvent::Agent(AgentEvent::Failed {
        turn: TURN,
        failure,
    })
}

fn turn() -> Turn {
    Turn {
        id: Some(TURN),
        ..Turn::default()
    }
}

/// A word for each effect and for the end.
fn words(step: TurnStep) -> Vec<String> {
    let end = step.end.as_deref().map(ended);
    step.effects.iter().map(word).chain(end).collect()
}

fn word(effect: &Effect) -> String {
    match effect {
        Effect::Emit(_, SessionEvent::Answer(event)) => match event {
            AnswerEvent::Text { delta, .. } => format!("show {delta}"),
            AnswerEvent::ToolStarted { call } => format!("begin {call}"),
            AnswerEvent::ToolRan { line, .. } => format!("ran {line}"),
            AnswerEvent::Denied { id, what } => format!("denied {id}: {what:?}"),
            AnswerEvent::Picture(url) => format!("picture {url}"),
            AnswerEvent::Restarted { .. } => "restart".into(),
            AnswerEvent::Steered { text, taken } => format!("steered {text} {taken}"),
            _ => "show".into(),
        },
        Effect::Raise(Event::ToolCalled(call)) => format!("call {}", call.id),
        Effect::Raise(Event::Ask(_, ApprovalRequester::Agent { question, .. })) => {
            format!("ask {question}")
        }
        Effect::Raise(Event::ToolInterrupted) => "interrupt tool".into(),
        Effect::ReplyToAgent(
            TURN,
            AgentReply::ToolResult { call: id, .. } | AgentReply::Answer { question: id, .. },
        ) => format!("reply {id}"),
        Effect::ReplyToAgent(TURN, AgentReply::Steer(text)) => format!("steer {text}"),
        Effect::CancelTurn(TURN) => "cancel".into(),
        _ => "other".into(),
    }
}

fn ended(end: &TurnEnd) -> String {
    match &end.outcome {
        TurnOutcome::Complete => format!("complete [{}] {}", end.stored, end.thread.is_some()),
        TurnOutcome::Interrupted => {
            format!("interrupted [{}] {}", end.stored, end.thread.is_some())
        }
        TurnOutcome::Failed(_) => format!("failed {}", end.thread.is_some()),
    }
}

fn check(events: Vec<TurnEvent>, expected: &[&str]) {
    let mut turn = turn();
    let got: Vec<String> = events
        .into_iter()
        .flat_map(|event| words(turn.on(event)))
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn an_answer_is_shown_and_kept() {
    check(
        vec![text("Hel"), text("lo"), finished()],
        &["show Hel", "show lo", "complete [Hello] true"],
    );
}

#[test]
fn more_input_stands_in_the_answer_where_the_agent_has_taken_it() {
    let steer = |text: &str| TurnEvent::Steer(text.into());
    let steered = |taken| TurnEvent::Agent(AgentEvent::Steered { turn: TURN, taken });
    let mut turn = turn();
    let mut said = Vec::new();
    for event in [
        text("Hel"),
        steer("use b"),
        steer("and c"),
        steered(true),
        steered(false),
        steered(true),
        TurnEvent::Agent(AgentEvent::Text {
            turn: TURN,
            message: 2,
            delta: "lo".into(),
        }),
    ] {
        said.extend(words(turn.on(event)));
    }
    let sent = |text: &str| format!("steer <user-request>{text}</user-request>");
    let expected = [
        "show Hel".to_owned(),
        sent("use b"),
        sent("and c"),
        "steered use b true".into(),
        "steered and c false".into(),
        "show lo".into(),
    ];
    assert_eq!(said, expected);
    let stored = turn.stored();
    let (before, after) = stored
        .split_once("the user: use b</code>")
        .expect("its place");
    assert!(before.starts_with("Hel\n"), "{stored}");
    assert!(
        after.ends_with("lo") && !stored.contains("and c"),
        "{stored}"
    );
    // A turn that is over takes nothing, and says nothing: the front-end still has the line.
    turn.on(finished());
    assert!(words(turn.on(steer("late"))).is_empty());
    // One that the agent has not begun cannot take any.
    let mut fresh = Turn::default();
    assert_eq!(words(fresh.on(steer("early"))), ["steered early false"]);
}

#[test]
fn nothing_comes_after_the_end() {
    check(
        vec![finished(), text("late"), finished(), failed()],
        &["complete [] true"],
    );
}

#[test]
fn a_restarted_text_replaces_what_was_cut() {
    let restart = TurnEvent::Agent(AgentEvent::TextRestarted {
        turn: TURN,
        message: 1,
    });
    check(
        vec![text("Hel"), restart, text("Hello"), finished()],
        &["show Hel", "restart", "show Hello", "complete [Hello] true"],
    );
}

#[test]
fn pictures_of_a_tool_are_shown_unless_they_stand_there() {
    let picture = || {
        TurnEvent::ToolReturned(ToolReturn {
            text: "[image/png]".into(),
            content: vec![InputPart::Image("data:p".into())],
            success: true,
            denied: false,
        })
    };
    check(
        vec![call("a"), picture()],
        &[
            "begin f(x=1)",
            "call a",
            "ran f(x=1) => [image/png]",
            "picture data:p",
            "reply a",
        ],
    );
    let cells = ToolCall {
        id: "b".into(),
        name: "run_cells".into(),
        arguments: json!({}),
    };
    let call = TurnEvent::Agent(AgentEvent::ToolCalled {
        turn: TURN,
        call: cells,
    });
    check(
        vec![call, picture()],
        &[
            "begin run_cells()",
            "call b",
            "ran run_cells() => [image/png]",
            "reply b",
        ],
    );
}

#[test]
fn tools_run_one_at_a_time_in_order() {
    check(
        vec![call("a"), call("b"), returned("1"), returned("2")],
        &[
            "begin f(x=1)",
            "call a",
            "ran f(x=1) => 1",
            "reply a",
            "begin f(x=1)",
            "call b",
            "ran f(x=1) => 2",
            "reply b",
        ],
    );
}

#[test]
fn what_was_denied_is_kept_and_said_once() {
    let denied = |id: &str, told: bool| {
        let command = CommandRun {
            id: id.into(),
            command: "rm x".into(),
            cwd: "/w".into(),
            output: "the user's reason: keep it".into(),
            exit_code: None,
            status: DENIED.into(),
        };
        TurnEvent::Agent(AgentEvent::CommandDenied {
            turn: TURN,
            command,
            user_knows: told,
        })
    };
    let no = TurnEvent::ToolReturned(ToolReturn::denied(
        "no cell was run",
        &Reply::NoBecause("not now".into()),
    ));
    let mut turn = turn();
    let events = [denied("a", true), denied("b", false), call("1"), no];
    let got: Vec<String> = events
        .into_iter()
        .flat_map(|event| words(turn.on(event)))
        .collect();
    assert_eq!(
        got,
        [
            "denied a: None",
            "denied b: Some(\"rm x\")",
            "begin f(x=1)",
            "call 1",
            "denied : None",
            "reply 1"
        ]
    );
    assert_eq!(
        display_form(&turn.stored()),
        "✗ not allowed: rm x => the user's reason: keep it\n\n\
         ✗ not allowed: rm x => the user's reason: keep it\n\n\
         🔧 f(x=1) => Error: no cell was run. The user's reason: not now\n"
    );
}

#[test]
fn a_plan_and_work_of_the_agents_own_are_kept_as_they_stood_last() {
    let plan = |status| {
        let step = PlanStep {
            text: "look".into(),
            status,
        };
        TurnEvent::Agent(AgentEvent::PlanUpdated {
            turn: TURN,
            steps: vec![step],
        })
    };
    let work = |kind, status| {
        TurnEvent::Agent(AgentEvent::ActivityUpdated {
            turn: TURN,
            activity: Activity {
                id: "w".into(),
                kind,
                title: "w.now()".into(),
                status,
                content: vec![InputPart::Text("rain".into())],
                denied: false,
                locations: Vec::new(),
            },
        })
    };
    let changed = TurnEvent::Agent(AgentEvent::FilesChanged {
        turn: TURN,
        changes: vec![FileChange {
            path: "a.py".into(),
            change: Change::Added("x".into()),
        }],
    });
    let mut turn = turn();
    let before = turn.received_bytes();
    for event in [
        plan(WorkStatus::Running),
        work(ActivityKind::Mcp, WorkStatus::Running),
        work(ActivityKind::Mcp, WorkStatus::Done),
        work(ActivityKind::Read, WorkStatus::Done),
        work(ActivityKind::Read, WorkStatus::Failed),
        changed,
        plan(WorkStatus::Done),
    ] {
        turn.on(event);
    }
    assert!(turn.received_bytes() > before, "it is saved");
    assert_eq!(
        display_form(&turn.stored()),
        "- ☑ look\n\n\n🔧 w.now() => rain\n\n🔧 w.now()\n\n✗ w.now() => rain\n\n🔧 add a.py\n"
    );
}
