//! The agent's process: how it is started, what is known of it.

use serde_json::json;

use super::failure;
use super::initialize::{InitializeResult, VERSION};
use super::program::{Program, Purpose};
use super::sessions::Sessions;
use crate::AgentFailure;
use crate::agent_process::{self, ProcessConfig};
use crate::rpc::Dialect;

pub(super) type AgentProcess = agent_process::AgentProcess<Purpose, Knowledge>;

/// What is known of a process.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    /// The answer to `initialize`, once received.
    pub(super) initialized: InitializeResult,
    pub(super) sessions: Sessions,
}

/// Starts the process and sends `initialize`.
pub(super) fn open(
    program: &Program,
    config: &ProcessConfig,
) -> Result<AgentProcess, AgentFailure> {
    let mut words = program.command.iter();
    let first = words.next().map_or("", String::as_str);
    let mut launch = config.launch(&program.name, first.into(), Dialect::Versioned);
    launch.arguments = words.map(Into::into).collect();
    let own = program.variables.iter();
    launch
        .variables
        .extend(own.map(|(name, value)| (name.into(), value.into())));
    let mut process = AgentProcess::spawn(launch, config.patience)
        .map_err(|error| failure::not_started(&program.name, &error))?;
    let params = json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": true, "writeTextFile": true},
            "terminal": true,
            "auth": {"terminal": true},
            "elicitation": {"form": {}, "url": {}},
            // For agents older than the protocol's own field for terminal logins.
            "_meta": {"terminal-auth": true},
        },
        "clientInfo": {
            "name": "ipycodex",
            "title": "ipycodex",
            "version": config.client_version,
        },
    });
    process.send(Purpose::Initialize, &params);
    Ok(process)
}
