//! A real agent of the protocol: codex-acp from npm, which works with the pinned Codex, on the scripted model.

use serde_json::{Value, json};

use crate::repl::shell::{CTRL_C, Shell};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply};

/// A shell whose agent it is; `None` (and a passed test) where it cannot be had.
fn shell(endpoint: &Endpoint) -> Option<Shell> {
    let (codex, agent) = (peers::codex()?, peers::codex_acp()?);
    let mut home = Home::new();
    endpoint.write_home(&home.codex(), "gpt-5.5");
    home.set("CODEX_PATH", codex);
    home.set("INITIAL_AGENT_MODE", "agent-full-access");
    let command = format!("acp:{}", agent.display());
    let shell = Shell::start(home, &["--agent", &command], SIZE);
    shell.at(1);
    Some(shell)
}

/// The model calls a tool of ours.
fn call(tool: &str, arguments: Value) -> Reply {
    let call = Event::NamespaceCall("c1".into(), "mcp__ipycodex".into(), tool.into(), arguments);
    Reply::Stream(vec![call, Event::Completed([100, 40, 10, 2])])
}

#[test]
fn it_answers_looks_at_the_variables_and_goes_on_with_the_conversation() {
    // It asks the model for more than answers: a title for the conversation, too.
    let endpoint = Endpoint::answering(|_, request| {
        let input = request["input"].to_string();
        match input.contains("function_call_output") {
            true => Reply::text("it is done"),
            false if input.contains("and x?") => call("pyrun", json!({"code": "x + 1"})),
            false => Reply::text("good *morning*"),
        }
    });
    let Some(shell) = shell(&endpoint) else {
        return;
    };
    shell.cell(1, ".hello");
    shell.shows("good morning");
    shell.cell(2, "x = 41");
    shell.cell(3, ".and x?");
    shell.shows("pyrun(code='x + 1') => 42");
    shell.shows("it is done");
    let answers = shell.answers(2);
    assert_eq!(answers[0].1, "good *morning*");
    assert_eq!(answers[1].1.matches("<details").count(), 1, "{answers:?}");
    let mut requests = endpoint.requests().into_iter().rev();
    let events = requests.find(|it| it["input"].to_string().contains("function_call_output"));
    let last = events.expect("it was told the result")["input"].to_string();
    for part in ["good *morning*", "<code>x = 41</code>", "42"] {
        assert!(last.contains(part), "{part}: {last}");
    }
    shell.cell(4, "%ipycodex agent");
    shell.shows("mode: agent-full-access");
    shell.leave();
}

#[test]
fn it_is_stopped_and_answers_the_next_prompt() {
    let endpoint = Endpoint::answering(|index, _| match index {
        0 => Reply::Stream(vec![Event::Begun(vec!["begun".into()]), Event::Hold]),
        _ => Reply::text("here again"),
    });
    let Some(shell) = shell(&endpoint) else {
        return;
    };
    shell.pty.send_line(".hello");
    shell.shows("begun");
    shell.pty.send(CTRL_C);
    shell.shows("stopped");
    shell.cell(2, ".hello?");
    shell.shows("here again");
    shell.leave();
}

#[test]
fn a_prompt_goes_into_its_running_turn() {
    let endpoint = Endpoint::answering(|_, request| {
        let input = request["input"].to_string();
        match input.contains("use b instead") {
            true => Reply::text("b it is"),
            false if input.contains("hello") => {
                Reply::Stream(vec![Event::Begun(vec!["begun".into()]), Event::Hold])
            }
            false => Reply::text("a title"),
        }
    });
    let Some(shell) = shell(&endpoint) else {
        return;
    };
    shell.pty.send_line(".hello");
    shell.shows("begun");
    shell.pty.send(".use b instead\r");
    shell.shows("» use b instead");
    shell.shows("b it is");
    shell.at(2);
    let answers = shell.answers(1);
    assert_eq!(answers.len(), 1, "{answers:?}");
    let (before, after) = answers[0]
        .1
        .split_once("the user: use b instead")
        .expect("the prompt");
    assert!(
        before.starts_with("begun") && after.ends_with("b it is"),
        "{answers:?}"
    );
    shell.leave();
}

#[test]
fn a_fork_of_the_session_is_a_fork_of_its_own() {
    let endpoint = Endpoint::answering(|_, _| Reply::text("good *morning*"));
    let Some(shell) = shell(&endpoint) else {
        return;
    };
    shell.cell(1, ".hello");
    shell.shows("good morning");
    shell.at(2);
    shell.pty.send_line("%ipycodex fork");
    shell.shows("Session 2 is a fork of session 1");
    shell.at(2);
    for (number, prompt) in [(2, ".what now?"), (3, ".and then?")] {
        shell.cell(number, prompt);
        let told = endpoint.requests().into_iter().rev();
        let told = told.map(|request| request["input"].to_string());
        let told = told.filter(|input| input.contains(&prompt[1..]));
        let seeded = told
            .clone()
            .filter(|input| input.contains("<conversation-history><turn>"));
        assert_eq!(seeded.count(), 0, "it was seeded");
        let native =
            told.filter(|input| input.contains("hello") && input.contains("good *morning*"));
        assert!(native.count() > 0, "{prompt}");
    }
    shell.leave();
}

#[test]
fn what_it_changed_in_files_goes_back_with_an_undone_exchange() {
    let patch = "*** Begin Patch\n*** Add File: new.py\n+new = 1\n*** End Patch\n";
    let endpoint = Endpoint::answering(move |_, request| {
        let input = request["input"].to_string();
        let end = Event::Completed([100, 40, 10, 2]);
        match input.contains("change them") {
            _ if input.contains("function_call_output") => Reply::text("it is done"),
            true if input.contains("custom_tool_call_output") => {
                let command = json!({"cmd": "sed -i s/one/two/ a.txt"});
                Reply::calls(&[("c2", "exec_command", command)])
            }
            true => Reply::Stream(vec![
                Event::Custom("c1".into(), "apply_patch".into(), patch.into()),
                end,
            ]),
            false => Reply::text("a title"),
        }
    });
    let Some(shell) = shell(&endpoint) else {
        return;
    };
    let file = shell.home.write("a.txt", "one\n");
    shell.cell(1, "%ipycodex changes");
    shell.cell(2, ".change them");
    shell.shows("it is done");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
    shell.at(3);
    shell.pty.send_line("%ipycodex undo");
    shell.pty.wait_for("▸ n no, leave it");
    shell.shows("    put back a.txt\n    remove new.py\n");
    shell.pty.send("y");
    shell.at(4);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    assert!(!file.with_file_name("new.py").exists());
}
