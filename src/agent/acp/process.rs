//! The agent's program and its process: how it is started, the purposes of our requests, what is known of it.

use std::time::Duration;

use serde_json::json;

use super::failure;
use super::initialize::{InitializeResult, VERSION};
use super::sessions::Sessions;
use crate::agent_process::{self, NO_LIMIT, ProcessConfig, Timeouts};
use crate::rpc::Dialect;
use crate::{AgentFailure, TurnId};

pub(super) type AgentProcess = agent_process::AgentProcess<Purpose>;

/// How files and terminal output are sent to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SizeLimit {
    /// Whole.
    #[default]
    Unlimited,
    /// At most 48 KiB at a time, for agents that limit the length of a line. A missing file is reported as an
    /// invalid parameter.
    Capped,
}

/// A program that is an agent, and its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// Name shown to the user.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables added to its environment.
    pub variables: Vec<(String, String)>,
    /// How files are sent to the agent.
    pub size_limit: SizeLimit,
}

/// What is known of a process.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    /// The answer to `initialize`, once received.
    pub(super) initialized: InitializeResult,
    pub(super) sessions: Sessions,
}

/// Purpose of an open request. Those of a turn carry its id, since a response for another turn is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Initialize,
    New(TurnId),
    Resume(TurnId),
    Load(TurnId),
    /// Closes the session of the turn, which is then reopened.
    Close(TurnId),
    Model(TurnId),
    Prompt(TurnId),
    /// With the number of the side request.
    Authenticate(u64),
    /// With the number of the side request.
    Choose(u64),
    /// With the number of the side request.
    Sessions(u64),
    /// Closes a session; the response is ignored.
    Courtesy,
}

impl agent_process::Purpose for Purpose {
    type Knowledge = Knowledge;

    fn starts(self) -> bool {
        matches!(
            self,
            Purpose::Initialize | Purpose::New(_) | Purpose::Resume(_) | Purpose::Load(_)
        )
    }

    fn limit(self, patience: &Timeouts) -> Duration {
        match self {
            // A turn may take as long as it needs.
            Purpose::Prompt(_) | Purpose::Authenticate(_) => NO_LIMIT,
            purpose if purpose.starts() => NO_LIMIT,
            _ => patience.request,
        }
    }

    fn method(self) -> &'static str {
        match self {
            Purpose::Initialize => "initialize",
            Purpose::New(_) => "session/new",
            Purpose::Resume(_) => "session/resume",
            Purpose::Load(_) => "session/load",
            Purpose::Close(_) => "session/close",
            Purpose::Model(_) | Purpose::Choose(_) => "session/set_config_option",
            Purpose::Prompt(_) => "session/prompt",
            Purpose::Authenticate(_) => "authenticate",
            Purpose::Sessions(_) => "session/list",
            Purpose::Courtesy => "a request",
        }
    }
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
