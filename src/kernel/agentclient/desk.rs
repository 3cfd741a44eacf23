//! What the kernel works with: the agent, the settings, the clients.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;

use super::configured::Configured;
use super::conversation::Conversation;
use super::past::Past;
use super::permissions::Permissions;
use super::servers::{OfCodex, Servers};
use crate::jupyter::Request;
use crate::kernel::voice::Voice;

/// All that a request may need.
pub(super) struct Desk {
    pub(super) voice: Voice,
    /// What users type.
    pub(super) stdin: Receiver<Request>,
    pub(super) stop: Stop,
    pub(super) configured: Configured,
    pub(super) conversation: Conversation,
    pub(super) servers: Servers,
    pub(super) permissions: Permissions,
    /// Of the session.
    pub(super) cwd: PathBuf,
    pub(super) past: Past,
    /// The number of the last input.
    pub(super) line: u32,
}

impl Desk {
    /// The servers of Codex, read now.
    pub(super) fn of_codex(&self) -> OfCodex {
        match self.servers.ignores_codex {
            true => OfCodex::default(),
            false => OfCodex::read(self.configured.codex_home().as_deref(), &self.cwd),
        }
    }
}

/// The user wants what runs to stop; told from any thread, heard by the cell that runs.
#[derive(Debug)]
pub(super) struct Stop(watch::Receiver<u64>);

/// Tells it.
#[derive(Debug, Clone)]
pub(super) struct Stopper(Arc<watch::Sender<u64>>);

/// Both ends.
pub(super) fn stopping() -> (Stopper, Stop) {
    let (tell, told) = watch::channel(0);
    (Stopper(Arc::new(tell)), Stop(told))
}

impl Stopper {
    pub(super) fn stop(&self) {
        self.0.send_modify(|count| *count += 1);
    }
}

impl Stop {
    /// A cell begins: what was wanted before was not about it.
    pub(super) fn begin(&mut self) {
        self.0.mark_unchanged();
    }

    /// Returns when the cell is to stop.
    pub(super) async fn wanted(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}
