//! What the user allowed for the rest of the session.
//!
//! An agent forgets its permissions with its thread, so they are kept here: commands with their directories, files, and
//! programs that may be typed into. An agent that wants to leave the sandbox gives a reason, and the request says no
//! more than that (measured with codex 0.169.0, which also takes a reason without that wish). So a yes to a command
//! with a reason holds for it with any reason and without one, and a yes to one without a reason for that alone.

use std::collections::HashSet;

use crate::agent::Subject;
use crate::session::question::About;

/// Yes, until the session ends or is changed for another.
#[derive(Debug, Default)]
pub(in crate::session) struct Allowed {
    /// Cells of the agent were allowed once and for all, but not to drop the variables.
    pub(in crate::session) resets_are_asked: bool,
    /// `pyrun` runs where nothing protects files.
    pub(in crate::session) unprotected: bool,
    /// Commands, the directories they may run in, and whether they came with a reason.
    commands: HashSet<(String, String, bool)>,
    /// Programs that run and may be typed into.
    programs: HashSet<String>,
    /// Files that may be changed.
    files: HashSet<String>,
}

impl Allowed {
    pub(super) fn allow(&mut self, about: &About) {
        match about {
            About::Agent(Subject::Command {
                command,
                cwd,
                reason,
            }) => {
                let key = (command.clone(), cwd.clone(), reason.is_some());
                self.commands.insert(key);
            }
            About::Agent(Subject::Input { program, .. }) => {
                self.programs.insert(program.clone());
            }
            About::Agent(Subject::Edit {
                changes,
                reason: None,
            }) => self
                .files
                .extend(changes.iter().map(|change| change.path.clone())),
            _ => {}
        }
    }

    pub(super) fn allows(&self, about: &About) -> bool {
        match about {
            About::Agent(Subject::Command {
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
            About::Agent(Subject::Input { program, .. }) => self.programs.contains(program),
            About::Agent(Subject::Edit {
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
