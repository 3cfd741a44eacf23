//! Plan mode at the prompt: Shift-Tab, the question about a plan, its steps while they are carried out.

use serde_json::json;

use super::checkpoints::await_copy;
use super::shell::{Shell, with_settings};
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply};
use crate::support::{await_true, peers};

const WIDE: (u16, u16) = (100, 45);
const SHIFT_TAB: &str = "\x1b[Z";

/// At the first prompt of a shell with the real Codex, if there is one.
fn start(endpoint: &Endpoint, settings: &str) -> Option<Shell> {
    let codex = peers::codex()?;
    let home = with_settings(settings);
    endpoint.write_home(&home.codex(), "gpt-5.5");
    home.install("codex", codex);
    let shell = Shell::start(home, &["--agent", "codex"], WIDE);
    shell.at(1);
    Some(shell)
}

fn progress(first: &str, second: &str) -> serde_json::Value {
    json!({"steps": [{"step": "look at rows", "status": first}, {"step": "write them", "status": second}]})
}

fn plan() -> Reply {
    Reply::text(
        "So:\n<proposed_plan>\n# Rows\n\n1. look at rows\n2. write them\n</proposed_plan>\n",
    )
}

#[test]
fn nothing_is_changed_before_the_yes_and_the_steps_are_one_block() {
    let cells = json!({"cells": [{"code": "made = open('made', 'w').write('1')"}]});
    let endpoint = Endpoint::script(vec![
        Reply::calls(&[("c1", "run_cells", cells.clone())]),
        Reply::calls(&[("c2", "exec_command", json!({"cmd": "touch made; ls"}))]),
        plan(),
        Reply::calls(&[("c3", "show_plan", progress("in_progress", "pending"))]),
        Reply::calls(&[("c4", "run_cells", cells)]),
        Reply::calls(&[("c5", "show_plan", progress("completed", "in_progress"))]),
        Reply::Stream(vec![
            Event::Message(vec!["Almost ".into()], None),
            Event::Hold,
            Event::Message(vec!["written.".into()], None),
            Event::Completed([1, 0, 1, 0]),
        ]),
        Reply::text("turn over"),
    ]);
    let Some(shell) = start(&endpoint, r#"{"run_cells": "auto"}"#) else {
        return;
    };
    let made = || shell.home.work().join("made").exists();
    await_copy(&shell, || shell.cell(1, "rows = [1]"));
    shell.pty.send(SHIFT_TAB);
    shell.pty.wait_for("[plan] In [2]: ");
    shell.pty.send_line(".write the rows");
    shell.pty.wait_for("▸ n no, keep planning");
    shell.shows("run_cells did not run: plan mode is on");
    shell.shows(
        "? The agent has a plan of 2 steps\n    1. look at rows\n    2. write them\nCarry it out?\n\
         \x20 y yes, act on it\n",
    );
    assert!(!made());
    shell.pty.send("y");
    shell.pty.wait_for("Almost");
    shell.pty.wait_for("☑ look at rows");
    shell.pty.wait_for("▸ write them");
    assert!(made());
    let before = shell.pty.screen_text();
    assert_eq!(before.matches("look at rows").count(), 3, "{before}");
    endpoint.release();
    shell.at(5);
    let after = shell.pty.screen_text();
    assert_eq!(after.matches("☑ look at rows").count(), 1, "{after}");
    assert!(after.contains("\nIn [5]: "), "plan mode is over: {after}");
    let requests = endpoint.requests();
    let last = requests.last().unwrap()["input"].to_string();
    assert!(
        last.contains("Carry out this plan:\\n1. look at rows\\n2. write them"),
        "{last}"
    );
    // The thread equals the record: another process goes on with it, out of Codex's own plan mode.
    shell.leave();
    let Shell { home, pty } = shell;
    drop(pty);
    let shell = Shell::start(home, &["--agent", "codex", "-r", "1"], WIDE);
    shell.at(5);
    shell.pty.send_line(".and now?");
    shell.shows("turn over");
    let requests = endpoint.requests();
    let keys: Vec<_> = requests.iter().map(|it| &it["prompt_cache_key"]).collect();
    assert!(
        keys.iter().all(|key| *key == keys[0]),
        "one thread: {keys:?}"
    );
    let last = requests.last().unwrap()["input"].to_string();
    let modes: Vec<&str> = last.split("<collaboration_mode># ").skip(1).collect();
    assert_eq!(modes.len(), 2, "{last}");
    assert!(
        modes[0].starts_with("Plan Mode") && modes[1].starts_with("Collaboration Mode: Default")
    );
}

#[test]
fn the_steps_are_edited_at_the_prompt_and_shift_tab_documents_what_is_typed() {
    let endpoint = Endpoint::script(vec![plan(), plan(), Reply::text("done")]);
    let Some(shell) = start(&endpoint, "{}") else {
        return;
    };
    shell.pty.send("len");
    shell.pty.send(SHIFT_TAB);
    shell.pty.wait_for("Return the number of items");
    shell.pty.send("\x03");
    shell.at(1);
    shell.pty.send_line("%ipycodex plan on");
    shell.pty.wait_for("[plan] In [2]: ");
    shell.shows("plan mode is on: the agent looks and plans, and changes nothing");
    shell.pty.send(SHIFT_TAB);
    await_true("plan mode off", || {
        !shell.pty.screen_text().contains("[plan] In [2]")
    });
    shell.pty.send(SHIFT_TAB);
    shell.pty.wait_for("[plan] In [2]: ");
    shell.pty.send_line(".go");
    shell.pty.wait_for("▸ n no, keep planning");
    shell.pty.send("n");
    shell.pty.wait_for("[plan] In [3]: ");
    shell.pty.send_line(".go on");
    shell.pty.wait_for("▸ n no, keep planning");
    shell.pty.send("e");
    shell.pty.wait_for("[plan] In [4]: .Carry out this plan:");
    shell.pty.wait_for("2. write them");
    shell
        .pty
        .send("\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7fall\r");
    shell.at(5);
    shell.shows("plan mode is off");
    let sent = endpoint.requests().pop().unwrap()["input"].to_string();
    assert!(
        sent.contains("Carry out this plan:\\n1. look at rows\\n2. all</user-request>"),
        "{sent}"
    );
    assert_eq!(endpoint.requests().len(), 3);
}
