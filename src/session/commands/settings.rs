//! `%ipycodex set`: changes the settings file on another thread, then applies the value to the session.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::config::{AgentCommand, Choices, ConfigFile, Setting, TakesEffect, mcp_servers};
use crate::effect::{Effect, Found, emit};
use crate::events::{TextEvent, report_notice};
use crate::magics::format_saved_value;
use crate::peers::PlanAgent;
use crate::text::report::Report;

const MCP_SERVERS: &str = "mcp_servers";

/// Writes a setting, or reports the value in the file.
pub(super) async fn keep(file: PathBuf, name: &'static str, value: Option<Value>) -> Vec<Effect> {
    let (path, wanted) = (file.clone(), value.clone());
    let written = tokio::task::spawn_blocking(move || write(&path, name, wanted)).await;
    let failed = || Report::failure(format!("`{name}` could not be written"));
    match written.unwrap_or_else(|_| Err(failed())) {
        Err(report) => emit(report_notice(&report)),
        Ok(stands) => {
            let mut effects = emit(TextEvent::Text(format_saved_value(
                name,
                stands.as_ref(),
                &file,
            )));
            effects.extend(value.map(|value| Effect::found(Found::Setting { name, value })));
            effects
        }
    }
}

/// Adds an MCP server to the settings file, or removes one.
pub(super) async fn change_server(
    file: PathBuf,
    name: String,
    command: Option<AgentCommand>,
) -> Vec<Effect> {
    let (path, server) = (file.clone(), name.clone());
    let added = command.is_some();
    let change = move || {
        let (mut file, _) = ConfigFile::read(&path);
        let mut servers = match file.get(MCP_SERVERS) {
            Some(Value::Object(servers)) => servers.clone(),
            _ => Map::new(),
        };
        match command {
            Some(command) => drop(servers.insert(server, command.to_value())),
            None => drop(servers.shift_remove(&server)),
        }
        let value = Value::Object(servers);
        file.save(MCP_SERVERS, value.clone())?;
        Ok(value)
    };
    let failed = || Report::failure("`mcp_servers` could not be written");
    match tokio::task::spawn_blocking(change)
        .await
        .unwrap_or_else(|_| Err(failed()))
    {
        Err(report) => emit(report_notice(&report)),
        Ok(value) => {
            let done = match added {
                true => format!(
                    "MCP server `{name}` was added to `{}`; the agent has it from the next prompt",
                    file.display()
                ),
                false => format!("MCP server `{name}` was removed from `{}`", file.display()),
            };
            let mut effects = emit(TextEvent::Text(done));
            effects.push(Effect::found(Found::Setting {
                name: MCP_SERVERS,
                value,
            }));
            effects
        }
    }
}

/// Returns why the chosen agent cannot be connected, when `agent` is the setting.
pub(super) fn no_such_agent(
    agents: &PlanAgent,
    name: &str,
    value: Option<&Value>,
) -> Option<Report> {
    let choice = value.filter(|_| name == "agent")?.as_str()?.parse().ok()?;
    agents(&choice).err()
}

/// Returns the choices with this value in force; `None` when the value takes effect at the next start.
pub(super) fn in_force(choices: &Choices, name: &str, value: &Value) -> Option<Choices> {
    let mut choices = choices.clone();
    if name == MCP_SERVERS {
        choices.mcp_servers = mcp_servers(value.as_object()?).0;
        return Some(choices);
    }
    let row = Setting::from_name(name).filter(|row| row.when == TakesEffect::Now)?;
    row.set_from(&mut choices, value).ok()?;
    Some(choices)
}

/// Reads the file again, sets `name` in it, and returns the value that the file holds then.
fn write(file: &Path, name: &str, value: Option<Value>) -> Result<Option<Value>, Report> {
    let (mut file, broken) = ConfigFile::read(file);
    match (value, broken) {
        (None, Some(report)) => return Err(report),
        // A file that cannot be parsed is not written; the error says why.
        (Some(value), _) => file.save(name, value)?,
        (None, None) => {}
    }
    Ok(file.get(name).cloned())
}
