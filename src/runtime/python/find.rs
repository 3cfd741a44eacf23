//! Finds the interpreters that may run the cells, best first.
//!
//! In: the plan's facts. Out: candidates, each with its environment. A candidate is a file that exists and is
//! executable; only starting it shows if it is a Python. Invariant: an interpreter named by the user is the only
//! candidate. Absent on purpose: starting anything.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::managed::{ManagedPython, ManagedState};
use super::plan::PythonPlan;

type Variables = BTreeMap<OsString, OsString>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub program: PathBuf,
    /// The source that named it: `--python`, `VIRTUAL_ENV`, `.venv`, `ipycodex setup`, `PATH`.
    pub origin: &'static str,
    pub variables: Variables,
}

#[derive(Debug, Default)]
pub struct InterpreterSearch {
    pub candidates: Vec<Candidate>,
    /// Interpreters that were named but cannot be started, one phrase each.
    pub rejected: Vec<String>,
    /// Stops the search at the first candidate.
    only_best: bool,
}

/// Searches for the interpreters that a plan allows; looks at files only and starts nothing.
pub fn find(plan: &PythonPlan) -> InterpreterSearch {
    InterpreterSearch::default().through(plan)
}

pub fn best(plan: &PythonPlan) -> Option<Candidate> {
    let search = InterpreterSearch {
        only_best: true,
        ..InterpreterSearch::default()
    };
    search.through(plan).candidates.into_iter().next()
}

fn look(
    mut search: InterpreterSearch,
    configured: Option<&Path>,
    managed: Option<&ManagedPython>,
    cwd: &Path,
    variables: &Variables,
) -> InterpreterSearch {
    if let Some(configured) = configured {
        search.add_configured(configured, cwd, variables);
        return search;
    }
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(prefix) = set(variables, name) {
            search.add_environment(&cwd.join(prefix), name, variables, true);
        }
    }
    for folder in cwd.ancestors() {
        for name in [".venv", "venv"] {
            let prefix = folder.join(name);
            if prefix.join("pyvenv.cfg").is_file() {
                search.add_environment(&prefix, name, variables, true);
            } else if name == ".venv" && prefix.is_dir() {
                search.rejected.push(format!(
                    "{} ({name}) has no pyvenv.cfg, so it is no environment",
                    prefix.display()
                ));
            }
        }
    }
    if let Some(managed) = managed.filter(|managed| managed.state() == ManagedState::Ready) {
        search.add_environment(managed.folder(), "ipycodex setup", variables, true);
    }
    for name in ["python3", "python"] {
        for folder in path_folders(variables) {
            search.add(cwd.join(folder).join(name), "PATH", || variables.clone());
        }
    }
    search
}

impl InterpreterSearch {
    fn through(self, plan: &PythonPlan) -> Self {
        look(
            self,
            plan.interpreter.as_deref(),
            plan.managed.as_ref(),
            &plan.cwd,
            &plan.variables,
        )
    }

    fn add(
        &mut self,
        program: PathBuf,
        origin: &'static str,
        variables: impl FnOnce() -> Variables,
    ) -> bool {
        if self.only_best && !self.candidates.is_empty() {
            return true;
        }
        let usable = program.is_file() && access(&program, Access::EXEC_OK).is_ok();
        let known = self.candidates.iter().any(|known| known.program == program);
        if usable && !known {
            self.candidates.push(Candidate {
                program,
                origin,
                variables: variables(),
            });
        }
        usable
    }

    fn add_environment(
        &mut self,
        prefix: &Path,
        origin: &'static str,
        variables: &Variables,
        say: bool,
    ) {
        let variables = || match origin {
            "CONDA_PREFIX" => variables.clone(),
            _ => activated(prefix, variables),
        };
        let found = ["python3", "python"]
            .iter()
            .any(|name| self.add(prefix.join("bin").join(name), origin, variables));
        if !found && say {
            let python = prefix.join("bin/python3");
            let why = if python.is_file() {
                "has a bin/python3 that is not executable"
            } else if python.is_symlink() {
                "has a bin/python3 that leads nowhere"
            } else {
                "has no bin/python3"
            };
            self.rejected
                .push(format!("{} ({origin}) {why}", prefix.display()));
        }
    }

    fn add_configured(&mut self, configured: &Path, cwd: &Path, variables: &Variables) {
        let expanded = expand_home(configured, variables);
        // A bare name is looked up on PATH, as in a shell; anything else is a file or the folder of an environment.
        if expanded.components().count() == 1
            && expanded == configured
            && !cwd.join(&expanded).exists()
        {
            for folder in path_folders(variables) {
                let program = cwd.join(folder).join(&expanded);
                if self.add(program, "--python", || variables.clone()) {
                    return;
                }
            }
            self.rejected
                .push(format!("{} is not on PATH", expanded.display()));
            return;
        }
        let path = cwd.join(expanded);
        if path.is_dir() {
            self.add_environment(&path, "--python", variables, true);
            return;
        }
        let prefix = path.parent().and_then(Path::parent);
        let variables = || match prefix.filter(|prefix| prefix.join("pyvenv.cfg").is_file()) {
            Some(prefix) => activated(prefix, variables),
            None => variables.clone(),
        };
        if !self.add(path.clone(), "--python", variables) {
            let why = if path.exists() {
                "is not executable"
            } else {
                "does not exist"
            };
            self.rejected.push(format!("{} {why}", path.display()));
        }
    }
}

/// Returns the environment as `bin/activate` would leave it.
fn activated(prefix: &Path, variables: &Variables) -> Variables {
    let mut variables = variables.clone();
    let bin = prefix.join("bin");
    let others = path_folders(&variables).filter(|folder| *folder != bin);
    let path = std::env::join_paths(std::iter::once(bin.clone()).chain(others));
    // A folder with a colon cannot be an entry of PATH; the interpreter is started by its full name anyway.
    if let Ok(path) = path {
        variables.insert("PATH".into(), path);
    }
    variables.insert("VIRTUAL_ENV".into(), prefix.into());
    variables.remove(OsStr::new("PYTHONHOME"));
    variables
}

fn path_folders(variables: &Variables) -> impl Iterator<Item = PathBuf> + use<> {
    let path = set(variables, "PATH").unwrap_or_else(|| OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let folders: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|folder| !folder.as_os_str().is_empty())
        .collect();
    folders.into_iter()
}

fn expand_home(path: &Path, variables: &Variables) -> PathBuf {
    match (path.strip_prefix("~"), set(variables, "HOME")) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => path.to_owned(),
    }
}

fn set<'v>(variables: &'v Variables, name: &str) -> Option<&'v OsStr> {
    variables
        .get(OsStr::new(name))
        .map(OsString::as_os_str)
        .filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(executables: &[&str]) -> Self {
            let tree = Tree(tempfile::tempdir().unwrap());
            for path in executables {
                tree.file(path, 0o755);
            }
            tree
        }

        fn file(&self, path: &str, mode: u32) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        /// `$` in a value stands for the root of the tree.
        fn variables(&self, values: &[(&str, &str)]) -> Variables {
            let root = self.0.path().to_str().unwrap();
            values
                .iter()
                .map(|(name, value)| (OsString::from(name), value.replace('$', root).into()))
                .collect()
        }

        fn check(
            &self,
            configured: Option<&str>,
            variables: &[(&str, &str)],
            expected: &[&str],
        ) -> InterpreterSearch {
            let configured = configured.map(Path::new);
            let managed = ManagedPython::below(&self.path("data"));
            let look = |search| {
                let cwd = self.path("work/deep");
                look(
                    search,
                    configured,
                    Some(&managed),
                    &cwd,
                    &self.variables(variables),
                )
            };
            let search = look(InterpreterSearch::default());
            let only_best = InterpreterSearch {
                only_best: true,
                ..InterpreterSearch::default()
            };
            let best = look(only_best).candidates;
            assert_eq!(best.first(), search.candidates.first());
            assert!(best.len() <= 1);
            let found: Vec<String> = search
                .candidates
                .iter()
                .map(|candidate| {
                    let below = candidate.program.strip_prefix(self.0.path()).unwrap();
                    format!("{} {}", candidate.origin, below.display())
                })
                .collect();
            assert_eq!(found, expected);
            search
        }
    }

    #[test]
    fn the_order_is_environment_project_path() {
        let tree = Tree::new(&[
            "active/bin/python3",
            "data/venv/bin/python3",
            "data/venv/ipycodex-setup",
            "conda/bin/python",
            "work/.venv/bin/python3",
            "work/deep/venv/bin/python3",
            "usr/bin/python",
            "usr/bin/python3",
        ]);
        tree.file("work/.venv/pyvenv.cfg", 0o644);
        tree.file("work/deep/venv/pyvenv.cfg", 0o644);
        let search = tree.check(
            None,
            &[
                ("VIRTUAL_ENV", "$/active"),
                ("CONDA_PREFIX", "$/conda"),
                ("PATH", "$/nowhere:$/usr/bin:$/usr/bin"),
            ],
            &[
                "VIRTUAL_ENV active/bin/python3",
                "CONDA_PREFIX conda/bin/python",
                "venv work/deep/venv/bin/python3",
                ".venv work/.venv/bin/python3",
                "ipycodex setup data/venv/bin/python3",
                "PATH usr/bin/python3",
                "PATH usr/bin/python",
            ],
        );
        let venv = &search.candidates[3].variables;
        assert_eq!(
            venv[OsStr::new("VIRTUAL_ENV")],
            tree.path("work/.venv").into_os_string()
        );
        let path = venv[OsStr::new("PATH")].to_str().unwrap();
        assert!(
            path.starts_with(tree.path("work/.venv/bin").to_str().unwrap()),
            "{path}"
        );
        assert!(path.ends_with("usr/bin"), "{path}");
    }

    #[test]
    fn a_named_interpreter_is_the_only_one() {
        let tree = Tree::new(&[
            "home/py/bin/python3",
            "usr/bin/python3",
            "usr/bin/python3.9",
        ]);
        tree.file("home/py/pyvenv.cfg", 0o644);
        tree.file("work/deep/notes", 0o644);
        let around = [("HOME", "$/home"), ("PATH", "$/usr/bin")];
        let search = tree.check(
            Some("~/py/bin/python3"),
            &around,
            &["--python home/py/bin/python3"],
        );
        assert!(
            search.candidates[0]
                .variables
                .contains_key(OsStr::new("VIRTUAL_ENV"))
        );
        tree.check(Some("python3.9"), &around, &["--python usr/bin/python3.9"]);
        tree.check(Some("~/py"), &around, &["--python home/py/bin/python3"]);
        for (named, why) in [
            ("python9", "not on PATH"),
            ("./gone", "does not exist"),
            ("notes", "not executable"),
        ] {
            let search = tree.check(Some(named), &around, &[]);
            assert!(search.rejected[0].contains(why), "{:?}", search.rejected);
        }
    }

    #[test]
    fn an_environment_without_python_is_told() {
        let tree = Tree::new(&["usr/bin/python3"]);
        let search = tree.check(
            None,
            &[("VIRTUAL_ENV", "$/removed"), ("PATH", "$/usr/bin")],
            &["PATH usr/bin/python3"],
        );
        assert_eq!(search.rejected.len(), 1);
        assert!(
            search.rejected[0].contains("removed"),
            "{:?}",
            search.rejected
        );
        // In a project: an environment whose Python is gone, cannot run, or was never completed.
        for (file, why) in [
            (".venv/pyvenv.cfg", "has no bin/python3"),
            (".venv/bin/python3", "has no pyvenv.cfg"),
            (".venv/bin/activate", "has no pyvenv.cfg"),
        ] {
            let tree = Tree::new(&["usr/bin/python3", "work/deep/x"]);
            tree.file(&format!("work/{file}"), 0o644);
            let search = tree.check(None, &[("PATH", "$/usr/bin")], &["PATH usr/bin/python3"]);
            assert_eq!(search.rejected.len(), 1, "{file}");
            assert!(search.rejected[0].contains(why), "{:?}", search.rejected);
            tree.file("work/.venv/pyvenv.cfg", 0o644);
            tree.file("work/.venv/bin/python3", 0o644);
            let search = tree.check(None, &[("PATH", "$/usr/bin")], &["PATH usr/bin/python3"]);
            let why = "is not executable";
            assert!(search.rejected[0].contains(why), "{:?}", search.rejected);
        }
    }
}
