//! The whole program with agents of the protocol: in a session, without a terminal, by name, and the built-in one.

use serde_json::json;

use super::harness::fake;
use crate::codex::faults::python;
use crate::repl::shell::{CTRL_C, Shell, with_settings};
use crate::support::home::Home;
use crate::support::pty::SIZE;

pub(super) fn command(fault: &str) -> String {
    let line = format!("acp:{} {} {fault}", python(), fake("acp.py").display());
    line.trim_end().to_owned()
}

#[test]
fn a_session_with_an_agent_that_asks_and_is_stopped() {
    let shell = Shell::start(Home::new(), &["--agent", &command("")], SIZE);
    shell.at(1);
    shell.pty.send_line(".think plan hello");
    shell.shows("> hm");
    shell.shows("▸ look");
    shell.shows("☑ look");
    shell.at(2);
    // One block, drawn over until the turn is over.
    let text = shell.text();
    let count = |part: &str| text.matches(part).count();
    assert_eq!(
        (count("▸ look"), count("☑ look"), count("☐ tell")),
        (0, 1, 1),
        "{text}"
    );
    shell.pty.send_line(".permission");
    shell.shows("touch x");
    shell.shows("reject once");
    // The second of its three options: allow once.
    shell.pty.send("2");
    shell.shows("chosen: o-allow_once");
    shell.at(3);
    shell.pty.send_line(".slow");
    shell.shows("begun");
    shell.pty.send("\x03");
    shell.shows("stopped");
    shell.at(4);
    shell.cell(4, ".commands mode all");
    shell.shows("code");
    shell.cell(5, "%ipycodex option mode plan");
    shell.shows("mode: plan");
    shell.cell(6, "%ipycodex agent");
    shell.shows("title: A title");
    shell.shows("./review");
    shell.cell(7, "%ipycodex model large");
    shell.cell(8, ".model");
    shell.shows("large");
    shell.pty.send("./re\t");
    shell.shows("./review");
    shell.pty.send_line("the change");
    shell.at(10);
    // The agent has a command that shortens the conversation.
    shell.pty.send_line("%ipycodex compact all names");
    shell.shows("/compact all names");
    shell.at(12);
    assert_eq!(shell.leave(), 0);
    let stored = shell.answers(7);
    assert_eq!(stored[6].0, "/compact all names");
    assert!(stored[0].1.contains("plan: 1 of 2 done"), "{stored:?}");
    assert!(
        stored[2].1.ends_with("<system>user interrupted</system>"),
        "{stored:?}"
    );
}

#[test]
fn plan_mode_holds_an_agent_back_and_is_a_mode_of_its_own() {
    let shell = Shell::start(Home::new(), &["--agent", &command("")], (200, 40));
    shell.at(1);
    shell.pty.send("\x1b[Z");
    shell.pty.wait_for("[plan] In [1]: ");
    shell.pty.send_line(".permission write mode plan");
    shell.pty.wait_for("▸ n no, keep planning");
    shell.shows("not allowed in plan mode (command): touch x");
    shell.shows("chosen: o-reject_once");
    // The path of the home before it decides where the line is wrapped.
    shell
        .pty
        .wait_until("why a file was not written", |screen| {
            let text = screen.contents().replace('\n', " ");
            text.contains("was not written: plan mode is on")
        });
    shell.shows("the agent's mode is now `plan`");
    shell.shows("? The agent has a plan of 1 step\n    1. tell\nCarry it out?");
    shell.pty.send("y");
    shell.at(3);
    shell.shows("the agent's mode is now `code`");
    shell.leave();
    let stored = shell.answers(2);
    assert!(stored[0].1.contains("plan: 1 of 2 done"), "{stored:?}");
    assert_eq!(stored[1].0, "Carry out this plan:\n1. tell");
}

#[test]
fn an_agent_that_takes_nothing_in_mid_turn_gets_the_prompt_afterwards() {
    let shell = Shell::start(Home::new(), &["--agent", &command("")], SIZE);
    shell.at(1);
    shell.pty.send_line(".slow");
    shell.shows("begun");
    shell.pty.send(".hello\rx = 1\r");
    shell.shows("» hello: not taken in the middle of this answer");
    shell.shows("queued: .hello");
    shell.pty.send(CTRL_C);
    shell.shows("stopped");
    // In its order, to be edited: a stopped answer runs nothing by itself.
    shell.pty.at_line("   ...: x = 1");
    assert!(
        shell.text().contains("In [2]: .hello\n   ...: x = 1"),
        "{}",
        shell.text()
    );
    shell.pty.send("\x15\x08\x15\x15");
    assert_eq!(shell.answers(1).len(), 1);
}

#[test]
fn a_plan_that_is_done_stays_once() {
    let agent = format!("acp:{} demo --acp", env!("CARGO_BIN_EXE_ipycodex"));
    let shell = Shell::start(Home::new(), &["--agent", &agent], SIZE);
    shell.at(1);
    shell.cell(1, ".make a plan");
    let text = shell.text();
    assert_eq!(text.matches("☑ answer").count(), 1, "{text}");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn an_agent_that_logs_in_by_a_program_gets_the_terminal_for_it() {
    let mut home = Home::new();
    let login = home.path().join("login");
    home.set("ACP_LOGIN", &login);
    let shell = Shell::start(home, &["--agent", &command("'terminal login'")], SIZE);
    shell.at(1);
    shell.pty.send_line(".hello there");
    shell.shows("log in with `%ipycodex login tui` (In the terminal)");
    shell.at_with(2, ".hello there");
    shell.pty.send("\x15%ipycodex login\r");
    shell.shows("%ipycodex login tui  In the terminal");
    shell.pty.send_line("%ipycodex login tui");
    shell.shows("who are you?");
    shell.pty.send_line("");
    shell.shows("ended with exit status: 3");
    std::fs::remove_file(&login).unwrap();
    shell.pty.send_line("%ipycodex login tui");
    shell.pty.wait_until("the question again", |screen| {
        screen.contents().matches("who are you?").count() == 2
    });
    shell.pty.send_line("ada");
    shell.shows("Logged in: the next prompt uses it.");
    assert_eq!(std::fs::read_to_string(login).unwrap(), "ada");
    shell.pty.send_line(".hello again");
    shell.shows("hello again");
    shell.leave();
}

#[test]
fn an_agent_has_a_name_in_the_settings() {
    let fake = fake("acp.py").display().to_string();
    let line = format!("{} {fake}", python());
    let mine = json!({"command": python(), "args": [fake], "env": {"X": "1"}});
    let agents = json!({"mine": mine, "line": line, "wrong": 7});
    let home = with_settings(&json!({"agents": agents}).to_string());
    for name in ["mine", "line"] {
        let ran = home.run(&["--agent", name, "ask", "hello there"], "");
        assert_eq!(
            (ran.code(), ran.stdout.as_str()),
            (0, "hello there \n"),
            "{ran:?}"
        );
        assert!(ran.stderr.contains("`agents.wrong`"), "{ran:?}");
    }
    let ran = home.run(&["--agent", "mime", "ask", "hello"], "");
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("there is no agent `mime` (did you mean `mine`?)"),
        "{ran:?}"
    );
    let ran = home.run(&["--agent", "acp:'", "ask", "hello"], "");
    assert_eq!(ran.code(), 2, "{ran:?}");
}

#[test]
fn where_nobody_can_be_asked_the_answer_is_no() {
    let ran = Home::new().run(&["--agent", &command(""), "ask", "permission"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stdout.contains("chosen: o-reject_once"), "{ran:?}");
}

#[test]
fn without_a_terminal_files_starts_and_questions_are_told() {
    let ran = Home::new().run(&["--agent", &command(""), "ask", "write elicit tool"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stdout.contains(r#"{"action": "decline"}"#), "{ran:?}");
    assert!(ran.stderr.contains("created "), "{ran:?}");
    assert!(ran.stderr.contains("new/b.txt (8 bytes, +1)"), "{ran:?}");
    // What was not allowed has been told when it was asked.
    assert!(!ran.stderr.contains("✗ Deploy"), "{ran:?}");
    // A start that takes its time: told, and over its limit an error that names the setting.
    let home = with_settings(r#"{"agent_start": 3}"#);
    let ran = home.run(&["--agent", &command("silent"), "ask", "hello"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    for part in [
        "to start (at most 3 s: `%ipycodex agent_start`)",
        "did not answer `initialize` within 3 s",
        "`%ipycodex agent_start SECONDS`",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
}

#[test]
fn an_agent_that_is_there_no_longer_is_not_offered() {
    let agents = json!({"mine": format!("{} {}", python(), fake("acp.py").display())});
    let home = with_settings(&json!({"agents": agents}).to_string());
    let shell = Shell::start(home, &["--agent", "mine"], SIZE);
    shell.cell(1, ".hello");
    assert_eq!(shell.leave(), 0);
    let settings = shell.home.config().join("config.json");
    std::fs::write(&settings, "{}").unwrap();
    let shell = Shell::start::<&str>(shell.home, &["-r", "1"], SIZE);
    shell.shows("the agent of this session was mine, it is codex now, and cannot go on");
    shell.lacks("goes on with it");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn an_agent_that_is_missing_is_said_with_what_to_do() {
    let ran = Home::new().run(&["--agent", "acp:/nowhere/x --acp", "ask", "hello"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.stderr.contains("`/nowhere/x` was not found"), "{ran:?}");
}

#[test]
fn the_built_in_agent_speaks_the_protocol() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_ipycodex");
    let ran = home.run(
        &["--agent", &format!("acp:{program} demo --acp")],
        "a = 41\n.what ran?\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stdout.contains("I am **no AI**"), "{ran:?}");
    assert!(ran.stdout.contains("a = 41"), "{ran:?}");
}
