//! An exchange that ran cells is taken back: what is offered, what each answer does, what is said where nobody is
//! asked. `replaced.rs` has prompts that take the place of earlier ones.

use super::*;
use crate::config::RunCells;
use crate::runtime::{CellStep, Checkpoint, CheckpointRequest, CheckpointStep, Checkpoints};
use crate::tools::tests::answering;

/// Checkpoints there are before these cells.
pub(super) fn there(before: &[u32]) -> Checkpoints {
    let row = |number: &u32| Checkpoint {
        before: step(*number),
        ..Checkpoint::default()
    };
    Checkpoints {
        rows: before.iter().map(row).collect(),
        most: 10,
        ..Checkpoints::default()
    }
}

pub(super) fn step(number: u32) -> CellStep {
    CellStep {
        number,
        ..CellStep::default()
    }
}

/// Cell 1, prompt 2, which runs cells 3 and 4, and cell 5; checkpoints before `before`.
pub(super) fn talk(
    before: &'static [u32],
    change: impl FnOnce(&mut Parts),
) -> (Stage, Arc<Mutex<Vec<u32>>>) {
    let went = Arc::new(Mutex::new(Vec::new()));
    let known = Arc::clone(&went);
    let mut script = usual();
    let mut scene = script.on_request;
    script.on_request = Box::new(move |id, request| match request {
        RuntimeRequest::Checkpoints(CheckpointRequest::Back { to: Some(to), .. }) => {
            known.lock().unwrap().push(*to);
            let stepped = CheckpointStep {
                over: (*to..6).map(step).collect(),
                ..CheckpointStep::default()
            };
            vec![answered(id, RuntimeReply::Stepped(Box::new(stepped)))]
        }
        RuntimeRequest::Checkpoints(_) => {
            vec![answered(id, RuntimeReply::Checkpoints(there(before)))]
        }
        request => scene(id, request),
    });
    let cells = json!({"cells": [{"code": "b"}, {"code": "c"}]});
    let turns = vec![
        calls(&[("run_cells", cells)], "one"),
        says("two"),
        says("three"),
    ];
    let stage = stage_of(script, turns, |parts| {
        parts.choices.run_cells = RunCells::Auto;
        change(parts);
    });
    for text in ["a", ".first", "d"] {
        stage.run(text);
    }
    (stage, went)
}

/// What `%ipycodex WHAT` tells when its question is answered so; where the interpreter went; what the next prompt tells
/// of the cells.
fn check(what: &str, reply: Option<Reply>) -> (Vec<String>, Vec<u32>, String) {
    let (stage, went) = talk(&[3], |_| {});
    let run = stage.submit(&format!("%ipycodex {what}"));
    let said = match reply {
        Some(reply) => answering(&stage, &run, &[reply]),
        None => words(&run),
    };
    stage.run(".next");
    let went = went.lock().unwrap().clone();
    let next = stage.agent.requests().pop().unwrap();
    let record = next.history.iter().map(|turn| turn.user.as_str());
    let told: String = record.collect::<String>() + &stage.sent(stage.agent.requests().len() - 1);
    (said, went, told)
}

#[test]
fn a_yes_steps_back_and_takes_the_cells_along() {
    let yes = || Some(Reply::Chosen(QuestionChoice::Once));
    let (said, went, told) = check("undo", yes());
    assert_eq!(went, [3], "{said:?}");
    assert!(
        said.iter()
            .any(|line| line.starts_with("Back before In [3]")),
        "{said:?}"
    );
    let out = "Taken out of the conversation: [2] first (`%ipycodex show 2` puts it back)";
    assert!(said.iter().any(|line| line == out), "{said:?}");
    assert!(
        !said.iter().any(|line| line.contains("still tell")),
        "{said:?}"
    );
    assert!(told.contains("<code>a</code>"), "{told}");
    assert!(
        !told.contains("<code>b</code>") && !told.contains("<code>d</code>"),
        "{told}"
    );
    let (said, went, _) = check("retry", yes());
    assert_eq!(went, [3]);
    assert_eq!(said[said.len() - 2..], ["> two", "Complete"]);
}

#[test]
fn a_no_leaves_the_interpreter_and_the_cells_are_told_as_cells() {
    let no = || Some(Reply::Chosen(QuestionChoice::No));
    let (said, went, told) = check("undo", no());
    assert_eq!(went, [0; 0]);
    let note = "the interpreter keeps what In [3] and In [4] did";
    assert!(said.iter().any(|line| line == note), "{said:?}");
    assert!(
        told.contains("<code>b</code>") && told.contains("<code>d</code>"),
        "{told}"
    );
    let (said, went, _) = check("retry", no());
    assert_eq!(went, [0; 0]);
    assert_eq!(said[said.len() - 2..], ["> two", "Complete"]);
}

#[test]
fn whoever_stops_at_the_question_has_taken_nothing_back() {
    let (stage, went) = talk(&[3], |_| {});
    let run = stage.submit("%ipycodex undo");
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Event(event) if matches!(*event, SessionEvent::Question(_)) => break,
            NextEvent::Event(_) => {}
            other => panic!("{other:?}"),
        }
    }
    stage.session.interrupt();
    let said = words(&run);
    assert_eq!(said, ["over 1", "stopped waiting"]);
    assert!(went.lock().unwrap().is_empty());
    stage.run(".next");
    let next = stage.agent.requests().pop().unwrap();
    assert_eq!(next.history.len(), 1);
}

#[test]
fn where_there_is_no_way_back_or_nobody_to_ask_that_is_said() {
    let told = |before, change: fn(&mut Parts)| {
        let (stage, went) = talk(before, change);
        let said = stage.run("%ipycodex undo");
        assert!(went.lock().unwrap().is_empty());
        assert_eq!(said.len(), 3, "{said:?}");
        said[1].clone()
    };
    assert_eq!(
        told(&[5], |_| {}),
        "the interpreter keeps what In [3] and In [4] did: there is no checkpoint before In [3]: it is no longer kept"
    );
    assert_eq!(
        told(&[3], |parts| parts.asks = false),
        "the interpreter keeps what In [3] and In [4] did: nobody can be asked here; `%ipycodex back 3` steps back"
    );
}

#[test]
fn what_ran_in_an_interpreter_that_is_gone_is_not_asked_about() {
    let (stage, went) = talk(&[3], |_| {});
    stage.run("die");
    let said = stage.run("%ipycodex undo");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(went.lock().unwrap().is_empty());
}

#[test]
fn a_step_back_says_which_answers_still_tell_of_what_is_gone() {
    let (stage, _) = talk(&[3], |_| {});
    let said = stage.run("%ipycodex back 3");
    let note = "some answers still mention these cells; `%ipycodex hide 2` takes the answers out of the conversation";
    assert!(said.iter().any(|line| line == note), "{said:?}");
}
