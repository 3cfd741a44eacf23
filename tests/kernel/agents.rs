//! The `agentclient` kernel: conversations of the reference client with it, the scripted agent behind it; what each
//! expects stands in `agents.py`.

use super::bench::Bench;
use crate::acp::bench::fake;
use crate::codex::faults::python;

/// Holds a conversation of `agents.py`, with the scripted agent.
fn converse(name: &str) {
    converse_with(&python(), name);
}

fn converse_with(program: &str, name: &str) {
    let agent = fake("acp.py").display().to_string();
    if let Some(mut bench) = Bench::of_agents(program, &agent) {
        bench.home.set("OPENAI_API_KEY", "hush");
        let ran = bench.python("agents.py", &[name]);
        assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn cells_are_prompts_and_what_the_agent_does_is_marked() {
    converse("prompts");
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
fn an_agent_that_is_missing_is_said_and_another_is_named() {
    converse_with("/nowhere/agent", "missing");
}
