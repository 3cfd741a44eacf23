//! The values of all settings that the file can set. A session starts with a copy and changes that.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::{
    Approvals, Effort, McpServer, PlanMode, Sandbox, ThreadMode, TurnSettings, WebSearchUse,
};
use crate::markdown::Background;

use super::{
    AgentChoice, AgentCommand, AgentTools, Agents, EditMode, Images, KernelMode, RewindFiles,
    RunCells, RuntimeChoice, Seconds,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    /// The model for prompts; empty: the agent's default.
    pub model: String,
    /// The model for inline completion; empty: the agent's default.
    pub completion_model: String,
    pub think: Effort,
    pub search: WebSearchUse,
    pub code_theme: String,
    /// False while the theme follows the terminal's background; true once the user named one, or the environment
    /// tells the background.
    pub code_theme_chosen: bool,
    /// Writes all messages of the agent to `exact-log.jsonl`.
    pub log_exact: bool,
    pub threads: ThreadMode,
    pub approvals: Approvals,
    /// The files and network that the agent's commands may use.
    pub sandbox: Sandbox,
    /// The approval for cells that the agent runs in the live interpreter.
    pub run_cells: RunCells,
    pub agent_tools: AgentTools,
    pub kernel_mode: KernelMode,
    pub checkpoints: u32,
    /// Whether files are put back when a step is taken back.
    pub rewind_files: RewindFiles,
    /// Saves variables when the session ends, and offers them when it is resumed.
    pub keep_variables: bool,
    /// A desktop notification is sent when a run that nobody watches ends after at least this many seconds; 0: never.
    pub notify_after: u32,
    pub images: Images,
    /// Plots are drawn for the terminal's background.
    pub fit_plots: bool,
    /// Earlier inputs are suggested while typing.
    pub history_hint: bool,
    pub agent: AgentChoice,
    /// How long an agent of the Agent Client Protocol may take to start.
    pub agent_start: Seconds,
    pub prompt_mode: bool,
    /// Plan mode is on. Switched by `%ipycodex plan` and by Shift-Tab; no row of the table.
    pub plan: bool,
    /// The REPL begins with up to three lines about itself.
    pub greeting: bool,
    pub edit_mode: EditMode,
    /// The interpreter that the user chose; a name without a slash is looked up on `PATH`.
    pub python: Option<PathBuf>,
    /// The IPython profile to load, where IPython is in use; empty: none.
    pub ipython_profile: String,
    pub runtime: RuntimeChoice,
    /// MCP servers for the agent, by name. Changed by `%ipycodex mcp`; no row of the table.
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
            rewind_files: RewindFiles::Ask,
            keep_variables: false,
            notify_after: 10,
            images: Images::Auto,
            fit_plots: true,
            history_hint: true,
            agent: AgentChoice::Codex,
            agent_start: Seconds(300),
            prompt_mode: false,
            plan: false,
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
    /// Returns the choices for a turn beside the prompt: it asks nobody, its cells run in an interpreter that can
    /// change nothing, and its commands can change nothing either.
    pub fn for_aside(&self) -> Self {
        Choices {
            approvals: Approvals::Never,
            sandbox: Sandbox::ReadOnly,
            run_cells: RunCells::Auto,
            checkpoints: 0,
            rewind_files: RewindFiles::Off,
            keep_variables: false,
            plan: false,
            ..self.clone()
        }
    }

    pub fn turn_settings(&self, cwd: &Path) -> TurnSettings {
        TurnSettings {
            model: (!self.model.is_empty()).then(|| self.model.clone()),
            effort: self.think,
            search: self.search,
            cwd: cwd.to_owned(),
            threads: self.threads,
            approvals: self.approvals,
            sandbox: match self.plan {
                true => Sandbox::ReadOnly,
                false => self.sandbox,
            },
            plan: match self.plan {
                true => PlanMode::On,
                false => PlanMode::Off,
            },
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
