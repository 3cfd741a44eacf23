//! A runtime that is not Python and can only run cells: what a user is told, what the agent is offered, and that
//! nothing is asked of it that it cannot do.

use super::*;
use crate::runtime::{InputReply, RuntimeCapabilities};
use crate::text::offset::CodePoints;

/// An R that can only run cells, and the kinds of request that reached it. `hang` ends with the next answer to a
/// question for input.
fn r(
    turns: Vec<Vec<AgentEvent>>,
    change: impl FnOnce(&mut Parts),
) -> (Stage, Arc<Mutex<Vec<String>>>) {
    r_able(RuntimeCapabilities::cells_only("R"), turns, change)
}

/// The same, with other abilities.
fn r_able(
    able: RuntimeCapabilities,
    turns: Vec<Vec<AgentEvent>>,
    change: impl FnOnce(&mut Parts),
) -> (Stage, Arc<Mutex<Vec<String>>>) {
    let reached = Arc::new(Mutex::new(Vec::new()));
    let (seen, mut hanging) = (Arc::clone(&reached), None);
    let script = Script::new(move |id, request| {
        let (kind, events) = match request {
            RuntimeRequest::Execute(execute) => {
                if execute.code == "hang" {
                    hanging = Some(id);
                }
                let events = cell(id, &execute.code, execute.execution_count);
                (format!("{} {:?}", execute.code, execute.stdin), events)
            }
            RuntimeRequest::ReplyInput { .. } => {
                let finish = finish(Ending::Ok);
                let ended = hanging
                    .take()
                    .map(|id| RuntimeEvent::Finished { id, finish });
                return ended.into_iter().collect();
            }
            other => (format!("{other:?}"), Script::default_reply(id, other)),
        };
        seen.lock().unwrap().push(kind);
        events
    });
    (
        stage_of(script.with_capabilities(able), turns, change),
        reached,
    )
}

fn offered(stage: &Stage, n: usize) -> Vec<(String, String)> {
    let tools = stage.agent.requests()[n].tools.clone();
    let told =
        |tool: crate::agent::ToolSpec| (tool.name, format!("{} {}", tool.description, tool.schema));
    tools.into_iter().map(told).collect()
}

#[test]
fn a_cell_runs_and_nothing_asks_it_for_input() {
    let (stage, reached) = r(Vec::new(), |parts| parts.stdin = Stdin::Ask);
    assert_eq!(stage.run("x <- 1"), ["[1]", "ran x <- 1", "= 42", "Ok"]);
    assert_eq!(*reached.lock().unwrap(), ["x <- 1 Refuse"]);
}

#[test]
fn references_are_sent_unread_and_that_is_said_once() {
    let (stage, reached) = r(vec![says("one"), says("two")], |_| {});
    assert_eq!(
        stage.run(".look at $`x`, $`mean(x)` and !`ls`"),
        [
            "[1]",
            "what the prompt refers to could not be evaluated: the R runtime cannot evaluate references (`$name`)",
            "> one",
            "Complete"
        ]
    );
    let sent = stage.sent(0);
    for expected in [
        "<variable name=\"x\" type=\"Error\">Error: the R runtime cannot evaluate references (`$name`)</variable>",
        "<variable name=\"mean(x)\" type=\"Error\">",
    ] {
        assert!(sent.contains(expected), "{sent}");
    }
    assert!(!sent.contains("aren't defined"), "{sent}");
    assert_eq!(stage.run(".and now?"), ["[2]", "> two", "Complete"]);
    // Neither the references nor what was answered reached it.
    assert_eq!(*reached.lock().unwrap(), [""; 0]);
}

#[test]
fn a_prompt_that_names_a_function_is_refused_and_the_agent_is_offered_what_there_is() {
    let calls = calls(&[("pyrun", json!({"code": "1"}))], "done");
    let (stage, reached) = r(vec![calls], |_| {});
    assert_eq!(
        stage.run(".use &`f`"),
        [
            "[1]",
            "the R runtime cannot offer functions as tools",
            "refill .use &`f`"
        ]
    );
    // One that only names ours is sent; of ours it has what needs no more than cells.
    assert_eq!(
        stage.run(".use &`run_cells`")[1..],
        [
            "pyrun(code='1')…",
            "pyrun(code='1') => Error: tool `pyrun` is not defined",
            "> done",
            "Complete"
        ]
    );
    let tools = offered(&stage, 0);
    let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["run_cells", "read_output", "notebook"]);
    let about = &tools[0].1;
    assert!(
        about.contains("the user's live R session") && about.contains("R source of the cell"),
        "{about}"
    );
    for foreign in ["Magics", "await", "Python", "\"reset\""] {
        assert!(!about.contains(foreign), "{about}");
    }
    assert_eq!(*reached.lock().unwrap(), [""; 0]);
}

#[test]
fn cells_of_the_agent_run_and_a_reset_does_not() {
    let cells = |reset| json!({"cells": [{"code": "y <- 2", "reset": reset}]});
    let turn = calls(
        &[("run_cells", cells(true)), ("run_cells", cells(false))],
        "done",
    );
    let (stage, _) = r(vec![turn], |parts| {
        parts.choices.run_cells = crate::config::RunCells::Auto;
    });
    let words = stage.run(".go");
    assert!(
        words[2].contains(
            "`cells[0].reset` cannot be had: the R runtime cannot be restarted from here"
        ),
        "{words:?}"
    );
    assert!(words.iter().any(|word| word == "ran y <- 2"), "{words:?}");
    assert_eq!(stage.calls.kills(), 0);
}

#[test]
fn completion_and_inspection_are_empty_without_asking() {
    let (stage, reached) = r(Vec::new(), |_| {});
    let complete = stage.session.ask(RuntimeRequest::Complete {
        code: "me".into(),
        position: CodePoints(2),
        deep: true,
    });
    assert!(
        matches!(complete.blocking_recv(), Ok(RuntimeReply::Completions(items)) if items.is_empty())
    );
    let inspect = stage.session.ask(RuntimeRequest::Inspect {
        code: "mean".into(),
        position: CodePoints(2),
        detailed: false,
    });
    assert!(matches!(
        inspect.blocking_recv(),
        Ok(RuntimeReply::Inspection(None))
    ));
    assert_eq!(*reached.lock().unwrap(), [""; 0]);
}

#[test]
fn what_cannot_be_interrupted_or_restarted_says_so_and_goes_on() {
    let (stage, _) = r(Vec::new(), |_| {});
    let run = stage.submit("hang");
    let mut said = Vec::new();
    while said.last().is_none_or(|word| word != "= 42") {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Event(event) => said.push(word(&event)),
            other => panic!("{other:?} after {said:?}"),
        }
    }
    stage.session.interrupt();
    stage.session.kill();
    let told = || match run.next_blocking(Some(Duration::from_secs(60))) {
        NextEvent::Event(event) => word(&event),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        told(),
        "the R runtime cannot interrupt a running cell: it runs to its end"
    );
    assert_eq!(told(), "the R runtime cannot be restarted from here");
    stage.session.reply_input(0, InputReply::Eof);
    assert_eq!(words(&run), ["Ok"]);
    assert_eq!(
        stage.run("%ipycodex restart"),
        ["[2]", "the R runtime cannot be restarted from here"]
    );
    assert_eq!((stage.calls.interrupts(), stage.calls.kills()), (0, 0));
}

#[test]
fn a_lost_connection_is_no_death() {
    let lost = |id| {
        let why = "the gateway does not answer".to_owned();
        let finish = finish(Ending::Lost(why.clone()));
        vec![
            RuntimeEvent::Started { id },
            RuntimeEvent::Finished { id, finish },
            RuntimeEvent::Lost { why },
        ]
    };
    let script = Script::new(move |id, request| match request {
        RuntimeRequest::Execute(execute) if execute.code == "lose" => lost(id),
        RuntimeRequest::Execute(execute) => cell(id, &execute.code, execute.execution_count),
        _ => Script::default_reply(id, request),
    });
    let stage = stage_of(
        script.with_capabilities(RuntimeCapabilities::cells_only("R")),
        vec![says("ok")],
        |_| {},
    );
    assert_eq!(
        stage.run("lose"),
        [
            "[1]",
            "Lost(\"the gateway does not answer\")",
            "the connection to the R interpreter was lost: the gateway does not answer",
        ]
    );
    assert_eq!(stage.run("x")[3], "Ok");
    stage.run(".what?");
    assert!(
        stage
            .sent(0)
            .contains("[the connection was lost: the gateway does not answer]")
    );
}

#[test]
fn an_interpreter_that_was_there_before_stays() {
    for attached in [false, true] {
        let (stage, reached) = r_able(
            RuntimeCapabilities {
                attached,
                ..RuntimeCapabilities::cells_only("R")
            },
            Vec::new(),
            |_| {},
        );
        stage.run("x");
        stage.session.close(Duration::from_secs(10));
        let last = reached.lock().unwrap().last().cloned();
        assert_eq!(last, Some(format!("Shutdown {{ stays: {attached} }}")));
    }
}

#[test]
fn what_comes_after_its_cell_knows_its_cell() {
    let script = Script::new(|id, request| match request {
        RuntimeRequest::Execute(execute) => {
            let mut events = cell(id, &execute.code, execute.execution_count);
            if execute.code == "leave a task" {
                let display = DisplayData::new(MimeBundle::plain("still here"));
                let id = Some(id);
                events.push(RuntimeEvent::Display { id, display });
            }
            events
        }
        _ => Script::default_reply(id, request),
    });
    let stage = stage_of(script, Vec::new(), |_| {});
    stage.run("first");
    assert_eq!(stage.run("leave a task").last(), Some(&"Ok".to_owned()));
    match stage
        .background
        .next_blocking(Some(Duration::from_secs(60)))
    {
        NextEvent::Event(event) => assert_eq!(word(&event), "late 2 = still here"),
        other => panic!("{other:?}"),
    }
}
