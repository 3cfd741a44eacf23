//! The user's settings for a turn, independent of any agent.

use std::path::PathBuf;
use std::time::Duration;

/// Settings that hold for a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSettings {
    /// Name of the model; `None`: the agent's default.
    pub model: Option<String>,
    /// Reasoning effort.
    pub effort: Effort,
    /// Use of web search.
    pub search: WebSearchUse,
    /// Directory that commands run in.
    pub cwd: PathBuf,
    /// Reuse of the agent's thread in later turns.
    pub threads: ThreadMode,
    /// Approval policy for commands and edits.
    pub approvals: Approvals,
    /// Access of the agent's commands.
    pub sandbox: Sandbox,
    /// The agent may use a shell of its own.
    pub shell: bool,
    /// In plan mode the agent looks and plans, and changes nothing.
    pub plan: PlanMode,
    /// MCP servers for the agent to start.
    pub mcp_servers: Vec<McpServer>,
    /// Limit for the start of the agent's process; `None`: that of its connection.
    pub start_timeout: Option<Duration>,
}

/// An MCP server, as a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// `[a-zA-Z0-9_-]+`; the agent uses the name to tell the tools of servers apart.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables added to its environment.
    pub variables: Vec<(String, String)>,
}

/// Reasoning effort of the model.
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

/// Use of web search by the agent.
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
    /// A new thread for each prompt; the conversation is sent along.
    Ephemeral,
}

/// Approval policy for commands and edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approvals {
    /// No approvals: the sandbox decides.
    Never,
    /// The user is asked before commands and edits.
    Ask,
}

/// Whether a turn is in plan mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlanMode {
    #[default]
    Off,
    /// Off, after an exchange in plan mode: the agent's thread may still be in its own mode for that.
    Left,
    /// On. The sandbox is read only.
    On,
}

/// Access of the agent's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Read only.
    ReadOnly,
    /// Files in the working directory can be written.
    WorkspaceWrite,
    /// No restriction, network included.
    FullAccess,
}
