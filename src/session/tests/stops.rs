//! Interrupts and failures: what is kept, what comes back to the editor, what the next turn sees.

use super::*;

#[test]
fn an_interrupt_ends_the_turn_keeps_the_part_and_the_next_turn_sees_it() {
    let unfinished = vec![AgentEvent::Text {
        turn: TURN,
        message: 1,
        delta: "par".into(),
    }];
    let stage = stage(vec![unfinished, says("again")]);
    let run = stage.submit(".slow");
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Event(event) if matches!(*event, SessionEvent::Answer(_)) => break,
            NextEvent::Event(_) => {}
            other => panic!("{other:?}"),
        }
    }
    stage.session.interrupt();
    assert_eq!(words(&run), ["Interrupted"]);
    assert_eq!(stage.run(".next"), ["[2]", "> again", "Complete"]);
    let request = &stage.agent.requests()[1];
    assert_eq!(
        request.history[0].assistant,
        "par\n<system>user interrupted</system>"
    );
    assert_eq!(request.thread, None);
}

#[test]
fn an_empty_answer_is_told_as_one() {
    let stage = stage(vec![says(""), says("two"), says("three")]);
    for prompt in [".a", ".b"] {
        stage.run(prompt);
    }
    stage.run("%ipycodex model other");
    stage.run(".c");
    for request in &stage.agent.requests()[1..] {
        assert_eq!(request.history[0].assistant, "");
    }
    assert!(stage.agent.requests()[1].thread.is_some());
}

#[test]
fn a_failed_turn_stores_nothing_and_gives_the_prompt_back() {
    let failure = crate::agent::AgentFailure {
        kind: crate::agent::FailureKind::Upstream,
        message: "no quota".into(),
        hints: Vec::new(),
    };
    let stage = stage(vec![
        vec![AgentEvent::Failed {
            turn: TURN,
            failure,
        }],
        says("ok"),
    ]);
    assert_eq!(stage.run(".a"), ["[1]", "refill .a", "Failed no quota"]);
    stage.run(".b");
    assert!(stage.agent.requests()[1].history.is_empty());
}

#[test]
fn an_interrupt_of_a_cell_goes_to_the_runtime() {
    let stage = stage(Vec::new());
    let run = stage.submit("hang");
    while !matches!(run.next_blocking(Some(Duration::from_secs(60))), NextEvent::Event(event) if word(&event) == "= 42")
    {
    }
    stage.session.interrupt();
    let closed = stage.session.close(Duration::from_secs(60));
    assert!(stage.calls.interrupts() >= 1);
    assert_eq!(closed.resumable, None);
    // The session is gone, and so is the run, whether or not the cell's end was told in time.
    let last = std::iter::repeat_with(|| run.next_blocking(Some(Duration::from_secs(60))))
        .find(|next| !matches!(next, NextEvent::Event(_)));
    assert!(matches!(last, Some(NextEvent::Ended)));
    assert!(stage.run("late").is_empty());
    drop(stage.background);
}

#[test]
fn a_reading_of_the_record_for_a_stopped_prompt_reaches_no_other() {
    let (found, finding) = std::sync::mpsc::channel::<()>();
    let stage = stage_with(vec![says("yes")], |parts| {
        parts.skills = Box::new(move || {
            let _ = finding.recv();
            Skills {
                catalog: Catalog::default(),
                consent: Consent::none(),
                warning: None,
            }
        });
    });
    // A prompt waits for the list of skills; it is stopped, and what it had read comes while the next one waits.
    let stopped = stage.submit(".one");
    stage.session.interrupt();
    assert!(words(&stopped).contains(&"Interrupted".to_owned()));
    stage.run("a cell");
    let next = stage.submit(".two");
    let stale = Event::RecordRead(ids::JobId(1), Box::default(), Default::default(), None).into();
    assert!(stage.session.commands.send(stale).is_ok());
    drop(found);
    words(&next);
    assert!(stage.sent(0).contains("a cell"), "{}", stage.sent(0));
}
