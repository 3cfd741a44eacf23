//! The plan of a Jupyter runtime: resolved facts.
//!
//! Built by start-up from settings and the environment, read by `local.rs`. Invariant: immutable but for added
//! variables. Absent on purpose: reading settings or the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Usual time limit until a kernel answers `kernel_info_request`.
pub const START_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct JupyterPlan {
    pub target: JupyterTarget,
    pub cwd: PathBuf,
    pub variables: BTreeMap<OsString, OsString>,
    /// Folders that may hold kernelspecs, nearest first.
    pub folders: Vec<PathBuf>,
    /// Folder of our connection files, each kept while its kernel lives.
    pub connections: PathBuf,
    /// Maximum time until a kernel that we start answers `kernel_info_request`.
    pub patience: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JupyterTarget {
    /// A kernel to start: the name of its kernelspec.
    Installed(String),
    /// A running kernel, which stays: its connection file.
    Running(PathBuf),
}
