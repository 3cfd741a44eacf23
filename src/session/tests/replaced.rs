//! A prompt takes the place of an earlier one: what is brought into the editor, what is asked, what each answer does.

use super::undone::talk;
use super::*;
use crate::editor::EditorRequest;
use crate::question::{Question, QuestionChoice, QuestionSubject, Reply};
use crate::replacement::{InterpreterStep, Replacement};

/// The talk has cell 1, prompt 2 with its cells 3 and 4, and cell 5.
fn replace(
    before: &'static [u32],
    line: u32,
    reply: Option<QuestionChoice>,
    change: impl FnOnce(&mut Parts),
) -> (Vec<String>, Option<Replacement>, Vec<u32>, Stage) {
    let (stage, went) = talk(before, change);
    let run = stage.session.submit(Submission {
        text: ".other".into(),
        replaces: Some(line),
        ..Submission::default()
    });
    let (mut said, mut asked) = (Vec::new(), None);
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Ended => break,
            NextEvent::Nothing => panic!("nothing for 60 s after {said:?}"),
            NextEvent::Event(event) => {
                if let SessionEvent::Question(QuestionEvent::Asked(question)) = &*event {
                    let Question { id, about, .. } = question;
                    let QuestionSubject::Replacement(plan) = about else {
                        panic!("{about:?}");
                    };
                    asked = Some(plan.clone());
                    let reply = reply.expect("a question that was not expected");
                    assert!(question.choices().contains(&reply), "{reply:?}");
                    stage.session.answer(*id, Reply::Chosen(reply));
                }
                said.push(word(&event));
            }
        }
    }
    let went = went.lock().unwrap().clone();
    (said, asked, went, stage)
}

fn has(said: &[String], line: &str) -> bool {
    said.iter().any(|word| word.starts_with(line))
}

/// What the model sees of earlier turns and with the last prompt.
fn told(stage: &Stage) -> String {
    let last = stage.agent.requests().pop().unwrap();
    let record = last.history.iter().map(|turn| turn.user.as_str());
    record.collect::<String>() + &stage.sent(stage.agent.requests().len() - 1)
}

#[test]
fn one_question_says_what_goes_and_a_yes_takes_it_all() {
    let (said, asked, went, stage) = replace(&[3], 2, Some(QuestionChoice::Once), |_| {});
    let plan = asked.unwrap();
    let leaves: Vec<(u32, &str, bool)> = plan
        .leaves
        .iter()
        .map(|entry| (entry.line, entry.text.as_str(), entry.is_exchange))
        .collect();
    let cells = [(3, "b", false), (4, "c", false), (5, "d", false)];
    assert_eq!(leaves, [&[(2, "first", true)], &cells[..]].concat());
    assert_eq!(plan.interpreter, InterpreterStep::Whole(3));
    assert_eq!(went, [3], "{said:?}");
    assert!(has(&said, "Back before In [3]"), "{said:?}");
    assert!(!has(&said, "some answers still mention"), "{said:?}");
    assert_eq!(said[said.len() - 2..], ["> two", "Complete"]);
    let told = told(&stage);
    assert!(told.contains("<code>a</code>"), "{told}");
    for gone in ["first", "<code>b</code>", "<code>d</code>"] {
        assert!(!told.contains(gone), "{told}");
    }
}

#[test]
fn the_conversation_alone_can_be_replaced_and_a_no_sends_nothing() {
    let (said, _, went, stage) = replace(&[3], 2, Some(QuestionChoice::Conversation), |_| {});
    assert_eq!(went, [0; 0]);
    let note = "the interpreter keeps what In [3] to In [5] did";
    assert!(said.iter().any(|line| line == note), "{said:?}");
    assert_eq!(said[said.len() - 2..], ["> two", "Complete"]);
    assert!(!told(&stage).contains("<code>d</code>"));

    let (said, _, went, stage) = replace(&[3], 2, Some(QuestionChoice::No), |_| {});
    assert_eq!(went, [0; 0]);
    assert!(has(&said, "nothing was replaced"), "{said:?}");
    assert!(said.contains(&"refill .other".to_owned()), "{said:?}");
    assert_eq!(stage.agent.requests().len(), 1, "nothing was sent");
    stage.run(".next");
    let told = told(&stage);
    assert!(
        told.contains("first") && told.contains("<code>d</code>"),
        "{told}"
    );
}

#[test]
fn the_interpreter_goes_as_far_back_as_it_can_and_says_what_it_keeps() {
    let (said, asked, went, _) = replace(&[1, 5], 2, Some(QuestionChoice::Once), |_| {});
    assert_eq!(went, [5], "{said:?}");
    let why = "there is no checkpoint before In [3]: it is no longer kept";
    let part = InterpreterStep::Part {
        to: 5,
        keeps: vec![3, 4],
        why: why.into(),
    };
    assert_eq!(asked.unwrap().interpreter, part);
    let (said, asked, went, _) = replace(&[1], 2, Some(QuestionChoice::Once), |_| {});
    assert_eq!(
        asked.unwrap().interpreter,
        InterpreterStep::Stays(why.into())
    );
    assert_eq!(went, [0; 0]);
    let note = format!("the interpreter keeps what In [3] to In [5] did: {why}");
    assert!(said.contains(&note), "{said:?}");
    assert_eq!(said[said.len() - 2..], ["> two", "Complete"]);
}

#[test]
fn where_nobody_can_be_asked_the_conversation_alone_changes() {
    let (said, asked, went, stage) = replace(&[3], 2, None, |parts| parts.asks = false);
    assert_eq!((asked, went), (None, Vec::new()));
    let note = "the interpreter keeps what In [3] to In [5] did: nobody can be asked here; `%ipycodex back 3` steps \
                back";
    assert!(said.contains(&note.to_owned()), "{said:?}");
    assert!(!told(&stage).contains("first"));
}

#[test]
fn an_exchange_of_words_alone_is_replaced_without_a_question() {
    let stage = stage(vec![says("one"), says("two"), says("three")]);
    stage.run(".first");
    stage.run(".second");
    let said = words(&stage.session.submit(Submission {
        text: ".other".into(),
        replaces: Some(2),
        ..Submission::default()
    }));
    assert_eq!(said, ["[3]", "> three", "Complete"]);
    assert!(!told(&stage).contains("second"));
}

#[test]
fn a_prompt_is_brought_into_the_editor_or_the_reason_says_which_ones_can_be() {
    let (stage, _) = talk(&[3], |_| {});
    let wishes = stage.session.editor_requests();
    for command in ["%ipycodex edit", "%ipycodex edit 2"] {
        stage.run(command);
        let request = EditorRequest::EditPrompt {
            line: 2,
            text: ".first".into(),
        };
        assert_eq!(wishes.take(), Some(request), "{command}");
    }
    for (command, why) in [
        (
            "edit 5",
            "In [5] is a cell, not a prompt; the only prompt is [2]",
        ),
        (
            "edit 6",
            "In [6] is a command, not a prompt; the only prompt is [2]",
        ),
        (
            "edit 99",
            "there is no In [99] in this session; the only prompt is [2]",
        ),
        (
            "edit 0",
            "Usage: %ipycodex edit [N], where N is the number of a prompt, got '0'",
        ),
        (
            "edit 2-3",
            "Usage: %ipycodex edit [N], where N is the number of a prompt, got '2-3'",
        ),
    ] {
        let said = stage.run(&format!("%ipycodex {command}"));
        assert_eq!(said[1..], [why], "{command}");
    }
    stage.run("%ipycodex hide 2");
    let said = stage.run("%ipycodex edit 2");
    let why = "the prompt [2] is out of the conversation (`%ipycodex show 2` puts it back); there is no prompt to edit \
               yet";
    assert_eq!(said[1..], [why]);
    assert_eq!(
        stage.run("%ipycodex edit")[1..],
        ["there is no prompt to edit yet"]
    );
    assert_eq!(wishes.take(), None);
}

#[test]
fn without_an_editor_the_next_input_replaces_if_it_is_a_prompt() {
    for (between, gone) in [(None, true), (Some("1"), false)] {
        let (stage, _) = talk(&[], |parts| parts.asks = false);
        let said = stage.run("%ipycodex edit 2");
        let note = "the next input, if it is a prompt, replaces In [2] and what came after it";
        assert_eq!(said[1..], [note, "refill .first"]);
        between.map(|text| stage.run(text));
        stage.run(".other");
        assert_eq!(!told(&stage).contains("first"), gone);
    }
}
