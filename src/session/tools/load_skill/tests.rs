//! Skills of a project through the whole loop: the user's questions, the code that runs, the agent's results.

use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::agent::AgentEvent;
use crate::question::{QuestionChoice, Reply};
use crate::skills::{Catalog, Consent, Roots};
use crate::tests::{Stage, calls, says, stage_with, words};
use crate::tools::Skills;
use crate::tools::tests::{answering, replied, until};

const SKILL: &str = "---\nname: demo\ndescription: Shows.\n---\nText.\n";

/// A project whose skill `demo` marks these blocks.
fn project(blocks: &[&str]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".git")).unwrap();
    let skill = home.path().join(".agents/skills/demo");
    std::fs::create_dir_all(&skill).unwrap();
    let blocks = blocks
        .iter()
        .map(|block| format!("```python\n#| eval: true\n{block}\n```\n"));
    let text = format!("{SKILL}{}", blocks.collect::<String>());
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    home
}

fn find(project: &Path, state: &Path) -> Skills {
    let (consent, trouble) = Consent::open(state);
    Skills {
        catalog: Catalog::find(&Roots::find(Some(project), None, None)),
        consent,
        warning: trouble,
    }
}

/// A session in `project`; answers are kept in `state`.
fn stage(project: &Path, state: &Path, asks: bool, turns: Vec<Vec<AgentEvent>>) -> Stage {
    let (project, state) = (project.to_owned(), state.to_owned());
    stage_with(turns, |parts| {
        parts.asks = asks;
        parts.skills = Box::new(move || find(&project, &state));
    })
}

fn load(path: &str) -> Vec<AgentEvent> {
    calls(&[("load_skill", json!({ "path": path }))], "ok")
}

const REMEMBER: Reply = Reply::Chosen(QuestionChoice::Remember);
const ONCE: Reply = Reply::Chosen(QuestionChoice::Once);
const NO: Reply = Reply::Chosen(QuestionChoice::No);

#[test]
fn a_skill_of_the_project_is_asked_for_once_and_sent_once() {
    let (project, state) = (project(&[]), tempfile::tempdir().unwrap());
    let turns = vec![
        load("demo"),
        load("demo"),
        load("demo"),
        load("nope"),
        load("demo"),
    ];
    let stage = stage(project.path(), state.path(), true, turns);
    let run = |replies: &[Reply]| answering(&stage, &stage.submit(".go"), replies);
    run(std::slice::from_ref(&NO));
    let (text, success) = replied(&stage, 0);
    assert!(
        text.contains("does not allow the skills") && !success,
        "{text}"
    );
    run(&[ONCE]);
    let (text, success) = replied(&stage, 1);
    assert!(text.starts_with(SKILL) && success, "{text}");
    assert!(text.contains("Directory of this skill"), "{text}");
    run(&[]);
    assert!(replied(&stage, 2).0.starts_with("already loaded"));
    run(&[]);
    assert!(
        replied(&stage, 3)
            .0
            .contains("no skill `nope` is on the list")
    );
    let request = &stage.agent.requests()[0];
    assert!(
        request.instructions.starts_with("be brief\n"),
        "{}",
        request.instructions
    );
    assert!(request.instructions.contains("<skill name=\"demo\""));
    assert!(request.tools.iter().any(|tool| tool.name == "load_skill"));
    assert!(
        stage.agent.requests()[1].thread.is_some(),
        "the list does not change"
    );
    // A skill that left the conversation is sent again.
    stage.run("%ipycodex reset");
    run(&[]);
    assert!(replied(&stage, 4).0.starts_with(SKILL));
}

#[test]
fn trust_is_remembered() {
    let (project, state) = (project(&[]), tempfile::tempdir().unwrap());
    let first = stage(project.path(), state.path(), true, vec![load("demo")]);
    answering(&first, &first.submit(".go"), &[REMEMBER]);
    first.session.close(std::time::Duration::from_secs(60));
    // Written by another thread.
    while !find(project.path(), state.path())
        .consent
        .trusts(&project.path().canonicalize().unwrap())
    {
        std::thread::yield_now();
    }
    let second = stage(project.path(), state.path(), false, vec![load("demo")]);
    second.run(".go");
    assert!(replied(&second, 0).0.starts_with(SKILL));
}

#[test]
fn code_runs_in_order_when_it_is_allowed_and_is_shown() {
    let (project, state) = (project(&["a = 1", "b"]), tempfile::tempdir().unwrap());
    let turns = vec![load("demo"), load("demo")];
    let stage = stage(project.path(), state.path(), true, turns);
    let seen = answering(&stage, &stage.submit(".go"), &[ONCE, REMEMBER]);
    let code = |block: &str| format!("#| eval: true\n{block}");
    let (a, b) = (code("a = 1"), code("b"));
    assert_eq!(
        seen[2..10],
        [
            "? 1".to_owned(),
            "? 2".to_owned(),
            format!("skill demo runs:\n{a}"),
            format!("ran {a}"),
            "= 42".to_owned(),
            format!("skill demo runs:\n{b}"),
            format!("ran {b}"),
            "= 42".to_owned(),
        ]
    );
    let text = replied(&stage, 0).0;
    assert!(
        text.ends_with(&format!(
            "Code block 1 of 2 (`eval: true`) ran. Output:\nran {a}\n42\n\
             Code block 2 of 2 (`eval: true`) ran. Output:\nran {b}\n42\n"
        )),
        "{text}"
    );
    assert_eq!(stage.session.next_line(), 2, "not numbered");
    stage.run(".more");
    assert!(!stage.sent(1).contains("<context>"), "not recorded");
}

#[test]
fn code_is_asked_for_again_when_a_script_beside_it_has_changed() {
    let (project, state) = (project(&["run"]), tempfile::tempdir().unwrap());
    let script = project.path().join(".agents/skills/demo/scripts/run.py");
    std::fs::create_dir(script.parent().unwrap()).unwrap();
    std::fs::write(&script, "harmless").unwrap();
    let turns = vec![load("demo"), load("demo"), load("demo")];
    let stage = stage(project.path(), state.path(), true, turns);
    let run = |replies: &[Reply]| {
        let seen = answering(&stage, &stage.submit(".go"), replies);
        stage.run("%ipycodex reset");
        (seen.iter().any(|word| word.starts_with("ran #|")), seen)
    };
    let (ran, seen) = run(&[ONCE, REMEMBER]);
    assert!(ran, "{seen:?}");
    let (ran, seen) = run(&[]);
    assert!(ran, "it is what it was: {seen:?}");
    std::fs::write(&script, "other").unwrap();
    let (ran, seen) = run(&[NO]);
    assert!(!ran, "it may do something else now: {seen:?}");
}

#[test]
fn code_that_may_not_run_or_fails_is_told() {
    let check = |blocks: &[&str], asks: bool, replies: &[Reply], expected: &str| {
        let (project, state) = (project(blocks), tempfile::tempdir().unwrap());
        if !asks {
            let mut consent = Consent::open(state.path()).0;
            let root = project.path().canonicalize().unwrap();
            consent.trust(&root, true).unwrap();
        }
        let stage = stage(project.path(), state.path(), asks, vec![load("demo")]);
        let seen = answering(&stage, &stage.submit(".go"), replies);
        let (text, success) = replied(&stage, 0);
        assert!(text.contains(expected) && success, "{text}\n{seen:?}");
    };
    check(
        &["a"],
        true,
        &[ONCE, NO],
        "The code block marked `eval: true` was not run: the user does not allow it.",
    );
    check(&["a", "b"], false, &[], "there is nobody here to ask.");
    check(
        &["raise", "b"],
        true,
        &[ONCE, REMEMBER],
        "\nThe blocks after it were not run.",
    );
}

#[test]
fn ctrl_c_in_code_of_a_skill_ends_the_turn_after_it() {
    let (project, state) = (project(&["hang"]), tempfile::tempdir().unwrap());
    let root = project.path().canonicalize().unwrap();
    Consent::open(state.path()).0.trust(&root, true).unwrap();
    let turns = vec![load("demo"), says("next")];
    let stage = stage(project.path(), state.path(), true, turns);
    let run = stage.submit(".go");
    until(&run, "? 1");
    stage.session.answer(1, REMEMBER);
    until(&run, "= 42");
    stage.session.interrupt();
    assert_eq!(words(&run), ["KeyboardInterrupt", "Interrupted"]);
    assert_eq!(stage.run(".next"), ["[2]", "> next", "Complete"]);
}

#[test]
fn where_nobody_can_be_asked_a_skill_of_the_project_is_read_and_nothing_of_it_runs() {
    let (project, state) = (project(&["a"]), tempfile::tempdir().unwrap());
    let file = project.path().join(".agents/skills/demo/SKILL.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let declared = text.replacen(
        "---\n",
        "---\nshell-cmds: touch /made\nexposed-vars: x\n",
        1,
    );
    std::fs::write(&file, declared).unwrap();
    let turns = vec![load("demo"), says("next")];
    let stage = stage(project.path(), state.path(), false, turns);
    assert!(!stage.run(".go").iter().any(|word| word == "ran a"));
    let (text, success) = replied(&stage, 0);
    assert!(text.contains("Text.") && success, "{text}");
    assert!(
        text.contains("was not run: the user has to allow it"),
        "{text}"
    );
    stage.run(".next");
    assert_eq!(stage.sent(1), "<user-request>next</user-request>");
}
