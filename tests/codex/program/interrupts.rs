//! Ctrl-C and sudden deaths in the middle of a turn: the prompt is back, nothing is lost, the next prompt works.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{leave, program};
use crate::codex::app_server::running;
use crate::support::await_true;
use crate::support::pty::Pty;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation};

const CTRL_C: &str = "\x03";

fn silent_then_fine() -> Endpoint {
    Endpoint::answering(|index, _| match index {
        0 => Reply::Stream(vec![
            Event::Begun(vec!["par".into(), "tial".into()]),
            Event::Hold,
        ]),
        _ => Reply::text("fine"),
    })
}

#[test]
fn a_stream_is_stopped_and_its_part_is_kept() {
    let Some(program) = program("gpt-5.5", silent_then_fine()) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".first?");
    pty.wait_for("partial");
    let servers = app_servers(&pty);
    assert_eq!(servers.len(), 1, "{servers:?}");
    pty.send(CTRL_C);
    pty.wait_for("In [2]:");
    assert!(
        pty.screen_text().contains("stopped\n"),
        "{}",
        pty.screen_text()
    );
    pty.send_line(".second?");
    pty.wait_for("fine");
    pty.wait_for("In [3]:");
    let screen = pty.all_text();
    assert_eq!(screen.matches("partial").count(), 1, "{screen}");
    assert_eq!(app_servers(&pty), servers, "it obeyed; it was not replaced");
    leave(&pty);
    program.endpoint.release();
    let partial = "partial\n<system>user interrupted</system>";
    assert_eq!(program.answers(), [partial, "fine"]);
    assert_eq!(
        conversation(&program.endpoint.requests()[1]),
        [
            "user: <user-request>first?</user-request>".to_owned(),
            format!("assistant: {partial}"),
            "user: <user-request>second?</user-request>".to_owned()
        ]
    );
}

#[test]
fn before_the_first_word_nothing_is_stored_but_the_stop() {
    let endpoint = Endpoint::answering(|index, _| match index {
        0 => Reply::Stream(vec![Event::Hold]),
        _ => Reply::text("fine"),
    });
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".first?");
    program.endpoint.wait_for(1);
    pty.send(CTRL_C);
    pty.wait_for("In [2]:");
    pty.send_line(".second?");
    pty.wait_for("In [3]:");
    leave(&pty);
    program.endpoint.release();
    assert_eq!(program.answers(), ["", "fine"]);
    assert_eq!(
        conversation(&program.endpoint.requests()[1])[1],
        "assistant: <system>user interrupted</system>"
    );
}

#[test]
fn the_agents_command_ends_with_the_turn() {
    let Some(program) = program("gpt-5.5", running("echo $$ > pid; exec sleep 1000")) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".run it");
    pty.wait_for("⌛");
    let file = program.home.work().join("pid");
    await_true("std", || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n'))
    });
    let command = std::fs::read_to_string(&file).unwrap();
    pty.send(CTRL_C);
    pty.wait_for("In [2]:");
    let process = Path::new("/proc").join(command.trim()).join("cmdline");
    await_true("std", || {
        std::fs::read(&process).map_or(true, |line| line.is_empty())
    });
    pty.send_line(".second?");
    pty.wait_for("ran");
    pty.wait_for("In [3]:");
    leave(&pty);
}

#[test]
fn a_python_tool_is_interrupted() {
    let endpoint = Endpoint::script(vec![
        Reply::calls(&[("c1", "pause", json!({}))]),
        Reply::text("fine"),
    ]);
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let pty = program.repl();
    pty.send_line("import time; pause = lambda: [print('waiting'), time.sleep(1000)]");
    pty.wait_for("In [2]:");
    pty.send_line(".call &`pause`");
    pty.wait_for("\nwaiting");
    pty.send(CTRL_C);
    pty.wait_for("In [3]:");
    pty.send_line("6 * 7");
    pty.wait_for("42");
    pty.wait_for("In [4]:");
    pty.send_line(".second?");
    pty.wait_for("fine");
    pty.wait_for("In [5]:");
    leave(&pty);
}

#[test]
fn a_killed_agent_costs_one_line() {
    let Some(program) = program("gpt-5.5", silent_then_fine()) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".first?");
    pty.wait_for("partial");
    kill_codex(&pty);
    pty.wait_for("In [2]: .first?");
    let screen = pty.screen_text();
    let lines: Vec<&str> = screen
        .lines()
        .filter(|line| line.contains("error:"))
        .collect();
    assert_eq!(lines.len(), 1, "{screen}");
    assert!(
        lines[0].contains("`codex` ended before its answer was complete (signal: 9"),
        "{screen}"
    );
    // The prompt is in the editor: Enter sends it again, to a new process.
    pty.send("\r");
    pty.wait_for("fine");
    pty.wait_for("In [3]:");
    leave(&pty);
    program.endpoint.release();
    assert_eq!(program.answers(), ["fine"]);
    assert_eq!(conversation(&program.endpoint.requests()[1]).len(), 1);
    assert_eq!(
        program.recorded("SELECT response FROM ipycodex_turns WHERE state = 'failed'"),
        ["partial"]
    );
}

#[test]
fn a_wait_is_shown_and_goes_with_the_first_word() {
    let endpoint = Endpoint::answering(|_, _| {
        Reply::Stream(vec![
            Event::Hold,
            Event::Message(vec!["fine".into()], None),
            Event::Completed([1, 0, 1, 0]),
        ])
    });
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".first?");
    pty.wait_for("… waiting for the answer (Ctrl-C stops)");
    // Once that takes longer, how long.
    pty.wait_for("⏳ 2 s · Ctrl-C stops");
    program.endpoint.release();
    pty.wait_for("In [2]:");
    let screen = pty.screen_text();
    assert!(screen.contains("\nfine\n1 in"), "{screen}");
    for gone in ["waiting for the answer", "⏳"] {
        assert!(!screen.contains(gone), "{screen}");
    }
    leave(&pty);
}

#[test]
fn what_came_before_a_kill_of_the_program_is_in_the_record() {
    // So much is saved at once.
    let long = "word ".repeat(1000);
    let begun = long.clone();
    let endpoint = Endpoint::answering(move |index, _| match index {
        0 => Reply::Stream(vec![Event::Begun(vec![begun.clone()]), Event::Hold]),
        _ => Reply::text("fine"),
    });
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".first?");
    pty.wait_for("word word");
    let saved = "SELECT sum(length(text)) FROM ipycodex_answer_parts";
    await_true("the answer is saved", || {
        program.recorded(saved) == ["5000"]
    });
    pty.signal(Signal::KILL);
    pty.exit_status();
    await_true("the app-server is gone", || app_servers(&pty).is_empty());
    let ran = program.resumed("1", ".second?\n");
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "fine\n"), "{ran:?}");
    program.endpoint.release();
    assert_eq!(
        conversation(&program.endpoint.requests()[1]),
        [
            "user: <user-request>first?</user-request>".to_owned(),
            format!("assistant: {long}\n<system>user interrupted</system>"),
            "user: <user-request>second?</user-request>".to_owned()
        ]
    );
}

/// The processes of the app-server of this REPL.
fn app_servers(pty: &Pty) -> Vec<u32> {
    let is_server = |process: &u32| {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("app-server")
    };
    let servers: Vec<u32> = pty.processes().into_iter().filter(is_server).collect();
    // Between fork and exec a child of one looks like another.
    let mut parents = servers.clone();
    parents.retain(|process| parent(*process).is_none_or(|parent| !servers.contains(&parent)));
    parents
}

/// `proc(5)`: the fourth field of `stat`, counted after the name in parentheses.
fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

fn kill_codex(pty: &Pty) {
    let servers = app_servers(pty);
    assert!(!servers.is_empty());
    for process in servers {
        let id = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
        kill_process(id, Signal::KILL).unwrap();
    }
}
