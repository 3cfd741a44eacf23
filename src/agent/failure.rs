//! Why a turn failed, or a request outside of turns.

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFailure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// One line.
    pub message: String,
    /// What the user can do; may be empty.
    pub hints: Vec<String>,
}

/// The failures a session treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The program is not there.
    Missing,
    /// Nobody is logged in.
    LoggedOut,
    /// The process ended.
    Died,
    /// No answer in time.
    Silent,
    /// The peer refused or reported an error.
    Refused,
    /// The model's service failed.
    Upstream,
}
