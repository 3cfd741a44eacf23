//! The environment and the timeouts of an agent that is a process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The surroundings of an agent's process.
#[derive(Debug, Clone)]
pub(crate) struct ProcessConfig {
    /// The whole environment of its process.
    pub variables: BTreeMap<OsString, OsString>,
    /// The directory its process starts in; when it is gone, ours.
    pub cwd: PathBuf,
    /// Our version, told to the agent.
    pub client_version: String,
    /// How long it is waited for.
    pub patience: Timeouts,
}

/// How long a silent agent is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of the process to its `initialize` answer. For agents of the Agent Client Protocol, where a turn
    /// says nothing else, also for the answer to the request that opens a session.
    pub initialize: Duration,
    /// For the answer of any other request. A running turn has no limit.
    pub request: Duration,
    /// From a cancel to the end of the turn; then the process is killed.
    pub cancel: Duration,
    /// Each step of ending the process: close its input, SIGTERM, SIGKILL.
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
