//! The end of the kernel: whoever wants it says so, and it is waited for in one place.

use std::sync::Arc;

use tokio::sync::Notify;

/// Tells that the kernel is to end; clones tell of the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaving(Arc<Notify>);

impl Leaving {
    /// The kernel is to end.
    pub(super) fn leave(&self) {
        self.0.notify_one();
    }

    /// Returns when it is.
    pub(super) async fn wait(&self) {
        self.0.notified().await;
    }
}
