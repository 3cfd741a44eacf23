//! The program that is run as an agent, and the capabilities known of it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{AgentCapabilities, Login};

/// How files and terminal output are sent to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SizeLimit {
    /// Whole.
    #[default]
    Unlimited,
    /// At most 48 KiB at a time, for agents that limit the length of a line. A missing file is reported as an
    /// invalid parameter.
    Capped,
}

/// A program that is an agent, and its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// Name shown to the user.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables added to its environment.
    pub variables: Vec<(String, String)>,
    /// How files are sent to the agent.
    pub size_limit: SizeLimit,
}

/// The agent's capabilities as far as they are known: the driver updates them, the handle reads them.
#[derive(Debug, Clone)]
pub(super) struct SharedCapabilities(Arc<Mutex<AgentCapabilities>>);

impl SharedCapabilities {
    pub(super) fn new(capabilities: AgentCapabilities) -> Self {
        SharedCapabilities(Arc::new(Mutex::new(capabilities)))
    }

    pub(super) fn get(&self) -> AgentCapabilities {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// True for a login method that is a program of its own, in a terminal.
    pub(super) fn logs_in_externally(&self, method: &str) -> bool {
        match self.get().login {
            Login::Methods(methods) => {
                let mut methods = methods.iter();
                methods.any(|it| it.descriptor.id == method && it.program.is_some())
            }
            Login::Unneeded | Login::Command { .. } => false,
        }
    }

    pub(super) fn set(&self, capabilities: AgentCapabilities) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = capabilities;
    }
}
