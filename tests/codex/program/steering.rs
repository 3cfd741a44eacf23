//! Prompts typed while an answer streams: into the running turn, or behind it.

use super::threads::thread;
use super::{Program, leave, program};
use crate::support::pty::Pty;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation};

/// A model whose first answer waits in the middle for the release; all others are `fine`.
fn waiting_then_fine() -> Endpoint {
    Endpoint::answering(|index, _| match index {
        0 => Reply::Stream(vec![
            Event::Message(vec!["begun".into()], Some("commentary")),
            Event::Begun(vec!["par".into(), "tial".into()]),
            Event::Hold,
            Event::Message(vec!["done".into()], Some("final_answer")),
            Event::Completed([100, 40, 10, 2]),
        ]),
        _ => Reply::text("fine"),
    })
}

/// A REPL in the middle of the first answer.
fn streaming() -> Option<(Program, Pty)> {
    let program = program("gpt-5.5", waiting_then_fine())?;
    let pty = program.repl();
    pty.send_line(".first?");
    pty.wait_for("partial");
    Some((program, pty))
}

fn user(prompt: &str) -> String {
    format!("user: <user-request>{prompt}</user-request>")
}

#[test]
fn enter_sends_a_prompt_into_the_running_turn() {
    let Some((program, pty)) = streaming() else {
        return;
    };
    pty.send(".use b instead\r");
    pty.wait_for("» use b instead");
    pty.wait_for("fine");
    pty.wait_for("In [2]:");
    pty.send_line(".second?");
    pty.wait_for("In [3]:");
    leave(&pty);
    program.endpoint.release();
    let requests = program.endpoint.requests();
    assert_eq!(requests.len(), 3);
    let steered = conversation(&requests[1]);
    assert_eq!(steered.last(), Some(&user("use b instead")), "{steered:?}");
    // The thread goes on: it equals the record.
    let last = conversation(&requests[2]);
    assert_eq!(thread(&requests[2]), thread(&requests[0]));
    assert_eq!(last.last(), Some(&user("second?")), "{last:?}");
    assert!(last.contains(&user("use b instead")), "{last:?}");
    let answers = program.answers();
    assert_eq!(answers.len(), 2, "{answers:?}");
    // At its place: behind what was said before, in front of what was said then.
    let (before, after) = answers[0]
        .split_once("the user: use b instead</code>")
        .expect("the prompt");
    assert!(
        before.starts_with("begun") && after.ends_with("fine"),
        "{answers:?}"
    );
    let text = pty.all_text();
    assert!(!text.contains("connection"), "{text}");
    assert!(!text.contains("queued"), "{text}");
}

#[test]
fn tab_queues_a_prompt_and_nothing_overtakes_what_waits() {
    for (typed, first) in [
        (".later?\t", ".later?"),
        (".later?\t.and then?\r", ".later?"),
        ("b = 2\r.later?\r", "b = 2"),
        (".see $`x`\r.later?\r", ".see $`x`"),
        (".!\r.later?\r", ".!"),
    ] {
        let Some((program, pty)) = streaming() else {
            return;
        };
        pty.send(typed);
        pty.wait_for(&format!("queued: {first}"));
        assert_eq!(program.endpoint.requests().len(), 1);
        program.endpoint.release();
        pty.wait_for("done");
        pty.wait_for(&format!("In [2]: {first}"));
        let requests = program.endpoint.wait_for(2);
        let sent = conversation(&requests[1]);
        assert!(
            sent.iter().any(|part| part.ends_with("done")),
            "{typed:?}: {sent:?}"
        );
        let text = pty.all_text();
        assert!(!text.contains('»'), "{typed:?}: {text}");
    }
}

#[test]
fn in_prompt_mode_a_line_of_words_goes_into_the_turn() {
    let Some(program) = program("gpt-5.5", waiting_then_fine()) else {
        return;
    };
    let pty = program.repl();
    pty.send_line("%ipycodex prompt");
    pty.wait_for("Pr [2]:");
    pty.send_line("first?");
    pty.wait_for("partial");
    pty.send("use b instead\r");
    pty.wait_for("» use b instead");
    pty.wait_for("fine");
    let requests = program.endpoint.wait_for(2);
    let steered = conversation(&requests[1]);
    assert_eq!(steered.last(), Some(&user("use b instead")), "{steered:?}");
}
