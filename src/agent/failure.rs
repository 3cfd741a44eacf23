//! Failures of turns and of requests outside of turns.

/// Cause of a failed turn or request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFailure {
    /// The kind, by which a session decides what to do.
    pub kind: FailureKind,
    /// One line for the user.
    pub message: String,
    /// Advice for the user; may be empty.
    pub hints: Vec<String>,
}

/// Kinds of failure that a session treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The program does not exist.
    Missing,
    /// No user is logged in.
    LoggedOut,
    /// The process ended.
    Died,
    /// No answer came in time.
    Silent,
    /// The peer refused or reported an error.
    Refused,
    /// The model's service failed.
    Upstream,
}
