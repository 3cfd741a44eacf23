//! Cells of the agent in a copy of the live session: what they see, what reaches the session, how long the copy lasts.

use serde_json::{Value, json};

use super::questioning_agent::{Asker, call};
use super::shell::CTRL_C;
use crate::support::await_true;
use crate::support::home::Home;

/// A call that runs these cells in the copy.
fn copy(codes: &[&str], more: &[(&str, Value)]) -> Value {
    let cells: Vec<Value> = codes.iter().map(|code| json!({"code": code})).collect();
    let mut arguments = json!({"cells": cells, "kernel": "copy"});
    for (name, value) in more {
        arguments[name] = value.clone();
    }
    call("run_cells", arguments)
}

/// What the agent was told by its `n`th call.
fn told(asker: &Asker, n: usize) -> String {
    let given = &asker.given(n + 1)[n];
    let text = given["contentItems"][0]["text"].as_str();
    text.unwrap_or_default().to_owned()
}

fn asker(turns: Value) -> Asker {
    Asker::of(Home::new(), turns, (140, 50))
}

/// Processes that run for this home.
fn processes(asker: &Asker) -> usize {
    super::checkpoints::interpreters(&asker.shell.home).len()
}

#[test]
fn a_copy_holds_the_users_data_and_lasts_for_the_turn() {
    let first = json!([
        copy(&["a.append(4); b = 'copy'", "sum(a)"], &[]),
        copy(&["print(len(a), b)", "open('x.txt', 'w')"], &[]),
        copy(&["import tempfile; tempfile.TemporaryFile().write(b'x'), len(a)"], &[]),
        {"text": "tried"},
    ]);
    let asker = asker(json!([first, [copy(&["len(a), 'b' in dir()"], &[])]]));
    asker.shell.cell(1, "a = [1, 2, 3]");
    asker.prompt(2);
    asker.shell.at(3);
    asker
        .shell
        .shows("a copy of your session runs 2 of 2:\nsum(a)\n10\n");
    assert!(
        told(&asker, 0).contains("cell 2:\n10"),
        "{}",
        told(&asker, 0)
    );
    let refused = told(&asker, 1);
    assert!(refused.contains("cell 1:\n4 copy"), "{refused}");
    assert!(
        refused.contains("cell 2 of 2 failed: PermissionError"),
        "{refused}"
    );
    assert!(told(&asker, 2).contains("(1, 4)"), "{}", told(&asker, 2));
    asker.shell.cell(3, "a, 'b' in dir()");
    asker.shell.shows("Out[3]: ([1, 2, 3], False)");
    asker.prompt(4);
    asker.shell.at(5);
    assert!(
        told(&asker, 3).contains("(3, False)"),
        "{}",
        told(&asker, 3)
    );
    asker.shell.lacks("? The agent asks");
}

#[test]
fn a_copy_is_made_anew_when_it_is_reset_and_when_it_has_ended() {
    let reset = call(
        "run_cells",
        json!({"cells": [{"code": "n += 1; n"}, {"code": "n += 1; n", "reset": true}], "kernel": "copy"}),
    );
    let asker = asker(json!([[
        reset,
        copy(
            &[
                "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
                "1"
            ],
            &[]
        ),
        copy(&["n"], &[]),
        copy(
            &["n += 1; __import__('time').sleep(60)"],
            &[("timeout", json!(1))]
        ),
        copy(&["n"], &[]),
        copy(
            &["import signal; signal.signal(2, 1); __import__('time').sleep(60)"],
            &[("timeout", json!(1))]
        ),
        copy(&["n"], &[]),
    ]]));
    asker.shell.cell(1, "n = 1");
    asker.prompt(2);
    asker.shell.at(3);
    let all: Vec<String> = (0..7).map(|n| told(&asker, n)).collect();
    assert!(all[0].contains("cell 1:\n2\ncell 2:\n2"), "{}", all[0]);
    let ended = "failed: ChildProcessError: the copy ended (it was killed, or its code \
                 ended it";
    assert!(all[1].contains(ended), "{}", all[1]);
    assert!(all[2].contains("cell 1:\n1"), "{}", all[2]);
    assert!(
        all[3].contains("timed out after 1 s; it was interrupted, variables are kept"),
        "{}",
        all[3]
    );
    assert!(all[4].contains("cell 1:\n2"), "{}", all[4]);
    assert!(
        all[5].contains("it did not react to the interrupt"),
        "{}",
        all[5]
    );
    assert!(all[6].contains("cell 1:\n1"), "{}", all[6]);
    asker.shell.cell(3, "n");
    asker.shell.shows("Out[3]: 1");
}

#[test]
fn ctrl_c_stops_the_turn_and_the_copy_goes_with_it() {
    let asker = asker(json!([[copy(
        &["print('on'); __import__('time').sleep(60)"],
        &[]
    )]]));
    asker.shell.cell(1, "%ipycodex checkpoints 0");
    asker.shell.cell(2, "a = 1");
    await_true("one interpreter", || processes(&asker) == 1);
    asker.prompt(3);
    asker.shell.pty.wait_for("a copy of your session runs:");
    await_true("the copy, and what ends it", || processes(&asker) == 3);
    asker.shell.pty.send(CTRL_C);
    asker.shell.at(4);
    await_true("the end of the copy", || processes(&asker) == 1);
    asker.shell.cell(4, "a");
    asker.shell.shows("Out[4]: 1");
}
