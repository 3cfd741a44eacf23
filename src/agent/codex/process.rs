//! One live app-server process: its connection, the requests that wait, the threads it has loaded.
//!
//! A process is never repaired: an error ends it, and the next turn starts another.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, to_value};

use super::limits::Limits;
use super::program::Program;
use super::wire::initialize::{ClientInfo, InitializeCapabilities, InitializeParams};
use crate::process_config::ProcessConfig;
use crate::rpc::{
    ChildPeer, Dialect, Incoming, Launch, Pending, RpcError, RpcId, RpcMessage, SpawnFailure,
};
use crate::{Approvals, McpServer, Sandbox, TurnId, TurnSettings, WebSearchUse};

/// Purpose of an open request. Those of a turn carry its id, since a response for another turn is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Initialize,
    Account,
    Resume(TurnId),
    Open(TurnId),
    Seed(TurnId),
    Begin(TurnId),
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

impl Purpose {
    /// The method, for messages to the user.
    pub(super) fn method(self) -> &'static str {
        match self {
            Purpose::Initialize => "initialize",
            Purpose::Account => "account/read",
            Purpose::Resume(_) => "thread/resume",
            Purpose::Open(_) | Purpose::OpenCompletion(_) => "thread/start",
            Purpose::Seed(_) => "thread/inject_items",
            Purpose::Explain(..) => "turn/steer",
            Purpose::Begin(_) | Purpose::BeginCompletion(_) => "turn/start",
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
    pub(super) approvals: Approvals,
    pub(super) sandbox: Sandbox,
    mcp_servers: Vec<McpServer>,
}

impl LoadedThread {
    /// True when the settings that are fixed at loading equal those of this turn.
    pub(super) fn is_compatible_with(&self, settings: &TurnSettings) -> bool {
        self.search == settings.search && self.mcp_servers == settings.mcp_servers
    }

    pub(super) fn new(settings: &TurnSettings) -> Self {
        LoadedThread {
            search: settings.search,
            cwd: settings.cwd.clone(),
            approvals: settings.approvals,
            sandbox: settings.sandbox,
            mcp_servers: settings.mcp_servers.clone(),
        }
    }
}

pub(super) struct AgentProcess {
    pub(super) peer: ChildPeer,
    incoming: Incoming,
    pub(super) pending: Pending<Purpose>,
    /// The handshake is done and a user is logged in.
    pub(super) ready: bool,
    pub(super) threads: HashMap<String, LoadedThread>,
    /// The login is one with ChatGPT, which has limits.
    pub(super) chatgpt: bool,
    pub(super) limits: Limits,
    request_patience: Duration,
}

impl AgentProcess {
    pub(super) fn open(
        program: &Program,
        plan: &ProcessConfig,
    ) -> Result<AgentProcess, SpawnFailure> {
        let launch = Launch {
            program: program.program.clone(),
            arguments: program.arguments.clone(),
            variables: plan
                .variables
                .iter()
                .filter(|(name, _)| !is_withheld(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            // A missing directory would be reported as a missing program.
            cwd: plan.cwd.is_dir().then(|| plan.cwd.clone()),
            dialect: Dialect::Bare,
            name: program.name.into(),
        };
        let (peer, incoming) = ChildPeer::spawn(launch)?;
        let mut process = AgentProcess {
            peer,
            incoming,
            pending: Pending::default(),
            ready: false,
            threads: HashMap::new(),
            chatgpt: false,
            limits: Limits::default(),
            request_patience: plan.patience.request,
        };
        let params = InitializeParams {
            client_info: ClientInfo {
                name: "ipycodex",
                title: "ipycodex",
                version: &plan.client_version,
            },
            capabilities: InitializeCapabilities {
                experimental_api: true,
            },
        };
        process.send_request_within(
            Purpose::Initialize,
            "initialize",
            &params,
            plan.patience.initialize,
        );
        Ok(process)
    }

    /// The next message; `None` when the process has closed its output.
    pub(super) async fn next(&mut self) -> Option<RpcMessage> {
        self.incoming.recv().await
    }

    pub(super) fn send_request(&mut self, purpose: Purpose, method: &str, params: &impl Serialize) {
        self.send_request_within(purpose, method, params, self.request_patience);
    }

    fn send_request_within(
        &mut self,
        purpose: Purpose,
        method: &str,
        params: &impl Serialize,
        patience: Duration,
    ) {
        let id = self.pending.register(purpose, Instant::now() + patience);
        self.peer.send(RpcMessage::Request {
            id,
            method: method.into(),
            params: to_wire(params),
        });
    }

    pub(super) fn notify(&self, method: &str) {
        self.peer.send(RpcMessage::Notification {
            method: method.into(),
            params: Value::Null,
        });
    }

    pub(super) fn respond(&self, id: RpcId, outcome: Result<Value, RpcError>) {
        self.peer.send(RpcMessage::Response { id, outcome });
    }
}

/// True for variables that look like secrets and that the app-server 0.169.0 would pass on to the commands it runs.
/// The app-server withholds names with KEY, SECRET or TOKEN itself, and its own login may need them.
fn is_withheld(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    // A path, needed for a login at Bedrock.
    let needed = name == "AWS_SHARED_CREDENTIALS_FILE";
    !needed && (name.contains("PASSWORD") || name.contains("CREDENTIAL"))
}

pub(super) fn to_wire(params: &impl Serialize) -> Value {
    to_value(params).expect("wire types have string keys and cannot fail")
}
