//! Start-up files of a project: `.ipycodex/startup.py`, then `.ipycodex/modules/*.py` by name.
//!
//! In: the working directory. Out: the files as they are now, and the hash for which an answer about them holds: over
//! the whole folder, since the files may import from it. The nearest `.ipycodex` counts, of the directory and its
//! parents up to the one with a `.git`; a directory that all users can write to (`/tmp`) is never a project.
//! Invariant: the text that runs is the text that the user was asked about, even if the file has changed since.

use std::path::{Path, PathBuf};

use super::fingerprint::fingerprint;
use super::read::{hash, whole};
use super::roots::is_shared;

const FOLDER: &str = ".ipycodex";

/// The files that a project asks to run before the first input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFiles {
    /// The folder, links resolved.
    pub folder: PathBuf,
    /// Path and content of each file, in order.
    pub files: Vec<(PathBuf, String)>,
    /// The hash for which an answer holds, in hexadecimal; `None`: the folder exceeds the limits.
    pub hash: Option<String>,
    /// Files that cannot be run, a line each.
    pub left_out: Vec<String>,
}

impl ProjectFiles {
    pub fn find(cwd: &Path) -> Option<Self> {
        let cwd = cwd.canonicalize().ok()?;
        let root = cwd.ancestors().find(|above| above.join(".git").exists());
        let root = root.unwrap_or(&cwd);
        let within = cwd.ancestors().take_while(|above| above.starts_with(root));
        let folders = within.filter(|above| !is_shared(above));
        let folder = folders
            .map(|above| above.join(FOLDER))
            .find(|it| it.is_dir())?;
        let mut found = ProjectFiles {
            folder: folder.canonicalize().ok()?,
            ..ProjectFiles::default()
        };
        let first = Some(folder.join("startup.py")).filter(|path| path.exists());
        for path in first.into_iter().chain(modules(&folder.join("modules"))) {
            let text = whole(&path);
            let text =
                text.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "is not UTF-8".into()));
            match text {
                Ok(text) => found.files.push((path, text)),
                Err(why) => found
                    .left_out
                    .push(format!("`{}` {why}; it was not run", path.display())),
            }
        }
        if found.files.is_empty() && found.left_out.is_empty() {
            return None;
        }
        found.hash = fingerprint(&found.folder, &hash(b"start-up files of a project"));
        Some(found)
    }
}

fn modules(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "py"))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_of_the_project_counts_and_every_change_in_it() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            let path = base.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let find = |place: &str| ProjectFiles::find(&base.join(place));
        write("p/a/b/x", "");
        write(".ipycodex/startup.py", "outside");
        // Codex's sandbox may leave an empty `.git` in the temporary directory, which makes that a root.
        let rooted = base.ancestors().any(|folder| folder.join(".git").exists());
        assert!(
            rooted || find("p/a/b").is_none(),
            "without a root only the directory itself"
        );
        write("p/.git/HEAD", "");
        assert_eq!(
            find("p/a/b"),
            None,
            "what lies above the project is not of it"
        );
        write("p/.ipycodex/modules/b.py", "b");
        write("p/.ipycodex/modules/a.py", "a");
        write("p/.ipycodex/modules/notes.txt", "");
        write("p/.ipycodex/startup.py", "s");
        let found = find("p/a/b").unwrap();
        let texts: Vec<&str> = found.files.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["s", "a", "b"]);
        write("p/.ipycodex/helper.py", "imported");
        let changed = find("p").unwrap();
        assert_ne!(changed.hash, found.hash);
        assert_eq!(changed.files, found.files);
        std::fs::write(base.join("p/.ipycodex/modules/c.py"), b"\xff").unwrap();
        let odd = find("p").unwrap();
        assert_eq!(odd.files, found.files);
        assert!(odd.left_out[0].ends_with("modules/c.py` is not UTF-8; it was not run"));
        write("p/a/.ipycodex/other", "");
        assert_eq!(find("p/a/b"), None, "the nearest has none");
    }
}
