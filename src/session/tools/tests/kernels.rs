//! Cells in kernels of the agent's own: unasked, without numbers, kept or ended, told honestly.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::config::KernelMode;
use crate::runtime::connect::{RuntimePlan, capabilities, connect};
use crate::runtime::scripted::Script;
use crate::runtime::{RuntimeEvent, StartFailure};
use crate::{Parts, PlannedRuntime};

fn own(kernel: &str, codes: &[&str], more: Value) -> (&'static str, Value) {
    let (name, mut arguments) = cells(codes);
    arguments["kernel"] = kernel.into();
    let more = more.as_object().cloned().unwrap_or_default();
    arguments.as_object_mut().unwrap().extend(more);
    (name, arguments)
}

/// What the agent is told of each call, in turns of their own; nobody is asked.
fn told(wanted: &[(&'static str, Value)], change: impl FnOnce(&mut Parts)) -> Vec<String> {
    let turns = wanted
        .iter()
        .map(|call| calls(std::slice::from_ref(call), "ok"));
    let stage = stage_with(turns.collect(), |parts| {
        parts.asks = false;
        change(parts);
    });
    for _ in wanted {
        stage.run(".go");
    }
    (0..wanted.len()).map(|n| replied(&stage, n).0).collect()
}

#[test]
fn they_run_unasked_and_take_no_numbers() {
    let stage = asking(vec![calls(
        &[own("scratch", &["a = 1", "plot"], json!({}))],
        "done",
    )]);
    assert_eq!(
        stage.run(".go"),
        [
            "[1]",
            "run_cells(2 cells)…",
            "cells running, waiting",
            "the agent's kernel runs 1 of 2:\na = 1",
            "ran a = 1",
            "= 42",
            "cells done, running",
            "the agent's kernel runs 2 of 2:\nplot",
            "ran plot",
            "= 42",
            "= [image/png]",
            "run_cells(2 cells) => ran",
            "> done",
            "Complete"
        ]
    );
    assert_eq!(stage.session.next_line(), 2, "the next cell is In[2]");
    assert_eq!(stage.calls.kills() + stage.calls.interrupts(), 0);
}

#[test]
fn failures_deaths_and_time_are_told() {
    let told = told(
        &[
            own("scratch", &["a", "raise", "b"], json!({})),
            own("scratch", &["die", "b"], json!({})),
            own("scratch", &["a"], json!({})),
            own("scratch", &["die"], json!({})),
            own("scratch", &["a"], json!({})),
            own("fresh", &["hang"], json!({"timeout": 1})),
            own("fresh", &["a"], json!({"cwd": "no/such/folder"})),
            own("warm", &["a"], json!({})),
            own("live", &["a"], json!({"timeout": 601})),
        ],
        |_| {},
    );
    let expected = [
        "cell 2 of 3 failed: ValueError: bad; cell 3 was not run",
        "cell 1 of 2 failed: the interpreter ended (exit code 7), all variables are lost; the next cell gets a new \
         one; cell 2 was not run",
        "[the kernel had ended (exit code 7): this is a new one, without the variables of before]",
        "cell 1 of 1 failed: the interpreter ended (exit code 7)",
        "Error: the kernel ended twice within a minute (exit code 7)",
        "cell 1 of 1 failed: timed out after 1 s; it was interrupted, variables are kept",
        "Error: `cwd`: /no/such/folder: No such file or directory",
        "Error: run_cells: `kernel`: expected live, copy, scratch or fresh, not `warm`",
        "Error: run_cells: `timeout`: expected a number from 1 to 600, not 601",
    ];
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.starts_with(expected), "{told}");
    }
}

/// A kernel that says of itself that nothing protects from it.
fn unprotected(parts: &mut Parts) {
    parts.kernels = Box::new(|_| {
        let mut script = Script::new(Script::default_reply);
        for event in &mut script.initial_events {
            if let RuntimeEvent::Ready(info) = event {
                info.unprotected = Some("no Landlock".into());
            }
        }
        let plan = RuntimePlan::Scripted(script);
        PlannedRuntime {
            capabilities: capabilities(&plan),
            needs_session_at_start: false,
            connect: Box::new(move |_| connect(plan)),
        }
    });
}

/// Kernels of which the system has no room for these, counted from 1.
fn without_room(parts: &mut Parts, for_these: &'static [u32]) {
    let count = AtomicU32::new(0);
    parts.kernels = Box::new(move |_| {
        let count = count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut script = Script::new(Script::default_reply);
        if for_these.contains(&count) {
            script.initial_events = vec![RuntimeEvent::StartFailed(StartFailure {
                message: "`python3`: Too many open files (os error 24)".into(),
                hint: "close some".into(),
            })];
        }
        let plan = RuntimePlan::Scripted(script);
        PlannedRuntime {
            capabilities: capabilities(&plan),
            needs_session_at_start: false,
            connect: Box::new(move |_| connect(plan)),
        }
    });
}

#[test]
fn where_there_is_no_room_those_at_rest_end_and_it_is_tried_once_more() {
    let calls = [
        own("scratch", &["a"], json!({})),
        own("scratch", &["b"], json!({"cwd": "/tmp"})),
    ];
    // The second one is started twice, then it is up.
    let met = told(&calls, |parts| without_room(parts, &[2]));
    assert!(met[0].starts_with("ran"), "{met:?}");
    assert!(met[1].starts_with("ran"), "{met:?}");
    let twice = told(&calls, |parts| without_room(parts, &[2, 3]));
    assert!(twice[1].contains("Too many open files"), "{twice:?}");
    // None is at rest: nothing is gained by another try.
    let first = told(&calls, |parts| without_room(parts, &[1]));
    assert!(first[0].contains("Too many open files"), "{first:?}");
    assert!(first[1].starts_with("ran"), "{first:?}");
}

#[test]
fn without_protection_they_are_asked_for() {
    let turn = || calls(&[own("scratch", &["a"], json!({}))], "ok");
    let stage = stage_with(vec![turn(), turn(), turn(), turn()], unprotected);
    let run = |replies: &[Reply]| answering(&stage, &stage.submit(".go"), replies);
    run(&[Reply::Chosen(QuestionChoice::No)]);
    assert!(
        replied(&stage, 0)
            .0
            .contains("the user said no; no cell was run")
    );
    run(&[Reply::Chosen(QuestionChoice::Once)]);
    assert!(replied(&stage, 1).1);
    run(&[Reply::Chosen(QuestionChoice::Session)]);
    run(&[]);
    assert!(replied(&stage, 3).1);
    let told = told(&[own("scratch", &["a"], json!({}))], unprotected);
    assert!(told[0].contains("no cell was run: no Landlock"), "{told:?}");
}

#[test]
fn with_a_kernel_for_each_call_none_is_kept() {
    let turn = || calls(&[own("scratch", &["a"], json!({}))], "ok");
    let stage = stage_with(vec![turn(), turn()], |parts| {
        parts.choices.kernel_mode = KernelMode::PerCall;
    });
    for _ in 0..2 {
        let seen = stage.run(".go");
        let shown = seen.iter().any(|line| line == "a fresh kernel runs:\na");
        assert!(shown, "{seen:?}");
    }
}

#[test]
fn ctrl_c_stops_the_cell_and_the_turn() {
    let stage = asking(vec![
        calls(&[own("scratch", &["hang"], json!({}))], "never"),
        says("next"),
    ]);
    let run = stage.submit(".go");
    until(&run, "= 42");
    stage.session.interrupt();
    assert_eq!(words(&run), ["KeyboardInterrupt", "Interrupted"]);
    assert_eq!(stage.calls.interrupts(), 0, "the user's own was left alone");
    assert_eq!(stage.run(".next"), ["[2]", "> next", "Complete"]);
}

#[test]
fn a_reset_of_ones_own_is_not_asked_for_and_leaves_the_users_alone() {
    let (name, mut arguments) = own("scratch", &["a", "b"], json!({}));
    arguments["cells"][1]["reset"] = true.into();
    let stage = asking(vec![calls(&[(name, arguments)], "ok")]);
    stage.run(".go");
    assert_eq!(
        replied(&stage, 0),
        ("ran\ncell 1:\nran a\n42\ncell 2:\nran b\n42".into(), true)
    );
    assert_eq!(stage.calls.kills(), 0);
}

#[test]
fn cells_in_a_copy_run_unasked_and_what_they_have_not_printed_is_shown_at_their_end() {
    let stage = asking(vec![calls(
        &[own("copy", &["a = 1", "raise", "b"], json!({}))],
        "done",
    )]);
    assert_eq!(
        stage.run(".go"),
        [
            "[1]",
            "run_cells(3 cells)…",
            "cells running, waiting, waiting",
            "a copy of your session runs 1 of 3:\na = 1",
            "7",
            "cells done, running, waiting",
            "a copy of your session runs 2 of 3:\nraise",
            "Error: ValueError: bad\nline 1",
            "run_cells(3 cells) => cell 2 of 3 failed: ValueError: bad; cell 3 was not run cell 1: looked 7 cell 2: \
             before Error: Va...",
            "> done",
            "Complete"
        ]
    );
    assert_eq!(stage.session.next_line(), 2, "the next cell is In[2]");
}

#[test]
fn a_copy_that_nothing_keeps_from_changing_files_is_asked_for() {
    let turn = || calls(&[own("copy", &["bare"], json!({}))], "ok");
    let stage = asking(vec![turn(), turn(), turn(), turn()]);
    let run = |replies: &[Reply]| answering(&stage, &stage.submit(".go"), replies);
    run(&[Reply::Chosen(QuestionChoice::No)]);
    assert!(
        replied(&stage, 0)
            .0
            .contains("the user said no; no cell was run")
    );
    run(&[Reply::Chosen(QuestionChoice::Once)]);
    assert!(replied(&stage, 1).0.contains("looked"));
    run(&[Reply::Chosen(QuestionChoice::Session)]);
    run(&[]);
    let nobody = told(&[own("copy", &["bare"], json!({}))], |_| {});
    assert!(nobody[0].contains("nobody here to allow it"), "{nobody:?}");
}
