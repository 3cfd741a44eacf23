//! What the kernel works with: the agent, the settings, the clients.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;

use super::config::AgentConfig;
use super::connection::AgentConnection;
use super::input_history::InputHistory;
use super::mcp_servers::{CodexServers, McpServers};
use super::permissions::Permissions;
use crate::jupyter::ClientRequest;
use crate::kernel::iopub::Publisher;

/// All that a request may need.
pub(super) struct AgentContext {
    pub(super) publisher: Publisher,
    /// What users type.
    pub(super) stdin: Receiver<ClientRequest>,
    pub(super) stop: StopReceiver,
    pub(super) config: AgentConfig,
    pub(super) connection: AgentConnection,
    pub(super) servers: McpServers,
    pub(super) permissions: Permissions,
    /// Of the session.
    pub(super) cwd: PathBuf,
    pub(super) history: InputHistory,
    /// The number of the last input.
    pub(super) line: u32,
}

impl AgentContext {
    /// The servers of Codex, read now.
    pub(super) fn codex_servers(&self) -> CodexServers {
        match self.servers.ignores_codex {
            true => CodexServers::default(),
            false => CodexServers::read(self.config.codex_home().as_deref(), &self.cwd),
        }
    }
}

/// The user wants what runs to stop; told from any thread, heard by the cell that runs.
#[derive(Debug)]
pub(super) struct StopReceiver(watch::Receiver<u64>);

/// Tells it.
#[derive(Debug, Clone)]
pub(super) struct StopSender(Arc<watch::Sender<u64>>);

/// Both ends.
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
    /// A cell begins: what was wanted before was not about it.
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
