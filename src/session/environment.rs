//! The process's environment as values: captured once by `main`, passed down, never queried again.
//!
//! Invariant: everything below start-up reads variables, directories and terminal facts from here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// All variables, unfiltered.
    pub variables: BTreeMap<OsString, OsString>,
    /// Working directory at the start; `None` when it has been deleted.
    pub cwd: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub program: Option<PathBuf>,
    pub stdin_is_terminal: bool,
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
}

impl Environment {
    pub fn capture() -> Self {
        let mut environment = Environment {
            variables: std::env::vars_os().collect(),
            cwd: std::env::current_dir().ok(),
            home: directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
            program: std::env::current_exe().ok(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        };
        // Without `/proc` the name that we were started by leads to us.
        if environment.program.is_none()
            && let Some(name) = std::env::args_os().next()
        {
            environment.program = environment.find_program(&name.to_string_lossy());
        }
        environment
    }

    /// Returns a variable that is set, not empty and valid UTF-8.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
            .filter(|value| !value.is_empty())
    }

    /// Returns the variables for code that no user of this machine wrote: those that programs need to find their
    /// files, and no secrets. Names not listed are left out.
    pub fn variables_for_untrusted_code(&self) -> BTreeMap<OsString, OsString> {
        let variables = self.variables.iter();
        let passed = variables.filter(|(name, _)| name.to_str().is_some_and(is_passed_on));
        passed
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Returns the program that a command line of this name would start: a path unchanged, a plain name searched on
    /// `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
        let cwd = self.cwd.as_deref().unwrap_or(Path::new("/"));
        if name.contains('/') {
            return Some(cwd.join(name)).filter(runs);
        }
        let path = self.variables.get(OsStr::new("PATH"))?;
        let folders = std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty());
        let mut programs = folders.map(|folder| cwd.join(folder).join(name));
        programs.find(runs)
    }

    /// Returns true when escape sequences and cursor movement work on standard output.
    pub fn is_rich_terminal(&self) -> bool {
        self.stdout_is_terminal && self.variable("TERM").is_some_and(|term| term != "dumb")
    }

    /// Returns true when the terminal is known to support kitty's keyboard protocol. A multiplexer does not pass
    /// the protocol on.
    pub fn supports_kitty_keyboard(&self) -> bool {
        let variable = |name| self.variable(name).unwrap_or_default();
        let term = variable("TERM");
        let is = |name: &str| {
            let rest = term.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let known = TELLING_TERMS.into_iter().any(is)
            || (is("xterm") && TELLING_PROGRAMS.contains(&variable("TERM_PROGRAM")));
        let multiplexers = ["TMUX", "STY", "ZELLIJ"];
        known
            && self.is_rich_terminal()
            && !multiplexers
                .iter()
                .any(|name| self.variable(name).is_some())
    }
}

/// Values of `TERM`, up to a hyphen, of terminals with kitty's keyboard protocol; and values of `TERM_PROGRAM`,
/// which count only where `TERM` is an xterm's (other terminals may inherit `TERM_PROGRAM` from the one they were
/// started in).
const TELLING_TERMS: [&str; 6] = [
    "xterm-kitty",
    "foot",
    "xterm-ghostty",
    "alacritty",
    "rio",
    "wezterm",
];
const TELLING_PROGRAMS: [&str; 5] = ["kitty", "ghostty", "WezTerm", "iTerm.app", "rio"];

/// Variables that programs need to find their files.
#[rustfmt::skip]
const PASSED_ON: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMPDIR",
    "TEMP", "TMP", "TZ", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "VIRTUAL_ENV",
    "PYTHONPATH", "LD_LIBRARY_PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy",
    "https_proxy", "all_proxy", "no_proxy",
];
const PASSED_ON_BEGINNINGS: &[&str] = &["LC_", "XDG_", "CUDA_", "IPYCODEX_"];
/// Suffixes of names that hold secrets.
const SECRETS: &[&str] = &["API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_COOKIES"];

fn is_passed_on(name: &str) -> bool {
    let known = PASSED_ON.contains(&name)
        || PASSED_ON_BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning));
    known && !SECRETS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_a_model_gets_no_secrets() {
        for (name, passed) in [
            ("PATH", true),
            ("LC_ALL", true),
            ("XDG_RUNTIME_DIR", true),
            ("CUDA_VISIBLE_DEVICES", true),
            ("IPYCODEX_SESSION", true),
            ("https_proxy", true),
            ("IPYCODEX_GATEWAY_TOKEN", false),
            ("OPENAI_API_KEY", false),
            ("PERPLEXITY_COOKIES", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("MY_OWN", false),
            ("PATHS", false),
        ] {
            let environment = Environment {
                variables: [(name.into(), "x".into())].into(),
                ..Environment::default()
            };
            assert_eq!(
                environment.variables_for_untrusted_code().len(),
                usize::from(passed),
                "{name}"
            );
        }
    }

    #[test]
    fn terminals_that_tell_keys_apart_are_known_by_name() {
        for (variables, expected) in [
            (&[("TERM", "xterm-kitty")][..], true),
            (&[("TERM", "foot-extra")], true),
            (
                &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "ghostty")],
                true,
            ),
            (&[("TERM", "xterm-256color")], false),
            (&[("TERM", "footer")], false),
            (
                &[("TERM", "eterm-color"), ("TERM_PROGRAM", "WezTerm")],
                false,
            ),
            (&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/tmux,1,0")], false),
            (&[("TERM", "dumb"), ("TERM_PROGRAM", "kitty")], false),
            (&[], false),
        ] {
            let mut environment = Environment {
                stdout_is_terminal: true,
                ..Environment::default()
            };
            for (name, value) in variables {
                environment.variables.insert(name.into(), value.into());
            }
            assert_eq!(
                environment.supports_kitty_keyboard(),
                expected,
                "{variables:?}"
            );
        }
    }
}
