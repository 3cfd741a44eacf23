//! The folders in which skills are searched, nearest first, each with its owner.
//!
//! In: the surroundings as values. Out: existing folders, each once. `.agents/skills` of the working directory and of
//! each parent, `$XDG_CONFIG_HOME/agents/skills`, `~/.agents/skills`. The project ends at the nearest directory with
//! a `.git`; above it only directories count that no other user can change. A directory that all users can write to
//! (`/tmp`) is never a project.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

use super::{SkillDiagnostic, SkillOrigin};

#[derive(Debug, Clone, Default)]
pub struct Roots {
    pub(super) roots: Vec<Root>,
    pub(super) diagnostics: Vec<SkillDiagnostic>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    /// Links resolved.
    pub path: PathBuf,
    pub origin: SkillOrigin,
}

impl Roots {
    pub fn new(environment: &Environment) -> Self {
        let home = environment.home.as_deref();
        let config = environment
            .variable("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| Some(home?.join(".config")));
        Roots::find(environment.cwd.as_deref(), home, config.as_deref())
    }

    /// Like [`Roots::new`], for these directories; `config` is the one that contains `agents/skills`.
    pub fn find(cwd: Option<&Path>, home: Option<&Path>, config: Option<&Path>) -> Self {
        let mut found = Roots::default();
        let own = [
            config.map(|config| config.join("agents/skills")),
            home.map(|home| home.join(".agents/skills")),
        ];
        let own: Vec<PathBuf> = own.into_iter().flatten().collect();
        if let Some(cwd) = cwd.and_then(|cwd| cwd.canonicalize().ok()) {
            found.add_project(&cwd, &own);
        }
        for folder in &own {
            found.add_own(folder);
        }
        found
    }

    /// The owner of a skill that was found through `root` and whose real path is `path`.
    pub(super) fn origin(&self, root: &Root, path: &Path) -> SkillOrigin {
        let inside = |own: &Root| own.origin == SkillOrigin::Own && path.starts_with(&own.path);
        let own = root.origin == SkillOrigin::Own || self.roots.iter().any(inside);
        if own && is_writable_by_user_only(path) {
            return SkillOrigin::Own;
        }
        match &root.origin {
            SkillOrigin::Project(project) => SkillOrigin::Project(project.clone()),
            // In the user's own folder, but other users can change it.
            _ => SkillOrigin::Project(path.parent().unwrap_or(path).to_owned()),
        }
    }

    fn add_project(&mut self, cwd: &Path, own: &[PathBuf]) {
        let project = cwd
            .ancestors()
            .find(|directory| directory.join(".git").exists() && !is_shared(directory))
            .unwrap_or(cwd);
        for directory in cwd.ancestors() {
            let folder = directory.join(".agents/skills");
            if own.iter().any(|own| is_same_path(own, &folder)) {
                self.add_own(&folder);
            } else if is_shared(directory) && folder.is_dir() {
                let why = "everybody can put files into its directory";
                self.add_diagnostic(&folder, true, format!("not searched: {why}"));
            } else if directory.starts_with(project) {
                self.add(&folder, SkillOrigin::Project(project.to_owned()));
            } else if folder.is_dir() {
                let chain = [directory, &directory.join(".agents"), &folder];
                match chain.into_iter().find_map(why_changeable) {
                    None => self.add(&folder, SkillOrigin::Project(directory.to_owned())),
                    Some(why) => {
                        let message = format!("not searched: it lies above the project, and {why}");
                        self.add_diagnostic(&folder, true, message);
                    }
                }
            }
        }
    }

    fn add_own(&mut self, folder: &Path) {
        match why_changeable(folder) {
            None => self.add(folder, SkillOrigin::Own),
            Some(_) if !folder.is_dir() => {}
            Some(why) => {
                let message = format!("its skills ask first, as a project's do: {why}");
                self.add_diagnostic(folder, false, message);
                let owner = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
                self.add(folder, SkillOrigin::Project(owner));
            }
        }
    }

    fn add_diagnostic(&mut self, folder: &Path, skipped: bool, message: String) {
        self.diagnostics.push(SkillDiagnostic {
            path: folder.to_string_lossy().into_owned(),
            skipped,
            message,
        });
    }

    fn add(&mut self, folder: &Path, origin: SkillOrigin) {
        let Ok(path) = folder.canonicalize() else {
            return;
        };
        if path.is_dir() && self.roots.iter().all(|root| root.path != path) {
            self.roots.push(Root { path, origin });
        }
    }
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// True for a directory in which all users can create files and remove only their own, such as `/tmp`.
pub(super) fn is_shared(directory: &Path) -> bool {
    let metadata = std::fs::metadata(directory);
    metadata.is_ok_and(|metadata| metadata.mode() & 0o1002 == 0o1002)
}

/// True when no other user can change the file or the directory that contains it.
fn is_writable_by_user_only(path: &Path) -> bool {
    let directory = path.parent().unwrap_or(path);
    why_changeable(path).is_none() && why_changeable(directory).is_none()
}

/// How another user can change the file at `path`, if one can: the continuation of a sentence after "and".
fn why_changeable(path: &Path) -> Option<String> {
    let Ok(metadata) = std::fs::metadata(path) else {
        return Some(format!("`{}` cannot be read", path.display()));
    };
    let user = rustix::process::geteuid().as_raw();
    if metadata.uid() != user {
        return Some(format!("`{}` belongs to another user", path.display()));
    }
    // Where every user has a group of the same number, its write bit gives no other user access.
    let others = if metadata.gid() == user { 0o002 } else { 0o022 };
    (metadata.mode() & others != 0).then(|| format!("others can write to `{}`", path.display()))
}
