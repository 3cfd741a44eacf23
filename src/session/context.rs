//! What a step of the session may read besides its state: the clock, the runtime, the outputs, what does not change.

use std::time::{Instant, SystemTime};

use crate::agent::AgentCapabilities;
use crate::deps::SessionDeps;
use crate::outputs::Outputs;
use crate::runtimes::RuntimePeer;

pub(super) struct StepContext<'a> {
    pub now: Instant,
    pub at: SystemTime,
    /// The user's runtime.
    pub user: &'a RuntimePeer,
    pub outputs: &'a Outputs,
    pub deps: &'a SessionDeps,
    /// Connects the agent, if it is not connected yet.
    pub agent: &'a dyn Fn() -> AgentCapabilities,
}
