//! Replays: what runs, what is recorded, what stops them.

use super::*;

fn run_again(line: u32, source: &str) -> ReplayStep {
    ReplayStep::Cell {
        source: source.into(),
        again: Some(line),
        place: None,
        metadata: Default::default(),
    }
}

fn anew(source: &str) -> ReplayStep {
    ReplayStep::Cell {
        source: source.into(),
        again: None,
        place: None,
        metadata: Default::default(),
    }
}

fn exchange(prompt: &str, response: &str, after: Option<u32>) -> ReplayStep {
    ReplayStep::Prompt {
        prompt: prompt.into(),
        response: response.into(),
        after,
        metadata: Default::default(),
    }
}

fn replay(stage: &Stage, quiet: bool, steps: Vec<ReplayStep>) -> Run {
    stage.session.replay(Replay {
        name: "it".into(),
        steps,
        quiet,
    })
}

/// Reads a run until `wanted` comes.
fn up_to(run: &Run, wanted: &str) {
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Event(event) if word(&event) == wanted => return,
            NextEvent::Event(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn cells_take_numbers_and_exchanges_become_part_of_the_conversation() {
    let stage = stage(vec![says("ok")]);
    let steps = vec![
        anew("a = 1"),
        exchange("what is a?", "one", None),
        anew("b"),
        exchange("and b?", "two", Some(3)),
    ];
    let run = replay(&stage, true, steps);
    assert_eq!(
        words(&run),
        [
            "(1/4) [1] a = 1",
            "Ok",
            "(2/4) [2] .what is a?",
            "(3/4) [3] b",
            "Ok",
            "(4/4) [4] .and b?",
            "it: 4 replayed"
        ]
    );
    assert_eq!(stage.session.next_line(), 5);
    assert!(stage.agent.requests().is_empty());
    assert_eq!(stage.run(".x"), ["[5]", "> ok", "Complete"]);
    let request = &stage.agent.requests()[0];
    let told: Vec<_> = request
        .history
        .iter()
        .map(|turn| (turn.user.as_str(), turn.assistant.as_str()))
        .collect();
    let first = "<context><code>a = 1</code><output>ran a = 1\n42</output></context>\n\
                 <user-request>what is a?</user-request>";
    let second = "<context><code>b</code><output>ran b\n42</output></context>\n<user-request>and b?</user-request>";
    assert_eq!(told, [(first, "one"), (second, "two")]);
    assert_eq!(stage.sent(0), "<user-request>x</user-request>");
}

#[test]
fn a_prompt_follows_the_last_code_of_the_session() {
    let stage = stage(vec![says("ok"), says("ok")]);
    stage.run("a");
    stage.run(".one");
    let run = replay(&stage, true, vec![exchange("two", "2", None)]);
    assert_eq!(words(&run), ["(1/1) [3] .two", "it: 1 replayed"]);
    let last = stage.session.last_exchange().unwrap();
    assert_eq!((last.line, last.prompt.as_str()), (3, "two"));
}

#[test]
fn cells_of_the_record_keep_their_numbers_and_are_not_recorded_again() {
    let stage = stage(vec![says("ok")]);
    stage.run("a");
    stage.run("b");
    let run = replay(&stage, true, vec![run_again(1, "a"), run_again(2, "b")]);
    assert_eq!(
        words(&run),
        ["(1/2) [1] a", "Ok", "(2/2) [2] b", "Ok", "it: 2 replayed"]
    );
    assert_eq!(stage.session.next_line(), 3);
    stage.run(".x");
    let once = "<context><code>a</code><output>ran a\n42</output><code>b</code><output>ran b\n42</output></context>\n\
                <user-request>x</user-request>";
    assert_eq!(stage.sent(0), once);
}

#[test]
fn what_a_cell_shows_is_told_unless_it_is_quiet_and_well() {
    let stage = stage(Vec::new());
    let run = replay(&stage, false, vec![anew("a")]);
    assert_eq!(
        words(&run),
        ["(1/1) [1] a", "ran a", "= 42", "Ok", "it: 1 replayed"]
    );
    let run = replay(&stage, true, vec![anew("raise"), anew("b"), anew("c")]);
    assert_eq!(
        words(&run),
        [
            "(1/3) [2] raise",
            "ran raise\n42",
            "ValueError: bad",
            "Error",
            "it: 0 of 3 replayed, stopped at In [2] (ValueError: bad), 2 more not run"
        ]
    );
    // What was not run has no number.
    assert_eq!(stage.run("d")[0], "[3]");
}

#[test]
fn a_cell_that_wants_to_leave_or_to_fill_the_editor_is_not_heeded() {
    let stage = stage(Vec::new());
    let run = replay(&stage, true, vec![anew("exit()"), anew("load"), anew("a")]);
    assert_eq!(
        words(&run),
        [
            "(1/3) [1] exit()",
            "Ok",
            "(2/3) [2] load",
            "Ok",
            "(3/3) [3] a",
            "Ok",
            "it: 3 replayed"
        ]
    );
}

#[test]
fn an_interrupt_stops_all_of_it() {
    let stage = stage(Vec::new());
    let run = replay(&stage, true, vec![anew("a"), anew("hang"), anew("b")]);
    up_to(&run, "(2/3) [2] hang");
    stage.session.interrupt();
    assert_eq!(
        words(&run),
        [
            "ran hang\n42",
            "KeyboardInterrupt",
            "Interrupted",
            "it: 1 of 3 replayed, stopped by you at In [2], 1 more not run"
        ]
    );
    assert_eq!(stage.run("c")[0], "[3]");
}

#[test]
fn a_skipped_cell_is_left_out_and_the_next_one_runs() {
    let stage = stage(Vec::new());
    let run = replay(&stage, false, vec![anew("hang"), anew("b")]);
    up_to(&run, "= 42");
    stage.session.skip_step();
    assert_eq!(
        words(&run),
        [
            "Interrupted",
            "(2/2) [2] b",
            "ran b",
            "= 42",
            "Ok",
            "it: 1 of 2 replayed, 1 skipped"
        ]
    );
    // Nothing to skip: nothing happens.
    stage.session.skip_step();
    assert_eq!(stage.run("c").last().unwrap(), "Ok");
    assert_eq!(stage.calls.interrupts(), 1);
}

#[test]
fn a_dead_interpreter_ends_it() {
    let stage = stage(Vec::new());
    let run = replay(&stage, true, vec![anew("die"), anew("b")]);
    let said = words(&run);
    assert!(said[3].starts_with("RuntimeDied"), "{said:?}");
    assert_eq!(
        said.last().unwrap(),
        "it: 0 of 2 replayed, stopped at In [1] (the interpreter ended), 1 more not run"
    );
}

#[test]
fn inputs_wait_for_its_end_and_it_waits_for_theirs() {
    let stage = stage(Vec::new());
    let before = stage.submit("x");
    let run = replay(&stage, true, vec![anew("a"), anew("b")]);
    let after = stage.submit("y");
    assert_eq!(words(&before)[0], "[1]");
    assert_eq!(words(&run)[2], "(2/2) [3] b");
    assert_eq!(words(&after)[0], "[4]");
    assert_eq!(words(&replay(&stage, true, Vec::new())), ["it: 0 replayed"]);
}
