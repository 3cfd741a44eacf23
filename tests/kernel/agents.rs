//! The `agentclient` kernel: conversations of the reference client with it, the scripted agent behind it; what each
//! expects stands in `agents.py`.

use serde_json::{Value, json};

use super::harness::Harness;
use crate::acp::harness::fake;
use crate::codex::faults::python;
use crate::support::home::finish;
use crate::support::peers;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation};

/// Holds a conversation of `agents.py`, with the scripted agent.
fn converse(name: &str) {
    converse_with(&python(), name);
}

fn converse_with(program: &str, name: &str) {
    hold(program, &fake("acp.py").display().to_string(), name);
}

fn hold(program: &str, agent: &str, name: &str) {
    if let Some(mut harness) = Harness::of_agents(program, agent) {
        harness.home.set("OPENAI_API_KEY", "hush");
        let ran = harness.python("agents.py", &[name]);
        assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn cells_are_prompts_and_what_the_agent_does_is_marked() {
    converse("prompts");
}

#[test]
fn answers_may_be_markdown_that_grows() {
    converse("markdown");
}

#[test]
fn who_answers_permissions_is_the_users_choice() {
    converse("permissions");
}

#[test]
fn interrupts_deaths_restarts_and_the_end_work() {
    converse("ends");
}

#[test]
fn commands_say_what_they_did() {
    converse("commands");
}

#[test]
fn sessions_are_new_restarted_and_loaded() {
    converse("sessions");
}

#[test]
fn what_is_asked_beside_cells_is_answered() {
    converse("asides");
}

#[test]
fn a_kernel_that_is_killed_takes_its_agent_along() {
    converse("killed");
}

#[test]
fn floods_of_requests_and_clients_that_do_not_read_are_survived() {
    converse("floods");
}

#[test]
fn what_is_logged_is_named_in_variables() {
    let agent = fake("acp.py").display().to_string();
    let Some(mut harness) = Harness::of_agents(&python(), &agent) else {
        return;
    };
    harness.home.set("ACP_LOG_LEVEL", "INFO");
    harness.home.set("ACP_DEBUG_UPDATES", "AgentMessageChunk");
    let ran = harness.python("agents.py", &["logged"]);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("[INFO agent] session s"),
        "{}",
        ran.stderr
    );
    harness.home.set("ACP_LOG_LEVEL", "DEBUG");
    let ran = harness.python("agents.py", &["logged"]);
    assert!(
        ran.stderr
            .contains("[DEBUG updates] agent_message_chunk of s"),
        "{}",
        ran.stderr
    );
    assert!(
        !ran.stderr.contains("agent_thought_chunk"),
        "{}",
        ran.stderr
    );
}

#[test]
fn users_log_in_where_that_is_needed() {
    let agent = format!("{} login", fake("acp.py").display());
    hold(&python(), &agent, "logins");
}

#[test]
fn what_an_agent_cannot_do_is_said() {
    let agent = format!("{} bare", fake("acp.py").display());
    hold(&python(), &agent, "bare");
}

#[test]
fn files_and_pictures_that_a_prompt_names_go_with_it() {
    converse("pictures");
    let agent = format!("{} bare", fake("acp.py").display());
    hold(&python(), &agent, "pictures");
}

#[test]
fn an_agent_that_is_missing_is_said_and_another_is_named() {
    converse_with("/nowhere/agent", "missing");
}

#[test]
fn the_conformance_tests_of_jupyter_pass_for_agents() {
    let agent = fake("acp.py").display().to_string();
    let Some(harness) = Harness::of_agents(&python(), &agent) else {
        return;
    };
    let ran = harness.python("agents_conformance.py", &[]);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
    // What it puts out as a result, clears or pages, no agent has.
    assert!(ran.stderr.contains("OK (skipped=4)"), "{}", ran.stderr);
}

#[test]
fn jupyter_execute_runs_prompts_and_stops_at_one_that_fails() {
    let agent = fake("acp.py").display().to_string();
    let Some(harness) = Harness::of_agents(&python(), &agent) else {
        return;
    };
    let notebook = |sources: &[&str]| {
        let cell = |(number, source): (usize, &&str)| {
            json!({"cell_type": "code", "id": format!("c{number}"), "metadata": {}, "source": source,
                   "execution_count": null, "outputs": []})
        };
        let cells: Vec<Value> = sources.iter().enumerate().map(cell).collect();
        let spec = json!({"name": "agentclient", "display_name": "x"});
        json!({"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5})
    };
    let run = |sources: &[&str]| {
        let path = harness
            .home
            .write("book.ipynb", notebook(sources).to_string());
        let execute = harness.beside("jupyter-execute");
        let words = ["--inplace", "book.ipynb"];
        let ran = finish(harness.home.foreign(&execute, &words), b"");
        let book: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        (ran, book)
    };
    let (ran, book) = run(&["%agent permissions manual", "think hello", "permission"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let outputs = |cell: usize| book["cells"][cell]["outputs"].to_string();
    assert!(outputs(1).contains("💭 hm") && outputs(1).contains("hello "));
    assert!(outputs(2).contains("nobody can be asked"), "{}", outputs(2));
    let (ran, _) = run(&["die", "hello"]);
    assert_ne!(ran.code(), 0, "{ran:?}");
    assert!(ran.stderr.contains("AgentError"), "{ran:?}");
}

/// What the scripted model says: the last thing it was told names it.
fn model(request: &Value) -> Reply {
    let told = conversation(request);
    let asked = told.iter().rev().find(|line| line.starts_with("user: "));
    let asked = asked.map_or("", String::as_str);
    let items = request["input"].as_array().unwrap();
    let ran = items
        .last()
        .is_some_and(|item| item["type"] == "function_call_output");
    let call = |command: &str, more: Value| {
        let mut arguments = json!({"cmd": command});
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        Reply::calls(&[("c1", "exec_command", arguments)])
    };
    match asked {
        _ if ran => Reply::text("it ran"),
        asked if asked.contains("use the shell") => call("echo from-shell", json!({})),
        asked if asked.contains("use more") => call(
            "touch outside",
            json!({"sandbox_permissions": "require_escalated", "justification": "to test"}),
        ),
        asked if asked.contains("hold") => {
            Reply::Stream(vec![Event::Begun(vec!["begun".into()]), Event::Hold])
        }
        asked if asked.contains("what was first") => {
            let first = told.iter().find(|line| line.starts_with("user: "));
            Reply::text(first.unwrap().trim_start_matches("user: "))
        }
        _ => Reply::text("good *morning*"),
    }
}

#[test]
fn codex_acp_streams_asks_is_stopped_and_is_told_of_servers() {
    let endpoint = Endpoint::answering(|_, request| model(request));
    let (Some(codex), Some(agent)) = (peers::codex(), peers::codex_acp()) else {
        return;
    };
    let Some(mut harness) = Harness::of_agents(agent.to_str().unwrap(), "") else {
        return;
    };
    endpoint.write_home(&harness.home.codex(), "gpt-5.5");
    harness.home.set("CODEX_PATH", codex);
    harness.home.set("INITIAL_AGENT_MODE", "agent-full-access");
    let ran = harness.python("agents.py", &["real"]);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
}
