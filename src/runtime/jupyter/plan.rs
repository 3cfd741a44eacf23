//! What a Jupyter runtime is made of: resolved facts, no settings and no environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long a kernel usually gets until it says who it is.
pub const START_TIMEOUT: Duration = Duration::from_secs(60);

/// What a Jupyter runtime needs to know.
#[derive(Debug, Clone)]
pub struct JupyterPlan {
    /// Which kernel.
    pub target: JupyterTarget,
    /// Where a kernel of ours starts.
    pub cwd: PathBuf,
    /// The whole environment of a kernel of ours.
    pub variables: BTreeMap<OsString, OsString>,
    /// Folders that may hold kernelspecs, nearest first.
    pub folders: Vec<PathBuf>,
    /// Where connection files of ours are kept while the kernel lives.
    pub connections: PathBuf,
    /// How long a kernel of ours may take until it says who it is.
    pub patience: Duration,
}

/// Which kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JupyterTarget {
    /// One that is started: the kernelspec of this name.
    Installed(String),
    /// One that runs, and goes on without us: its connection file.
    Running(PathBuf),
}
