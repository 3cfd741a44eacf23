//! The surroundings of the process as values: captured once by `main`, passed down, never asked again.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Variables, directories and terminal facts at start.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// All variables, unfiltered.
    pub variables: BTreeMap<OsString, OsString>,
    /// The working directory at start; `None` when it has been deleted.
    pub cwd: Option<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The path of this very program.
    pub program: Option<PathBuf>,
    /// Standard input is a terminal.
    pub stdin_is_terminal: bool,
    /// Standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Standard error is a terminal.
    pub stderr_is_terminal: bool,
}

impl Environment {
    /// Reads the surroundings of this process.
    pub fn capture() -> Self {
        Environment {
            variables: std::env::vars_os().collect(),
            cwd: std::env::current_dir().ok(),
            home: directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
            program: std::env::current_exe().ok(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// The variable `name` when it is set, not empty and valid UTF-8.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
            .filter(|value| !value.is_empty())
    }

    /// True when escape sequences and cursor movement make sense on standard output.
    pub fn rich_terminal(&self) -> bool {
        self.stdout_is_terminal && self.variable("TERM").is_some_and(|term| term != "dumb")
    }
}
