//! What can be chosen while a session runs: starts as the settings say, changed by commands, never written back.

use std::path::PathBuf;

use crate::agent::{Approvals, Effort, Search, Threads, TurnSettings};
use crate::config::{AgentChoice, Choice, Images, RunCells, Sandbox, Settings};

/// The choices in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    /// Which agent answers.
    pub agent: AgentChoice,
    /// Empty: the agent's own default.
    pub model: String,
    /// Empty: the agent's own default.
    pub completion_model: String,
    /// How much to think.
    pub think: Effort,
    /// How much to search.
    pub search: Search,
    /// Name of the code theme.
    pub code_theme: String,
    /// The user named it; else it follows the terminal's background.
    pub code_theme_chosen: bool,
    /// Whether raw prompts and answers are logged.
    pub log_exact: bool,
    /// How the conversation is kept by the agent.
    pub threads: Threads,
    /// Whether the user is asked before commands and edits.
    pub approvals: Approvals,
    /// What the agent's commands may touch.
    pub sandbox: Sandbox,
    /// Whether the agent may run cells in the live interpreter.
    pub run_cells: RunCells,
    /// How pictures are drawn.
    pub images: Images,
    /// Whether earlier inputs are suggested while typing.
    pub history_hint: bool,
}

impl Choices {
    /// The choices a session begins with.
    pub fn of(settings: &Settings) -> Self {
        Choices {
            agent: settings.agent.clone(),
            model: settings.model.clone().unwrap_or_default(),
            completion_model: settings.completion_model.clone().unwrap_or_default(),
            think: settings.think,
            search: settings.search,
            code_theme: settings.code_theme.clone(),
            code_theme_chosen: settings.code_theme_chosen,
            log_exact: settings.log_exact,
            threads: settings.threads,
            approvals: settings.approvals,
            sandbox: settings.sandbox,
            run_cells: settings.run_cells,
            images: settings.images,
            history_hint: settings.history_hint,
        }
    }

    /// The choices as a turn in `cwd` needs them.
    pub(super) fn turn_settings(&self, cwd: PathBuf) -> TurnSettings {
        TurnSettings {
            model: (!self.model.is_empty()).then(|| self.model.clone()),
            effort: self.think,
            search: self.search,
            cwd,
            threads: self.threads,
            approvals: self.approvals,
            sandbox: self.sandbox.word().to_owned(),
        }
    }
}
