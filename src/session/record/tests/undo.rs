//! Exchanges taken back, replaced and brought back, and what went with prompts: the same after a resume.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::*;
use crate::agent::Usage;
use crate::dialog::{Dialog, Expansion};
use crate::output::mime::MimeBundle;
use crate::record::RecordedDecision;

/// Cell 1, prompt 2, cell 3, prompt 4, cell 5.
fn session(record: &RecordHandle) {
    cell(record, 1, "a", "");
    answered(
        record,
        PromptStart::new(2, 1, "first"),
        RecordedOutcome::Complete,
    );
    cell(record, 3, "b", "");
    answered(
        record,
        PromptStart::new(4, 3, "second"),
        RecordedOutcome::Complete,
    );
    cell(record, 5, "c", "");
}

fn answered(record: &RecordHandle, start: PromptStart, outcome: RecordedOutcome) {
    let source = format!(".{}", start.prompt);
    record.record_input(start.line, &source, &source);
    let answer = format!("to {}", start.prompt);
    let turn = record.begin_prompt(start);
    record.finish_prompt(turn, outcome, &answer, None);
}

/// What the model is told: the user entries, then the context to come.
fn told(dialog: &Dialog) -> Vec<String> {
    let short = |text: &str| {
        let mut text = text.to_owned();
        for tag in ["context", "code", "user-request"] {
            text = text
                .replace(&format!("<{tag}>"), "")
                .replace(&format!("</{tag}>"), " ");
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut told: Vec<String> = dialog
        .exchanges()
        .iter()
        .map(|turn| short(&turn.user))
        .collect();
    told.push(short(&dialog.next_context()));
    told
}

/// What `change` makes of a session is what is told then, and after a resume.
fn check(change: impl Fn(&RecordHandle), expected: &[&str]) {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    session(&record);
    change(&record);
    let dialog = wait(record.dialog());
    assert_eq!(told(&dialog), expected);
    assert_eq!(end(record, reports), [] as [&str; 0]);
    let (record, reports) = start(&path, Some(1));
    assert_eq!(wait(record.dialog()), dialog, "after a resume");
    end(record, reports);
    assert_eq!(
        text(
            &path,
            "SELECT count(*) FROM ipycodex_turns WHERE state = 'complete'"
        ),
        dialog.prompts.len().to_string(),
        "all rows are there"
    );
}

fn replacing(lines: std::ops::RangeInclusive<u32>) -> PromptStart {
    PromptStart {
        replaces: Some(lines),
        ..PromptStart::new(6, 5, "better")
    }
}

#[test]
fn hidden_and_shown() {
    check(|_| {}, &["a first", "b second", "c"]);
    check(|record| record.hide(2..=2, true), &["a b second", "c"]);
    check(|record| record.hide(3..=5, true), &["a first", ""]);
    check(
        |record| {
            record.hide(1..=5, true);
            record.hide(4..=5, false);
        },
        &["second", "c"],
    );
}

#[test]
fn what_is_stepped_back_over_is_out_until_a_step_forward() {
    check(
        |record| record.step_over(None, vec![1, 3], true),
        &["first", "second", "c"],
    );
    check(
        |record| {
            record.step_over(None, vec![3, 5], true);
            record.step_over(None, vec![5], false);
        },
        &["a first", "second", "c"],
    );
    // What the user took out stays out.
    check(
        |record| {
            record.hide(3..=3, true);
            record.step_over(None, vec![3, 5], true);
            record.step_over(None, vec![3, 5], false);
        },
        &["a first", "second", "c"],
    );
    check(
        |record| {
            record.step_over(None, vec![3, 5], true);
            record.hide(3..=3, false);
        },
        &["a first", "b second", ""],
    );
}

#[test]
fn cells_that_run_again_know_that_they_were_stepped_back_over() {
    let over = |record: &RecordHandle| {
        let cells = wait(record.cells()).into_iter();
        let over = cells.filter(|cell| cell.stepped_over);
        over.map(|cell| cell.line).collect::<Vec<u32>>()
    };
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    session(&record);
    record.step_over(None, vec![1, 3, 5], true);
    record.hide(5..=5, true);
    record.hide(3..=3, false);
    assert_eq!(over(&record), [1, 5]);
    end(record, reports);
    let (record, reports) = start(&path, Some(1));
    assert_eq!(over(&record), [1, 5], "after a resume");
    record.step_over(None, vec![1], false);
    record.hide(1..=1, true);
    assert_eq!(over(&record), [5]);
    end(record, reports);
    let hidden = "SELECT group_concat(hidden, ' ') FROM ipycodex_entries WHERE line % 2";
    assert_eq!(text(&path, hidden), "1 0 3");
}

#[test]
fn cells_of_another_session_are_stepped_over_there() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    session(&record);
    wait(record.switch_to_new()).unwrap();
    session(&record);
    record.step_over(Some(1), vec![1, 3], true);
    record.step_over(None, vec![5], true);
    record.step_over(Some(1), vec![1], false);
    assert_eq!(told(&wait(record.dialog())), ["a first", "b second", ""]);
    end(record, reports);
    let over =
        "SELECT group_concat(session || ':' || line, ' ') FROM ipycodex_entries WHERE hidden <> 0";
    assert_eq!(text(&path, over), "1:3 2:5");
}

#[test]
fn what_is_replaced_leaves_when_its_replacement_is_there() {
    let replace =
        |outcome| move |record: &RecordHandle| answered(record, replacing(2..=5), outcome);
    check(replace(RecordedOutcome::Complete), &["a better", ""]);
    check(
        |record| answered(record, replacing(4..=4), RecordedOutcome::Complete),
        &["a first", "b c better", ""],
    );
    check(
        |record| {
            answered(record, replacing(2..=5), RecordedOutcome::Complete);
            record.hide(2..=5, false);
        },
        &["a first", "b second", "c better", ""],
    );
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    session(&record);
    replace(RecordedOutcome::Failed)(&record);
    assert_eq!(told(&wait(record.dialog())), ["a first", "b second", "c"]);
    end(record, reports);
}

#[test]
fn a_replacement_cut_off_by_death_still_replaces() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    session(&record);
    record.record_input(6, ".better", ".better");
    let _cut_off = record.begin_prompt(replacing(2..=5));
    assert_eq!(told(&wait(record.dialog())), ["a first", "b second", "c"]);
    end(record, reports);
    let (record, reports) = start(&path, Some(1));
    assert_eq!(told(&wait(record.dialog())), ["a better", ""]);
    end(record, reports);
}

fn figure(text: &str) -> MimeBundle {
    MimeBundle::new(vec![
        ("text/plain".into(), Value::String("<Figure>".into())),
        (
            "image/png".into(),
            Value::String(format!("iVBORw0KGgoAAAANSUhE{text}")),
        ),
    ])
}

#[test]
fn what_was_sent_with_a_prompt_is_sent_again() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    record.record_input(1, "plot()", "plot()");
    let shown = vec![MimeBundle::plain("1"), figure("AAAA"), figure("BBBB")];
    record.record_output(1, "[image/png]", shown, CellStatus::Complete, 1);
    record.record_input(2, "plot()", "plot()");
    record.record_output(
        2,
        "[image/png]",
        vec![figure("CCCC")],
        CellStatus::Complete,
        1,
    );
    record.hide(2..=2, true);
    let expansion = Expansion {
        xml: "<variable name=\"x\" type=\"Image\">[image/jpeg]</variable>".into(),
        images: vec!["data:image/jpeg;base64,/9j/4AAQSkZJRgAB".into()],
    };
    let start_of = PromptStart {
        expansion: expansion.clone(),
        ..PromptStart::new(3, 2, "what is it?")
    };
    answered(&record, start_of, RecordedOutcome::Complete);
    let turn = &wait(record.dialog()).exchanges()[0];
    assert!(
        turn.user
            .starts_with(&format!("{}<context>", expansion.xml)),
        "{}",
        turn.user
    );
    assert_eq!(
        turn.images,
        [
            "data:image/jpeg;base64,/9j/4AAQSkZJRgAB",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEAAAA",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEBBBB",
        ]
        .map(Into::into)
    );
    assert_eq!(end(record, reports), [] as [&str; 0]);
    let (record, reports) = start(&path, Some(1));
    assert_eq!(&wait(record.dialog()).exchanges()[0], turn);
    end(record, reports);
}

/// The same while another program holds the file.
#[test]
fn nothing_is_forgotten_while_it_waits_to_be_written() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    session(&record);
    wait(record.flush());
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    record.record_input(6, "plot()", "plot()");
    record.record_output(
        6,
        "[image/png]",
        vec![figure("AAAA")],
        CellStatus::Complete,
        1,
    );
    let usage = Usage {
        input: 7,
        output: 2,
        ..Usage::default()
    };
    record.record_input(7, ".look", ".look");
    let turn = record.begin_prompt(PromptStart {
        replaces: Some(2..=5),
        ..PromptStart::new(7, 6, "look")
    });
    record.finish_prompt(turn, RecordedOutcome::Complete, "seen", Some(usage));
    let dialog = wait(record.dialog());
    assert_eq!(
        told(&dialog),
        ["a plot() <output>[image/png]</output> look", ""]
    );
    assert_eq!(dialog.exchanges()[0].images.len(), 1);
    let turns = wait(record.turns());
    assert_eq!(
        turns.last().map(|turn| (turn.line, turn.usage)),
        Some((7, Some(usage)))
    );
    lock.execute_batch("ROLLBACK").unwrap();
    wait(record.flush());
    let written = wait(record.dialog());
    assert_eq!(written.exchanges(), dialog.exchanges());
    assert_eq!(wait(record.turns()), turns);
    end(record, reports);
}

#[test]
fn tokens_are_counted_for_every_turn() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    let usage = Usage {
        input: 1200,
        cached: 1024,
        output: 57,
        reasoning: 21,
        window: Some(258_400),
        filled: Some(1_257),
        cost: None,
    };
    for (line, outcome) in [
        (1, RecordedOutcome::Complete),
        (2, RecordedOutcome::Failed),
        (3, RecordedOutcome::Interrupted),
    ] {
        record.record_input(line, ".p", ".p");
        let turn = record.begin_prompt(PromptStart::new(line, 0, "p"));
        record.finish_prompt(turn, outcome, "", (line < 3).then_some(usage));
    }
    assert_eq!(wait(record.reset()), 2);
    end(record, reports);
    let (record, reports) = start(&path, Some(1));
    let turns: Vec<_> = wait(record.turns())
        .iter()
        .map(|turn| (turn.line, turn.usage))
        .collect();
    assert_eq!(turns, [(1, Some(usage)), (2, Some(usage)), (3, None)]);
    end(record, reports);
}

#[test]
fn what_an_answer_tells_of_and_what_was_decided_is_kept() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "x", "");
    let turn = record.begin_prompt(PromptStart::new(2, 1, "p"));
    cell(&record, 3, "y = 1", "made");
    record.mark_in_answer(3, 2);
    let asked_at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_234);
    record.record_decision(RecordedDecision {
        line: 2,
        asked_at,
        kind: "cells".into(),
        subject: "y = 1".into(),
        decision: "no: not now".into(),
    });
    record.finish_prompt(turn, RecordedOutcome::Complete, "done", None);
    cell(&record, 4, "z", "");
    let context = "<context><code>z</code></context>\n";
    assert_eq!(wait(record.dialog()).next_context(), context);
    end(record, reports);
    let (record, reports) = start(&path, Some(1));
    assert_eq!(wait(record.dialog()).next_context(), context);
    record.hide(2..=2, true);
    let dialog = wait(record.dialog());
    assert_eq!(
        dialog.next_context(),
        "<context><code>x</code><code>y = 1</code><output>made</output><code>z</code></context>\n"
    );
    end(record, reports);
    let decided = "SELECT line || ' ' || asked_at || ' ' || kind || ' ' || subject || ' ' || decision FROM \
                   ipycodex_decisions";
    assert_eq!(text(&path, decided), "2 1234 cells y = 1 no: not now");
}
