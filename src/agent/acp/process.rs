//! The agent's process: its peer, and the requests that wait for its answers.
//!
//! A process is never repaired: an error ends it, and the next turn starts another.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::initialize::VERSION;
use super::program::Program;
use crate::agent::TurnId;
use crate::agent::process_config::ProcessConfig;
use crate::rpc::{
    ChildPeer, Dialect, Incoming, Launch, Pending, RpcError, RpcId, RpcMessage, SpawnFailure,
};

/// A turn has no limit of time.
const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How long an end may take that somebody waits for.
const QUICK_END: Duration = Duration::from_millis(200);

/// What an open request was for. Those of a turn carry it: an answer for another turn means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Initialize,
    New(TurnId),
    Resume(TurnId),
    Load(TurnId),
    /// Closing the session of the turn, which is opened again.
    Close(TurnId),
    /// The model, before the prompt.
    Model(TurnId),
    Prompt(TurnId),
    /// For who waits under this number.
    Authenticate(u64),
    /// The same.
    Choose(u64),
    /// The same.
    Sessions(u64),
    /// Closing a session: the answer does not matter.
    Courtesy,
}

impl Purpose {
    /// It belongs to the start of the agent, which ends with a session that takes prompts.
    pub(super) fn starts(self) -> bool {
        matches!(
            self,
            Purpose::Initialize | Purpose::New(_) | Purpose::Resume(_) | Purpose::Load(_)
        )
    }

    /// For messages to the user.
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

/// See the module.
pub(super) struct AgentProcess {
    peer: ChildPeer,
    incoming: Incoming,
    pending: Pending<Purpose>,
    patience: Duration,
    starting: Option<(Purpose, Instant)>,
}

impl AgentProcess {
    /// Starts the process and greets it.
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
            // A directory that is gone would look like a missing program.
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
                // Agents of the time before that was agreed on.
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

    /// Sends the request of this purpose.
    pub(super) fn send_request(&mut self, purpose: Purpose, params: Value) {
        self.send_request_as(purpose, purpose.method(), params);
    }

    /// As [`AgentProcess::send_request`], where the method is not the usual one.
    pub(super) fn send_request_as(&mut self, purpose: Purpose, method: &str, params: Value) {
        let patience = match purpose {
            Purpose::Prompt(_) | Purpose::Authenticate(_) => NO_LIMIT,
            // How long it may take to start is looked at when that is due: the user can change it meanwhile.
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

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: Value) {
        self.peer.send(RpcMessage::Notification {
            method: method.into(),
            params,
        });
    }

    /// Answers a request of the process.
    pub(super) fn respond(&self, id: RpcId, outcome: Result<Value, RpcError>) {
        self.peer.send(RpcMessage::Response { id, outcome });
    }

    /// What the request that is answered was for; `None` for an id that was made up.
    pub(super) fn close(&mut self, id: &RpcId) -> Option<Purpose> {
        let purpose = self.pending.complete(id);
        self.starting
            .take_if(|(starting, _)| purpose == Some(*starting));
        purpose
    }

    /// When the first request runs out of time.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pending.deadline()
    }

    /// Takes one request whose time is over.
    pub(super) fn expire(&mut self) -> Option<Purpose> {
        self.pending.expire(Instant::now())
    }

    /// What of the start it has not answered yet, and since when that was asked.
    pub(super) fn starting(&self) -> Option<(Purpose, Instant)> {
        self.starting
    }

    /// How many lines were no messages.
    pub(super) fn junk(&self) -> u64 {
        self.peer.junk()
    }

    /// Ends the process; its status and last words.
    pub(super) fn end(self, grace: Duration) -> io::Result<(ExitStatus, String)> {
        self.peer.end(grace)
    }

    /// As [`AgentProcess::end`], where it has ended already or is not needed any more.
    pub(super) fn end_soon(self) -> io::Result<(ExitStatus, String)> {
        self.end(QUICK_END)
    }

    /// Kills the process with all it started.
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

/// Returns at this time; never without one.
pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
