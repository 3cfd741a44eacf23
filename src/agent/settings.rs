//! The user's settings for a turn, independent of any agent.

use std::path::PathBuf;
use std::time::Duration;

/// Choices that hold for a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSettings {
    /// `None`: the agent's own default.
    pub model: Option<String>,
    /// How much to think.
    pub effort: Effort,
    /// How much to search the web.
    pub search: WebSearchUse,
    /// Directory commands run in.
    pub cwd: PathBuf,
    /// Whether a thread is kept between turns.
    pub threads: ThreadMode,
    /// Whether the user is asked before commands and edits.
    pub approvals: Approvals,
    /// What the agent's commands may touch.
    pub sandbox: Sandbox,
    /// The agent may use a shell of its own.
    pub shell: bool,
    /// MCP servers that the agent is to start.
    pub mcp_servers: Vec<McpServer>,
    /// How long the start of its process may take; `None`: as it was connected with.
    pub start_timeout: Option<Duration>,
}

/// An MCP server, as a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// `[a-zA-Z0-9_-]+`; the agent tells its tools apart by it.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Set in its environment.
    pub variables: Vec<(String, String)>,
}

/// How much the model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// `l`
    Low,
    /// `m`
    Medium,
    /// `h`
    High,
    /// `x`
    ExtraHigh,
}

/// How much the agent searches the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebSearchUse {
    /// `off`
    Off,
    /// `l`
    Low,
    /// `m`
    Medium,
    /// `h`
    High,
}

/// How the conversation is kept on the agent's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadMode {
    /// One live thread, reused while it equals the record.
    Session,
    /// One thread a prompt, the conversation sent with it.
    Ephemeral,
}

/// Whether the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approvals {
    /// Never: the sandbox decides.
    Never,
    /// Before commands and edits.
    Ask,
}

/// What commands of the agent may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Nothing: they only read.
    ReadOnly,
    /// Files in the directory they run in.
    WorkspaceWrite,
    /// Everything, the network too.
    FullAccess,
}
