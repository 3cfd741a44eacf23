//! Features of an agent, as data.
//!
//! The session honours every field: a missing feature is not requested from the agent, and a user who asks for it
//! is warned once. An agent that learns its features only when it starts claims the most it may have until then,
//! and makes up for missing ones itself.

use super::event::Descriptor;
use crate::text::escape::visible;

/// Features of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCapabilities {
    /// Name shown to the user: `codex`, `demo`.
    pub name: String,
    /// Accepts images.
    pub images: bool,
    /// Accepts whole files in the input.
    pub files: bool,
    /// How our tools reach the agent; `None`: the agent takes no tools.
    pub tools: Option<ToolRoute>,
    /// Text added to the instructions of a turn that offers tools; may be empty.
    pub tool_instructions: &'static str,
    /// Accepts instructions apart from the conversation; otherwise they precede the first input.
    pub system_prompt: bool,
    /// Keeps threads that another process can resume; otherwise a conversation is seeded from the record.
    pub resumes_threads: bool,
    /// Opens the session of a turn without an input: the thread that the turn names, or a new one. A session that
    /// is already open gets the MCP servers of the turn; one that cannot be opened is a failure and is not
    /// replaced.
    pub opens_sessions: bool,
    /// Accepts a reasoning effort.
    pub effort: bool,
    /// Accepts a setting for web search.
    pub search: bool,
    /// Runs its commands in a sandbox.
    pub sandbox: bool,
    /// A command that the user allows stays in the sandbox. Not so where the agent runs it again outside of it when the
    /// sandbox has stopped it.
    pub confines_allowed_commands: bool,
    /// Has tools of its own that the sandbox does not confine.
    pub unsandboxed_tools: bool,
    /// Can be started without a shell of its own.
    pub optional_shell: bool,
    /// Accepts a setting for approvals of commands and edits.
    pub approvals: bool,
    /// Answers in the form of a JSON schema.
    pub structured: bool,
    /// Completes text at a cursor.
    pub suggestions: bool,
    /// Starts MCP servers that are configured by the client.
    pub mcp_servers: bool,
    /// Offers a choice of models.
    pub models: bool,
    /// Has modes of its own.
    pub modes: bool,
    /// Lists the conversations it keeps.
    pub sessions: bool,
    /// Has commands of its own, sent as a prompt that begins with `/`.
    pub commands: bool,
    /// Shortens a thread when a turn asks for it.
    pub compacts: bool,
    /// How the user logs in.
    pub login: Login,
}

/// How our tools reach an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolRoute {
    /// With the request; calls arrive as events.
    Request,
    /// From an MCP server that the agent starts.
    McpServer,
}

/// How the user of an agent logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// No login is needed.
    Unneeded,
    /// By a command.
    Command {
        /// The command line.
        line: String,
        /// Other ways, in sentences; may be empty.
        more: String,
    },
    /// By [`Agent::log_in`](super::Agent::log_in) with one of these methods.
    Methods(Vec<LoginMethod>),
}

/// A login method.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoginMethod {
    /// Id, name and description.
    pub descriptor: Descriptor,
    /// Program to run in a terminal once [`Agent::log_in`](super::Agent::log_in) has succeeded; `None`: the agent
    /// logs in by itself.
    pub program: Option<LoginProgram>,
}

/// A program that logs in; exit code 0 means success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginProgram {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables added to its environment.
    pub variables: Vec<(String, String)>,
}

impl LoginProgram {
    /// The command line as one would type it, safe to show.
    pub fn line(&self) -> String {
        let line = shlex::try_join(self.command.iter().map(String::as_str));
        visible(&line.unwrap_or_default()).into_owned()
    }
}

impl AgentCapabilities {
    /// True for a login method that is a program of its own, in a terminal.
    pub(crate) fn logs_in_externally(&self, method: &str) -> bool {
        match &self.login {
            Login::Methods(methods) => {
                let mut methods = methods.iter();
                methods.any(|it| it.descriptor.id == method && it.program.is_some())
            }
            Login::Unneeded | Login::Command { .. } => false,
        }
    }

    /// An agent with every feature but modes, sessions and commands of its own, which few agents have.
    pub fn full(name: &str) -> Self {
        AgentCapabilities {
            name: name.to_owned(),
            images: true,
            files: false,
            tools: Some(ToolRoute::Request),
            tool_instructions: "",
            system_prompt: true,
            resumes_threads: true,
            opens_sessions: false,
            effort: true,
            search: true,
            sandbox: true,
            confines_allowed_commands: true,
            unsandboxed_tools: false,
            optional_shell: true,
            approvals: true,
            structured: true,
            suggestions: true,
            mcp_servers: true,
            models: true,
            modes: false,
            sessions: false,
            commands: false,
            compacts: false,
            login: Login::Unneeded,
        }
    }

    /// An agent that takes text and answers with text.
    pub fn text_only(name: &str) -> Self {
        AgentCapabilities {
            images: false,
            tools: None,
            system_prompt: false,
            resumes_threads: false,
            effort: false,
            search: false,
            sandbox: false,
            confines_allowed_commands: false,
            optional_shell: false,
            approvals: false,
            structured: false,
            suggestions: false,
            mcp_servers: false,
            models: false,
            ..AgentCapabilities::full(name)
        }
    }
}
