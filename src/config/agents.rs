//! `agents` in the settings file: names for agents, and how each is started.
//!
//! `{"claude": {"command": "claude-agent-acp", "args": [], "env": {"K": "V"}}, "gemini": "gemini --acp"}`. What is
//! wrong with one is said, and it is as if it were not there.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::choice::AgentChoice;

/// How an agent is started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentCommand {
    /// The program and its arguments; never empty.
    pub words: Vec<String>,
    /// Set in its environment.
    pub variables: Vec<(String, String)>,
}

/// Agents by their names.
pub type Agents = BTreeMap<String, AgentCommand>;

/// The agents of a setting, and the names that could not be read with what is allowed.
pub(super) fn read(setting: &Map<String, Value>) -> (Agents, Vec<(String, &'static str)>) {
    let (mut agents, mut wrong) = (Agents::new(), Vec::new());
    for (name, value) in setting {
        let taken = AgentChoice::WORDS.contains(&name.as_str());
        match command(value) {
            _ if taken || !AgentChoice::is_name(name) => {
                let allowed =
                    "a name of letters, digits, `-`, `_` and `.` other than codex and demo";
                wrong.push((name.clone(), allowed));
            }
            Some(command) => drop(agents.insert(name.clone(), command)),
            None => {
                let allowed = "a command line, or an object with `command`, `args` and `env`";
                wrong.push((name.clone(), allowed));
            }
        }
    }
    (agents, wrong)
}

fn command(value: &Value) -> Option<AgentCommand> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (words, variables) = match value {
        Value::String(line) => (shlex::split(line)?, Vec::new()),
        Value::Object(fields) => {
            let mut words = vec![text(fields.get("command")?)?];
            if let Some(arguments) = fields.get("args") {
                let arguments = arguments.as_array()?.iter().map(text);
                words.extend(arguments.collect::<Option<Vec<_>>>()?);
            }
            let variables = fields.get("env").map(|env| {
                let pairs = env.as_object()?.iter();
                let pairs = pairs.map(|(name, value)| Some((name.clone(), text(value)?)));
                pairs.collect::<Option<Vec<_>>>()
            });
            (words, variables.unwrap_or(Some(Vec::new()))?)
        }
        _ => return None,
    };
    let usable = words.first().is_some_and(|word| !word.is_empty());
    usable.then_some(AgentCommand { words, variables })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_read_is_named_and_the_rest_stands() {
        let setting = json!({
            "line": "a 'b c'",
            "object": {"command": "a", "args": ["b"], "env": {"K": "V"}},
            "demo": "a",
            "a name": "a",
            "empty": "",
            "open": "'a",
            "number": 7,
            "no command": {},
            "args": {"command": "a", "args": [1]},
            "env": {"command": "a", "env": {"K": 1}},
        });
        let (agents, wrong) = read(setting.as_object().expect("an object"));
        assert_eq!(agents["line"].words, ["a", "b c"]);
        assert_eq!(agents["object"].words, ["a", "b"]);
        assert_eq!(
            agents["object"].variables,
            [("K".to_owned(), "V".to_owned())]
        );
        assert_eq!((agents.len(), wrong.len()), (2, 8));
    }
}
