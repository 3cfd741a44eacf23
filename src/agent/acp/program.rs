//! The program that is run as an agent.

/// How files and terminal output are sent to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SizeLimit {
    /// Whole.
    #[default]
    Unlimited,
    /// At most 48 KiB at a time, for agents that limit the length of a line. A missing file is reported as an
    /// invalid parameter.
    Capped,
}

/// A program that is an agent, and its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// Name shown to the user.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables added to its environment.
    pub variables: Vec<(String, String)>,
    /// How files are sent to the agent.
    pub size_limit: SizeLimit,
}
