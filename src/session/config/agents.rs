//! `agents` and `mcp_servers` in the settings file: names, and the command that starts each.
//!
//! `{"claude": {"command": "claude-agent-acp", "args": [], "env": {"K": "V"}}, "gemini": "gemini --acp"}`. A
//! malformed entry is reported and otherwise ignored.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::choice::AgentChoice;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentCommand {
    /// The program and its arguments; never empty.
    pub words: Vec<String>,
    /// Variables added to its environment.
    pub variables: Vec<(String, String)>,
}

pub type Agents = BTreeMap<String, AgentCommand>;

/// The agents of the setting, and the names of malformed entries, each with the values allowed.
pub(super) fn read(setting: &Map<String, Value>) -> (Agents, Vec<(String, &'static str)>) {
    let allowed = "a name of letters, digits, `-`, `_` and `.` other than codex and demo";
    let is_name = |name: &str| !AgentChoice::WORDS.contains(&name) && AgentChoice::is_name(name);
    named(setting, is_name, allowed)
}

/// Like `read`, for MCP servers.
pub fn mcp_servers(setting: &Map<String, Value>) -> (Agents, Vec<(String, &'static str)>) {
    named(setting, is_server_name, SERVER_NAMES)
}

/// The names that MCP servers may have, in words.
pub const SERVER_NAMES: &str = "a name of letters, digits, `-` and `_` other than ipycodex";

pub fn is_server_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name != "ipycodex" && name.bytes().all(fits)
}

impl AgentCommand {
    /// The entry as the settings file stores it.
    pub fn to_value(&self) -> Value {
        let (command, arguments) = self.words.split_first().unzip();
        let variables = self.variables.iter();
        let variables: Map<String, Value> = variables
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect();
        json!({"command": command, "args": arguments.unwrap_or_default(), "env": variables})
    }
}

fn named(
    setting: &Map<String, Value>,
    is_name: impl Fn(&str) -> bool,
    names: &'static str,
) -> (Agents, Vec<(String, &'static str)>) {
    let (mut agents, mut wrong) = (Agents::new(), Vec::new());
    for (name, value) in setting {
        match command(value) {
            _ if !is_name(name) => wrong.push((name.clone(), names)),
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
