//! The built-in tools through the whole loop, with a scripted runtime and a scripted agent: what the user sees and
//! is asked, what the agent gets back, what later prompts are sent.

mod cells;
mod kernels;

use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::{AgentEvent, AgentReply, InputPart, Subject, TurnId};
use crate::config::RunCells;
use crate::output::MODEL_CHARACTERS;
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::tests::{Stage, calls, says, stage_with, word, words};
use crate::{CellEvent, NextEvent, QuestionEvent, Run, SessionEvent};

fn auto(turns: Vec<Vec<AgentEvent>>) -> Stage {
    stage_with(turns, |parts| parts.choices.run_cells = RunCells::Auto)
}

fn asking(turns: Vec<Vec<AgentEvent>>) -> Stage {
    stage_with(turns, |_| {})
}

fn cells(codes: &[&str]) -> (&'static str, Value) {
    let cells: Vec<Value> = codes.iter().map(|code| json!({"code": code})).collect();
    ("run_cells", json!({ "cells": cells }))
}

/// Words of a run to its end, each question answered with the next reply.
pub(crate) fn answering(stage: &Stage, run: &Run, replies: &[Reply]) -> Vec<String> {
    let (mut words, mut replies) = (Vec::new(), replies.iter());
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Ended => {
                assert_eq!(replies.next(), None, "asked less often: {words:?}");
                return words;
            }
            NextEvent::Nothing => panic!("nothing for 20 s after {words:?}"),
            NextEvent::Event(event) => {
                if let SessionEvent::Question(QuestionEvent::Asked(question)) = &*event {
                    let reply = replies.next().expect("an answer").clone();
                    stage.session.answer(question.id, reply);
                }
                if !matches!(*event, SessionEvent::Cell(CellEvent::Started)) {
                    words.push(word(&event));
                }
            }
        }
    }
}

/// Reads a run until the word `stop`.
pub(crate) fn until(run: &Run, stop: &str) -> Vec<String> {
    let mut words = Vec::new();
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Event(event) => words.push(word(&event)),
            other => panic!("{other:?} after {words:?}"),
        }
        if words.last().is_some_and(|word| word == stop) {
            return words;
        }
    }
}

/// Text and success of the agent's `n`th reply.
pub(super) fn replied(stage: &Stage, n: usize) -> (String, bool) {
    match &stage.agent.replies()[n] {
        AgentReply::ToolResult {
            success, content, ..
        } => {
            let texts = content.iter().filter_map(|part| match part {
                InputPart::Text(text) => Some(text.as_str()),
                InputPart::Image(_) | InputPart::File { .. } => None,
            });
            (texts.collect(), *success)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_look_is_a_line_and_no_cell() {
    let stage = asking(vec![
        calls(&[("pyrun", json!({"code": "x"}))], "seven"),
        calls(&[("pyrun", json!({"code": "raise"}))], "oh"),
    ]);
    assert_eq!(
        stage.run(".look"),
        [
            "[1]",
            "pyrun(code='x')…",
            "pyrun(code='x') => looked 7",
            "> seven",
            "Complete"
        ]
    );
    assert_eq!(replied(&stage, 0), ("looked\n7".into(), true));
    stage.run(".again");
    assert_eq!(
        replied(&stage, 1),
        ("before\nError: ValueError: bad\nline 1".into(), false)
    );
    assert_eq!(stage.session.next_line(), 3);
}

#[test]
fn a_look_without_protection_is_asked_for() {
    let bare = ("pyrun", json!({"code": "bare"}));
    let turn = || calls(std::slice::from_ref(&bare), "ok");
    let stage = asking(vec![turn(), turn(), turn(), turn()]);
    let run = |replies: &[Reply]| answering(&stage, &stage.submit(".look"), replies);
    let seen = run(&[Reply::Chosen(QuestionChoice::Once)]);
    assert_eq!(seen[2..4], ["? 1", "pyrun(code='bare') => looked 7"]);
    run(&[Reply::Chosen(QuestionChoice::No)]);
    assert!(replied(&stage, 1).0.contains("the user said no"));
    run(&[Reply::Chosen(QuestionChoice::Session)]);
    run(&[]);
    assert_eq!(replied(&stage, 3), ("looked\n7".into(), true));

    let stage = stage_with(vec![turn()], |parts| parts.asks = false);
    assert_eq!(stage.run(".look").len(), 5);
    let (text, success) = replied(&stage, 0);
    assert!(text.contains("no Landlock") && !success, "{text}");
}

#[test]
fn wrong_arguments_are_named() {
    let check = |name: &str, arguments: Value, expected: &str| {
        let stage = auto(vec![calls(&[(name, arguments.clone())], "ok")]);
        stage.run(".go");
        assert_eq!(
            replied(&stage, 0),
            (format!("Error: {expected}"), false),
            "{arguments}"
        );
        assert_eq!(stage.session.next_line(), 2, "nothing ran");
    };
    check(
        "pyrun",
        json!({}),
        "pyrun: `code` is missing: expected Python",
    );
    check(
        "pyrun",
        json!({"code": 1}),
        "pyrun: `code`: expected Python, not 1",
    );
    check(
        "pyrun",
        json!({"code": " "}),
        "pyrun: `code` is empty: expected Python",
    );
    check(
        "pyrun",
        json!([]),
        "pyrun: `arguments`: expected an object, not a list of 0",
    );
    check(
        "pyrun",
        json!({"code": "1", "cwd": "/"}),
        "pyrun: `cwd` is not an argument; there are: code",
    );
    check(
        "run_cells",
        json!({"cells": "x"}),
        "run_cells: `cells`: expected a list of at least one cell, {code, title?, reset?, language?}, not a text",
    );
    check(
        "run_cells",
        json!({"cells": [{"code": "x"}, {"title": "t"}]}),
        "run_cells: `cells[1].code` is missing: expected Python",
    );
    check(
        "run_cells",
        json!({"cells": [{"code": "x", "reset": "yes"}]}),
        "run_cells: `cells[0].reset`: expected true or false, not a text",
    );
    check(
        "run_cells",
        json!({"cells": [{"code": "x"}], "timeout": 0.5}),
        "run_cells: `timeout`: expected a number from 1 to 600, not 0.5",
    );
    let shell =
        "is a prompt or a command of the shell, which only the user gives; cells are Python";
    for code in [".buy", "%ipycodex run_cells auto"] {
        check(
            "run_cells",
            json!({"cells": [{ "code": code }]}),
            &format!("run_cells: `cells[0].code` {shell}"),
        );
    }
    check("g", json!({}), "tool `g` is not defined");
}

#[test]
fn questions_wait_for_each_other_and_are_answered_once() {
    let subject = Subject::Command {
        command: "rm x".into(),
        cwd: "/".into(),
        reason: None,
    };
    let asked = AgentEvent::QuestionAsked {
        turn: TurnId(0),
        question: crate::agent::AgentQuestion::with_default_options("q", subject.clone()),
    };
    let mut turn = vec![asked];
    turn.extend(calls(&[cells(&["a"])], "ok"));
    let stage = asking(vec![turn]);
    let run = stage.submit(".go");
    let mut abouts = Vec::new();
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Ended => break,
            NextEvent::Nothing => panic!("{abouts:?}"),
            NextEvent::Event(event) => {
                if let SessionEvent::Question(QuestionEvent::Asked(question)) = *event {
                    stage
                        .session
                        .answer(question.id, Reply::Chosen(QuestionChoice::Once));
                    stage
                        .session
                        .answer(question.id, Reply::Chosen(QuestionChoice::No));
                    abouts.push(question.about);
                }
            }
        }
    }
    assert_eq!(abouts[0], QuestionSubject::Agent(subject));
    assert!(matches!(abouts[1], QuestionSubject::Cells(_)) && abouts.len() == 2);
    assert_eq!(stage.agent.replies().len(), 2);
    assert!(replied(&stage, 1).1);
}

/// Agents forget grants with their thread. A reason may mean more: to leave the sandbox.
#[test]
fn what_is_allowed_for_the_session_is_not_asked_again() {
    let command = |command: &str, cwd: &str, reason: Option<&str>| Subject::Command {
        command: command.into(),
        cwd: cwd.into(),
        reason: reason.map(str::to_owned),
    };
    let input = |program: &str, text: &str| Subject::Input {
        program: program.into(),
        text: text.into(),
        cwd: "/".into(),
        reason: Some("outside".into()),
    };
    // A subject, and whether the user is asked.
    let subjects = [
        (command("a", "/", None), true),
        (command("a", "/", None), false),
        (command("a", "/else", None), true),
        (command("b", "/", None), true),
        (command("a", "/", Some("r")), true),
        (command("a", "/", Some("in other words")), false),
        (command("c", "/", Some("r")), true),
        (command("c", "/", None), false),
        (input("p", "x"), true),
        (input("p", "y"), false),
        (input("q", "x"), true),
    ];
    let mut turn: Vec<_> = subjects
        .iter()
        .enumerate()
        .map(|(number, (subject, _))| AgentEvent::QuestionAsked {
            turn: TurnId(0),
            question: crate::agent::AgentQuestion::with_default_options(
                number.to_string(),
                subject.clone(),
            ),
        })
        .collect();
    turn.extend(says("ok"));
    let stage = asking(vec![turn]);
    let run = stage.submit(".go");
    let mut asked = Vec::new();
    while let NextEvent::Event(event) = run.next_blocking(Some(Duration::from_secs(60))) {
        if let SessionEvent::Question(QuestionEvent::Asked(question)) = *event {
            let session = Reply::Chosen(QuestionChoice::Session);
            stage.session.answer(question.id, session);
            asked.push(question.about);
        }
    }
    let expected = subjects.iter().filter(|(_, asked)| *asked);
    let expected: Vec<_> = expected
        .map(|(subject, _)| QuestionSubject::Agent(subject.clone()))
        .collect();
    assert_eq!(asked, expected);
    assert_eq!(stage.agent.replies().len(), subjects.len());
}

#[test]
fn parallel_calls_run_in_order() {
    let look = |code: &str| ("pyrun", json!({ "code": code }));
    let bad = ("pyrun", json!({}));
    let stage = auto(vec![calls(
        &[look("x"), bad.clone(), cells(&["a"]), bad, look("y")],
        "ok",
    )]);
    let seen = stage.run(".go");
    let results: Vec<&str> = seen
        .iter()
        .filter(|word| word.contains(" => "))
        .map(|word| word.split_once(" => ").unwrap().0)
        .collect();
    assert_eq!(
        results,
        [
            "pyrun(code='x')",
            "pyrun()",
            "run_cells(1 cell)",
            "pyrun()",
            "pyrun(code='y')"
        ]
    );
}

#[test]
fn a_long_output_is_cut_once_and_can_be_read_on() {
    let read = (
        "read_output",
        json!({"id": "cell-2", "offset": 64_990, "limit": 100}),
    );
    let stage = auto(vec![
        calls(&[cells(&["long"])], "ok"),
        calls(&[cells(&["long", "long", "long"]), read], "ok"),
    ]);
    let markers = |text: &str| text.matches("[…").count();
    stage.run(".go");
    let (text, _) = replied(&stage, 0);
    assert_eq!(markers(&text), 1, "{text}");
    assert!(text.chars().count() <= MODEL_CHARACTERS && text.contains("cell-2"));
    stage.run(".go");
    let (text, _) = replied(&stage, 1);
    assert_eq!(markers(&text), 3, "{text}");
    assert!(text.chars().count() <= MODEL_CHARACTERS);
    let (text, success) = replied(&stage, 2);
    assert!(success && text.contains("a line of it"), "{text}");
}
