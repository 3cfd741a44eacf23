//! What a session is constructed with and does not change.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::McpServer;
use crate::config::{Keymap, Provenance};
use crate::runtime::StartupPlan;
use crate::session::peers::{MissingAgent, PlanAgent, PlanKernel};
use crate::session::saving::NotebookPlaces;
use crate::skills::ProjectFiles;

pub(super) struct SessionDeps {
    /// How another agent would be connected in place of this one.
    pub(super) agents: PlanAgent,
    /// Tells which of them are not there.
    pub(super) missing: MissingAgent,
    /// How a kernel of the agent's own would be connected.
    pub(super) kernels: PlanKernel,
    /// How agents that take tools from a server only reach ours.
    pub(super) own_server: Option<McpServer>,
    /// Where exact exchanges are logged when that is chosen.
    pub(super) exact_log: PathBuf,
    /// The settings file.
    pub(super) config_file: PathBuf,
    /// Who decided the choices to begin with, and which files there are.
    pub(super) provenance: Provenance,
    pub(super) keys: Arc<Keymap>,
    /// Where notebooks lie.
    pub(super) notebooks: NotebookPlaces,
    pub(super) asks: bool,
    /// Start-up files, run before the first input.
    pub(super) at_home: StartupFiles,
}

/// Start-up files, run before the first input.
#[derive(Debug, Default)]
pub struct StartupFiles {
    /// The user's own.
    pub own: StartupPlan,
    /// The project's, until the user has answered.
    pub project: Option<ProjectFiles>,
}
