//! Events of an answer in words, and what stands after them.

use super::*;
use crate::agent::{ActivityKind, Change, FileWritten, InputPart, WorkStatus};

fn event(words: &str) -> AnswerEvent {
    let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
    let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
    let (message, id) = (first.parse().unwrap_or(0), first.to_owned());
    let (command, delta) = (format!("run {first}"), more.to_owned());
    let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let change = |path: &str| FileChange {
        path: path.into(),
        change: Change::Added("1\n".into()),
    };
    match word {
        "text" => AnswerEvent::Text { message, delta },
        "restart" => AnswerEvent::Restarted { message },
        "think" => AnswerEvent::Thought {
            part: message,
            delta,
        },
        "start" => AnswerEvent::AgentStarts(said(rest)),
        "run" => AnswerEvent::CommandStarted { id, command },
        "out" => AnswerEvent::CommandOutput { id, delta },
        "ran" => AnswerEvent::CommandRan {
            id,
            command,
            exit_code: more.parse().ok(),
            output: "whole".into(),
        },
        "deny" => AnswerEvent::Denied {
            id,
            what: said(more),
        },
        "call" => AnswerEvent::ToolStarted { call: rest.into() },
        "returned" | "raised" => AnswerEvent::ToolRan {
            line: rest.into(),
            success: word == "returned",
        },
        "plan" => AnswerEvent::Planned(steps(rest)),
        "cells" => AnswerEvent::CellsProgress(steps(rest)),
        "working" | "worked" | "refused" => AnswerEvent::Worked(Activity {
            id,
            kind: ActivityKind::Mcp,
            title: format!("{word} {first}"),
            status: match word {
                "working" => WorkStatus::Running,
                _ => WorkStatus::Done,
            },
            content: vec![InputPart::Text("rain".into())],
            locations: Vec::new(),
            denied: word == "refused",
        }),
        "changed" => AnswerEvent::FilesChanged(rest.split(' ').map(change).collect()),
        "wrote" => AnswerEvent::FileWritten(FileWritten {
            change: change(rest),
            bytes: 2,
        }),
        "line" => AnswerEvent::Progress(rest.into()),
        "picture" => AnswerEvent::Picture(rest.into()),
        other => panic!("{other}"),
    }
}

fn steps(words: &str) -> Vec<PlanStep> {
    let step = |text: &str| PlanStep {
        text: text.to_owned(),
        status: WorkStatus::Running,
    };
    words.split(' ').map(step).collect()
}

fn play(script: &str) -> Answer {
    let mut answer = Answer::default();
    for words in script.split("; ") {
        answer.apply(event(words));
    }
    answer
}

fn told(work: &Work) -> String {
    match work {
        Work::Call {
            title,
            output,
            state,
            ..
        } => format!("{title}{state:?} {output}"),
        Work::Activity(activity) => activity.title.clone(),
        Work::Plan(steps) => {
            let steps: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
            format!("plan {}", steps.join(" "))
        }
        Work::AgentStarts(line) => format!("start {line}"),
        Work::Line(line) => format!("- {line}"),
    }
}

/// The blocks after the events of a script, and how many of them are work that runs.
#[track_caller]
fn check(script: &str, blocks: &[&str], running: usize) {
    let answer = play(script);
    let all = answer.blocks().iter().map(|block| match block {
        AnswerBlock::Text { text, .. } => format!("> {text}"),
        AnswerBlock::Thought { text, .. } => format!("? {text}"),
        AnswerBlock::Work(work) => told(work),
    });
    assert_eq!(all.collect::<Vec<_>>(), blocks, "{script}");
    assert_eq!(answer.running().count(), running, "{script}");
}

#[test]
fn text_and_reasoning_stand_around_the_work() {
    check(
        "think 1 hm; text 1 a; text 1 b; run c; text 1 d; ran c 0; text 1 e; text 2 x; restart 2; text 3 f",
        &["? hm", "> ab", r#"run cSome("") whole"#, "> de", "> f"],
        0,
    );
}

#[test]
fn a_command_stands_where_it_began_until_it_has_ended() {
    check(
        "run a; run b; out a 1; out a 2",
        &["run aNone 12", "run bNone "],
        2,
    );
    let ended = r#"run bSome("exit 2") whole"#;
    check("run a; run b; ran b 2; out b x", &["run aNone ", ended], 1);
    check("ran a", &[r#"run aSome("ended") whole"#], 0);
    check("out a x", &[], 0);
    let denied = r#"run aSome("not allowed") "#;
    check(
        "run a; deny a; deny b rm; deny c",
        &[denied, "- ✗ not allowed: rm"],
        0,
    );
}

#[test]
fn a_tool_has_its_line_when_it_has_ended() {
    check("call f", &["fNone "], 1);
    check(
        "call f; returned f => 1; call g; raised g => E",
        &[r#"fSome("") f => 1"#, r#"gSome("failed") g => E"#],
        0,
    );
    check("returned f", &[r#"fSome("") f"#], 0);
    // Files that it has changed are no end of it.
    let changed = "add /a, add /bSome(\"\") add /a\n1\n\nadd /b\n1\n";
    check("call f; changed /a /b", &["fNone ", changed], 1);
    let wrote = "created /a (2 bytes, +1)Some(\"\") add /a\n1\n";
    check("wrote /a", &[wrote], 0);
}

#[test]
fn the_last_that_is_told_of_something_stands() {
    let both = ["working a", "working b"];
    check("working a; working b; working a", &both, 2);
    check(
        "working a; working b; worked a",
        &["worked a", "working b"],
        1,
    );
    check("working a; working b; refused a", &["working b"], 1);
    let plan = ["> t", "plan a b", "- x"];
    check("plan a; text 1 t; plan a b; line x", &plan, 0);
    check("start x; text 1 t; start y", &["> t", "start y"], 0);
    check("start x; start", &[], 0);
    let mut answer = play("plan a; start x; cells c; cells d");
    assert_eq!(answer.plan(), steps("a"));
    assert_eq!(answer.cells(), steps("d"));
    assert_eq!(answer.agent_starts(), Some("x"));
    answer.apply(event("raised f"));
    assert_eq!(answer.cells(), []);
}

#[test]
fn what_changes_no_block_is_told() {
    let mut answer = Answer::default();
    for words in ["start", "deny c", "cells c", "picture data:x"] {
        assert!(!answer.apply(event(words)), "{words}");
    }
    assert!(answer.apply(event("text 1 a")));
    assert_eq!(answer.text(), "a");
}

#[test]
fn the_end_of_what_runs_is_expected() {
    let answer = play("run a; run b; ran b 0; worked w");
    for words in ["out a x", "ran a", "deny a", "worked w"] {
        assert!(answer.expects(&event(words)), "{words}");
    }
    for words in ["out b x", "returned f", "worked v", "text 1 x"] {
        assert!(!answer.expects(&event(words)), "{words}");
    }
    assert!(play("call f").expects(&event("returned f")));
}

#[test]
fn of_a_long_output_the_end_is_kept() {
    let mut answer = play("run a");
    let piece = event(&format!("out a {}", "é".repeat(1000)));
    for _ in 0..1000 {
        answer.apply(piece.clone());
    }
    let kept = match answer.running().next() {
        Some(Work::Call { output, .. }) => output.len(),
        other => panic!("{other:?}"),
    };
    assert!((OUTPUT_KEPT..=2 * OUTPUT_KEPT).contains(&kept), "{kept}");
}
