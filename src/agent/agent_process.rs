//! An agent's process: its environment, its timeouts, its connection, and our requests that wait for a response.
//!
//! A process is never repaired: an error ends it, and the next turn starts another.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, to_value};

use crate::rpc::{
    ChildPeer, Dialect, Incoming, Launch, Pending, RpcError, RpcId, RpcMessage, SpawnFailure,
};

/// Stands for no time limit.
pub(super) const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Limit for the end of a process that has closed its output or is not needed any more.
pub(super) const QUICK_END: Duration = Duration::from_millis(200);

/// The environment and the timeouts of an agent that is a process.
#[derive(Debug, Clone)]
pub(crate) struct ProcessConfig {
    /// The whole environment of the process.
    pub variables: BTreeMap<OsString, OsString>,
    /// Working directory of the process; our own directory when this one is gone.
    pub cwd: PathBuf,
    /// Our version, sent to the agent in its handshake.
    pub client_version: String,
    /// Limits of waiting for the agent.
    pub patience: Timeouts,
}

impl ProcessConfig {
    /// A process without arguments.
    pub(super) fn launch(&self, name: &str, program: PathBuf, dialect: Dialect) -> Launch {
        Launch {
            program,
            arguments: Vec::new(),
            variables: self.variables.clone(),
            // A missing directory would be reported as a missing program.
            cwd: self.cwd.is_dir().then(|| self.cwd.clone()),
            dialect,
            name: name.to_owned(),
        }
    }
}

/// How long a silent agent is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of the process to its `initialize` answer. For agents of the Agent Client Protocol, where a
    /// turn reports no other progress, also for the answer to the request that opens a session.
    pub initialize: Duration,
    /// For the answer to any other request. A running turn has no limit.
    pub request: Duration,
    /// From a cancel to the end of the turn; then the process is killed.
    pub cancel: Duration,
    /// For each step of ending the process: close its input, SIGTERM, SIGKILL.
    pub end: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            initialize: Duration::from_secs(30),
            request: Duration::from_secs(60),
            cancel: Duration::from_secs(5),
            end: Duration::from_secs(2),
        }
    }
}

/// The purpose of an open request. Those of a turn carry its id, since a response for another turn is ignored.
pub(super) trait Purpose: Copy + PartialEq {
    /// The method, for messages to the user.
    fn method(self) -> &'static str;

    /// How long the response is waited for.
    fn limit(self, patience: &Timeouts) -> Duration;

    /// True for requests of the start, whose time limit the client checks, since the user can change it meanwhile.
    fn starts(self) -> bool {
        false
    }
}

/// A live process.
pub(super) struct AgentProcess<P, K> {
    peer: ChildPeer,
    incoming: Incoming,
    pending: Pending<P>,
    patience: Timeouts,
    /// The open request of the start, and when it was sent.
    pub(super) starting: Option<(P, Instant)>,
    /// The handshake is done.
    pub(super) ready: bool,
    pub(super) known: K,
}

impl<P: Purpose, K: Default> AgentProcess<P, K> {
    pub(super) fn spawn(launch: Launch, patience: Timeouts) -> Result<Self, SpawnFailure> {
        let (peer, incoming) = ChildPeer::spawn(launch)?;
        Ok(AgentProcess {
            peer,
            incoming,
            pending: Pending::default(),
            patience,
            starting: None,
            ready: false,
            known: K::default(),
        })
    }

    /// Sends the request of this purpose by its usual method.
    pub(super) fn send(&mut self, purpose: P, params: &impl Serialize) {
        self.send_as(purpose, purpose.method(), params);
    }

    /// As [`AgentProcess::send`], with another method.
    pub(super) fn send_as(&mut self, purpose: P, method: &str, params: &impl Serialize) {
        let now = Instant::now();
        if purpose.starts() {
            self.starting = Some((purpose, now));
        }
        let deadline = now + purpose.limit(&self.patience);
        self.peer.send(RpcMessage::Request {
            id: self.pending.register(purpose, deadline),
            method: method.into(),
            params: to_wire(params),
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
    pub(super) fn complete(&mut self, id: &RpcId) -> Option<P> {
        let purpose = self.pending.complete(id);
        self.starting
            .take_if(|(starting, _)| purpose == Some(*starting));
        purpose
    }

    /// When the first open request times out.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pending.deadline()
    }

    /// Removes one request whose deadline has passed.
    pub(super) fn expire(&mut self, now: Instant) -> Option<P> {
        self.pending.expire(now)
    }

    /// False once the process has closed its input.
    pub(super) fn listens(&self) -> bool {
        self.peer.listens()
    }

    /// The number of lines that were no messages.
    pub(super) fn junk(&self) -> u64 {
        self.peer.junk()
    }

    /// Ends the process; returns its status and the end of its standard error.
    pub(super) fn end(self, grace: Duration) -> io::Result<(ExitStatus, String)> {
        self.peer.end(grace)
    }

    /// As [`AgentProcess::end`], for a process that has closed its output or is not needed any more.
    pub(super) fn end_soon(self) -> io::Result<(ExitStatus, String)> {
        let grace = self.patience.end.min(QUICK_END);
        self.end(grace)
    }

    /// Kills the process and all its children.
    pub(super) fn kill(self) {
        self.peer.kill();
    }
}

/// The next message of the process; never returns while there is no process.
pub(super) async fn next_of<P, K>(process: &mut Option<AgentProcess<P, K>>) -> Option<RpcMessage> {
    match process {
        Some(process) => process.incoming.recv().await,
        None => std::future::pending().await,
    }
}

pub(super) fn to_wire(params: &impl Serialize) -> Value {
    to_value(params).expect("wire types have string keys and cannot fail")
}
