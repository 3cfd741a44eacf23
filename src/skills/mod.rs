//! Agent skills: which there are, what the model is told of them, what loading one gives, who has to be asked first.
//!
//! In: the surroundings and files that may be hostile. Out: a [`Catalog`], frozen when it is found (path and SHA-256 of
//! every file); its [`section`](Catalog::section) for the instructions; an [`Activation`] for a skill that still is
//! what it was; and [`Consent`], the user's answers.
//!
//! Three steps: name and description of all of them at the start, the text of one when it is activated, the files it
//! names when the model reads them. Nothing is ever run here.
//!
//! Invariants: any bytes give a skill or a diagnostic; a walk is bounded and takes a directory once; nothing a file
//! says can leave its element in the section, and no control character reaches it; a bare name is only good when it
//! is unique. Document: the Agent Skills specification (agentskills.io, August 2026), with the lenient client rules.
//!
//! Absent on purpose: asking, running, offering tools (the session does, and reads `allowed-tools` from the text), and
//! the `agents/openai.yaml` beside a skill.

mod blocks;
mod bundled;
mod catalog;
mod check;
mod consent;
mod fingerprint;
mod manifest;
mod project;
mod read;
mod roots;
mod section;
mod walk;

use std::path::PathBuf;

pub use catalog::Catalog;
pub use check::check;
pub use consent::{Consent, ConsentError};
pub use project::ProjectFiles;
pub use roots::Roots;

/// What the code of a skill is written in.
pub const LANGUAGE: &str = "Python";

/// A skill on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name: the file's, or the directory's where that one is missing or unusable. One line.
    pub name: String,
    /// What it does and when to use it; one line, at most 1,024 characters.
    pub description: String,
    /// Its `SKILL.md`, links resolved; `builtin:NAME/SKILL.md` for those in the program.
    pub path: String,
    /// Whose it is.
    pub origin: SkillOrigin,
    /// SHA-256 of the file, in hexadecimal.
    pub hash: String,
    /// A nearer skill has the same name: this one is activated by its path only.
    pub shadowed: bool,
    /// The file itself; `None` for one in the program.
    file: Option<PathBuf>,
}

/// Whose a skill is, and so who has to be asked before it is read or runs code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillOrigin {
    /// Came with the program: nobody is asked.
    Bundled,
    /// Lies in the user's own configuration or home, where nobody else can change it: nobody is asked.
    Own,
    /// Belongs to this directory (links resolved): asked once for the directory before one of its skills is read, and
    /// once per content before its code runs. The project's root, or the directory above it that has the skills.
    Project(PathBuf),
}

/// What was noticed while looking for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDiagnostic {
    /// The file or directory; may hold any character a path may hold.
    pub path: String,
    /// True when something was left out because of it, false for a warning.
    pub skipped: bool,
    /// One line without a full stop; may quote the file.
    pub message: String,
}

/// A skill as it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// As on the list.
    pub name: String,
    /// As on the list.
    pub path: String,
    /// Where its files are; `None` for a bundled one, which has no others.
    pub directory: Option<PathBuf>,
    /// The `SKILL.md`: from the first fence on, line ends `\n`, values that YAML could not read put into quotes, so
    /// that [`crate::text::frontmatter::split`] reads it again.
    pub text: String,
    /// The code it wants run, in [`LANGUAGE`]: its `python` and `py` blocks whose first line is `#| eval: true` (kept:
    /// a comment).
    pub blocks: Vec<String>,
    /// SHA-256 of the file and of all that lies beside it, in hexadecimal: what an answer about its code holds for.
    /// `None`: it has no code, or more files than can be looked at.
    pub hash: Option<String>,
    /// Whose it is.
    pub origin: SkillOrigin,
    /// Its other files, relative to the directory, in name order; capped.
    pub files: Vec<String>,
}

impl Activation {
    /// What the model gets: the text, then where its files are. The text comes first, so that its frontmatter is that
    /// of the result.
    pub fn reply(&self) -> String {
        let mut reply = self.text.clone();
        let Some(directory) = &self.directory else {
            return reply;
        };
        if !reply.ends_with('\n') {
            reply.push('\n');
        }
        let directory = directory.to_string_lossy();
        let directory = crate::text::escape::visible(&directory);
        reply.push_str(&format!(
            "\nDirectory of this skill, for the relative paths in it: {directory}\n"
        ));
        for file in &self.files {
            let file = crate::text::escape::visible(file);
            reply.push_str(&format!("- {file}\n"));
        }
        reply
    }
}

#[cfg(test)]
mod tests;
