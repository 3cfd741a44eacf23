//! What may follow a command, for whoever completes it.

use super::setting;
use crate::config::{self, Setting};

/// What may follow a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandValues {
    /// One of these words.
    Words(Vec<&'static str>),
    /// The name of a command.
    Commands,
    /// A model the agent has.
    Models,
    /// The number of a session.
    Sessions,
    /// A mode or another option of the agent's own.
    Options,
    /// Nothing that could be told.
    Unknown,
}

/// What may follow the command `name`.
pub fn values(name: &str) -> CommandValues {
    match name {
        "set" => CommandValues::Words(setting::settable().map(|row| row.name).collect()),
        "help" => CommandValues::Commands,
        "copy" => CommandValues::Words(vec!["answer", "code"]),
        "resume" => CommandValues::Sessions,
        "option" => CommandValues::Options,
        name => match Setting::named(name).map(Setting::values) {
            Some(config::SettingValues::Models) => CommandValues::Models,
            None | Some(config::SettingValues::Text | config::SettingValues::Count(_)) => {
                CommandValues::Unknown
            }
            Some(values) => CommandValues::Words(values.words()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_from_the_table() {
        let check = |name, expected: &[&'static str]| {
            assert_eq!(
                values(name),
                CommandValues::Words(expected.to_vec()),
                "{name}"
            );
        };
        check("think", &["l", "m", "h", "x"]);
        check("log_exact", &["true", "false"]);
        check("run_cells", &["ask", "preview", "auto", "off"]);
        check(
            "sandbox",
            &["read-only", "workspace-write", "danger-full-access"],
        );
        check("edit_mode", &["emacs", "vi"]);
        assert!(matches!(values("set"), CommandValues::Words(names) if names.contains(&"think")));
        assert_eq!(values("model"), CommandValues::Models);
        assert_eq!(values("rename"), CommandValues::Unknown);
        assert_eq!(values("nope"), CommandValues::Unknown);
        assert!(
            matches!(values("code_theme"), CommandValues::Words(themes) if themes.contains(&"monokai"))
        );
    }
}
