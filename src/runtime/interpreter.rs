//! Facts about an interpreter: that it started, why it did not, how it ended.
//!
//! Values and their messages. Absent on purpose: deciding about a restart, which is the supervisor's.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Facts about a started interpreter.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeInfo {
    /// Language of its cells, as a display name: `Python`, `R`.
    pub language: String,
    /// Version of the language: `3.11.7`.
    pub version: String,
    /// One-line banner, such as `IPython 9.1.0`; empty where there is nothing to add to the language.
    pub banner: String,
    /// The program it was started from, or the address it was found at.
    pub location: String,
    /// Process id, when the process is on this machine.
    pub process: Option<u32>,
    /// Why its code could not be confined; `None` when it is confined, or need not be.
    pub unprotected: Option<String>,
    /// Time from spawn to ready, in ms.
    pub milliseconds: f64,
    /// False for the first interpreter, true for one that replaces another.
    pub restarted: bool,
}

/// Why no interpreter could be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFailure {
    /// One line, naming the interpreter.
    pub message: String,
    /// What the user can do.
    pub hint: String,
}

impl StartFailure {
    /// Returns true when the system lacked resources (too many open files or processes), so that a retry may
    /// succeed.
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
    /// Exited with this code.
    Exited(i32),
    /// Ended by this signal number.
    Signalled(i32),
    /// Killed on the user's request.
    Killed,
    /// Killed because it exceeded its time limit.
    TimedOut,
    /// Never became ready.
    NotStarted(StartFailure),
    /// Violated the protocol; holds what it sent.
    ProtocolError(String),
    /// Ended, as another program reports in its own words.
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

/// Returns `SIGSEGV` for 11; the number for signals without a common name.
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
