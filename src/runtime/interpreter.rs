//! What is known of an interpreter: that it is there, why there is none, how it ended.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// What is known of a started interpreter.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeInfo {
    /// What its cells are written in, as a reader of English knows it: `Python`, `R`.
    pub language: String,
    /// The language's version: `3.11.7`.
    pub version: String,
    /// How it introduces itself, in a line: `IPython 9.1.0`; empty where it has nothing to say beside the language.
    pub banner: String,
    /// Where it runs: the program it was started from, or the address it was found at.
    pub location: String,
    /// Its process, where it is one of this machine.
    pub process: Option<u32>,
    /// Why its code is not kept from changing what it must not; `None`: it is, or was not to be.
    pub unprotected: Option<String>,
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

impl StartFailure {
    /// The system had no room for it: too many files are open, or processes run. It may have some in a moment.
    pub fn is_resource_exhaustion(&self) -> bool {
        let said = self.message.to_lowercase();
        ["too many open files", "resource temporarily unavailable"]
            .iter()
            .any(|word| said.contains(word))
    }
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
    /// Killed since it ran longer than it may.
    TimedOut,
    /// It never came up.
    NotStarted(StartFailure),
    /// It broke the protocol; what it sent.
    ProtocolError(String),
    /// As whoever runs it says.
    Reported(String),
}

impl From<io::Result<ExitStatus>> for Death {
    fn from(status: io::Result<ExitStatus>) -> Self {
        match status {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => Death::Exited(code),
                (None, Some(signal)) => Death::Signalled(signal),
                (None, None) => Death::ProtocolError(status.to_string()),
            },
            Err(error) => Death::ProtocolError(error.to_string()),
        }
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Death::Exited(code) => write!(f, "exit code {code}"),
            Death::Signalled(9) => f.write_str("killed (SIGKILL: out of memory?)"),
            Death::Signalled(signal) => write!(f, "signal {}", signal_name(*signal)),
            Death::Killed => f.write_str("killed on request"),
            Death::TimedOut => f.write_str("killed at its time limit"),
            Death::NotStarted(failure) => f.write_str(&failure.message),
            Death::Reported(what) => f.write_str(what),
            Death::ProtocolError(what) => {
                write!(f, "it sent something that was not understood: {what}")
            }
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
