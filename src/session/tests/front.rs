//! What front-ends other than an editor need: tools called outside of turns, silent inputs, a queue that stops.

use super::*;
use crate::tools::tests::answering;

fn called(name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: "outside".into(),
        name: name.into(),
        arguments,
    }
}

fn caller(asks: bool) -> Caller {
    Caller {
        name: "somebody".into(),
        asks,
        inside: false,
    }
}

/// The result a run ends with, and the words before it.
fn returned(run: &Run) -> (Vec<String>, String, bool) {
    let mut words = Vec::new();
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Event(event) => match *event {
                SessionEvent::End(EndEvent::Call { content, success }) => {
                    let ended = run.next_blocking(Some(Duration::from_secs(60)));
                    assert!(matches!(ended, NextEvent::Ended), "{ended:?}");
                    let text = content.into_iter().find_map(|part| match part {
                        InputPart::Text(text) => Some(text),
                        InputPart::Image(_) | InputPart::File { .. } => None,
                    });
                    return (words, text.unwrap_or_default(), success);
                }
                SessionEvent::Cell(CellEvent::Started) => {}
                event => words.push(word(&event)),
            },
            other => panic!("{other:?} after {words:?}"),
        }
    }
}

#[test]
fn a_tool_is_called_outside_of_any_turn_and_takes_its_turn() {
    let stage = stage(Vec::new());
    let cell = stage.submit("a = 1");
    let run = stage
        .session
        .call(called("pyrun", json!({"code": "a"})), caller(true))
        .run;
    words(&cell);
    assert_eq!(returned(&run), (Vec::new(), "looked\n7".into(), true));
    let run = stage
        .session
        .call(called("f", json!({"x": 3})), caller(true))
        .run;
    assert_eq!(
        returned(&run),
        (vec!["printed".into()], "got 3".into(), true)
    );
    let run = stage
        .session
        .call(called("run_cells", json!({})), caller(true))
        .run;
    let (_, text, success) = returned(&run);
    assert!(!success && text.contains("`cells` is missing"), "{text}");
    assert_eq!(stage.session.next_line(), 2);
    assert!(stage.agent.requests().is_empty());
}

#[test]
fn cells_called_outside_are_asked_for_where_somebody_answers() {
    let stage = stage(Vec::new());
    let cells = || called("run_cells", json!({"cells": [{"code": "b = 2"}]}));
    let run = stage.session.call(cells(), caller(false)).run;
    let (words, text, success) = returned(&run);
    assert!(
        !success && text.contains("nobody here to ask"),
        "{words:?} {text}"
    );
    let run = stage.session.call(cells(), caller(true)).run;
    let words = answering(&stage, &run, &[Reply::Chosen(QuestionChoice::Once)]);
    assert!(words.iter().any(|word| word == "ran b = 2"), "{words:?}");
    assert_eq!(stage.session.next_line(), 2);
    assert_eq!(stage.run("c")[0], "[2]");
}

#[test]
fn a_call_that_is_stopped_returns_when_its_code_has_ended() {
    let stage = stage_with(Vec::new(), |parts| {
        parts.choices.run_cells = crate::config::RunCells::Auto;
    });
    let run = stage.session.call(
        called(
            "run_cells",
            json!({"cells": [{"code": "hang"}, {"code": "late"}]}),
        ),
        caller(true),
    );
    let run = run.run;
    crate::tools::tests::until(&run, "= 42");
    let next = stage.submit("next");
    stage.session.interrupt();
    let (_, text, success) = returned(&run);
    assert_eq!(
        (text.as_str(), success),
        ("Error: the user stopped it", false)
    );
    assert_eq!(words(&next)[0], "[2]");
}

#[test]
fn inputs_behind_one_that_fails_are_not_run_where_that_is_wanted() {
    let stage = stage(Vec::new());
    let stopping = |text: &str| {
        stage.session.submit(Submission {
            text: text.into(),
            stop_on_error: true,
            ..Submission::default()
        })
    };
    let failing = stopping("raise");
    let (second, third) = (stopping("b"), stage.submit("c"));
    assert!(words(&failing).contains(&"Error".to_owned()));
    for dropped in [second, third] {
        assert_eq!(words(&dropped), ["NotRun"]);
    }
    assert_eq!(stage.run("d")[0], "[2]");
}

#[test]
fn a_silent_input_takes_no_number_and_is_recorded_nowhere() {
    let stage = stage(Vec::new());
    let silent = stage.session.submit(Submission {
        text: "quiet".into(),
        silent: true,
        ..Submission::default()
    });
    let said = words(&silent);
    assert!(!said.iter().any(|word| word.starts_with('[')), "{said:?}");
    let unrecorded = stage.session.submit(Submission {
        text: "unrecorded".into(),
        store_history: false,
        ..Submission::default()
    });
    assert_eq!(words(&unrecorded)[0], "[1]");
    let passing = stage.session.submit(Submission {
        text: "passing".into(),
        store_history: false,
        counts: false,
        ..Submission::default()
    });
    assert_eq!(words(&passing)[0], "[2]");
    assert_eq!(
        stage.run("%ipycodex history"),
        ["[2]", "nothing has been run or said yet"]
    );
}

#[test]
fn a_prompt_of_somebody_who_answers_nothing_asks_nobody() {
    let turn = calls(&[("run_cells", json!({"cells": [{"code": "x"}]}))], "no");
    let stage = stage(vec![turn]);
    let run = stage.session.submit(Submission {
        text: ".go".into(),
        asks: Some(false),
        ..Submission::default()
    });
    let said = words(&run).join("\n");
    assert!(said.contains("nobody here to ask"), "{said}");
}
