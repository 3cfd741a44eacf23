//! What a prompt refers to, from its submission to what is sent: order, interrupts, a dead interpreter, long outputs.

use super::*;
use crate::runtime::ReferenceValue;
use crate::runtime::scripted::Script;

/// A runtime that knows `x` and runs every command; `hang` is not answered, `die` kills it. Requests are counted.
fn evaluating() -> Script {
    Script::new(|id, request| match request {
        RuntimeRequest::Execute(execute) => cell(id, &execute.code, execute.execution_count),
        RuntimeRequest::Evaluate { shells, .. } if shells.contains(&"hang".to_owned()) => {
            vec![output(id, "waiting\n")]
        }
        RuntimeRequest::Evaluate { shells, .. } if shells.contains(&"die".to_owned()) => {
            let death = crate::runtime::Death::Exited(7);
            let failed = RuntimeReply::Failed(format!("the Python interpreter ended: {death}"));
            let died = RuntimeEvent::Died {
                death,
                restarting: true,
            };
            vec![answered(id, failed), died]
        }
        RuntimeRequest::Evaluate { variables, shells } => {
            let look = |expression: &String| match expression.as_str() {
                "x" => ReferenceValue::Value {
                    expression: expression.clone(),
                    type_name: "int".into(),
                    text: "41".into(),
                    image: None,
                    failed: false,
                },
                _ => ReferenceValue::Undefined {
                    expression: expression.clone(),
                    names: vec![expression.clone()],
                },
            };
            let answer = RuntimeReply::Evaluated {
                variables: variables.iter().map(look).collect(),
                shells: shells.iter().map(|shell| format!("ran {shell}")).collect(),
            };
            vec![answered(id, answer)]
        }
        RuntimeRequest::DescribeTools { names } => {
            let missing = names.iter().cloned().map(ToolLookup::Missing);
            vec![answered(id, RuntimeReply::Tools(missing.collect()))]
        }
        _ => Script::default_reply(id, request),
    })
}

#[test]
fn what_a_prompt_refers_to_is_evaluated_once_and_shown() {
    let stage = stage_of(evaluating(), vec![says("1"), says("2")], |_| {});
    assert_eq!(
        stage.run(".look at $`x` and $`y` after !`ls`"),
        [
            "[1]",
            "⌛ ls",
            "🔧 ls => ran ls",
            "not defined in the interpreter: y",
            "> 1",
            "Complete"
        ]
    );
    // Nothing of it is evaluated for the next one.
    assert_eq!(stage.run(".and now?"), ["[2]", "> 2", "Complete"]);
}

#[test]
fn a_note_is_evaluated_with_the_next_prompt_only() {
    let stage = stage_of(evaluating(), vec![says("1"), says("2")], |_| {});
    stage.run("'''---\nshell-cmds: [date]\n---\nsee $`x`'''");
    assert_eq!(
        stage.run(".a"),
        ["[2]", "⌛ date", "🔧 date => ran date", "> 1", "Complete"]
    );
    assert_eq!(stage.run(".b"), ["[3]", "> 2", "Complete"]);
}

#[test]
fn a_missing_tool_runs_no_command() {
    let stage = stage_of(evaluating(), Vec::new(), |_| {});
    assert_eq!(
        stage.run(".&`f` !`ls`"),
        [
            "[1]",
            "NameError: Missing tool(s) in user_ns: f",
            "refill .&`f` !`ls`"
        ]
    );
    assert!(stage.agent.requests().is_empty());
}

#[test]
fn an_interrupt_while_a_command_runs_gives_the_prompt_back() {
    let stage = stage_of(evaluating(), vec![says("again")], |_| {});
    let run = stage.submit(".!`hang`");
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Event(event) if word(&event) == "waiting" => break,
            NextEvent::Event(_) => {}
            other => panic!("{other:?}"),
        }
    }
    stage.session.interrupt();
    assert_eq!(words(&run), ["refill .!`hang`", "Interrupted"]);
    assert!(stage.calls.interrupts() >= 1);
    assert_eq!(stage.run(".next"), ["[2]", "> again", "Complete"]);
    let request = &stage.agent.requests()[0];
    assert!(request.history.is_empty(), "nothing was sent before");
}

#[test]
fn an_interpreter_that_dies_meanwhile_is_told_to_both() {
    let stage = stage_of(evaluating(), vec![says("ok")], |_| {});
    let run = stage.run(".$`x` !`die`");
    let why = "the Python interpreter ended: exit code 7";
    assert!(
        run.contains(&format!(
            "what the prompt refers to could not be evaluated: {why}"
        )),
        "{run:?}"
    );
    assert_eq!(run.last().map(String::as_str), Some("Complete"));
}

#[test]
fn a_tool_of_an_earlier_prompt_is_no_reason_to_stop() {
    let runtime = Script::new(|id, request| match request {
        RuntimeRequest::DescribeTools { .. } => {
            vec![answered(id, RuntimeReply::Failed("no interpreter".into()))]
        }
        _ => Script::default_reply(id, request),
    });
    let stage = stage_of(runtime, vec![says("1")], |_| {});
    stage.run("'a note about &`f`'");
    assert_eq!(stage.run(".go"), ["[2]", "> 1", "Complete"]);
    assert_eq!(
        stage.run(".go &`f`"),
        ["[3]", "no interpreter", "refill .go &`f`"]
    );
}
