//! The agent's process: its connection, and the requests that wait for their responses.
//!
//! A process is never repaired: an error ends it, and the next turn starts another.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::initialize::VERSION;
use super::program::Program;
use crate::TurnId;
use crate::process_config::ProcessConfig;
use crate::rpc::{
    ChildPeer, Dialect, Incoming, Launch, Pending, RpcError, RpcId, RpcMessage, SpawnFailure,
};

/// Stands for no time limit: a turn may take as long as it needs.
const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Limit for the end of a process that is not needed any more.
const QUICK_END: Duration = Duration::from_millis(200);

/// Purpose of an open request. Those of a turn carry its id, since a response for another turn is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
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

impl Purpose {
    /// True for requests that belong to the start of the agent, up to the first open session.
    pub(super) fn starts(self) -> bool {
        matches!(
            self,
            Purpose::Initialize | Purpose::New(_) | Purpose::Resume(_) | Purpose::Load(_)
        )
    }

    /// The method, for messages to the user.
    pub(super) fn method(self) -> &'static str {
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

pub(super) struct AgentProcess {
    peer: ChildPeer,
    incoming: Incoming,
    pending: Pending<Purpose>,
    patience: Duration,
    starting: Option<(Purpose, Instant)>,
}

impl AgentProcess {
    /// Starts the process and sends `initialize`.
    pub(super) fn open(
        program: &Program,
        plan: &ProcessConfig,
    ) -> Result<AgentProcess, SpawnFailure> {
        let mut words = program.command.iter();
        let first = words.next().map_or("", String::as_str);
        let mut variables = plan.variables.clone();
        let own = program.variables.iter();
        variables.extend(own.map(|(name, value)| (name.into(), value.into())));
        let launch = Launch {
            program: first.into(),
            arguments: words.map(Into::into).collect(),
            variables,
            // A missing directory would be reported as a missing program.
            cwd: plan.cwd.is_dir().then(|| plan.cwd.clone()),
            dialect: Dialect::Versioned,
            name: program.name.clone(),
        };
        let (peer, incoming) = ChildPeer::spawn(launch)?;
        let mut process = AgentProcess {
            peer,
            incoming,
            pending: Pending::default(),
            patience: plan.patience.request,
            starting: None,
        };
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
                "version": plan.client_version,
            },
        });
        process.send_request(Purpose::Initialize, params);
        Ok(process)
    }

    /// Sends the request of this purpose by its usual method.
    pub(super) fn send_request(&mut self, purpose: Purpose, params: Value) {
        self.send_request_as(purpose, purpose.method(), params);
    }

    /// As [`AgentProcess::send_request`], with another method.
    pub(super) fn send_request_as(&mut self, purpose: Purpose, method: &str, params: Value) {
        let patience = match purpose {
            Purpose::Prompt(_) | Purpose::Authenticate(_) => NO_LIMIT,
            // The limit for the start is checked when it is due, since the user can change it meanwhile.
            purpose if purpose.starts() => NO_LIMIT,
            _ => self.patience,
        };
        let now = Instant::now();
        if purpose.starts() {
            self.starting = Some((purpose, now));
        }
        let id = self.pending.register(purpose, now + patience);
        self.peer.send(RpcMessage::Request {
            id,
            method: method.into(),
            params,
        });
    }

    pub(super) fn notify(&self, method: &str, params: Value) {
        self.peer.send(RpcMessage::Notification {
            method: method.into(),
            params,
        });
    }

    pub(super) fn respond(&self, id: RpcId, outcome: Result<Value, RpcError>) {
        self.peer.send(RpcMessage::Response { id, outcome });
    }

    /// Removes an open request and returns its purpose; `None` for an unknown id.
    pub(super) fn close(&mut self, id: &RpcId) -> Option<Purpose> {
        let purpose = self.pending.complete(id);
        self.starting
            .take_if(|(starting, _)| purpose == Some(*starting));
        purpose
    }

    /// When the first open request times out.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pending.deadline()
    }

    pub(super) fn expire(&mut self) -> Option<Purpose> {
        self.pending.expire(Instant::now())
    }

    /// The open request of the start, and when it was sent.
    pub(super) fn starting(&self) -> Option<(Purpose, Instant)> {
        self.starting
    }

    /// The number of lines that were no messages.
    pub(super) fn junk(&self) -> u64 {
        self.peer.junk()
    }

    /// Ends the process; returns its status and the end of its standard error.
    pub(super) fn end(self, grace: Duration) -> io::Result<(ExitStatus, String)> {
        self.peer.end(grace)
    }

    /// As [`AgentProcess::end`], for a process that has ended already or is not needed any more.
    pub(super) fn end_soon(self) -> io::Result<(ExitStatus, String)> {
        self.end(QUICK_END)
    }

    /// Kills the process and all its children.
    pub(super) fn kill(self) {
        self.peer.kill();
    }
}

/// The next message of the process; never returns while there is no process.
pub(super) async fn next_of(process: &mut Option<AgentProcess>) -> Option<RpcMessage> {
    match process {
        Some(process) => process.incoming.recv().await,
        None => std::future::pending().await,
    }
}

/// Waits until this time; for ever without one.
pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
