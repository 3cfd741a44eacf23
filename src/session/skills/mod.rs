//! Agent skills: the list of them, the model's view of it, loading a skill, and the user's consent.
//!
//! In: the surroundings and files that may be hostile. Out: a [`Catalog`], frozen when it is made (path and SHA-256
//! of every file); its [`section`](Catalog::section) for the instructions; an [`Activation`] for a skill whose file
//! is unchanged; and [`Consent`], the user's answers.
//!
//! Three steps: name and description of all skills at the start, the text of one when it is activated, the files that
//! it names when the model reads them. Nothing runs here.
//!
//! Invariants: any bytes give a skill or a diagnostic; a walk is bounded and enters a directory once; no text of a
//! file can leave its element in the section, and no control character reaches it; a bare name is valid only when it
//! is unique. Document: the Agent Skills specification (agentskills.io, August 2026), with the lenient client rules.
//!
//! Absent on purpose: questions, running code, offering tools (the session does, and reads `allowed-tools` from the
//! text), and the `agents/openai.yaml` beside a skill.

mod blocks;
mod bundled;
mod catalog;
mod check;
mod consent;
mod fingerprint;
pub mod frontmatter;
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

/// The language of the code blocks of skills.
pub const LANGUAGE: &str = "Python";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name in the file, or the directory's where that one is missing or unusable. One line.
    pub name: String,
    /// When and for what to use the skill; one line, at most 1,024 characters.
    pub description: String,
    /// The path of the `SKILL.md`, links resolved; `builtin:NAME/SKILL.md` for a bundled one.
    pub path: String,
    pub origin: SkillOrigin,
    /// SHA-256 of the file, in hexadecimal.
    pub hash: String,
    /// A nearer skill has the same name: this one is activated by its path only.
    pub shadowed: bool,
    /// The file; `None` for a bundled skill.
    file: Option<PathBuf>,
}

/// The owner of a skill, which decides who must be asked before it is read or runs code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillOrigin {
    /// Came with the program: no question.
    Bundled,
    /// Lies in the user's own configuration or home, where no other user can change it: no question.
    Own,
    /// Belongs to this directory (links resolved): the user is asked once per directory before one of its skills is
    /// read, and once per content before its code runs. The directory is the project's root, or the one above it that
    /// holds the skills.
    Project(PathBuf),
}

/// A skill that was left out, or a warning about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDiagnostic {
    /// The file or directory; may contain any character that a path may contain.
    pub path: String,
    /// True when the skill was left out, false for a warning.
    pub skipped: bool,
    /// One line without a full stop; may quote the file.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    pub name: String,
    /// As on the list.
    pub path: String,
    /// The directory of its files; `None` for a bundled skill, which has no others.
    pub directory: Option<PathBuf>,
    /// The `SKILL.md`: from the first fence on, line ends `\n`, values that YAML could not read quoted, so that
    /// [`crate::skills::frontmatter::split`] reads it again.
    pub text: String,
    /// The code to run when the skill is loaded, in [`LANGUAGE`]: `python` and `py` blocks whose first line is
    /// `#| eval: true` (kept: a comment).
    pub blocks: Vec<String>,
    /// SHA-256 over the file and all files beside it, in hexadecimal, for which an answer about its code holds.
    /// `None`: the skill has no code, or more files than the limits allow.
    pub hash: Option<String>,
    pub origin: SkillOrigin,
    /// Its other files, relative to the directory, in name order; capped.
    pub files: Vec<String>,
}

impl Activation {
    /// The reply to the model: the text, then the path of its files. The text comes first, so that its frontmatter is
    /// that of the reply.
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
