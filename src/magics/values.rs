//! What may follow a command, for whoever completes it.

use crate::config::{Choice, Sandbox};
use crate::magics::{TABLE, set};
use crate::markdown::Theme;

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
    /// Nothing that could be told.
    Unknown,
}

/// What may follow the command `name`.
pub fn values(name: &str) -> Values {
    match name {
        "model" | "completion_model" => Values::Models,
        "code_theme" => Values::Words(Theme::names().collect()),
        "sandbox" => Values::Words(Sandbox::WORDS.iter().map(|(word, _)| *word).collect()),
        "set" => Values::Words(set::names().collect()),
        "help" => Values::Commands,
        "resume" => Values::Sessions,
        name => TABLE
            .iter()
            .find(|magic| magic.name == name)
            .and_then(|magic| magic.arguments.strip_prefix('[')?.strip_suffix(']'))
            .filter(|words| words.contains('|'))
            .map(|words| words.split('|').collect())
            .or_else(|| Some(set::words(name)).filter(|words| !words.is_empty()))
            .map_or(Values::Unknown, Values::Words),
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
