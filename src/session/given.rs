//! What a session is given once and never changes.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::McpServer;
use crate::config::{Keymap, Provenance};
use crate::runtime::SetUp;
use crate::session::saving::NotebookPlaces;
use crate::session::slots::{MissingAgent, PlanAgent, PlanKernel};
use crate::skills::ProjectFiles;

/// Given once.
pub(super) struct Setup {
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
    /// What the editor's keys do.
    pub(super) keys: Arc<Keymap>,
    /// Where notebooks lie.
    pub(super) notebooks: NotebookPlaces,
    /// There is a user who can be asked.
    pub(super) asks: bool,
    /// What is done before the first input.
    pub(super) at_home: AtHome,
}

/// What is done before the first input.
#[derive(Debug, Default)]
pub struct AtHome {
    /// It.
    pub set_up: SetUp,
    /// What a project wants done with it, until the user has been asked.
    pub project: Option<ProjectFiles>,
}
