//! The program that is run as an app-server (Codex, or the offline agent), and its process: how it is started, the
//! purposes of our requests, what is known of it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use super::failure;
use super::limits::Limits;
use super::settings::{asks_about_servers, policy};
use super::wire::initialize::{ClientInfo, InitializeCapabilities, InitializeParams};
use crate::agent_process::{self, ProcessConfig, Timeouts};
use crate::rpc::Dialect;
use crate::{AgentFailure, Login, McpServer, Sandbox, TurnId, TurnSettings, WebSearchUse};

pub(super) type AgentProcess = agent_process::AgentProcess<Purpose, Knowledge>;

#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) login: Login,
}

impl Program {
    /// Codex: `command` with the arguments for an app-server that withholds secrets from the commands it runs.
    pub(crate) fn codex(command: Vec<String>) -> Self {
        let login = command.iter().map(String::as_str).chain(["login"]);
        // A word with a NUL cannot be quoted, nor can such a command be started.
        let login = shlex::try_join(login).unwrap_or_else(|_| "codex login".into());
        let mut words = command.into_iter().map(OsString::from);
        let program = words.next().unwrap_or_else(|| "codex".into()).into();
        let own = [
            "app-server",
            "--listen",
            "stdio://",
            "-c",
            "shell_environment_policy.ignore_default_excludes=false",
        ];
        Program {
            name: "codex",
            program,
            arguments: words.chain(own.map(OsString::from)).collect(),
            login: Login::Command {
                more: format!(
                    "On a machine without a browser: `{login} --device-auth`. With an API key: \
                     `printenv OPENAI_API_KEY | {login} --with-api-key`."
                ),
                line: login,
            },
        }
    }

    pub(crate) fn demo(program: PathBuf) -> Self {
        Program {
            name: "demo",
            program,
            arguments: vec!["demo-agent".into()],
            login: Login::Unneeded,
        }
    }
}

/// Purpose of an open request. Those of a turn carry its id, since a response for another turn is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Initialize,
    Account,
    Resume(TurnId),
    Fork(TurnId),
    Open(TurnId),
    Seed(TurnId),
    Begin(TurnId),
    Compact(TurnId),
    Steer(TurnId),
    /// Sends the reason of a rejection, for the question of this number.
    Explain(TurnId, usize),
    /// With the key of the look-up.
    Models(u64),
    /// With the key of the look-up.
    Limits(u64),
    /// With the key of the completion.
    OpenCompletion(u64),
    /// With the key of the completion.
    BeginCompletion(u64),
    /// Interrupts, clean-ups, leaving a thread: the response is ignored.
    Courtesy,
}

impl agent_process::Purpose for Purpose {
    fn limit(self, patience: &Timeouts) -> Duration {
        match self {
            Purpose::Initialize => patience.initialize,
            _ => patience.request,
        }
    }

    fn method(self) -> &'static str {
        match self {
            Purpose::Initialize => "initialize",
            Purpose::Account => "account/read",
            Purpose::Resume(_) => "thread/resume",
            Purpose::Fork(_) => "thread/fork",
            Purpose::Open(_) | Purpose::OpenCompletion(_) => "thread/start",
            Purpose::Seed(_) => "thread/inject_items",
            Purpose::Explain(..) | Purpose::Steer(_) => "turn/steer",
            Purpose::Begin(_) | Purpose::BeginCompletion(_) => "turn/start",
            Purpose::Compact(_) => "thread/compact/start",
            Purpose::Models(_) => "model/list",
            Purpose::Limits(_) => "account/rateLimits/read",
            Purpose::Courtesy => "a request",
        }
    }
}

/// A loaded thread and the settings it last ran with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoadedThread {
    pub(super) search: WebSearchUse,
    pub(super) cwd: PathBuf,
    pub(super) policy: &'static str,
    pub(super) sandbox: Sandbox,
    /// The model in use, once it is known: a mode names it.
    pub(super) model: Option<String>,
    mcp_servers: Vec<McpServer>,
    asks_about_servers: bool,
}

impl LoadedThread {
    /// True when the settings that are fixed at loading equal those of this turn.
    pub(super) fn is_compatible_with(&self, settings: &TurnSettings) -> bool {
        self.search == settings.search
            && self.mcp_servers == settings.mcp_servers
            && (self.mcp_servers.is_empty()
                || self.asks_about_servers == asks_about_servers(settings))
    }

    /// `model`: as the app-server named it.
    pub(super) fn new(settings: &TurnSettings, model: Option<String>) -> Self {
        LoadedThread {
            search: settings.search,
            cwd: settings.cwd.clone(),
            policy: policy(settings),
            sandbox: settings.sandbox,
            model: settings.model.clone().or(model),
            mcp_servers: settings.mcp_servers.clone(),
            asks_about_servers: asks_about_servers(settings),
        }
    }
}

/// What is known of a process.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    pub(super) threads: HashMap<String, LoadedThread>,
    /// The login is one with ChatGPT, which has limits.
    pub(super) chatgpt: bool,
    pub(super) limits: Limits,
}

/// Starts the process and sends `initialize`.
pub(super) fn open(
    program: &Program,
    config: &ProcessConfig,
) -> Result<AgentProcess, AgentFailure> {
    let mut launch = config.launch(program.name, program.program.clone(), Dialect::Bare);
    launch.arguments = program.arguments.clone();
    launch.variables.retain(|name, _| !is_withheld(name));
    let mut process = AgentProcess::spawn(launch, config.patience)
        .map_err(|error| failure::not_started(program.name, &error))?;
    let params = InitializeParams {
        client_info: ClientInfo {
            name: "ipycodex",
            title: "ipycodex",
            version: &config.client_version,
        },
        capabilities: InitializeCapabilities {
            experimental_api: true,
        },
    };
    process.send(Purpose::Initialize, &params);
    Ok(process)
}

/// True for variables that look like secrets and that the app-server 0.169.0 would pass on to the commands it runs.
/// The app-server withholds names with KEY, SECRET or TOKEN itself, and its own login may need them.
fn is_withheld(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    // A path, needed for a login at Bedrock.
    let needed = name == "AWS_SHARED_CREDENTIALS_FILE";
    !needed && (name.contains("PASSWORD") || name.contains("CREDENTIAL"))
}
