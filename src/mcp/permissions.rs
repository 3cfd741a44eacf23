//! Permissions of `ipycodex mcp --allow`, for sessions in which no user can be asked.

use crate::session::{QuestionChoice, QuestionSubject, Reply};

/// A permission that a tool call can need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Run cells in the session.
    Cells,
    /// Change notebooks outside of the working directory.
    Files,
    /// Read skills of a project and run their code.
    Skills,
    /// Run `pyrun` where nothing keeps its code from changing files.
    Unprotected,
}

/// The permissions that are granted without a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionSet(pub Vec<Permission>);

impl Permission {
    pub const ALL: [Permission; 4] = [
        Permission::Cells,
        Permission::Files,
        Permission::Skills,
        Permission::Unprotected,
    ];

    /// The value of `--allow`.
    pub fn name(self) -> &'static str {
        match self {
            Permission::Cells => "cells",
            Permission::Files => "files",
            Permission::Skills => "skills",
            Permission::Unprotected => "unprotected",
        }
    }

    fn required_for(about: &QuestionSubject) -> Self {
        match about {
            QuestionSubject::Cells(_)
            | QuestionSubject::ProjectFiles { .. }
            | QuestionSubject::StepBack { .. }
            | QuestionSubject::Replacement(_)
            | QuestionSubject::Files(_)
            | QuestionSubject::NameConflict(_)
            | QuestionSubject::Offer(_)
            | QuestionSubject::Plan(_)
            | QuestionSubject::Pictures(_)
            | QuestionSubject::Variables(_) => Permission::Cells,
            QuestionSubject::Agent(_) => Permission::Files,
            QuestionSubject::ProjectSkill { .. } | QuestionSubject::SkillCode { .. } => {
                Permission::Skills
            }
            QuestionSubject::Unprotected { .. } => Permission::Unprotected,
        }
    }
}

impl PermissionSet {
    /// Answers a question in place of the user.
    pub(super) fn answer(&self, about: &QuestionSubject) -> Reply {
        let needed = Permission::required_for(about);
        if !self.0.contains(&needed) {
            let name = needed.name();
            return Reply::NoBecause(format!(
                "nobody can be asked here; whoever starts `ipycodex mcp` allows it with `--allow {name}`"
            ));
        }
        Reply::Chosen(match about {
            QuestionSubject::SkillCode { .. } => QuestionChoice::Remember,
            _ => QuestionChoice::Once,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_option_that_would_allow_it() {
        let cells = QuestionSubject::Cells(Vec::new());
        let skill = QuestionSubject::SkillCode {
            skill: "s".into(),
            path: "p".into(),
            blocks: Vec::new(),
        };
        let some = PermissionSet(vec![Permission::Cells]);
        assert_eq!(some.answer(&cells), Reply::Chosen(QuestionChoice::Once));
        let Reply::NoBecause(why) = some.answer(&skill) else {
            panic!("nobody allowed it");
        };
        assert!(why.contains("--allow skills"), "{why}");
        let all = PermissionSet(Permission::ALL.into());
        assert_eq!(all.answer(&skill), Reply::Chosen(QuestionChoice::Remember));
    }
}
