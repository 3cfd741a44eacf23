//! The paths of our files: the XDG directories, or paths that the user named.
//!
//! In: the surroundings as values. Out: absolute paths. Creates and reads nothing. Document: XDG Base Directory
//! Specification 0.8 (a relative value counts as unset).

use std::path::{Path, PathBuf};

use crate::environment::Environment;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Settings, system prompt, snapshot, raw log.
    pub config_dir: PathBuf,
    /// The record and its companions.
    pub state_dir: PathBuf,
    /// Files that can be generated again.
    pub cache_dir: PathBuf,
    pub data_dir: PathBuf,
    /// `config.json`.
    pub config_file: PathBuf,
    /// `sysp.txt`.
    pub system_prompt: PathBuf,
    /// `startup.ipynb`.
    pub startup_notebook: PathBuf,
    /// `exact-log.jsonl`.
    pub exact_log: PathBuf,
    /// `history.sqlite`, or the file that the user named.
    pub history: PathBuf,
    /// Texts too long for the model.
    pub artifacts: PathBuf,
    /// Sockets of running shells.
    pub run_dir: PathBuf,
}

impl Paths {
    /// Computes the paths; `config_dir` and `hist_file` come from the command line.
    pub fn new(
        environment: &Environment,
        config_dir: Option<&Path>,
        hist_file: Option<&Path>,
    ) -> Self {
        let directory = |variable, below| xdg(environment, variable, below).join("ipycodex");
        let config_dir = match config_dir {
            Some(path) => absolute(environment, path),
            None => directory("XDG_CONFIG_HOME", ".config"),
        };
        let state_dir = directory("XDG_STATE_HOME", ".local/state");
        let history = hist_file
            .or_else(|| environment.variable("IPYCODEX_HIST_FILE").map(Path::new))
            .map_or_else(
                || own_history(&state_dir),
                |path| absolute(environment, path),
            );
        Paths {
            config_file: config_dir.join("config.json"),
            system_prompt: config_dir.join("sysp.txt"),
            startup_notebook: config_dir.join("startup.ipynb"),
            exact_log: config_dir.join("exact-log.jsonl"),
            cache_dir: directory("XDG_CACHE_HOME", ".cache"),
            data_dir: directory("XDG_DATA_HOME", ".local/share"),
            artifacts: state_dir.join("artifacts"),
            run_dir: run_dir(environment, &state_dir),
            config_dir,
            state_dir,
            history,
        }
    }

    /// True when the record lies at the default path, even if the user named it.
    pub fn history_is_ours(&self) -> bool {
        self.history == own_history(&self.state_dir)
    }
}

fn own_history(state_dir: &Path) -> PathBuf {
    state_dir.join("history.sqlite")
}

/// The directory of sockets. Programs that start others for an agent often drop `XDG_RUNTIME_DIR`; the usual path is
/// tried then.
fn run_dir(environment: &Environment, state_dir: &Path) -> PathBuf {
    let set = environment.variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    if let Some(path) = set.filter(|path| path.is_absolute()) {
        return path.join("ipycodex");
    }
    let user = rustix::process::geteuid().as_raw();
    let usual = PathBuf::from(format!("/run/user/{user}"));
    match usual.is_dir() {
        true => usual.join("ipycodex"),
        false => state_dir.join("run"),
    }
}

/// `path` with `~` expanded, relative to the working directory at start-up.
pub(crate) fn absolute(environment: &Environment, path: &Path) -> PathBuf {
    if let (Ok(below), Some(home)) = (path.strip_prefix("~"), &environment.home) {
        return home.join(below);
    }
    match &environment.cwd {
        Some(cwd) => cwd.join(path),
        None => path.to_owned(),
    }
}

fn xdg(environment: &Environment, variable: &str, below_home: &str) -> PathBuf {
    let set = environment.variable(variable).map(PathBuf::from);
    if let Some(path) = set.filter(|path| path.is_absolute()) {
        return path;
    }
    match &environment.home {
        Some(home) => home.join(below_home),
        // Without a home: a directory named after the user, whose owner is checked before any write.
        None => {
            let temporary = environment.variable("TMPDIR").unwrap_or("/tmp");
            let user = rustix::process::geteuid().as_raw();
            Path::new(temporary)
                .join(format!("ipycodex-{user}"))
                .join(below_home)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)], home: Option<&str>) -> Environment {
        Environment {
            variables: variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            home: home.map(Into::into),
            cwd: Some("/project".into()),
            ..Environment::default()
        }
    }

    #[test]
    fn places() {
        let check = |environment: &Environment, config: &str, history: &str| {
            let paths = Paths::new(environment, None, None);
            let named = environment.variable("IPYCODEX_HIST_FILE").is_some();
            assert_eq!(paths.history_is_ours(), !named);
            assert_eq!(paths.config_file, Path::new(config));
            assert_eq!(paths.history, Path::new(history));
        };
        check(
            &environment(&[], Some("/h")),
            "/h/.config/ipycodex/config.json",
            "/h/.local/state/ipycodex/history.sqlite",
        );
        check(
            &environment(
                &[("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "relative")],
                Some("/h"),
            ),
            "/c/ipycodex/config.json",
            "/h/.local/state/ipycodex/history.sqlite",
        );
        check(
            &environment(
                &[("XDG_CONFIG_HOME", ""), ("IPYCODEX_HIST_FILE", "~/x.db")],
                Some("/h"),
            ),
            "/h/.config/ipycodex/config.json",
            "/h/x.db",
        );
        let user = rustix::process::geteuid().as_raw();
        check(
            &environment(&[("TMPDIR", "/t")], None),
            &format!("/t/ipycodex-{user}/.config/ipycodex/config.json"),
            &format!("/t/ipycodex-{user}/.local/state/ipycodex/history.sqlite"),
        );
    }

    #[test]
    fn the_command_line_decides() {
        let environment = environment(&[("IPYCODEX_HIST_FILE", "/env")], Some("/h"));
        let paths = Paths::new(
            &environment,
            Some(Path::new("conf")),
            Some(Path::new("hist")),
        );
        assert_eq!(paths.config_file, Path::new("/project/conf/config.json"));
        assert_eq!(paths.history, Path::new("/project/hist"));
        assert!(!paths.history_is_ours());
        assert_eq!(paths.data_dir, Path::new("/h/.local/share/ipycodex"));
    }
}
