//! The user's answers about skills, kept over sessions: `skills.json` in the state directory.
//!
//! In: answers. Out: earlier answers, by the real path of a project and by the content hash of code. The file is
//! private (0600) and written whole; answers that another session wrote in the meantime are kept. A file that is
//! broken, newer, or writable by others is reported, counts as empty and is never overwritten: answers then hold for
//! this session.
//!
//! Format: `{"version": 1, "projects": {PATH: true}, "code": {SHA-256: true or false}}`; unknown keys are kept.
//!
//! Absent on purpose: the questions, and a lock: of two answers given at the same moment one may be lost, and is
//! asked for again.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{FileError, FileMode, check_private_dir, private_dir, write_whole};

use super::read;

const VERSION: u32 = 1;

#[derive(Debug, Clone)]
pub struct Consent {
    file: Option<PathBuf>,
    answers: Answers,
    unusable: Option<String>,
}

/// Why an answer holds for this session only.
#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    /// The file must not be written.
    #[error("`{}` {why}", path.display())]
    Unusable {
        path: PathBuf,
        /// Continues a sentence that begins with the path.
        why: String,
    },
    /// The path of the project is not UTF-8.
    #[error("the path of the project is not UTF-8")]
    NoText,
    #[error(transparent)]
    File(#[from] FileError),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answers {
    version: u32,
    #[serde(default)]
    projects: BTreeMap<String, bool>,
    #[serde(default)]
    code: BTreeMap<String, bool>,
    #[serde(flatten)]
    unknown: BTreeMap<String, serde_json::Value>,
}

impl Default for Answers {
    fn default() -> Self {
        Answers {
            version: VERSION,
            projects: BTreeMap::new(),
            code: BTreeMap::new(),
            unknown: BTreeMap::new(),
        }
    }
}

impl Consent {
    /// Reads the answers kept in `state_dir`; also returns one line when the file cannot be used.
    pub fn open(state_dir: &Path) -> (Self, Option<String>) {
        let file = state_dir.join("skills.json");
        let (answers, unusable) = match load(&file) {
            Ok(answers) => (answers, None),
            Err(why) => (Answers::default(), Some(why)),
        };
        let told = unusable.as_ref().map(|why| {
            let file = file.display();
            format!("`{file}` {why}; the answers saved in it are ignored, and the file is left unchanged")
        });
        let consent = Consent {
            file: Some(file),
            answers,
            unusable,
        };
        (consent, told)
    }

    /// Without any answer; keeps nothing on disk.
    pub fn none() -> Self {
        Consent {
            file: None,
            answers: Answers::default(),
            unusable: None,
        }
    }

    /// True when the user trusts the skills of the project at `path` (links resolved).
    pub fn trusts(&self, path: &Path) -> bool {
        let key = path.to_str();
        key.is_some_and(|key| self.answers.projects.get(key) == Some(&true))
    }

    /// The answer about code with this hash; `None` when the user was never asked.
    pub fn may_run(&self, hash: &str) -> Option<bool> {
        self.answers.code.get(hash).copied()
    }

    /// Records that the project at `path` (links resolved) is trusted, or no longer.
    ///
    /// # Errors
    /// [`ConsentError`]: the answer holds for this session only. ([`ConsentError::NoText`]: not even for that.)
    pub fn trust(&mut self, path: &Path, trusted: bool) -> Result<(), ConsentError> {
        let key = path.to_str().ok_or(ConsentError::NoText)?.to_owned();
        self.keep(|answers| {
            if trusted {
                answers.projects.insert(key.clone(), true);
            } else {
                answers.projects.remove(&key);
            }
        })
    }

    /// Records whether code with this hash may run.
    ///
    /// # Errors
    /// [`ConsentError`]: the answer holds for this session only.
    pub fn decide(&mut self, hash: &str, may_run: bool) -> Result<(), ConsentError> {
        self.keep(|answers| {
            answers.code.insert(hash.to_owned(), may_run);
        })
    }

    fn keep(&mut self, answer: impl Fn(&mut Answers)) -> Result<(), ConsentError> {
        answer(&mut self.answers);
        let Some(file) = &self.file else {
            return Ok(());
        };
        let unusable = |why: String| ConsentError::Unusable {
            path: file.clone(),
            why,
        };
        if let Some(why) = &self.unusable {
            return Err(unusable(why.clone()));
        }
        if let Some(directory) = file.parent() {
            private_dir(directory)?;
        }
        // Another session may have written the file since.
        let mut answers = load(file).map_err(unusable)?;
        answer(&mut answers);
        let text = serde_json::to_string_pretty(&answers).expect("maps with text as keys");
        write_whole(file, format!("{text}\n").as_bytes(), FileMode::Private)?;
        Ok(())
    }
}

/// The answers in `file`; empty when it is missing. The error continues a sentence that begins with the path.
fn load(file: &Path) -> Result<Answers, String> {
    let metadata = match std::fs::symlink_metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Answers::default());
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    if let Some(Err(error)) = file.parent().map(check_private_dir) {
        return Err(format!("is not in a safe place: {error}"));
    }
    let user = rustix::process::geteuid().as_raw();
    let open_to_others = metadata.mode() & 0o022 != 0;
    if !metadata.is_file() || metadata.uid() != user || open_to_others {
        return Err("is not a file that only you can write".into());
    }
    let bytes = read::whole(file)?;
    let answers: Answers =
        serde_json::from_slice(&bytes).map_err(|error| format!("is broken: {error}"))?;
    if answers.version != VERSION {
        return Err(format!("has version {}, not {VERSION}", answers.version));
    }
    Ok(answers)
}
