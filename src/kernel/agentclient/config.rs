//! The kernel's configuration: the agent's command, its variables, its directories.
//!
//! From the variables at the start, changed by commands: `ACP_AGENT_COMMAND` (else `codex-acp`), `ACP_AGENT_ARGS`
//! (words between blanks), `ACP_OUTPUT` (`markdown`: answers are markdown in a display that is updated, else text),
//! `CODEX_HOME`. A command that is a file but cannot be executed is run by Python.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::environment::Environment;

/// Everything needed to start the agent's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    pub name: String,
    pub words: Vec<String>,
    /// The whole environment of the process.
    pub variables: BTreeMap<OsString, OsString>,
    pub cwd: PathBuf,
}

pub(super) struct AgentConfig {
    environment: Environment,
    /// The interpreter for files that cannot be executed.
    python: PathBuf,
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
}

/// The command used where none is configured.
const DEFAULT_COMMAND: &str = "codex-acp";

impl AgentConfig {
    pub(super) fn new(environment: &Environment, python: Option<PathBuf>) -> Self {
        let mut config = AgentConfig {
            environment: environment.clone(),
            python: python.unwrap_or_else(|| "python3".into()),
            command: String::new(),
            arguments: Vec::new(),
        };
        config.read();
        config
    }

    fn read(&mut self) {
        self.command = self
            .variable("ACP_AGENT_COMMAND")
            .unwrap_or(DEFAULT_COMMAND)
            .to_owned();
        let words = self
            .variable("ACP_AGENT_ARGS")
            .unwrap_or_default()
            .split_whitespace();
        self.arguments = words.map(str::to_owned).collect();
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.variable(name)
    }

    /// Sets a variable of the agent's environment; the command follows `ACP_AGENT_…`.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.environment.variables.insert(name.into(), value.into());
        if name.starts_with("ACP_AGENT_") {
            self.read();
        }
    }

    /// Sets the command, as `ACP_AGENT_COMMAND` and `ACP_AGENT_ARGS` do.
    pub(super) fn set_command(&mut self, words: Vec<String>) {
        let mut words = words.into_iter();
        self.command = words.next().unwrap_or_default();
        self.arguments = words.collect();
    }

    pub(super) fn command_line(&self) -> String {
        let words = std::iter::once(&self.command).chain(&self.arguments);
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// True: answers are shown as markdown; false: as text.
    pub(super) fn shows_markdown(&self) -> bool {
        self.variable("ACP_OUTPUT") == Some("markdown")
    }

    pub(super) fn cwd(&self) -> PathBuf {
        self.environment.cwd.clone().unwrap_or_else(|| "/".into())
    }

    /// The home directory, for `~`.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.environment.home.clone()
    }

    pub(super) fn codex_home(&self) -> Option<PathBuf> {
        let named = self.variable("CODEX_HOME").map(PathBuf::from);
        named.or_else(|| Some(self.environment.home.as_ref()?.join(".codex")))
    }

    pub(super) fn agent_command(&self) -> AgentCommand {
        let mut words = vec![self.command.clone()];
        words.extend(self.arguments.iter().cloned());
        let file = self.cwd().join(&self.command);
        if file.is_file() && self.environment.find_program(&self.command).is_none() {
            words[0] = file.display().to_string();
            words.insert(0, self.python.display().to_string());
        }
        AgentCommand {
            name: self
                .command
                .rsplit('/')
                .next()
                .unwrap_or(DEFAULT_COMMAND)
                .to_owned(),
            words,
            variables: self.environment.variables.clone(),
            cwd: self.cwd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> AgentConfig {
        let variables = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        let environment = Environment {
            variables: variables.collect(),
            home: Some("/home/u".into()),
            ..Environment::default()
        };
        AgentConfig::new(&environment, Some("/py".into()))
    }

    fn started(config: &AgentConfig) -> Vec<String> {
        config.agent_command().words
    }

    #[test]
    fn variables_name_the_command_and_files_are_for_python() {
        assert_eq!(started(&config(&[])), ["codex-acp"]);
        assert_eq!(config(&[]).codex_home(), Some("/home/u/.codex".into()));
        let mut of_user = config(&[("ACP_AGENT_COMMAND", "x"), ("ACP_AGENT_ARGS", " --a  b ")]);
        assert_eq!(started(&of_user), ["x", "--a", "b"]);
        of_user.set("ACP_AGENT_ARGS", "c");
        assert_eq!(of_user.command_line(), "x c");
        of_user.set_command(vec!["y".into(), "z w".into()]);
        assert_eq!(started(&of_user), ["y", "z w"]);
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().display().to_string();
        assert_eq!(
            started(&config(&[("ACP_AGENT_COMMAND", &path)])),
            ["/py", &path]
        );
    }
}
