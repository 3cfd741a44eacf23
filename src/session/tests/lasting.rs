//! Approvals that last: what is offered, what is no longer asked, and how that ends.

use super::*;
use crate::agent::{AgentQuestion, Decision, QuestionAnswer, Subject};
use crate::{QuestionChoice, Reply};

fn asks(command: &str, cwd: &str, reason: Option<&str>) -> Vec<AgentEvent> {
    let subject = Subject::Command {
        command: command.into(),
        cwd: cwd.into(),
        reason: reason.map(str::to_owned),
    };
    let question = AgentQuestion::with_default_options("q", subject);
    let asked = AgentEvent::QuestionAsked {
        turn: TURN,
        question,
    };
    [vec![asked], says("done")].concat()
}

/// Runs an input; the answer to each question. Returns a word for each event, and the choices of each question.
fn run(stage: &Stage, text: &str, choice: QuestionChoice) -> (String, Vec<Vec<QuestionChoice>>) {
    let run = stage.submit(text);
    let (mut words, mut offered) = (Vec::new(), Vec::new());
    while let NextEvent::Event(event) = run.next_blocking(Some(Duration::from_secs(60))) {
        if let SessionEvent::Question(QuestionEvent::Asked(question)) = &*event {
            offered.push(question.choices());
            stage.session.answer(question.id, Reply::Chosen(choice));
        }
        words.push(word(&event));
    }
    (words.join("\n"), offered)
}

fn last_answer(stage: &Stage) -> Option<Decision> {
    match stage.agent.replies().pop() {
        Some(AgentReply::Answer { answer, .. }) => QuestionAnswer::decision(&answer),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_command_is_allowed_for_good_until_that_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let cwd = place.display().to_string();
    let turns = vec![
        asks("make", &cwd, None),
        asks("make", &cwd, None),
        asks("make all", &cwd, None),
        asks("make", &cwd, Some("to leave the sandbox")),
        asks("make", &cwd, None),
    ];
    let stage = stage_with(turns, |parts| {
        parts.cwd.clone_from(&place);
        parts.lasting = LastingFile::new(&place.join("state"), "ann".into());
    });
    use QuestionChoice::{Always, No, NoBecause, Once, Session, Stop};
    let all = [Once, Session, Always, No, NoBecause, Stop];
    let (_, offered) = run(&stage, ".one", Always);
    assert_eq!(offered, [all]);
    assert_eq!(
        last_answer(&stage),
        Some(Decision::AllowOnce),
        "ours to keep"
    );
    let (_, offered) = run(&stage, ".two", No);
    assert!(offered.is_empty(), "{offered:?}");
    assert_eq!(last_answer(&stage), Some(Decision::AllowOnce));
    let (_, offered) = run(&stage, ".three", No);
    assert_eq!(offered, [all]);
    let (_, offered) = run(&stage, ".four", Always);
    assert!(!offered[0].contains(&Always), "{offered:?}");
    assert_eq!(
        last_answer(&stage),
        Some(Decision::RejectOnce),
        "it was not offered"
    );
    let listed = stage.run("%ipycodex allowed").join("\n");
    let row = format!("  1  the command make\n     in {cwd}; allowed by ann ");
    assert!(
        listed.contains(&row) && !listed.contains("  2  "),
        "{listed}"
    );
    let revoked = stage.run("%ipycodex allowed revoke 1").join("\n");
    assert!(
        revoked.contains(&format!("Revoked: make in {cwd}")),
        "{revoked}"
    );
    let (_, offered) = run(&stage, ".five", No);
    assert_eq!(offered, [all]);
    let listed = stage.run("%ipycodex allowed").join("\n");
    assert!(listed.contains("nothing is allowed for good"), "{listed}");
}

#[test]
fn no_yes_lasts_for_cells_nor_where_there_is_no_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let cwd = place.display().to_string();
    let cells = calls(
        &[("run_cells", json!({"cells": [{"code": "x = 1"}]}))],
        "ran",
    );
    for (turn, sandbox) in [
        (cells, Sandbox::WorkspaceWrite),
        (asks("make", &cwd, None), Sandbox::FullAccess),
    ] {
        let stage = stage_with(vec![turn], |parts| {
            parts.cwd.clone_from(&place);
            parts.choices.sandbox = sandbox;
            parts.lasting = LastingFile::new(&place.join("state"), "ann".into());
        });
        let (words, offered) = run(&stage, ".go", QuestionChoice::Always);
        assert!(!offered[0].contains(&QuestionChoice::Always), "{offered:?}");
        assert!(
            !words.contains("ran x = 1"),
            "what is not offered allows nothing: {words}"
        );
        assert!(!place.join("state").exists());
    }
}
