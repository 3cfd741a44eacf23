//! What `ipycodex mcp --allow` permits where no user can be asked.

use crate::session::{About, QuestionChoice, Reply};

/// A permission that a tool call can need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
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
pub struct Allowance(pub Vec<Allowed>);

impl Allowed {
    pub const ALL: [Allowed; 4] = [
        Allowed::Cells,
        Allowed::Files,
        Allowed::Skills,
        Allowed::Unprotected,
    ];

    /// The value of `--allow`.
    pub fn name(self) -> &'static str {
        match self {
            Allowed::Cells => "cells",
            Allowed::Files => "files",
            Allowed::Skills => "skills",
            Allowed::Unprotected => "unprotected",
        }
    }

    fn required_for(about: &About) -> Self {
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
    /// Answers a question that no user sees.
    pub(super) fn answer(&self, about: &About) -> Reply {
        let needed = Allowed::required_for(about);
        if !self.0.contains(&needed) {
            let name = needed.name();
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
    fn a_refusal_names_the_option_that_would_allow_it() {
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
