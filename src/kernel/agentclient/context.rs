//! The state that the request handler works with: the agent, the settings, the clients.

use std::path::PathBuf;

use tokio::sync::watch;

use super::config::AgentConfig;
use super::connection::AgentConnection;
use super::input_history::InputHistory;
use super::mcp_servers::{CodexServers, McpServers};
use super::permissions::Permissions;
use crate::jupyter::KernelServer;
use crate::kernel::inputs::Inputs;

pub(super) struct AgentContext {
    pub(super) server: KernelServer,
    pub(super) inputs: Inputs,
    /// Interrupts of the user, for the running cell.
    pub(super) stop: watch::Receiver<()>,
    pub(super) config: AgentConfig,
    pub(super) connection: AgentConnection,
    pub(super) servers: McpServers,
    pub(super) permissions: Permissions,
    pub(super) cwd: PathBuf,
    pub(super) history: InputHistory,
    /// The number of the last input.
    pub(super) line: u32,
}

impl AgentContext {
    /// The servers in Codex's files, read now; none where these are ignored.
    pub(super) fn codex_servers(&self) -> CodexServers {
        match self.servers.ignores_codex {
            true => CodexServers::default(),
            false => CodexServers::read(self.config.codex_home().as_deref(), &self.cwd),
        }
    }
}
