//! The state that the request handler works with: the agent, the settings, the clients.

use std::path::PathBuf;
use std::sync::Arc;

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
    pub(super) stop: StopReceiver,
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

/// Receives interrupts of the user, for the running cell.
#[derive(Debug)]
pub(super) struct StopReceiver(watch::Receiver<u64>);

/// Sends interrupts; usable from any thread.
#[derive(Debug, Clone)]
pub(super) struct StopSender(Arc<watch::Sender<u64>>);

pub(super) fn stop_channel() -> (StopSender, StopReceiver) {
    let (tell, told) = watch::channel(0);
    (StopSender(Arc::new(tell)), StopReceiver(told))
}

impl StopSender {
    pub(super) fn send(&self) {
        self.0.send_modify(|count| *count += 1);
    }
}

impl StopReceiver {
    /// Begins a cell: earlier interrupts do not concern it.
    pub(super) fn begin(&mut self) {
        self.0.mark_unchanged();
    }

    /// Returns when the cell is to stop.
    pub(super) async fn requested(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}
