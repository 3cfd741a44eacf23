//! What the embedded runtime is made of: resolved facts, no settings and no environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::managed::ManagedPython;
use crate::runtime::TerminalSize;

/// What its cells are written in.
pub(super) const LANGUAGE: &str = "Python";

/// What the embedded runtime needs to know.
#[derive(Debug, Clone)]
pub struct PythonPlan {
    /// The interpreter the user asked for; `None`: look for one. When set, no other is tried.
    pub interpreter: Option<PathBuf>,
    /// The environment this program may have made; `None`: it does not count.
    pub managed: Option<ManagedPython>,
    /// Use the small engine even where IPython is installed.
    pub no_ipython: bool,
    /// Where cells start; also where the search for a virtual environment starts.
    pub cwd: PathBuf,
    /// The interpreter's whole environment.
    pub variables: BTreeMap<OsString, OsString>,
    /// A size: cells own a pseudo-terminal of this size. `None`: they write to pipes.
    pub terminal: Option<TerminalSize>,
    /// Where the runner's files are kept between runs.
    pub cache_dir: PathBuf,
    /// The script that is run or was loaded first.
    pub script: Option<ScriptRun>,
    /// What its code may change; `None`: whatever the user may.
    pub confined: Option<Confinement>,
    /// The connection file of the kernel whose cells it runs: libraries find what they find in a kernel of IPython.
    pub kernel: Option<PathBuf>,
}

/// What code may change: files in these folders, and nothing else; it has no network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Folders it may write in.
    pub writes: Vec<PathBuf>,
}

/// A script as the interpreter knows it: `__file__`, `sys.argv`, and where it looks for modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRun {
    /// The file, as it was named.
    pub file: PathBuf,
    /// What follows its name in `sys.argv`.
    pub arguments: Vec<OsString>,
    /// Nothing else is run: standard input is the script's own, and modules are not looked for in the working
    /// directory.
    pub alone: bool,
}
