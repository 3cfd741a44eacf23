//! What the settings file can set, as values: what a session starts with. It keeps a copy and changes that.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::{Approvals, Effort, McpServer, Sandbox, ThreadMode, TurnSettings, WebSearchUse};
use crate::markdown::Background;

use super::{
    AgentChoice, AgentCommand, AgentTools, Agents, EditMode, Images, KernelMode, RunCells,
    RuntimeChoice, Seconds,
};

/// The choices in force. [`super::SETTINGS`] has a row for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    /// The model for prompts; empty: the agent's own default.
    pub model: String,
    /// The model for inline completion; empty: the agent's own default.
    pub completion_model: String,
    /// How much to think.
    pub think: Effort,
    /// How much to search.
    pub search: WebSearchUse,
    /// Name of the theme for code.
    pub code_theme: String,
    /// The user named it, or the surroundings tell the terminal's background; else it follows that.
    pub code_theme_chosen: bool,
    /// Every message of the agent goes to `exact-log.jsonl`.
    pub log_exact: bool,
    /// How the agent keeps the conversation.
    pub threads: ThreadMode,
    /// Whether the user is asked before commands and edits.
    pub approvals: Approvals,
    /// What the agent's commands may touch.
    pub sandbox: Sandbox,
    /// Whether the agent may run cells in the live interpreter.
    pub run_cells: RunCells,
    /// What the agent works with.
    pub agent_tools: AgentTools,
    /// How long a kernel of the agent's own lives.
    pub kernel_mode: KernelMode,
    /// How many earlier states of the interpreter are kept.
    pub checkpoints: u32,
    /// Variables are kept when the session ends, and offered when it is resumed.
    pub keep_variables: bool,
    /// After how many seconds the end of a run that nobody looks at is told on the desktop; 0: never.
    pub notify_after: u32,
    /// How pictures are drawn.
    pub images: Images,
    /// Plots are drawn for the terminal's background.
    pub fit_plots: bool,
    /// Earlier inputs are suggested while typing.
    pub history_hint: bool,
    /// Who answers prompts.
    pub agent: AgentChoice,
    /// How long an agent of the Agent Client Protocol may take to start.
    pub agent_start: Seconds,
    /// The REPL starts in prompt mode.
    pub prompt_mode: bool,
    /// The REPL begins with a line or three about itself.
    pub greeting: bool,
    /// The line editor's keys.
    pub edit_mode: EditMode,
    /// The interpreter the user chose; a name without a slash is looked up on `PATH`.
    pub python: Option<PathBuf>,
    /// IPython's profile that is loaded, where IPython is in use; empty: none.
    pub ipython_profile: String,
    /// What runs cells.
    pub runtime: RuntimeChoice,
    /// MCP servers for the agent, by name; `%ipycodex mcp` has them, and no row.
    pub mcp_servers: Agents,
}

impl Default for Choices {
    fn default() -> Self {
        Choices {
            model: String::new(),
            completion_model: String::new(),
            think: Effort::Low,
            search: WebSearchUse::Low,
            code_theme: Background::default().theme().into(),
            code_theme_chosen: false,
            log_exact: false,
            threads: ThreadMode::Session,
            approvals: Approvals::Never,
            sandbox: Sandbox::WorkspaceWrite,
            run_cells: RunCells::Ask,
            agent_tools: AgentTools::Both,
            kernel_mode: KernelMode::Session,
            checkpoints: 10,
            keep_variables: false,
            notify_after: 10,
            images: Images::Auto,
            fit_plots: true,
            history_hint: true,
            agent: AgentChoice::Codex,
            agent_start: Seconds(300),
            prompt_mode: false,
            greeting: true,
            edit_mode: EditMode::Emacs,
            python: None,
            ipython_profile: "default".into(),
            runtime: RuntimeChoice::Embedded,
            mcp_servers: Agents::new(),
        }
    }
}

impl Choices {
    /// The choices as a turn in `cwd` needs them.
    pub fn turn_settings(&self, cwd: &Path) -> TurnSettings {
        TurnSettings {
            model: (!self.model.is_empty()).then(|| self.model.clone()),
            effort: self.think,
            search: self.search,
            cwd: cwd.to_owned(),
            threads: self.threads,
            approvals: self.approvals,
            sandbox: self.sandbox,
            shell: self.agent_tools != AgentTools::Python,
            mcp_servers: self.mcp_servers.iter().filter_map(server).collect(),
            start_timeout: Some(self.agent_start.limit().unwrap_or(Duration::MAX)),
        }
    }
}

fn server((name, command): (&String, &AgentCommand)) -> Option<McpServer> {
    let (program, arguments) = command.words.split_first()?;
    Some(McpServer {
        name: name.clone(),
        command: program.clone(),
        arguments: arguments.to_vec(),
        variables: command.variables.clone(),
    })
}
