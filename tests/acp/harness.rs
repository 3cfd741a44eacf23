//! A client of the scripted agent, without a session above it.

use std::path::{Path, PathBuf};

use ipycodex::agent::connect::Program;
use ipycodex::agent::connect::{AgentConfig, AgentKind};
use ipycodex::agent::{Sandbox, TurnRequest};

use crate::codex::faults::python;
use crate::codex::harness::{self, Harness, TurnEvents};

pub(crate) fn fake(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fakes")
        .join(name)
}

/// The scripted agent, with a fault or without one.
pub(super) fn scripted(fault: &str, folder: &Path) -> AgentConfig {
    plan(&[&fake("acp.py").display().to_string(), fault], folder)
}

/// Python with these arguments as the agent.
pub(super) fn plan(arguments: &[&str], folder: &Path) -> AgentConfig {
    let words = arguments.iter().filter(|word| !word.is_empty());
    let words = words.map(|word| (*word).to_owned());
    let kind = AgentKind::Acp(Program {
        name: "fake".into(),
        command: std::iter::once(python()).chain(words).collect(),
        variables: vec![("ACP_LOG".into(), folder.join("log").display().to_string())],
        ..Program::default()
    });
    harness::plan(kind, folder, folder)
}

/// A prompt in a fresh conversation that may do all.
pub(super) fn request(text: &str, folder: &Path) -> TurnRequest {
    let mut request = harness::request(text, folder);
    request.tools.clear();
    request.instructions.clear();
    request
}

/// The same, kept to the directory.
pub(super) fn careful(text: &str, folder: &Path) -> TurnRequest {
    let mut request = request(text, folder);
    request.settings.sandbox = Sandbox::WorkspaceWrite;
    request
}

/// What came of one prompt.
pub(super) fn run_prompt(text: &str) -> TurnEvents {
    let folder = harness::folder();
    let mut harness = Harness::new(scripted("", folder.path()));
    harness.run(request(text, folder.path()))
}

/// What the agent was sent, a message each.
pub(super) fn sent(folder: &Path) -> Vec<serde_json::Value> {
    let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
