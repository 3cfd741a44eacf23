//! What an agent can and cannot do.
//!
//! The session honours every field: a missing feature is not requested from the agent, and a user who asks for it is
//! told so once. An agent that learns its features only when it starts claims the most it may have until then, and
//! makes up for missing ones itself.

use super::news::Descriptor;
use crate::text::escape::visible;

/// What an agent can and cannot do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCapabilities {
    /// Shown to the user: `codex`, `demo`.
    pub name: String,
    /// Sees images.
    pub images: bool,
    /// Takes files in the input, whole.
    pub files: bool,
    /// How tools of ours reach it; `None`: it takes none.
    pub tools: Option<ToolRoute>,
    /// What it adds to the instructions of a turn that offers tools; empty: nothing.
    pub tool_instructions: &'static str,
    /// Takes instructions beside the conversation; else they stand before the first input.
    pub system_prompt: bool,
    /// Keeps threads that can be resumed by another process; else a conversation is seeded from the record.
    pub resumes_threads: bool,
    /// Opens the session of a turn without an input: the thread that the turn names, or a new one. One that is open
    /// already is given the servers of the turn; one that cannot be had is a failure, not replaced.
    pub opens_sessions: bool,
    /// Can be told how much to think.
    pub effort: bool,
    /// Can be told how much to search the web.
    pub search: bool,
    /// Keeps its commands in a sandbox.
    pub sandbox: bool,
    /// Works with tools of its own that the sandbox does not confine.
    pub unsandboxed_tools: bool,
    /// Can be kept from a shell of its own.
    pub optional_shell: bool,
    /// Can be told whether to ask before commands and edits.
    pub approvals: bool,
    /// Answers in the form of a JSON schema.
    pub structured: bool,
    /// Completes text at a cursor.
    pub suggestions: bool,
    /// Starts MCP servers that it is told of.
    pub mcp_servers: bool,
    /// Has models to choose from.
    pub models: bool,
    /// Has modes of its own.
    pub modes: bool,
    /// Lists the conversations it keeps.
    pub sessions: bool,
    /// Has commands of its own, taken as a prompt that begins with `/`.
    pub commands: bool,
    /// How its user logs in.
    pub login: Login,
}

/// How tools of ours reach an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolRoute {
    /// With the request; calls come as events.
    Request,
    /// From an MCP server, which it starts by itself.
    McpServer,
}

/// How the user of an agent logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// Not at all.
    Unneeded,
    /// By a command.
    Command {
        /// Its command line.
        line: String,
        /// Other ways, in sentences; may be empty.
        more: String,
    },
    /// By [`Agent::log_in`](super::Agent::log_in) with one of these.
    Methods(Vec<LoginMethod>),
}

/// A way to log in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoginMethod {
    /// What it is called.
    pub descriptor: Descriptor,
    /// Asks the user in a terminal, once the agent has been told; `None`: the agent does it by itself.
    pub program: Option<LoginProgram>,
}

/// A program that logs in; one that ends well has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginProgram {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Set in its environment.
    pub variables: Vec<(String, String)>,
}

impl LoginProgram {
    /// As one types it; safe to show.
    pub fn line(&self) -> String {
        let line = shlex::try_join(self.command.iter().map(String::as_str));
        visible(&line.unwrap_or_default()).into_owned()
    }
}

impl AgentCapabilities {
    /// An agent that can do all there is but what only some have: modes, sessions and commands of its own.
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
