//! `mcp`: the MCP servers that agents start.
//!
//! `mcp add NAME [-e K=V]… -- COMMAND ARG…`, `mcp list`, `mcp remove NAME`. Absent on purpose: the values of variables,
//! since they may be secrets.

use super::magic::{Magic, MagicContext, MagicEffect, Run};
use crate::config::{AgentCommand, SERVER_NAMES, is_server_name};
use crate::text::columns;
use crate::text::similar::did_you_mean;

const USAGE: &str = "`mcp add NAME [-e K=V]… -- COMMAND` writes the server into `config.json`; the agent starts it \
                     with its next thread. `mcp remove NAME` takes it out, `mcp list` names those there are.";

pub(super) const MCP: Magic = Magic {
    name: "mcp",
    arguments: "[list|add|remove]",
    help: "list, add or remove MCP servers for the agent",
    more: USAGE,
    run: Run::With(run),
};

fn run(_: &Magic, rest: &str, view: &MagicContext<'_>) -> Result<Vec<MagicEffect>, String> {
    let usage =
        || "Usage: %ipycodex mcp [list|add NAME [-e K=V]… -- COMMAND|remove NAME]".to_owned();
    let Some(words) = shlex::split(rest) else {
        return Err(format!("a quote is not closed. {}", usage()));
    };
    let servers = &view.choices.mcp_servers;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["list"] => Ok(vec![MagicEffect::Print(listing(view))]),
        ["remove", name] if servers.contains_key(*name) => Ok(vec![MagicEffect::ChangeServer {
            name: (*name).to_owned(),
            command: None,
        }]),
        ["remove", name] => {
            let meant = did_you_mean(name, servers.keys().map(String::as_str));
            Err(format!(
                "there is no MCP server `{name}`{meant}; `%ipycodex mcp list` lists them"
            ))
        }
        ["add", name, rest @ ..] => {
            if !is_server_name(name) {
                return Err(format!(
                    "`{name}` cannot name an MCP server: use {SERVER_NAMES}"
                ));
            }
            let command = command(rest).map_err(|why| format!("{why}. {}", usage()))?;
            Ok(vec![MagicEffect::ChangeServer {
                name: (*name).to_owned(),
                command: Some(command),
            }])
        }
        _ => Err(usage()),
    }
}

/// Parses `[-e K=V]… [--] COMMAND ARG…`.
fn command(mut words: &[&str]) -> Result<AgentCommand, String> {
    let mut variables = Vec::new();
    while let ["-e" | "--env", rest @ ..] = words {
        let pair = rest.first().and_then(|pair| pair.split_once('='));
        let Some((name, value)) = pair.filter(|(name, _)| !name.is_empty()) else {
            return Err("`-e` takes a variable as NAME=VALUE".to_owned());
        };
        variables.push((name.to_owned(), value.to_owned()));
        words = &rest[1..];
    }
    let words = words.strip_prefix(&["--"]).unwrap_or(words);
    match words.first() {
        Some(program) if !program.is_empty() => Ok(AgentCommand {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            variables,
        }),
        _ => Err("the command that starts the server is missing".to_owned()),
    }
}

fn listing(view: &MagicContext<'_>) -> String {
    let servers = &view.choices.mcp_servers;
    if servers.is_empty() {
        return "No MCP servers yet: `%ipycodex mcp add NAME -- COMMAND` adds one.".to_owned();
    }
    let widest = servers.keys().map(|name| columns(name)).max().unwrap_or(0);
    let lines = servers.iter().map(|(name, server)| {
        let words = server.words.iter().map(String::as_str);
        let line = shlex::try_join(words).unwrap_or_default();
        let names: Vec<&str> = server
            .variables
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        let sets = match names.as_slice() {
            [] => String::new(),
            names => format!("  (sets {})", names.join(", ")),
        };
        format!("{name:widest$}  {line}{sets}")
    });
    let mut lines: Vec<String> = lines.collect();
    if !view.agent.mcp_servers {
        lines.push(format!(
            "The agent `{}` cannot use MCP servers: none of these is started.",
            view.agent.name
        ));
    }
    lines.join("\n")
}
