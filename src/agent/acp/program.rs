//! The program that is run as an agent, and the capabilities known of it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::{AgentCapabilities, Login};

/// How files and what terminals show are handed to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SizeLimit {
    /// Whole.
    #[default]
    Unlimited,
    /// At most 48 KiB at a time: agents whose lines have a limit live on. A file that is not there is a wrong
    /// parameter.
    Capped,
}

/// What is run, and what it is called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// Shown to the user.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Set in its environment.
    pub variables: Vec<(String, String)>,
    /// How files are handed to it.
    pub size_limit: SizeLimit,
}

/// What the agent can, as far as it is known: the driver learns it, the handle tells it.
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

    /// True for a way to log in that is a program of its own, in a terminal.
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
