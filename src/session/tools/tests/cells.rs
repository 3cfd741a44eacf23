//! Cells of the agent: asked for, shown, numbered, told once; failures, resets, interrupts and time.

use super::*;

#[test]
fn cells_are_shown_numbered_and_told_once() {
    let stage = auto(vec![
        calls(&[cells(&["a = 1", "plot"])], "done"),
        says("later"),
    ]);
    stage.run("x");
    assert_eq!(
        stage.run(".go"),
        [
            "[2]",
            "run_cells(2 cells)…",
            "cells running, waiting",
            "(3) |a = 1",
            "ran a = 1",
            "= 42",
            "Ok",
            "cells done, running",
            "(4) |plot",
            "ran plot",
            "= 42",
            "= [image/png]",
            "Ok",
            "run_cells(2 cells) => ran In[3], In[4]",
            "> done",
            "Complete"
        ]
    );
    let AgentReply::ToolResult { content, .. } = &stage.agent.replies()[0] else {
        panic!();
    };
    let text = "ran\nIn[3]:\nran a = 1\n42\nIn[4]:\nran plot\n42\n[image/png]";
    assert_eq!(
        *content,
        [
            InputPart::Text(text.into()),
            InputPart::Image("data:image/png;base64,AAAA".into())
        ]
    );
    assert_eq!(stage.session.next_line(), 5);
    stage.run("y");
    stage.run(".what now?");
    // The thread has seen the cells, and so has any thread seeded from the record: in the stored answer.
    assert_eq!(
        stage.sent(1),
        "<context><code>y</code><output>ran y\n42</output></context>\n<user-request>what now?</user-request>"
    );
    let request = &stage.agent.requests()[1];
    assert_eq!(request.thread.as_deref(), Some("T"), "gone on with");
    assert!(request.history[0].assistant.contains("a = 1"));
}

#[test]
fn the_first_failing_cell_is_named_and_stops_the_rest() {
    let check = |codes: &[&str], expected: &str| {
        let stage = auto(vec![calls(&[cells(codes)], "ok"), says("later")]);
        stage.run(".go");
        let (text, success) = replied(&stage, 0);
        assert_eq!(text.lines().next(), Some(expected), "{text}");
        assert!(!success);
        stage
    };
    let stage = check(
        &["a", "raise", "b", "c"],
        "cell 2 of 4 (In[3]) failed: ValueError: bad; cells 3 to 4 were not run",
    );
    assert_eq!(stage.session.next_line(), 4);
    assert!(replied(&stage, 0).0.ends_with("line 1\nValueError: bad"));
    check(
        &["die", "b"],
        "cell 1 of 2 (In[2]) failed: the interpreter ended (exit code 7), all variables are lost; the next cell gets \
         a new one; cell 2 was not run",
    );
}

#[test]
fn a_cell_of_the_agent_neither_leaves_nor_fills_the_editor() {
    let stage = auto(vec![calls(&[cells(&["exit()", "load"])], "ok")]);
    let seen = stage.run(".go");
    assert!(
        !seen
            .iter()
            .any(|word| word.starts_with("Leave") || word.starts_with("refill")),
        "{seen:?}"
    );
    let (text, success) = replied(&stage, 0);
    assert!(success && text.contains("[exit was ignored"), "{text}");
}

#[test]
fn cells_are_asked_for() {
    let turn = || calls(&[cells(&["a"])], "ok");
    let stage = asking(vec![turn(), turn(), turn(), turn(), turn()]);
    let run = |replies: &[Reply]| answering(&stage, &stage.submit(".go"), replies);
    let seen = run(&[Reply::Chosen(QuestionChoice::Once)]);
    assert_eq!(
        seen[1..4],
        ["run_cells(1 cell)…", "? 1", "(2) |a"],
        "{seen:?}"
    );
    run(&[Reply::Chosen(QuestionChoice::No)]);
    assert_eq!(
        replied(&stage, 1),
        ("Error: the user said no; no cell was run".into(), false)
    );
    run(&[Reply::NoBecause("not on <prod>".into())]);
    let why = "Error: the user said no; no cell was run. The user's reason: not on <prod>";
    assert_eq!(replied(&stage, 2), (why.into(), false));
    run(&[Reply::Chosen(QuestionChoice::Session)]);
    let seen = run(&[]);
    assert_eq!(seen[2], "(8) |a", "{seen:?}");
}

#[test]
fn a_reset_is_asked_for_each_time_and_ends_the_interpreter() {
    let reset = json!({"cells": [{"code": "a"}, {"code": "b", "title": "anew", "reset": true}]});
    let turn = || calls(&[("run_cells", reset.clone())], "ok");
    let stage = asking(vec![turn(), turn()]);
    let run = stage.submit(".go");
    let session = [Reply::Chosen(QuestionChoice::Session)];
    let seen = answering(&stage, &run, &session);
    assert_eq!(
        seen[2..],
        [
            "? 1",
            "cells running, waiting",
            "(2) |a",
            "ran a",
            "= 42",
            "Ok",
            "cells done, running",
            "(3) anew|b",
            "ran b",
            "= 42",
            "Ok",
            "run_cells(2 cells) => ran In[2], In[3]",
            "> ok",
            "Complete"
        ]
    );
    assert_eq!(stage.calls.kills(), 1);
    answering(&stage, &stage.submit(".go"), &session);
}

#[test]
fn without_leave_no_cell_runs() {
    let check = |run_cells: RunCells, asks: bool, expected: &str| {
        let stage = stage_with(vec![calls(&[cells(&["a"])], "ok")], |parts| {
            (parts.choices.run_cells, parts.asks) = (run_cells, asks);
        });
        let seen = stage.run(".go");
        assert!(replied(&stage, 0).0.contains(expected), "{seen:?}");
        assert_eq!(stage.session.next_line(), 2);
        let offered = stage.agent.requests()[0]
            .tools
            .iter()
            .any(|tool| tool.name == "run_cells");
        assert_eq!(offered, run_cells != RunCells::Off);
    };
    check(RunCells::Ask, false, "`%ipycodex run_cells auto` allows it");
    check(RunCells::Off, true, "tool `run_cells` is not defined");
}

#[test]
fn ctrl_c_in_a_cell_ends_the_turn_after_the_cell() {
    let stage = auto(vec![
        calls(&[cells(&["hang()", "b"])], "never"),
        says("next"),
    ]);
    let run = stage.submit(".go");
    until(&run, "= 42");
    stage.session.interrupt();
    assert_eq!(
        words(&run),
        ["KeyboardInterrupt", "Interrupted", "Interrupted"],
        "the cell's end, then the turn's"
    );
    assert_eq!(stage.calls.interrupts(), 1);
    assert!(stage.agent.replies().is_empty());
    assert_eq!(stage.session.next_line(), 3);
    stage.run(".what was that?");
    // No answer tells of the cell: it is context.
    assert_eq!(
        stage.sent(1),
        "<context><code>hang()</code><output>ran hang()\n42\nKeyboardInterrupt</output></context>\n\
         <user-request>what was that?</user-request>"
    );
    assert_eq!(stage.agent.requests()[1].thread, None);
}

#[test]
fn ctrl_c_in_a_question_stops_the_turn() {
    let stage = asking(vec![calls(&[cells(&["a"])], "never"), says("next")]);
    let run = stage.submit(".go");
    until(&run, "? 1");
    stage.session.interrupt();
    assert_eq!(words(&run), ["over 1", "Interrupted"]);
    // Too late.
    stage.session.answer(1, Reply::Chosen(QuestionChoice::Once));
    assert_eq!(stage.run(".next"), ["[2]", "> next", "Complete"]);
    assert_eq!(stage.calls.interrupts(), 0, "nothing ran");
}

#[test]
fn a_cell_that_takes_too_long_is_interrupted() {
    let hang = json!({"cells": [{"code": "hang"}, {"code": "b"}], "timeout": 1});
    let stage = auto(vec![calls(&[("run_cells", hang)], "ok")]);
    stage.run(".go");
    let text = replied(&stage, 0).0;
    assert_eq!(
        text.lines().next(),
        Some(
            "cell 1 of 2 (In[2]) failed: timed out after 1 s; it was interrupted, variables are kept; cell 2 was not \
             run"
        )
    );
}
