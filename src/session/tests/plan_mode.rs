//! Plan mode: what the agent gets, what is refused, and what becomes of its plan.

use super::*;
use crate::agent::{AgentQuestion, PlanMode, QuestionAnswer, Subject, TurnRequest};
use crate::{QuestionChoice, QuestionSubject, Reply};

const TASK: &str = "<plan-mode>Plan mode is on: look, and change nothing.";

fn input(request: &TurnRequest) -> String {
    let parts = request.input.iter().filter_map(InputPart::as_text);
    parts.collect()
}

fn offers_progress(request: &TurnRequest) -> bool {
    request.tools.iter().any(|tool| tool.name == "show_plan")
}

/// Runs an input; `choice` answers the question about the plan. Returns a word for each event, and the steps.
fn run(stage: &Stage, text: &str, choice: QuestionChoice) -> (Vec<String>, Vec<String>) {
    let run = stage.submit(text);
    let (mut words, mut steps) = (Vec::new(), Vec::new());
    while let NextEvent::Event(event) = run.next_blocking(Some(Duration::from_secs(60))) {
        if let SessionEvent::Question(QuestionEvent::Asked(question)) = &*event {
            let QuestionSubject::Plan(asked) = &question.about else {
                panic!("{question:?}");
            };
            let choices = [
                QuestionChoice::Once,
                QuestionChoice::Edit,
                QuestionChoice::No,
            ];
            assert_eq!(question.choices(), choices);
            steps.clone_from(asked);
            stage.session.answer(question.id, Reply::Chosen(choice));
        }
        words.push(word(&event));
    }
    (words, steps)
}

#[test]
fn a_plan_is_carried_out_when_the_user_says_so() {
    let progress = |status: &str| {
        let step = |step: &str, status: &str| json!({"step": step, "status": status});
        json!({"steps": [step("read", "completed"), step("write", status)]})
    };
    let acts = calls(
        &[
            ("show_plan", progress("in_progress")),
            ("run_cells", json!({"cells": [{"code": "x = 1"}]})),
            ("show_plan", progress("completed")),
        ],
        "written",
    );
    let plan = says("This:\n\n1. read\n2. write");
    let stage = stage_with(vec![says("hello"), plan, acts, says("more")], |parts| {
        parts.choices.run_cells = crate::config::RunCells::Auto;
        parts.choices.sandbox = Sandbox::WorkspaceWrite;
    });
    stage.run(".hello");
    assert!(!offers_progress(&stage.agent.requests()[0]));
    let switched = stage.run("%ipycodex plan on");
    assert!(
        switched.join("\n").contains("plan mode is on"),
        "{switched:?}"
    );
    let (words, steps) = run(&stage, ".make it", QuestionChoice::Once);
    assert_eq!(steps, ["read", "write"]);
    let words = words.join("\n");
    let order = [
        "? 1",
        "[4]",
        "plan read, write",
        "x = 1",
        "plan read, write",
        "> written",
        "Complete",
    ];
    let mut rest = words.as_str();
    for part in order {
        rest = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part} in {words}"))
            .1;
    }
    assert!(!words.contains("show_plan"), "{words}");
    let requests = stage.agent.requests();
    let [_, planning, acting] = &requests[..] else {
        panic!("{} requests", requests.len());
    };
    assert!(input(planning).starts_with(TASK), "{}", input(planning));
    assert_eq!(planning.settings.plan, PlanMode::On);
    assert_eq!(planning.settings.sandbox, Sandbox::ReadOnly);
    assert!(offers_progress(planning) && offers_progress(acting));
    assert_eq!(acting.settings.plan, PlanMode::Left);
    assert_eq!(acting.settings.sandbox, Sandbox::WorkspaceWrite);
    let sent = "<user-request>Carry out this plan:\n1. read\n2. write</user-request>";
    assert_eq!(input(acting), sent);
    // What was sent in plan mode is recorded with its prompt, so that its thread holds what the record does.
    assert_eq!(acting.thread.as_deref(), Some("T"));
    assert!(acting.history[1].user.starts_with(TASK));
    stage.run(".go on");
    let request = stage.agent.requests().pop().unwrap();
    assert_eq!(request.thread.as_deref(), Some("T"));
    let told = crate::dialog::display_form(&request.history[2].assistant);
    assert_eq!(told.matches("- ☑").count(), 2, "one block: {told}");
    assert!(!told.contains("show_plan"), "{told}");
    assert!(told.starts_with("- ☑ read\n- ☑ write\n"), "{told}");
    assert!(offers_progress(&request));
}

#[test]
fn a_plan_is_edited_in_the_editor_and_sending_it_ends_the_mode() {
    let stage = stage(vec![says("1. read\n2. write"), says("ok")]);
    stage.run("%ipycodex plan on");
    let (words, _) = run(&stage, ".make it", QuestionChoice::Edit);
    let refill = "refill .Carry out this plan:\n1. read\n2. write";
    assert!(words.iter().any(|word| word == refill), "{words:?}");
    let told = stage.run("%ipycodex plan").join("\n");
    assert!(told.contains("plan mode is on"), "{told}");
    let words = stage.run(".Carry out this plan:\n1. write").join("\n");
    assert!(words.contains("plan mode is off"), "{words}");
    let request = stage.agent.requests().pop().unwrap();
    assert_eq!(request.settings.plan, PlanMode::Left);
    assert!(!input(&request).contains(TASK));
}

#[test]
fn without_a_yes_planning_goes_on_and_the_plan_is_found_later() {
    let stage = stage(vec![
        says("1. read\n2. write"),
        says("Which file do you mean?"),
        says("1. write"),
        says("done"),
    ]);
    stage.run("%ipycodex plan on");
    let (words, _) = run(&stage, ".make it", QuestionChoice::No);
    assert!(words.join("\n").contains("plan mode stays on"), "{words:?}");
    let (words, steps) = run(&stage, ".shorter", QuestionChoice::No);
    assert!(
        steps.is_empty() && !words.join("\n").contains("? "),
        "{words:?}"
    );
    let told = stage.run("%ipycodex plan act").join("\n");
    assert!(told.contains("the last answer holds no plan"), "{told}");
    let (_, steps) = run(&stage, ".that one", QuestionChoice::No);
    assert_eq!(steps, ["write"]);
    stage.run("%ipycodex plan act");
    let request = stage.agent.requests().pop().unwrap();
    assert!(input(&request).contains("Carry out this plan:\n1. write"));
    assert_eq!(request.settings.plan, PlanMode::Left);
    assert!(
        stage
            .run("%ipycodex plan")
            .join("\n")
            .contains("plan mode is off")
    );
}

#[test]
fn where_nobody_can_be_asked_nothing_acts() {
    let stage = stage_with(vec![says("1. read"), says("done")], |parts| {
        parts.asks = false
    });
    stage.run("%ipycodex plan on");
    let words = stage.run(".make it").join("\n");
    assert!(
        words.contains("a plan of 1 step: `%ipycodex plan act`"),
        "{words}"
    );
    assert!(
        stage
            .run("%ipycodex plan")
            .join("\n")
            .contains("plan mode is on")
    );
    assert_eq!(stage.agent.requests().len(), 1);
}

#[test]
fn what_acts_is_refused_with_a_reason_and_what_looks_is_not() {
    let cells = json!({"cells": [{"code": "x = 1"}]});
    let notebook = |action: &str| json!({"action": action, "path": "/nowhere/a.ipynb", "cell": 0, "content": "1"});
    let turn = calls(
        &[
            ("run_cells", cells.clone()),
            ("f", json!({"x": 1})),
            ("notebook", notebook("edit")),
            ("notebook", notebook("list")),
            ("pyrun", json!({"code": "x"})),
            ("pyrun", json!({"code": "bare"})),
        ],
        "no plan yet",
    );
    let stage = stage_with(vec![turn], |parts| {
        parts.choices.run_cells = crate::config::RunCells::Auto;
    });
    stage.run("%ipycodex plan on");
    let words = stage.run(".make it with &`f`").join("\n");
    assert!(
        !words.contains("ran x = 1") && !words.contains("? 1"),
        "{words}"
    );
    let results = stage.agent.replies().into_iter().map(|reply| match reply {
        AgentReply::ToolResult {
            success, content, ..
        } => {
            let text = content
                .iter()
                .filter_map(InputPart::as_text)
                .collect::<String>();
            (success, text.contains("plan mode is on"))
        }
        other => panic!("{other:?}"),
    });
    let (refused, failed, looked) = ((false, true), (false, false), (true, false));
    assert_eq!(
        results.collect::<Vec<_>>(),
        [refused, refused, refused, failed, looked, refused]
    );
}

#[test]
fn approvals_that_would_act_are_refused_and_recorded() {
    let question = |id: &str, reads| AgentEvent::QuestionAsked {
        turn: TURN,
        question: AgentQuestion {
            reads,
            ..AgentQuestion::with_default_options(
                id,
                Subject::Command {
                    command: "touch x".into(),
                    cwd: "/".into(),
                    reason: None,
                },
            )
        },
    };
    let mut turn = vec![question("a", false), question("b", true)];
    turn.extend(says("no plan yet"));
    let stage = stage(vec![turn]);
    stage.session.set_plan_mode(true);
    let run = stage.submit(".make it");
    let mut words = Vec::new();
    while let NextEvent::Event(event) = run.next_blocking(Some(Duration::from_secs(60))) {
        if let SessionEvent::Question(QuestionEvent::Asked(question)) = &*event {
            let no = Reply::Chosen(QuestionChoice::No);
            stage.session.answer(question.id, no);
        }
        words.push(word(&event));
    }
    let words = words.join("\n");
    assert!(
        words.contains("not allowed in plan mode (command): touch x (in /)"),
        "{words}"
    );
    assert_eq!(words.matches("? ").count(), 1, "{words}");
    let answers = stage.agent.replies().into_iter().map(|reply| match reply {
        AgentReply::Answer { question, answer } => (question, answer),
        other => panic!("{other:?}"),
    });
    let [(a, refused), (b, asked)] = &answers.collect::<Vec<_>>()[..] else {
        panic!("two answers");
    };
    assert_eq!((a.as_str(), b.as_str()), ("a", "b"));
    assert!(
        matches!(refused, QuestionAnswer::RejectedWithReason(why) if why.contains("plan mode is on"))
    );
    assert_eq!(*asked, QuestionAnswer::Chosen("reject_once".into()));
}
