//! The plan of the embedded runtime: resolved facts.
//!
//! Built by start-up from settings and the environment, read by `find.rs`, `start.rs` and `interpreter.rs`.
//! Invariant: immutable for the life of the runtime. Absent on purpose: reading settings or the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::managed::ManagedPython;
use crate::TerminalSize;

pub(super) const LANGUAGE: &str = "Python";

#[derive(Debug, Clone)]
pub struct PythonPlan {
    /// The interpreter that the user named, the only one tried; `None`: search for one.
    pub interpreter: Option<PathBuf>,
    /// The environment created by `ipycodex setup`; `None`: ignore it.
    pub managed: Option<ManagedPython>,
    /// Use the small engine even where IPython is installed.
    pub no_ipython: bool,
    /// Working directory of cells at the start, and the start of the search for a virtual environment.
    pub cwd: PathBuf,
    pub variables: BTreeMap<OsString, OsString>,
    /// Size of the pseudo-terminal of the cells; `None`: they write to pipes.
    pub terminal: Option<TerminalSize>,
    pub cache_dir: PathBuf,
    /// The script to run, or loaded first.
    pub script: Option<ScriptRun>,
    /// Limits on file changes; `None`: the user's own rights.
    pub confined: Option<Confinement>,
    /// The connection file of the Jupyter kernel that this interpreter serves: libraries then detect a kernel, as
    /// with ipykernel.
    pub kernel: Option<PathBuf>,
}

/// Confines code to changing files in these folders; without network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    pub writes: Vec<PathBuf>,
}

/// A script as the interpreter sees it: `__file__`, `sys.argv`, and where modules are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRun {
    /// The file, as it was named.
    pub file: PathBuf,
    pub arguments: Vec<OsString>,
    /// True when nothing else is run: standard input is the script's own, and the working directory is not searched
    /// for modules.
    pub alone: bool,
}
