//! The plan of the persistent shell: resolved facts, and the program they lead to.
//!
//! In: the environment. Out: the user's own shell, or another that can be driven. Absent on purpose: starting it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::TerminalSize;

#[derive(Debug, Clone)]
pub struct ShellPlan {
    pub cwd: PathBuf,
    /// The shell's whole environment; `SHELL` and `PATH` in it determine the program.
    pub variables: BTreeMap<OsString, OsString>,
    pub terminal: TerminalSize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Bash,
    Zsh,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) dialect: Dialect,
    /// The user's own shell, when it cannot be driven.
    pub(super) instead_of: Option<String>,
}

impl Dialect {
    fn named(name: &OsStr) -> Option<Self> {
        match name.to_str()? {
            "bash" | "rbash" => Some(Dialect::Bash),
            "zsh" => Some(Dialect::Zsh),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Dialect::Bash => "bash",
            Dialect::Zsh => "zsh",
        }
    }
}

impl ShellPlan {
    /// Returns the user's own shell when it can be driven, else another that can.
    ///
    /// # Errors
    /// No such shell exists; the message names those searched for.
    pub(super) fn program(&self) -> Result<Program, String> {
        let variable = |name: &str| self.variables.get(OsStr::new(name));
        let own = variable("SHELL")
            .map(Path::new)
            .filter(|path| !path.as_os_str().is_empty());
        let name = own.and_then(Path::file_name);
        if let (Some(path), Some(dialect)) = (own, name.and_then(Dialect::named))
            && path.is_file()
        {
            let path = path.to_owned();
            return Ok(Program {
                path,
                dialect,
                instead_of: None,
            });
        }
        let folders: Vec<PathBuf> = variable("PATH")
            .map(|path| std::env::split_paths(path).collect())
            .unwrap_or_default();
        let found = [Dialect::Bash, Dialect::Zsh]
            .into_iter()
            .find_map(|dialect| {
                let mut places = folders.iter().map(|folder| folder.join(dialect.name()));
                places
                    .find(|path| path.is_file())
                    .map(|path| (path, dialect))
            });
        let other = name
            .and_then(OsStr::to_str)
            .filter(|name| *name != "sh" && *name != "dash");
        match found {
            Some((path, dialect)) => {
                let instead_of = other
                    .map(str::to_owned)
                    .filter(|name| name != dialect.name());
                Ok(Program {
                    path,
                    dialect,
                    instead_of,
                })
            }
            None => Err("neither bash nor zsh was found on PATH".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn the_users_own_shell_is_taken_if_it_can_be_driven() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let check = |there: &[&str], shell: &str, expected: Result<(&str, Option<&str>), ()>| {
            for name in ["bash", "zsh", "fish"] {
                let _ = std::fs::remove_file(at(name));
            }
            there
                .iter()
                .for_each(|name| drop(File::create(at(name)).unwrap()));
            let plan = ShellPlan {
                cwd: "/".into(),
                variables: BTreeMap::from([
                    ("PATH".into(), folder.path().into()),
                    ("SHELL".into(), at(shell).into()),
                ]),
                terminal: TerminalSize {
                    columns: 80,
                    rows: 24,
                },
            };
            let found = plan.program().map_err(drop);
            let expected = expected.map(|(name, instead_of)| Program {
                path: at(name),
                dialect: Dialect::named(OsStr::new(name)).unwrap(),
                instead_of: instead_of.map(str::to_owned),
            });
            assert_eq!(found, expected, "{there:?} {shell}");
        };
        check(&["bash", "zsh"], "zsh", Ok(("zsh", None)));
        check(&["bash", "zsh"], "bash", Ok(("bash", None)));
        check(&["bash", "zsh", "fish"], "fish", Ok(("bash", Some("fish"))));
        check(&["bash"], "sh", Ok(("bash", None)));
        check(&["zsh", "fish"], "fish", Ok(("zsh", Some("fish"))));
        check(&["fish"], "fish", Err(()));
    }
}
