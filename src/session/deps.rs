//! What a session is constructed with and does not change.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::McpServer;
use crate::asides::StartAside;
use crate::config::{Keymap, Provenance};
use crate::lasting::LastingFile;
use crate::peers::{MissingAgent, PlanAgent, PlanKernel};
use crate::runtime::StartupPlan;
use crate::saving::NotebookPlaces;
use crate::skills::ProjectFiles;

pub(super) struct SessionDeps {
    /// Plans the connection of another agent in place of this one.
    pub(super) agents: PlanAgent,
    /// Reports the agents that are not installed.
    pub(super) missing: MissingAgent,
    pub(super) kernels: PlanKernel,
    /// Starts a session for a turn beside the prompt, where there is a prompt.
    pub(super) asides: Option<StartAside>,
    /// Our MCP server, for agents that take tools only from a server.
    pub(super) own_server: Option<McpServer>,
    /// The log of exact exchanges, written when the user turns it on.
    pub(super) exact_log: PathBuf,
    pub(super) config_file: PathBuf,
    /// The source of each choice, and the settings files that exist.
    pub(super) provenance: Provenance,
    pub(super) keys: Arc<Keymap>,
    pub(super) notebooks: NotebookPlaces,
    pub(super) asks: bool,
    pub(super) lasting: LastingFile,
}

/// Start-up files, run before the first input.
#[derive(Debug, Default)]
pub struct StartupFiles {
    pub own: StartupPlan,
    /// The project's, until the user has answered whether to run them.
    pub project: Option<ProjectFiles>,
}
