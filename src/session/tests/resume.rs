//! Sessions taken up: what is told of them, what runs again, and one session left for another.

use super::*;
use crate::record::{self, CellStatus, PromptStart, RecordedOutcome};

/// A record with session 1 (`mine`): `a = 1`, an exchange, a cell that failed, `exit()`, `b`.
fn recorded() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.sqlite");
    let (record, mut reports) = open(&path, None);
    let cell = |line, source: &str, state| {
        record.record_input(line, source, source);
        record.record_output(line, "", Vec::new(), state, 1);
    };
    cell(1, "a = 1", CellStatus::Complete);
    record.record_input(2, ".what is a?", ".what is a?");
    let turn = record.begin_prompt(PromptStart::new(2, 1, "what is a?"));
    record.finish_prompt(turn, RecordedOutcome::Complete, "one", None);
    cell(3, "1/0", CellStatus::Failed);
    cell(4, "exit()", CellStatus::Complete);
    cell(5, "b", CellStatus::Complete);
    record.rename("mine");
    record.close();
    while reports.blocking_recv().is_some() {}
    (directory, path)
}

pub(super) fn open(
    path: &std::path::Path,
    resume: Option<i64>,
) -> (
    crate::record::RecordHandle,
    UnboundedReceiver<crate::text::report::Report>,
) {
    record::open(
        RecordOptions {
            path: path.to_owned(),
            record: true,
            named: false,
            leave_log: false,
        },
        SessionSpec {
            cwd: "/".into(),
            resume,
            fork: None,
            provider: "demo".into(),
            once: false,
        },
    )
}

/// A session on that record: its runtime lacks all names that are asked for, one for each source.
fn on(path: &std::path::Path, resume: Option<i64>, turns: Vec<Vec<AgentEvent>>) -> Stage {
    let runtime = Script::new(|id, request| match request {
        RuntimeRequest::FindMissingNames { sources } => {
            let names = sources.iter().map(|source| format!("of {source}"));
            vec![answered(id, RuntimeReply::Missing(names.collect()))]
        }
        RuntimeRequest::Execute(execute) => cell(id, &execute.code, execute.execution_count),
        _ => Script::default_reply(id, request),
    });
    stage_of(runtime, turns, |parts| {
        (parts.record, parts.reports) = open(path, resume);
        parts.resumed = resume.is_some();
    })
}

#[test]
fn a_thread_is_gone_on_with_by_the_agent_that_has_it() {
    for (agent, expected) in [
        (AgentChoice::Demo, "thread: continued (T)"),
        (
            AgentChoice::Codex,
            "thread: new, rebuilt from the record; these have changed: agent",
        ),
    ] {
        let (_directory, path) = recorded();
        let stage = on(&path, Some(1), vec![says("one")]);
        stage.run(".first");
        stage.session.close(Duration::from_secs(60));
        let goes_on = agent == AgentChoice::Demo;
        let stage = stage_with(vec![says("two")], |parts| {
            (parts.record, parts.reports) = open(&path, Some(1));
            parts.resumed = true;
            parts.choices.agent = agent;
        });
        let told = stage.run("%ipycodex context").concat();
        assert!(told.contains(expected), "{told}");
        stage.run(".next");
        assert_eq!(stage.agent.requests()[0].thread.is_some(), goes_on);
    }
}

#[test]
fn what_is_gone_is_said_once_the_interpreter_has_answered() {
    let (_directory, path) = recorded();
    let stage = on(&path, Some(1), Vec::new());
    stage.session.await_start().unwrap();
    let earlier = stage.session.earlier().unwrap();
    assert_eq!((earlier.session, earlier.entries.len()), (1, 5));
    stage.session.find_missing_names();
    let said = loop {
        match stage
            .background
            .next_blocking(Some(Duration::from_secs(60)))
        {
            NextEvent::Event(event) => {
                if let SessionEvent::Notice(notice) = *event {
                    break notice;
                }
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(said.message, "not in this interpreter: of a = 1, of b");
    assert_eq!(
        said.hints,
        [
            "`%ipycodex replay` runs the 2 cells again (1 that failed is left out)",
            "`%ipycodex replay show` lists them"
        ]
    );
}

#[test]
fn the_cells_run_again_under_their_numbers_and_leave_the_record_as_it_was() {
    let (_directory, path) = recorded();
    let stage = on(&path, Some(1), vec![says("ok")]);
    stage.session.await_start().unwrap();
    assert_eq!(
        stage.run("%ipycodex replay show")[1],
        "In [1]: a = 1\nIn [5]: b\n1 cell that did not end well is left out: [3]"
    );
    assert_eq!(
        stage.run("%ipycodex replay")[1..],
        [
            "1 cell that did not end well is left out: [3]",
            "(1/2) [1] a = 1",
            "Ok",
            "(2/2) [5] b",
            "Ok",
            "session 1: 2 replayed"
        ]
    );
    // They are there now; one by number runs all the same.
    assert_eq!(
        stage.run("%ipycodex replay")[1],
        "nothing to run again: every cell of this session ran in this interpreter"
    );
    assert_eq!(stage.run("%ipycodex replay 1-2")[1], "(1/1) [1] a = 1");
    assert_eq!(
        stage.run("%ipycodex replay 2")[1],
        "there is no cell with that number"
    );
    assert_eq!(
        stage.run("%ipycodex replay x")[1],
        "replay takes In numbers and ranges of them, like `3-5 8`, got 'x'"
    );
    stage.run(".next");
    let request = &stage.agent.requests()[0];
    assert_eq!(request.history.len(), 1);
    assert_eq!(
        stage.sent(0),
        "<context><code>1/0</code><code>exit()</code><code>b</code></context>\n<user-request>next</user-request>"
    );
}

#[test]
fn a_dead_interpreter_makes_its_cells_worth_running_again() {
    let stage = stage(Vec::new());
    stage.run("a");
    assert!(stage.run("%ipycodex replay")[1].starts_with("nothing to run"));
    stage.run("die");
    assert_eq!(
        stage.run("%ipycodex replay")[1..],
        [
            "1 cell that did not end well is left out: [3]",
            "(1/1) [1] a",
            "Ok",
            "session 1: 1 replayed"
        ]
    );
}

#[test]
fn what_a_stopped_replay_left_is_named() {
    let stage = stage(Vec::new());
    for text in ["a", "b", "c"] {
        stage.run(text);
    }
    let step = |line, source: &str| ReplayStep::Cell {
        source: source.into(),
        again: Some(line),
        place: None,
        metadata: Default::default(),
    };
    let run = stage.session.replay(Replay {
        name: "it".into(),
        steps: vec![step(1, "raise"), step(2, "b"), step(3, "c")],
        quiet: true,
    });
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Event(event) => {
                if let SessionEvent::End(EndEvent::Replay(replayed)) = *event {
                    let hints = replayed.notice().hints;
                    return assert_eq!(hints, ["`%ipycodex replay 2-3` goes on after it"]);
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn another_session_is_taken_up_and_the_interpreter_stays() {
    let (_directory, path) = recorded();
    let stage = on(
        &path,
        None,
        vec![says("first"), says("second"), says("third")],
    );
    stage.run("x");
    stage.run(".one");
    let said = stage.run("%ipycodex resume mine");
    assert_eq!(
        said,
        [
            "[3]",
            "earlier 1: 5",
            "not in this interpreter: of a = 1, of b"
        ]
    );
    assert_eq!(stage.session.next_line(), 6);
    assert_eq!(stage.run(".two"), ["[6]", "> second", "Complete"]);
    let requests = stage.agent.requests();
    let told: Vec<_> = requests[1]
        .history
        .iter()
        .map(|turn| turn.assistant.as_str())
        .collect();
    assert_eq!((told, requests[1].thread.is_some()), (vec!["one"], false));
    // There and back: the numbers and the conversation are those of the session in force.
    assert_eq!(stage.run("%ipycodex resume 2")[1], "earlier 2: 2");
    assert_eq!(stage.session.next_line(), 4);
    stage.run(".three");
    let requests = stage.agent.requests();
    assert_eq!(requests[2].history[0].assistant, "first");
    let closed = stage.session.close(Duration::from_secs(60));
    assert_eq!(closed.resumable, Some(2));
}

#[test]
fn a_way_back_is_named_to_a_session_that_is_kept() {
    let (_directory, path) = recorded();
    let stage = on(&path, None, Vec::new());
    // The second session holds nothing but this command, and is gone.
    assert_eq!(
        stage.run("%ipycodex new"),
        ["[1]", "Session 3 begins here."]
    );
    stage.run("x");
    let said = "Session 4, `b` begins here; `%ipycodex resume 3` goes back.";
    assert_eq!(stage.run("%ipycodex new b"), ["[2]", said]);
}

#[test]
fn a_session_that_cannot_be_taken_up_leaves_all_as_it_is() {
    let (_directory, path) = recorded();
    let stage = on(&path, None, Vec::new());
    stage.run("x");
    assert_eq!(
        stage.run("%ipycodex resume 99"),
        ["[2]", "Session 99 not found"]
    );
    assert_eq!(
        stage.run("%ipycodex resume 2"),
        ["[3]", "session 2 is the one you are in"]
    );
    let wishes = stage.session.editor_requests();
    assert_eq!(stage.run("%ipycodex resume"), ["[4]"]);
    let pick = SessionPick {
        current: 2,
        cwd: "/".into(),
    };
    assert_eq!(wishes.take(), Some(EditorRequest::PickSession(pick)));
    assert_eq!(stage.run("y")[0], "[5]");
    assert_eq!(
        stage.session.close(Duration::from_secs(60)).resumable,
        Some(2)
    );
}

#[test]
fn nobody_stops_a_change_of_session_half_way() {
    let (_directory, path) = recorded();
    let stage = on(&path, None, Vec::new());
    stage.run("x");
    let run = stage.submit("%ipycodex resume 1");
    stage.session.interrupt();
    let next = stage.submit("y");
    words(&run);
    assert_eq!(words(&next)[0], "[6]");
}
