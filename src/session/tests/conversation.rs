//! Numbers, context and threads: what each input becomes, and what the agent is sent of it.

use super::commands::said;
use super::*;

#[test]
fn cells_and_prompts_share_one_numbering_and_the_context_is_what_is_new() {
    let stage = stage(vec![says("one"), says("two")]);
    assert_eq!(stage.run("a = 1"), ["[1]", "ran a = 1", "= 42", "Ok"]);
    assert_eq!(stage.run("'why'"), ["[2]", "ran 'why'", "= 42", "Ok"]);
    assert_eq!(stage.run(".first"), ["[3]", "> one", "Complete"]);
    assert_eq!(stage.run("b"), ["[4]", "ran b", "= 42", "Ok"]);
    assert_eq!(stage.run(".second"), ["[5]", "> two", "Complete"]);
    assert_eq!(stage.session.next_line(), 6);
    let first = "<context><code>a = 1</code><output>ran a = 1\n42</output><note>why</note></context>\n\
                 <user-request>first</user-request>";
    assert_eq!(stage.sent(0), first);
    let second = "<context><code>b</code><output>ran b\n42</output></context>\n<user-request>second</user-request>";
    assert_eq!(stage.sent(1), second);
    let requests = stage.agent.requests();
    assert_eq!(requests[1].history.len(), 1);
    assert_eq!(
        (
            requests[1].history[0].user.as_str(),
            requests[1].history[0].assistant.as_str()
        ),
        (first, "one")
    );
}

#[test]
fn a_thread_is_gone_on_with_only_while_it_equals_the_record() {
    let stage = stage(vec![says("1"), says("2"), says("3"), says("4"), says("5")]);
    stage.run(".a");
    stage.run(".b");
    stage.run("%ipycodex model other");
    stage.run(".c");
    stage.run(".d");
    stage.run("%ipycodex reset");
    stage.run(".e");
    let threads: Vec<bool> = stage
        .agent
        .requests()
        .iter()
        .map(|request| request.thread.is_some())
        .collect();
    assert_eq!(threads, [false, true, false, true, false]);
    assert!(stage.agent.requests()[4].history.is_empty());
}

#[test]
fn prompt_mode_records_code_without_its_mark_and_prompts_with_theirs() {
    let stage = stage(vec![says("one"), says("two")]);
    let submit = |text: &str| {
        words(&stage.session.submit(Submission {
            text: text.into(),
            mode: Mode::Prompts,
            ..Submission::default()
        }))
    };
    submit(";x = 41");
    submit("what is x?");
    submit("and now?");
    let context = "<context><code>x = 41</code><output>ran x = 41\n42</output></context>\n";
    assert_eq!(
        stage.sent(0),
        format!("{context}<user-request>what is x?</user-request>")
    );
    assert_eq!(stage.sent(1), "<user-request>and now?</user-request>");
}

#[test]
fn prompt_mode_can_be_left() {
    let stage = stage(Vec::new());
    for word in ["exit", "quit", " exit() "] {
        let run = stage.session.submit(Submission {
            text: word.into(),
            mode: Mode::Prompts,
            ..Submission::default()
        });
        assert_eq!(words(&run), ["Leave(0)"], "{word:?}");
    }
    assert!(stage.agent.requests().is_empty());
}

#[test]
fn empty_input_takes_no_number() {
    let stage = stage(Vec::new());
    for text in ["", " \n", ".", ". \n"] {
        assert!(stage.run(text).is_empty(), "{text:?}");
    }
    assert_eq!(stage.session.next_line(), 1);
}

#[test]
fn inputs_wait_for_the_one_before() {
    let stage = stage(Vec::new());
    let runs: Vec<Run> = ["x", "y", "z"].map(|text| stage.submit(text)).into();
    for (run, expected) in runs.iter().zip(["[1]", "[2]", "[3]"]) {
        assert_eq!(words(run)[0], expected);
    }
}

#[test]
fn a_dead_interpreter_is_part_of_the_record() {
    let stage = stage(vec![says("ok")]);
    let run = stage.run("die");
    assert_eq!(run[3], "Died(Exited(7))");
    assert!(run[4].starts_with("RuntimeDied"), "{run:?}");
    stage.run(".what happened?");
    assert!(
        stage
            .sent(0)
            .contains("[the interpreter ended: exit code 7]"),
        "{}",
        stage.sent(0)
    );
}

#[test]
fn an_interpreter_that_is_killed_is_told_with_the_reason() {
    for (over_time, expected) in [
        (false, "killed on request"),
        (true, "killed at its time limit"),
    ] {
        let stage = stage(Vec::new());
        let run = stage.submit("hang");
        let mut kill = Some(stage.session.clone());
        let death = loop {
            let event = match run.next_blocking(Some(Duration::from_secs(60))) {
                NextEvent::Event(event) => *event,
                other => panic!("{other:?}"),
            };
            match (kill.take(), event) {
                (_, SessionEvent::RuntimeDied { death, .. }) => break death,
                (Some(session), _) if over_time => session.kill_over_time(),
                (Some(session), _) => session.kill(),
                (None, _) => {}
            }
        };
        assert_eq!(death.to_string(), expected);
    }
}

#[test]
fn the_conversation_is_told_as_it_was_seen() {
    let mut turn = calls(&[("f", json!({"x": 1}))], "**done**");
    turn.insert(
        0,
        AgentEvent::Thought {
            turn: TURN,
            part: 0,
            delta: "hm".into(),
        },
    );
    let stage = stage(vec![turn]);
    assert_eq!(
        said(&stage, "%ipycodex history"),
        "nothing has been run or said yet"
    );
    for text in ["x = 1\ny = 2", ".use &`f`", "%ipycodex hide 2"] {
        stage.run(text);
    }
    assert_eq!(
        said(&stage, "%ipycodex history"),
        "In [2] (hidden): x = 1\n            ...: y = 2\nran x = 1\ny = 2\n42\n\n\
         In [3]: .use &`f`\n> hm\n\n🔧 f(x=1) => got 1\n\n**done**"
    );
    for n in 0..20 {
        stage.run(&format!("cell_{n}"));
    }
    let run = stage.submit("%ipycodex history");
    let mut paged = None;
    while let NextEvent::Event(event) = run.next_blocking(Some(Duration::from_secs(60))) {
        if let SessionEvent::Text(TextEvent::Page(bundle)) = *event {
            paged = bundle.text("text/plain");
        }
    }
    assert!(
        paged
            .unwrap()
            .ends_with("In [25]: cell_19\nran cell_19\n42")
    );
}
