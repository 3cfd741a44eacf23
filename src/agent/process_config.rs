//! The environment and the timeouts of an agent that is a process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

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
