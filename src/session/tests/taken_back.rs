//! Turns taken back: what the model is told afterwards, and whether the thread is gone on with or seeded anew.

use super::*;
use crate::agent::TurnRequest;
use crate::question::{QuestionChoice, Reply};
use crate::tools::tests::answering;

/// Markup to words: cells, outputs and request of a user entry.
fn short(text: &str) -> String {
    let mut text = text.replace('<', " <");
    for tag in ["context", "code", "user-request"] {
        text = text
            .replace(&format!("<{tag}>"), "")
            .replace(&format!("</{tag}>"), "");
    }
    let words = text.split_whitespace();
    let words = words.filter(|word| !matches!(*word, "<output>ran" | "42" | "</output>"));
    words.collect::<Vec<_>>().join(" ")
}

/// The thread, the earlier exchanges and the input of a request.
fn told(request: &TurnRequest) -> (bool, Vec<String>, String) {
    let record = request.history.iter();
    let record = record.map(|turn| format!("{} => {}", short(&turn.user), turn.assistant));
    let input = request.input.iter().filter_map(|part| match part {
        InputPart::Text(text) => Some(short(text)),
        InputPart::Image(_) | InputPart::File { .. } => None,
    });
    (request.thread.is_some(), record.collect(), input.collect())
}

/// Cell 1, prompt 2, cell 3, prompt 4.
fn talk() -> Stage {
    let stage = stage(["one", "two", "three", "four", "five"].map(says).into());
    for text in ["a", ".first", "b", ".second"] {
        stage.run(text);
    }
    stage
}

/// What the last of `inputs` makes the agent get after that talk: its thread, the history, the input.
#[track_caller]
fn check(inputs: &[&str], goes_on: bool, record: &[&str], input: &str) {
    let stage = talk();
    let said: Vec<_> = inputs.iter().map(|text| stage.run(text)).collect();
    let requests = stage.agent.requests();
    let (thread, told, sent) = told(requests.last().unwrap());
    assert_eq!(told, record, "{said:?}");
    assert_eq!(sent, input, "{said:?}");
    assert_eq!(thread, goes_on, "{inputs:?}");
}

const FIRST: &str = "a a first => one";
const SECOND: &str = "b b second => two";

#[test]
fn the_thread_goes_on_while_nothing_changed() {
    check(&[".x"], true, &[FIRST, SECOND], "x");
    check(&["%ipycodex think h", ".x"], true, &[FIRST, SECOND], "x");
    check(&["c", ".x"], true, &[FIRST, SECOND], "c c x");
    check(&["%ipycodex context", ".x"], true, &[FIRST, SECOND], "x");
}

#[test]
fn what_is_hidden_is_not_told() {
    check(
        &["%ipycodex hide 2", ".x"],
        false,
        &["a a b b second => two"],
        "x",
    );
    check(&["%ipycodex hide 4", ".x"], false, &[FIRST], "b b x");
    check(
        &["%ipycodex hide 3", ".x"],
        false,
        &[FIRST, "second => two"],
        "x",
    );
    check(
        &["%ipycodex hide 1-3", ".x"],
        false,
        &["second => two"],
        "x",
    );
    check(&["%ipycodex hide 1,2 3-4", ".x"], false, &[], "x");
    // A cell since the last exchange is in no thread yet.
    check(
        &["c", "%ipycodex hide 5", ".x"],
        true,
        &[FIRST, SECOND],
        "x",
    );
}

#[test]
fn what_is_shown_again_is_as_it_was() {
    check(
        &["%ipycodex hide 2 3", "%ipycodex show 2-3", ".x"],
        true,
        &[FIRST, SECOND],
        "x",
    );
    check(
        &["%ipycodex hide 1-4", "%ipycodex show 4", ".x"],
        false,
        &["second => two"],
        "x",
    );
}

#[test]
fn undo_takes_the_last_exchange_then_the_one_before() {
    check(&["%ipycodex undo", ".x"], false, &[FIRST], "b b x");
    check(
        &["%ipycodex undo", "%ipycodex undo", ".x"],
        false,
        &[],
        "a a b b x",
    );
    check(
        &["%ipycodex undo", "%ipycodex show 4", ".x"],
        true,
        &[FIRST, SECOND],
        "x",
    );
}

#[test]
fn dot_bang_sends_the_last_prompt_once_more() {
    let stage = talk();
    let ran = stage.run(".!");
    assert_eq!(ran, ["again: second", "[5]", "> three", "Complete"]);
    let last = stage.session.last_exchange();
    let last = last.map(|last| (last.line, last.prompt, last.response));
    assert_eq!(last, Some((5, "second".into(), "three".into())));
    assert_eq!(
        super::stage(Vec::new()).run(".!"),
        ["there is no prompt to repeat"]
    );
}

#[test]
fn retry_sends_the_last_prompt_in_place_of_itself() {
    check(&["%ipycodex retry"], false, &[FIRST], "b b second");
    check(
        &["%ipycodex retry", ".x"],
        true,
        &[FIRST, "b b second => three"],
        "x",
    );
    check(&["c", "%ipycodex retry"], false, &[FIRST], "b b c c second");
    let stage = talk();
    assert_eq!(
        stage.run("%ipycodex retry"),
        ["[5]", "[6]", "> three", "Complete"]
    );
    assert_eq!(stage.run("next"), ["[7]", "ran next", "= 42", "Ok"]);
    assert_eq!(
        stage
            .session
            .last_exchange()
            .map(|last| (last.line, last.response)),
        Some((6, "three".into()))
    );
}

#[test]
fn a_replaced_turn_takes_all_after_it_along() {
    let replace = |line, text: &str| {
        let stage = talk();
        stage.run("c");
        let run = stage.session.submit(Submission {
            text: text.into(),
            replaces: Some(line),
            ..Submission::default()
        });
        let yes = [Reply::Chosen(QuestionChoice::Once)];
        let known = line < 6;
        let said = answering(&stage, &run, &yes[..usize::from(known)]);
        stage.run(".x");
        let requests = stage.agent.requests();
        (said, requests.iter().skip(2).map(told).collect::<Vec<_>>())
    };
    let (said, requests) = replace(2, ".better");
    assert_eq!(said[said.len() - 3..], ["[6]", "> three", "Complete"]);
    assert_eq!(
        requests,
        [
            (false, vec![], "a a better".to_owned()),
            (true, vec!["a a better => three".to_owned()], "x".to_owned()),
        ]
    );
    let (_, requests) = replace(4, ".better");
    assert_eq!(
        requests[0],
        (false, vec![FIRST.to_owned()], "b b better".to_owned())
    );
    // Edited into a cell: the turn leaves all the same.
    let (said, requests) = replace(4, "better");
    assert!(said.contains(&"ran better".to_owned()), "{said:?}");
    assert_eq!(
        requests,
        [(
            false,
            vec![FIRST.to_owned()],
            "b b better better x".to_owned()
        )]
    );
    // A number that is not there yet replaces nothing.
    let (_, requests) = replace(99, ".better");
    assert_eq!(requests[0].1.len(), 2);
}

#[test]
fn reset_model_and_tools_seed_anew() {
    check(&["%ipycodex reset", ".x"], false, &[], "x");
    check(&["%ipycodex reset", "c", ".x"], false, &[], "c c x");
    check(
        &["%ipycodex model other", ".x"],
        false,
        &[FIRST, SECOND],
        "x",
    );
    check(
        &["%ipycodex model other", "%ipycodex model ''", ".x"],
        true,
        &[FIRST, SECOND],
        "x",
    );
    check(
        &["%ipycodex run_cells off", ".x"],
        false,
        &[FIRST, SECOND],
        "x",
    );
    check(&[".x &`f`"], false, &[FIRST, SECOND], "x &`f`");
    check(
        &[".x &`f`", ".y"],
        true,
        &[FIRST, SECOND, "x &`f` => three"],
        "y",
    );
    // A hidden exchange names no tools any more.
    check(
        &[".x &`f`", "%ipycodex undo", ".y"],
        false,
        &[FIRST, SECOND],
        "y",
    );
}

#[test]
fn a_replacement_that_fails_changes_nothing() {
    let failure = crate::agent::AgentFailure {
        kind: crate::agent::FailureKind::Upstream,
        message: "no quota".into(),
        hints: Vec::new(),
    };
    let failed = vec![AgentEvent::Failed {
        turn: TURN,
        failure,
    }];
    let stage = stage(vec![says("one"), says("two"), failed, says("four")]);
    for text in ["a", ".first", "b", ".second"] {
        stage.run(text);
    }
    assert_eq!(
        stage.run("%ipycodex retry"),
        ["[5]", "[6]", "refill .second", "Failed no quota"]
    );
    stage.run(".x");
    let requests = stage.agent.requests();
    assert_eq!(told(&requests[3]).1, [FIRST, SECOND]);
    // The names are looked up before anything is sent: nothing is replaced by a prompt that is not sent.
    let run = stage.session.submit(Submission {
        text: ".use &`missing`".into(),
        replaces: Some(2),
        ..Submission::default()
    });
    let said = answering(&stage, &run, &[Reply::Chosen(QuestionChoice::Once)]);
    assert_eq!(said.last().unwrap(), "refill .use &`missing`", "{said:?}");
    stage.run(".y");
    assert_eq!(told(stage.agent.requests().last().unwrap()).1.len(), 3);
}

#[test]
fn what_cannot_be_hidden_is_said_and_nothing_is_done() {
    let stage = talk();
    stage.run(".use &`missing`");
    let said = |text: &str| stage.run(text).pop().unwrap();
    assert_eq!(
        said("%ipycodex hide 2 99"),
        "there is no In [99]; the last one is In [5]"
    );
    assert_eq!(
        said("%ipycodex hide 6"),
        "In [6] is a command: it is not part of the conversation"
    );
    assert_eq!(
        said("%ipycodex hide 5"),
        "In [5] has no answer: it is not part of the conversation"
    );
    assert_eq!(
        said("%ipycodex hide 50-99"),
        "no cell and no exchange in 50-99"
    );
    assert_eq!(said("%ipycodex hide 3-9"), "Hidden: 3, 4");
    assert_eq!(said("%ipycodex show 4"), "Shown: 4");
    stage.run(".x");
    assert_eq!(
        told(stage.agent.requests().last().unwrap()).1,
        [FIRST, "second => two"]
    );
    assert_eq!(
        said("%ipycodex undo"),
        "Taken out of the conversation: [12] x (`%ipycodex show 12` puts it back)"
    );
    stage.run("%ipycodex reset");
    assert_eq!(
        said("%ipycodex hide 1"),
        "In [1] is before the reset: it is not part of the conversation"
    );
    assert_eq!(said("%ipycodex undo"), "there is no exchange to take back");
    assert_eq!(said("%ipycodex retry"), "there is no exchange to take back");
}

/// Pictures of cells go with the exchange whose context has the cell, and stay with it.
#[test]
fn pictures_are_seen_and_seen_again() {
    let stage = stage(vec![says("one"), says("two"), says("three")]);
    stage.run("figure");
    stage.run("plot");
    stage.run(".what is it?");
    stage.run(".and now?");
    let url = format!("data:image/png;base64,{PNG}");
    let requests = stage.agent.requests();
    assert_eq!(requests[0].input[1..], [InputPart::Image(url.clone())]);
    assert_eq!(requests[1].history[0].images, [url.as_str().into()]);
    assert_eq!(requests[1].input.len(), 1);
    assert!(requests[1].thread.is_some());
    stage.run("%ipycodex hide 3");
    stage.run(".once more");
    let last = stage.agent.requests().pop().unwrap();
    assert_eq!(last.thread, None);
    assert_eq!(last.history[0].images, [url.into()]);
}
