//! What is allowed where nobody can be asked: by the command line, beforehand.

use crate::session::{About, QuestionChoice, Reply};

/// Something a tool asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// Cells run in the session.
    Cells,
    /// Notebooks outside of the working directory are changed.
    Files,
    /// Skills of a project are read, and their code runs.
    Skills,
    /// `pyrun` runs where nothing keeps its code from changing files.
    Unprotected,
}

/// What is allowed without a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowance(pub Vec<Allowed>);

impl Allowed {
    /// Everything there is.
    pub const ALL: [Allowed; 4] = [
        Allowed::Cells,
        Allowed::Files,
        Allowed::Skills,
        Allowed::Unprotected,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Allowed::Cells => "cells",
            Allowed::Files => "files",
            Allowed::Skills => "skills",
            Allowed::Unprotected => "unprotected",
        }
    }

    fn wanted(about: &About) -> Self {
        match about {
            About::Cells(_)
            | About::ProjectFiles { .. }
            | About::StepBack { .. }
            | About::Pictures(_)
            | About::Variables(_) => Allowed::Cells,
            About::Agent(_) => Allowed::Files,
            About::ProjectSkill { .. } | About::SkillCode { .. } => Allowed::Skills,
            About::Unprotected { .. } => Allowed::Unprotected,
        }
    }
}

impl Allowance {
    /// The answer to a question that no user sees.
    pub(super) fn answer(&self, about: &About) -> Reply {
        let wanted = Allowed::wanted(about);
        if !self.0.contains(&wanted) {
            let name = wanted.name();
            return Reply::NoBecause(format!(
                "nobody can be asked here; whoever starts `ipycodex mcp` allows it with `--allow {name}`"
            ));
        }
        Reply::Chosen(match about {
            About::SkillCode { .. } => QuestionChoice::Remember,
            _ => QuestionChoice::Once,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_allowed_is_refused_and_says_how_it_is() {
        let cells = About::Cells(Vec::new());
        let skill = About::SkillCode {
            skill: "s".into(),
            path: "p".into(),
            blocks: Vec::new(),
        };
        let some = Allowance(vec![Allowed::Cells]);
        assert_eq!(some.answer(&cells), Reply::Chosen(QuestionChoice::Once));
        let Reply::NoBecause(why) = some.answer(&skill) else {
            panic!("nobody allowed it");
        };
        assert!(why.contains("--allow skills"), "{why}");
        let all = Allowance(Allowed::ALL.into());
        assert_eq!(all.answer(&skill), Reply::Chosen(QuestionChoice::Remember));
    }
}
