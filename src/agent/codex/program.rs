//! The program that is run as an app-server: Codex, or the offline agent that speaks the same protocol.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Login;

#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) login: Login,
}

impl Program {
    /// Codex: `command` with the arguments for an app-server that withholds secrets from the commands it runs.
    pub(crate) fn codex(command: Vec<String>) -> Self {
        let login = command.iter().map(String::as_str).chain(["login"]);
        // A word with a NUL cannot be quoted, nor can such a command be started.
        let login = shlex::try_join(login).unwrap_or_else(|_| "codex login".into());
        let mut words = command.into_iter().map(OsString::from);
        let program = words.next().unwrap_or_else(|| "codex".into()).into();
        let own = [
            "app-server",
            "--listen",
            "stdio://",
            "-c",
            "shell_environment_policy.ignore_default_excludes=false",
        ];
        Program {
            name: "codex",
            program,
            arguments: words.chain(own.map(OsString::from)).collect(),
            login: Login::Command {
                more: format!(
                    "On a machine without a browser: `{login} --device-auth`. With an API key: \
                     `printenv OPENAI_API_KEY | {login} --with-api-key`."
                ),
                line: login,
            },
        }
    }

    pub(crate) fn demo(program: PathBuf) -> Self {
        Program {
            name: "demo",
            program,
            arguments: vec!["demo-agent".into()],
            login: Login::Unneeded,
        }
    }
}
