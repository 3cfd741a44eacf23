//! The agent's answer to `initialize`: its features and its login methods.
//!
//! Pure. A feature that is not listed is absent.

use serde_json::Value;

use super::program::Program;
use crate::{AgentCapabilities, Descriptor, Login, LoginMethod, LoginProgram, ToolRoute};

/// The version of the protocol spoken here.
pub(super) const VERSION: u64 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct InitializeResult {
    pub(super) images: bool,
    /// Accepts embedded resources: whole files in a prompt.
    pub(super) embedded: bool,
    pub(super) load: bool,
    pub(super) resume: bool,
    pub(super) list: bool,
    pub(super) close: bool,
    /// Forks a session at its end (`session/fork`, which the protocol does not call stable yet).
    pub(super) fork: bool,
    /// Takes input for a running turn (`_session/steering`, an extension of codex-acp 2.6.0).
    pub(super) steering: bool,
    pub(super) methods: Vec<LoginMethod>,
}

impl InitializeResult {
    /// Parses the answer.
    ///
    /// # Errors
    /// The version that the agent speaks instead.
    pub(super) fn parse(answer: &Value, program: &Program) -> Result<InitializeResult, String> {
        match &answer["protocolVersion"] {
            Value::Null => return Err("an unknown version".into()),
            version if version.as_u64() == Some(VERSION) => {}
            version => return Err(format!("version {version}")),
        }
        let capabilities = &answer["agentCapabilities"];
        let prompt = &capabilities["promptCapabilities"];
        let session = &capabilities["sessionCapabilities"];
        let methods = answer["authMethods"].as_array();
        let methods = methods.into_iter().flatten().filter_map(|method| {
            Some(LoginMethod {
                descriptor: Descriptor {
                    id: method["id"].as_str()?.to_owned(),
                    name: text(&method["name"]),
                    description: text(&method["description"]),
                },
                program: login_program(method, program),
            })
        });
        Ok(InitializeResult {
            images: prompt["image"] == true,
            embedded: prompt["embeddedContext"] == true,
            load: capabilities["loadSession"] == true,
            resume: session["resume"].is_object(),
            list: session["list"].is_object(),
            steering: answer["_meta"]["steering"]["supported"] == true,
            close: session["close"].is_object(),
            fork: session["fork"].is_object(),
            methods: methods.collect(),
        })
    }

    pub(super) fn capabilities(&self, name: &str) -> AgentCapabilities {
        AgentCapabilities {
            images: self.images,
            files: self.embedded,
            resumes_threads: self.load || self.resume,
            sessions: self.list,
            login: match self.methods.as_slice() {
                [] => Login::Unneeded,
                methods => Login::Methods(methods.to_vec()),
            },
            ..assumed_capabilities(name)
        }
    }
}

/// The most that an agent may be capable of, before its first start.
pub(super) fn assumed_capabilities(name: &str) -> AgentCapabilities {
    AgentCapabilities {
        images: true,
        files: true,
        // The protocol has no field for instructions: this adapter puts them before the first input.
        system_prompt: true,
        resumes_threads: true,
        opens_sessions: true,
        // Honoured for commands and files that go through us.
        sandbox: true,
        unsandboxed_tools: true,
        tools: Some(ToolRoute::McpServer),
        mcp_servers: true,
        models: true,
        modes: true,
        commands: true,
        ..AgentCapabilities::text_only(name)
    }
}

/// The program of a terminal login by `method`: the agent's own command with further arguments, or, in the form
/// that agents used before the protocol specified one, a command of its own.
fn login_program(method: &Value, program: &Program) -> Option<LoginProgram> {
    let list = |value: &Value| -> Vec<String> {
        let words = value.as_array().into_iter().flatten();
        words.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let older = &method["_meta"]["terminal-auth"];
    let (mut words, own) = match older["command"].as_str() {
        _ if method["type"] == "terminal" => (program.command.clone(), method),
        Some(command) => (vec![command.to_owned()], older),
        None => return None,
    };
    words.extend(list(&own["args"]));
    let pair =
        |name: &Value, value: &Value| Some((name.as_str()?.to_owned(), value.as_str()?.to_owned()));
    let set: Vec<_> = match &own["env"] {
        Value::Array(all) => {
            let pairs = all.iter().map(|it| pair(&it["name"], &it["value"]));
            pairs.collect()
        }
        Value::Object(all) => {
            let pairs = all
                .iter()
                .map(|(name, value)| pair(&name.as_str().into(), value));
            pairs.collect()
        }
        _ => Vec::new(),
    };
    let mut variables = program.variables.clone();
    variables.extend(set.into_iter().flatten());
    Some(LoginProgram {
        command: words,
        variables,
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn program() -> Program {
        Program {
            name: "x".into(),
            command: vec!["agent".into(), "--acp".into()],
            variables: vec![("A".into(), "1".into())],
            ..Program::default()
        }
    }

    #[test]
    fn a_login_in_a_terminal_is_the_agents_command_with_more_words() {
        let login = |method: Value| login_program(&method, &program());
        let told = login(json!({"id": "t", "type": "terminal", "args": ["--login"],
            "env": {"B": "2"}}))
        .expect("a program");
        assert_eq!(told.command, ["agent", "--acp", "--login"]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(told.variables, [pair("A", "1"), pair("B", "2")]);
        let told = login(json!({"id": "t", "_meta": {"terminal-auth":
            {"command": "other", "args": ["login", 7], "env": [{"name": "B", "value": "2"}]}}}))
        .expect("a program");
        assert_eq!(told.command, ["other", "login"]);
        assert_eq!(told.variables[1], pair("B", "2"));
        assert_eq!(login(json!({"id": "k", "args": ["--login"]})), None);
    }

    #[test]
    fn another_version_is_named() {
        for (answer, expected) in [
            (json!({"protocolVersion": 2}), "version 2"),
            (json!({"protocolVersion": "1"}), "version \"1\""),
            (json!({}), "an unknown version"),
            (json!([]), "an unknown version"),
        ] {
            assert_eq!(
                InitializeResult::parse(&answer, &program()),
                Err(expected.to_owned())
            );
        }
    }

    #[test]
    fn what_is_not_said_cannot_be_done() {
        let bare =
            InitializeResult::parse(&json!({"protocolVersion": 1}), &program()).expect("version 1");
        assert_eq!(bare, InitializeResult::default());
        assert!(!bare.capabilities("x").resumes_threads);
        let strange = json!({"protocolVersion": 1, "agentCapabilities": 7, 
            "authMethods": [{"name": "?"}, {"id": "k"}]});
        let strange = InitializeResult::parse(&strange, &program()).expect("version 1");
        assert_eq!(strange.methods.len(), 1);
    }
}
