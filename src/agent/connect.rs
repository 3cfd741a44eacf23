//! Creates an agent by kind: the only place below start-up that names the kinds.
//!
//! In: an [`AgentConfig`]. Out: the agent and the receiver of its events. The channel is bounded and loses nothing:
//! an agent waits for room, so the owner of the receiver must keep reading. No process is started here;
//! [`Agent::warm_up`] and [`Agent::start`] do that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::agent_process::ProcessConfig;
use crate::scripted::{Script, ScriptedAgent};
use crate::{Agent, acp, codex, driver};

pub use crate::acp::{Program, SizeLimit};
pub use crate::agent_process::Timeouts;
pub use crate::event::AgentEvents;

/// Everything needed to connect an agent.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// Kind of agent and its program.
    pub kind: AgentKind,
    /// The whole environment of the agent's process.
    pub variables: BTreeMap<OsString, OsString>,
    /// Working directory of the agent's process; our own directory when this one is gone.
    pub cwd: PathBuf,
    /// Our version, sent to the agent in its handshake.
    pub client_version: String,
    /// Limits of waiting for the agent.
    pub timeouts: Timeouts,
}

/// Kinds of agents.
#[derive(Debug, Clone)]
pub enum AgentKind {
    /// The Codex app-server.
    Codex {
        /// The program and its first arguments; `app-server` and further arguments are appended.
        command: Vec<String>,
    },
    /// The built-in offline agent: `PROGRAM demo-agent`, through the Codex client.
    Demo {
        /// Path of our own binary.
        program: PathBuf,
    },
    /// Any agent that speaks the Agent Client Protocol.
    Acp(Program),
    /// Plays a script, without a process.
    Scripted(Script),
}

/// Creates the agent of `plan`. Never blocks, starts no process and no thread.
pub fn connect(plan: AgentConfig) -> (Box<dyn Agent>, AgentEvents) {
    let AgentConfig {
        kind,
        variables,
        cwd,
        client_version,
        timeouts: patience,
    } = plan;
    let config = ProcessConfig {
        variables,
        cwd,
        client_version,
        patience,
    };
    let (agent, events) = match kind {
        AgentKind::Codex { command } => {
            driver::connect(codex::Codex::new(codex::Program::codex(command)), config)
        }
        AgentKind::Demo { program } => {
            driver::connect(codex::Codex::new(codex::Program::demo(program)), config)
        }
        AgentKind::Acp(program) => driver::connect(acp::Acp::new(program, &config), config),
        AgentKind::Scripted(script) => {
            let (agent, events) = ScriptedAgent::new(script);
            return (Box::new(agent), events);
        }
    };
    (Box::new(agent), events)
}
