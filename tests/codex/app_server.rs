//! The real app-server 0.169.0 with a scripted model: what the tests of it stand on.

use std::path::PathBuf;

use ipycodex::agent::TurnRequest;
use ipycodex::agent::connect::{AgentConfig, AgentKind};
use serde_json::{Value, json};

use super::harness::{Harness, folder, plan, request};
use crate::support::peers;
use crate::support::responses::{Endpoint, Reply, shell_tool};

/// The app-server and its home; `None` (and a passed test) where it is not installed.
pub(super) struct Real {
    folder: tempfile::TempDir,
    pub(super) endpoint: Endpoint,
    program: PathBuf,
}

pub(super) fn real(model: &str, endpoint: Endpoint) -> Option<Real> {
    let folder = folder();
    endpoint.write_home(&folder.path().join("home"), model);
    std::fs::create_dir_all(folder.path().join("work")).unwrap();
    Some(Real {
        folder,
        endpoint,
        program: peers::codex()?,
    })
}

impl Real {
    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(super) fn plan(&self) -> AgentConfig {
        let kind = AgentKind::Codex {
            command: vec![self.program.display().to_string()],
        };
        plan(kind, &self.home(), &self.work())
    }

    pub(super) fn harness(&self) -> Harness {
        Harness::new(self.plan())
    }

    pub(super) fn request(&self, text: &str) -> TurnRequest {
        request(text, &self.work())
    }
}

pub(super) fn tool_names(request: &Value) -> Vec<String> {
    request["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}

/// Answers the first request with a shell command, the next with text.
pub(super) fn running(command: &'static str) -> Endpoint {
    Endpoint::answering(move |index, request| match (index, shell_tool(request)) {
        (0, Some(tool)) => {
            let key = if tool == "exec_command" {
                "cmd"
            } else {
                "command"
            };
            Reply::calls(&[("c1", &tool, json!({ key: command }))])
        }
        _ => Reply::text("ran"),
    })
}
