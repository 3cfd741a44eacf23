//! What is known of an interpreter: that it is there, why there is none, how it ended.

use std::fmt;

/// What is known of a started interpreter.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeInfo {
    /// Process id.
    pub pid: u32,
    /// Path it was started from.
    pub executable: String,
    /// `3.11.7`.
    pub python: String,
    /// IPython's version, or `None` with the built-in engine.
    pub ipython: Option<String>,
    /// From spawn to ready, in ms.
    pub milliseconds: f64,
    /// False for the first one, true after a death.
    pub restarted: bool,
}

/// Why no interpreter runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFailure {
    /// One line, naming the interpreter.
    pub message: String,
    /// What the user can do.
    pub hint: String,
}

/// How an interpreter ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    /// With an exit code of its own.
    Exited(i32),
    /// By a signal (number).
    Signalled(i32),
    /// Killed on the user's request.
    Killed,
    /// It never came up.
    NotStarted(StartFailure),
    /// It broke the protocol; what it sent.
    Confused(String),
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Death::Exited(code) => write!(f, "exit code {code}"),
            Death::Signalled(9) => f.write_str("killed (SIGKILL: out of memory?)"),
            Death::Signalled(signal) => write!(f, "signal {}", signal_name(*signal)),
            Death::Killed => f.write_str("killed on request"),
            Death::NotStarted(failure) => f.write_str(&failure.message),
            Death::Confused(what) => write!(f, "it broke the protocol: {what}"),
        }
    }
}

/// `SIGSEGV` for 11; the number itself for signals without a common name.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        other => return other.to_string(),
    };
    name.to_owned()
}
