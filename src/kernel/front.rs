//! What differs between the kernels of this house: what they do with a request, and what they say of themselves.

use std::sync::Arc;

use serde_json::Value;

use crate::jupyter::Request;

/// Works requests off, one after the other.
pub(super) trait Front {
    /// Runs an input.
    async fn execute(&mut self, request: &Arc<Request>) -> Done;

    /// Content of the reply to any other request; `None`: there is no reply to it.
    async fn answer(&mut self, request: &Arc<Request>) -> Option<Value>;

    /// Tells what comes while nothing is asked. Dropped, at any time, when something is.
    async fn meanwhile(&mut self);

    /// Tells what came beside what has just been asked.
    async fn settle(&mut self);

    /// The number of the last input.
    fn last_line(&self) -> u32;
}

/// Says what a kernel is.
pub(super) trait Introduces {
    /// Content of `kernel_info_reply`.
    async fn kernel(&self) -> Value;
}

/// Stops what runs; from any thread.
pub(super) type Interrupter = Arc<dyn Fn() + Send + Sync>;

/// What came of an input.
pub(super) struct Done {
    /// Of the reply.
    pub(super) content: Value,
    /// Inputs that wait behind it are not to be run.
    pub(super) stops: bool,
    /// The kernel is to end.
    pub(super) leaves: bool,
}
