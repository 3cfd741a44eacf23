//! What the user allowed for the rest of the session.
//!
//! Agents forget their permissions with their thread, so this file keeps them: commands with their directories,
//! files, and programs that accept typed input. An agent that wants to leave the sandbox gives a reason, and the
//! request says no more than that (measured with codex 0.169.0, which also gives a reason without wanting to
//! leave). Therefore a yes to a command with a reason holds for that command with any reason and without one; a yes
//! to a command without a reason holds for that alone.

use std::collections::HashSet;

use crate::agent::Subject;
use crate::config::RunCells;
use crate::question::QuestionSubject;

/// Approvals that hold until the session ends or the user switches to another.
#[derive(Debug, Default)]
pub(crate) struct SessionGrants {
    /// The agent's cells are allowed without asking, except for dropping the variables; the setting before that.
    pub(crate) cells: Option<RunCells>,
    /// `pyrun` may run where nothing protects files.
    pub(crate) unprotected: bool,
    /// Command, directory, and true when the request gave a reason.
    commands: HashSet<(String, String, bool)>,
    /// Running programs that the agent may type into.
    programs: HashSet<String>,
    files: HashSet<String>,
}

impl SessionGrants {
    pub(super) fn allow(&mut self, about: &QuestionSubject) {
        match about {
            QuestionSubject::Agent(Subject::Command {
                command,
                cwd,
                reason,
            }) => {
                let key = (command.clone(), cwd.clone(), reason.is_some());
                self.commands.insert(key);
            }
            QuestionSubject::Agent(Subject::Input { program, .. }) => {
                self.programs.insert(program.clone());
            }
            QuestionSubject::Agent(Subject::Edit {
                changes,
                reason: None,
            }) => self
                .files
                .extend(changes.iter().map(|change| change.path.clone())),
            _ => {}
        }
    }

    pub(super) fn allows(&self, about: &QuestionSubject) -> bool {
        match about {
            QuestionSubject::Agent(Subject::Command {
                command,
                cwd,
                reason,
            }) => {
                let allowed = |with_reason: bool| {
                    let key = (command.clone(), cwd.clone(), with_reason);
                    self.commands.contains(&key)
                };
                allowed(true) || reason.is_none() && allowed(false)
            }
            QuestionSubject::Agent(Subject::Input { program, .. }) => {
                self.programs.contains(program)
            }
            QuestionSubject::Agent(Subject::Edit {
                changes,
                reason: None,
            }) => {
                !changes.is_empty()
                    && changes
                        .iter()
                        .all(|change| self.files.contains(&change.path))
            }
            _ => false,
        }
    }
}
