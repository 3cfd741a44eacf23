//! What the user allowed for the rest of the session.
//!
//! An agent forgets its permissions with its thread, so they are kept here: commands with their directories, files, and
//! programs that may be typed into. An agent that wants to leave the sandbox gives a reason, and the request says no
//! more than that (measured with codex 0.169.0, which also takes a reason without that wish). So a yes to a command
//! with a reason holds for it with any reason and without one, and a yes to one without a reason for that alone.

use std::collections::HashSet;

use crate::agent::Subject;
use crate::session::question::QuestionSubject;

/// Yes, until the session ends or is changed for another.
#[derive(Debug, Default)]
pub(in crate::session) struct SessionGrants {
    /// Cells of the agent were allowed once and for all, but not to drop the variables.
    pub(in crate::session) ask_before_reset: bool,
    /// `pyrun` runs where nothing protects files.
    pub(in crate::session) unprotected: bool,
    /// Commands, the directories they may run in, and whether they came with a reason.
    commands: HashSet<(String, String, bool)>,
    /// Programs that run and may be typed into.
    programs: HashSet<String>,
    /// Files that may be changed.
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
