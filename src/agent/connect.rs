//! Chooses an agent by kind: the only place below start-up that names them.
//!
//! In: an [`AgentPlan`]. Out: the agent and the receiver of its events. The channel is bounded and must deliver: an
//! agent waits for room, so whoever holds the receiver keeps reading. Nothing is started here; that happens with
//! [`Agent::warm_up`] or [`Agent::start`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::agent::scripted::{Script, Scripted};
use crate::agent::{Agent, AgentEvent, codex};

/// What an agent says, in order. Bounded, nothing is dropped.
pub type AgentEvents = tokio::sync::mpsc::Receiver<AgentEvent>;

/// Everything needed to connect an agent.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// Which one.
    pub kind: AgentKind,
    /// The whole environment of its process.
    pub variables: BTreeMap<OsString, OsString>,
    /// The directory its process starts in; when it is gone, ours.
    pub cwd: PathBuf,
    /// Our version, told to the agent.
    pub client_version: String,
    /// How long it is waited for.
    pub patience: Patience,
}

/// The agents there are.
#[derive(Debug, Clone)]
pub enum AgentKind {
    /// The Codex app-server.
    Codex {
        /// The program and its first arguments; `app-server` and more is appended.
        command: Vec<String>,
    },
    /// The built-in offline agent: `PROGRAM demo-agent`, through the Codex client.
    Demo {
        /// Our own binary.
        program: PathBuf,
    },
    /// Plays a script; no process.
    Scripted(Script),
}

/// How long a silent agent is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// From the start of the process to its `initialize` answer.
    pub initialize: Duration,
    /// For the answer of any other request. A running turn has no limit.
    pub request: Duration,
    /// From a cancel to the end of the turn; then the process is killed.
    pub cancel: Duration,
    /// Each step of ending the process: close its input, SIGTERM, SIGKILL.
    pub end: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            initialize: Duration::from_secs(30),
            request: Duration::from_secs(60),
            cancel: Duration::from_secs(5),
            end: Duration::from_secs(2),
        }
    }
}

/// Makes the agent of `plan`. Never blocks, starts no process and no thread.
pub fn connect(plan: AgentPlan) -> (Box<dyn Agent>, AgentEvents) {
    match plan.kind.clone() {
        AgentKind::Codex { command } => {
            let (agent, events) = codex::connect(codex::Program::codex(command), plan);
            (Box::new(agent), events)
        }
        AgentKind::Demo { program } => {
            let (agent, events) = codex::connect(codex::Program::demo(program), plan);
            (Box::new(agent), events)
        }
        AgentKind::Scripted(script) => {
            let (agent, events) = Scripted::new(script);
            (Box::new(agent), events)
        }
    }
}
