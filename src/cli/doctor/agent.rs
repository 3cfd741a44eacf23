//! Checks the agent that receives prompts, and the skills it can load.
//!
//! In: the environment and the settings. Out: findings. Codex is run for its version and login state only.

use std::process::Command;

use super::finding::{DoctorContext, Finding, PATIENCE};
use crate::config::AgentChoice;
use crate::process::output_within;
use crate::skills::{Catalog, Roots};
use crate::text::counted;

pub(super) fn look(context: &DoctorContext<'_>) -> Vec<Finding> {
    let settings = context.settings;
    let mut findings = match &settings.choices.agent {
        AgentChoice::Codex => codex(&settings.codex_command, context),
        AgentChoice::Demo => vec![Finding::ok(
            "agent",
            "demo: built in, offline, no AI; `ipycodex --agent codex` asks Codex",
        )],
        AgentChoice::Acp(line) => {
            let words = shlex::split(line).unwrap_or_default();
            vec![program(&words, "acp", context)]
        }
        AgentChoice::Named(name) => match settings.agents.get(name) {
            Some(agent) => vec![program(&agent.words, name, context)],
            None => vec![Finding::error(
                "agent",
                format!("`{name}` has no entry under `agents` in the settings file"),
                "add it there, or choose `codex` or `demo` with `--agent`",
            )],
        },
    };
    findings.push(skills(context));
    findings
}

/// Checks that an agent's program exists; the agent reports other needs itself at the first prompt.
fn program(words: &[String], name: &str, context: &DoctorContext<'_>) -> Finding {
    let word = words.first().map_or("", String::as_str);
    match context.environment.find_program(word) {
        Some(path) => Finding::ok("agent", format!("{name}: {}", context.shown(&path))),
        None => Finding::error(
            "agent",
            format!("{name}: `{word}` is not on PATH"),
            "install it, or choose another with `--agent NAME`",
        ),
    }
}

fn codex(words: &[String], context: &DoctorContext<'_>) -> Vec<Finding> {
    let word = words.first().map_or("codex", String::as_str);
    let Some(path) = context.environment.find_program(word) else {
        return vec![Finding::error(
            "agent",
            format!("codex: `{word}` is not on PATH"),
            "`npm install -g @openai/codex`, then `codex login`; `--agent demo` needs neither",
        )];
    };
    let place = context.shown(&path);
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(&path);
        command.args(&words[1..]).args(arguments);
        command.env_clear().envs(&context.environment.variables);
        output_within(&mut command, PATIENCE).ok().flatten()
    };
    let version = ask(&["--version"]).filter(|answer| answer.status.success());
    let Some(version) = version else {
        return vec![Finding::error(
            "agent",
            format!("codex: {place} does not report its version"),
            "install it anew with `npm install -g @openai/codex`",
        )];
    };
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let login = match ask(&["login", "status"]) {
        Some(answer) if answer.status.success() => {
            // Codex's own message may contain a part of a key.
            Finding::ok("login", "Codex is logged in")
        }
        _ => Finding::warning(
            "login",
            "Codex is not logged in; models of other providers may need no login",
            format!("`{word} login`"),
        ),
    };
    vec![
        Finding::ok("agent", format!("codex: {place}, {version}")),
        login,
    ]
}

fn skills(context: &DoctorContext<'_>) -> Finding {
    let catalog = Catalog::find(&Roots::new(context.environment));
    let listed = catalog.skills().len();
    let found = counted(listed, "skill");
    match catalog.diagnostics().len() {
        0 => Finding::ok("skills", found),
        odd => Finding::warning(
            "skills",
            format!("{found}, {} on them", counted(odd, "remark")),
            "`ipycodex skills` lists the skills and what is wrong with them",
        ),
    }
}
