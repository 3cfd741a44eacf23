//! What may follow a command, for whoever completes it.

use super::setting;
use crate::config::{self, Setting};

/// What may follow a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
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
pub fn values(name: &str) -> Values {
    match name {
        "set" => Values::Words(setting::settable().map(|row| row.name).collect()),
        "help" => Values::Commands,
        "resume" => Values::Sessions,
        "option" => Values::Options,
        name => match Setting::named(name).map(Setting::values) {
            Some(config::Values::Models) => Values::Models,
            None | Some(config::Values::Text) => Values::Unknown,
            Some(values) => Values::Words(values.words()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_from_the_table() {
        let check = |name, expected: &[&'static str]| {
            assert_eq!(values(name), Values::Words(expected.to_vec()), "{name}");
        };
        check("think", &["l", "m", "h", "x"]);
        check("log_exact", &["true", "false"]);
        check("run_cells", &["ask", "auto", "off"]);
        check(
            "sandbox",
            &["read-only", "workspace-write", "danger-full-access"],
        );
        check("edit_mode", &["emacs", "vi"]);
        assert!(matches!(values("set"), Values::Words(names) if names.contains(&"think")));
        assert_eq!(values("model"), Values::Models);
        assert_eq!(values("rename"), Values::Unknown);
        assert_eq!(values("nope"), Values::Unknown);
        assert!(
            matches!(values("code_theme"), Values::Words(themes) if themes.contains(&"monokai"))
        );
    }
}
