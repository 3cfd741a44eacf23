//! What the agent said of itself in answer to `initialize`.
//!
//! Pure. What it does not say it cannot do.

use serde_json::Value;

use crate::agent::{AgentCapabilities, Login, Offering, ToolRoute};

/// The version of the protocol that is spoken here.
pub(super) const VERSION: u64 = 1;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Agreed {
    pub(super) images: bool,
    /// Files and the like, whole.
    pub(super) embedded: bool,
    pub(super) load: bool,
    pub(super) resume: bool,
    pub(super) list: bool,
    pub(super) close: bool,
    /// How to log in.
    pub(super) methods: Vec<Offering>,
}

impl Agreed {
    /// Reads the answer.
    ///
    /// # Errors
    /// The version it speaks instead, in words.
    pub(super) fn read(answer: &Value) -> Result<Agreed, String> {
        match &answer["protocolVersion"] {
            Value::Null => return Err("no version at all".into()),
            version if version.as_u64() == Some(VERSION) => {}
            version => return Err(format!("version {version}")),
        }
        let able = &answer["agentCapabilities"];
        let prompt = &able["promptCapabilities"];
        let session = &able["sessionCapabilities"];
        let methods = answer["authMethods"].as_array();
        let methods = methods.into_iter().flatten().filter_map(|method| {
            Some(Offering {
                id: method["id"].as_str()?.to_owned(),
                name: text(&method["name"]),
                description: text(&method["description"]),
            })
        });
        Ok(Agreed {
            images: prompt["image"] == true,
            embedded: prompt["embeddedContext"] == true,
            load: able["loadSession"] == true,
            resume: session["resume"].is_object(),
            list: session["list"].is_object(),
            close: session["close"].is_object(),
            methods: methods.collect(),
        })
    }

    /// The same for the session.
    pub(super) fn capabilities(&self, name: &str) -> AgentCapabilities {
        AgentCapabilities {
            images: self.images,
            files: self.embedded,
            resumes: self.load || self.resume,
            sessions: self.list,
            login: match self.methods.as_slice() {
                [] => Login::Unneeded,
                methods => Login::Methods(methods.to_vec()),
            },
            ..unknown(name)
        }
    }
}

/// What an agent may be able to that has not been started.
pub(super) fn unknown(name: &str) -> AgentCapabilities {
    AgentCapabilities {
        images: true,
        files: true,
        // Nothing is said of instructions in the protocol: they stand before the first input, which is placed here.
        system_prompt: true,
        resumes: true,
        // For what it does through us.
        sandbox: true,
        own_tools: true,
        tools: Some(ToolRoute::McpServer),
        mcp_servers: true,
        models: true,
        modes: true,
        commands: true,
        ..AgentCapabilities::text_only(name)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn another_version_is_named() {
        for (answer, expected) in [
            (json!({"protocolVersion": 2}), "version 2"),
            (json!({"protocolVersion": "1"}), "version \"1\""),
            (json!({}), "no version at all"),
            (json!([]), "no version at all"),
        ] {
            assert_eq!(Agreed::read(&answer), Err(expected.to_owned()));
        }
    }

    #[test]
    fn what_is_not_said_cannot_be_done() {
        let bare = Agreed::read(&json!({"protocolVersion": 1})).expect("version 1");
        assert_eq!(bare, Agreed::default());
        assert!(!bare.capabilities("x").resumes);
        let strange = json!({"protocolVersion": 1, "agentCapabilities": 7, 
            "authMethods": [{"name": "?"}, {"id": "k"}]});
        let strange = Agreed::read(&strange).expect("version 1");
        assert_eq!(strange.methods.len(), 1);
    }
}
