//! The Codex app-server as an agent.
