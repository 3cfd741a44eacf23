//! A turn beside the prompt: with a thread of its own, forked from the conversation, while one in front goes on.

use serde_json::{Value, json};

use super::threads::{said, thread, user};
use super::{Program, call, leave, program};
use crate::support::pty::Pty;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation, tool_outputs};

const ALT_ENTER: &str = "\x1b\r";
const MODEL: &str = "gpt-5.5";
const WIDE: (u16, u16) = (150, 60);

/// The prompt that a request is about.
fn last_prompt(request: &Value) -> String {
    let lines = conversation(request);
    let last = lines.iter().rev().find(|line| line.starts_with("user: "));
    last.cloned().unwrap_or_default()
}

/// `wait?` waits for the release, `work?` runs cells in the live interpreter, all else is answered at once.
fn model() -> Endpoint {
    Endpoint::answering(|_, request| {
        let prompt = last_prompt(request);
        let asks = |text: &str| prompt.ends_with(&format!("{text}</user-request>"));
        match () {
            () if asks("wait?") => Reply::Stream(vec![
                Event::Begun(vec!["par".into(), "tial".into()]),
                Event::Hold,
                Event::Message(vec!["waited".into()], None),
                Event::Completed([100, 40, 10, 2]),
            ]),
            () if asks("work?") && tool_outputs(request).is_empty() => {
                let cells = json!([{"code": "x.append(2); made = len(x); print('in the fork')"}]);
                call(MODEL, "run_cells", &json!({"cells": cells}))
            }
            () if asks("work?") => Reply::text("all worked"),
            () => Reply::text("fine"),
        }
    })
}

fn started() -> Option<(Program, Pty)> {
    let program = program(MODEL, model())?;
    let pty = Pty::spawn::<&str>(&program.home, &[], WIDE);
    pty.wait_for("In [1]:");
    pty.send_line("x = [1]");
    pty.wait_for("In [2]:");
    Some((program, pty))
}

fn of(requests: &[Value], prompt: &str) -> Vec<Value> {
    let end = format!("{prompt}</user-request>");
    let fits = |request: &&Value| last_prompt(request).ends_with(&end);
    requests.iter().filter(fits).cloned().collect()
}

/// The thread that Codex says it has forked this one from, in the first line of its file.
fn forked_from(program: &Program, thread: &str) -> Option<String> {
    let mut open = vec![program.home.codex().join("sessions")];
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().contains(thread) {
                let text = std::fs::read_to_string(path).unwrap();
                let first: Value = serde_json::from_str(text.lines().next()?).unwrap();
                return Some(first["payload"]["forked_from_id"].as_str()?.to_owned());
            }
        }
    }
    None
}

#[test]
fn one_beside_and_one_in_front_at_once() {
    let Some((program, pty)) = started() else {
        return;
    };
    pty.send_line(".first?");
    pty.wait_for("In [3]:");
    pty.send_line(".wait?");
    pty.wait_for("partial");
    pty.send(&format!(".work?{ALT_ENTER}"));
    pty.wait_for("In [4] works beside the prompt");
    // It ends while the one in front still streams.
    let requests = program.endpoint.wait_for(4);
    let beside = of(&requests, "work?");
    assert_eq!(beside.len(), 2, "{requests:?}");
    let first =
        "user: <context><code>x = [1]</code></context>\n<user-request>first?</user-request>";
    let sent = conversation(&beside[0]);
    assert_eq!(sent[..2], [first.to_owned(), said("fine")], "{sent:?}");
    let told = sent[2].strip_prefix("user: <aside>").expect("the task");
    assert!(
        told.ends_with("</aside>\n<user-request>work?</user-request>"),
        "{told}"
    );
    assert_eq!(sent.len(), 3, "{sent:?}");
    let outputs = tool_outputs(&beside[1]);
    assert!(
        outputs[0].to_string().contains("in the fork"),
        "{outputs:?}"
    );
    let front = of(&requests, "wait?");
    assert_ne!(thread(&front[0]), thread(&beside[0]), "a thread of its own");
    assert_eq!(
        conversation(&front[0]),
        [first.to_owned(), said("fine"), user("wait?")]
    );
    // Codex itself has forked the thread of the conversation; nothing was told anew.
    let forked = forked_from(&program, thread(&beside[0]));
    assert_eq!(forked.as_deref(), Some(thread(&front[0])));
    program.endpoint.release();
    pty.wait_for("waited");
    pty.wait_for("In [4] has answered after");
    pty.wait_for("1 cell; added made; changed x; `%ipycodex merge 4` brings it here");
    pty.send_line("x, 'made' in dir()");
    pty.wait_for("([1], False)");
    // The conversation in front goes on in its thread, and knows nothing of the other.
    pty.send_line(".then?");
    let requests = program.endpoint.wait_for(5);
    assert_eq!(thread(&requests[4]), thread(&front[0]));
    let sent = conversation(&requests[4]).join("\n");
    assert!(!sent.contains("work?") && !sent.contains("aside"), "{sent}");
    pty.wait_for("In [7]:");
    // What is brought over is told once.
    pty.send_line("%ipycodex merge 4");
    pty.wait_for("Bring it here?");
    pty.send("m");
    pty.wait_for("Brought over from In [4]: made, x");
    pty.send_line("x, made");
    pty.wait_for("([1, 2], 2)");
    pty.send_line(".and now?");
    let requests = program.endpoint.wait_for(6);
    let sent = last_prompt(&requests[5]);
    for told in ["work?", "all worked", "made, x"] {
        assert!(sent.contains(told), "{told}: {sent}");
    }
    leave(&pty);
}

#[test]
fn only_its_cells_are_taken_or_nothing() {
    let Some((program, pty)) = started() else {
        return;
    };
    pty.send_line("%ipycodex aside .work?");
    pty.wait_for("In [2] has answered after");
    pty.send_line("%ipycodex show 2");
    pty.wait_for("all worked");
    pty.send_line("%ipycodex merge 2");
    pty.wait_for("Bring it here?");
    pty.send("d");
    let details = "# %% cell 1\nx.append(2); made = len(x); print('in the fork')";
    pty.wait_until("the question below the details", |screen| {
        let text = screen.contents();
        let below = text.split_once(details).map(|(_, below)| below.to_owned());
        below.is_some_and(|below| below.contains("Bring it here?"))
    });
    pty.send("c");
    pty.wait_for("In [5]: x.append(2); made = len(x); print('in the fork')");
    pty.send("\r");
    pty.wait_for("\nin the fork\n");
    pty.send_line("%ipycodex aside .work?");
    pty.wait_for("In [6] has answered after");
    pty.send_line("%ipycodex merge 6");
    pty.wait_for("Bring it here?");
    pty.send("x");
    pty.wait_for("what In [6] has left was dropped");
    pty.send_line("x");
    pty.wait_for("Out[8]: [1, 2]");
    pty.send_line("%ipycodex jobs");
    pty.wait_for("In [2]  has answered; `show 2`  .work?");
    leave(&pty);
    drop(program);
}
