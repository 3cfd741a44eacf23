//! A digest of everything that a thread must hold to be continued: agent, model, instructions, tools and conversation.
//!
//! The session stores the digest beside the thread's id once an exchange is answered, and compares before the next
//! turn. (The model counts: agents rewrite the history when the model changes within a thread.) The conversation is
//! added piece by piece, so that nobody keeps a copy of it, pictures included, only to hash what comes after it.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::settings::McpServer;
use super::turn::{Exchange, ToolSpec};

/// Hex characters of each part of a digest.
const PART: usize = 16;

/// The digest of a thread while its conversation grows.
#[derive(Debug, Clone)]
pub struct ThreadDigest {
    /// Agent, model, instructions and tools, in hex.
    head: String,
    turns: PartHash,
}

impl ThreadDigest {
    /// Of a thread of `agent` without a conversation yet.
    pub fn new(agent: &str, model: Option<&str>, instructions: &str, tools: &[ToolSpec]) -> Self {
        let mut told = PartHash::default();
        for tool in tools {
            told.add(&tool.name);
            told.add(&tool.description);
            told.add(&tool.schema.to_string());
        }
        let parts = [
            PartHash::of(agent),
            PartHash::of(model.unwrap_or_default()),
            PartHash::of(instructions),
        ];
        ThreadDigest {
            head: parts.concat() + &told.hex(),
            turns: PartHash::default(),
        }
    }

    /// Adds the MCP servers there are: a thread keeps those it began with. Variables say nothing to the model.
    pub fn add_mcp_servers(&mut self, servers: &[McpServer]) {
        for server in servers.iter().filter(|server| server.name != "ipycodex") {
            self.turns.add(&format!(
                "mcp {} {} {:?}",
                server.name, server.command, server.arguments
            ));
        }
    }

    /// Adds that the agent has no shell of its own: a thread keeps the tools it began with.
    pub fn add_shell_disabled(&mut self) {
        self.turns.add("no shell");
    }

    /// Adds an exchange that follows.
    pub fn add(&mut self, exchange: &Exchange) {
        self.add_prompt(&exchange.user, &exchange.images);
        self.add_answer(&exchange.assistant);
    }

    /// Adds what the user sends; [`ThreadDigest::add_answer`] follows, so that neither text nor pictures need be kept
    /// for it.
    pub fn add_prompt(&mut self, user: &str, images: &[Arc<str>]) {
        self.turns.add(user);
        self.turns.add(&images.len().to_string());
        images.iter().for_each(|image| self.turns.add(image));
    }

    /// Adds the answer to it.
    pub fn add_answer(&mut self, assistant: &str) {
        self.turns.add(assistant);
    }

    /// The digest so far: 80 hex characters.
    pub fn hex(&self) -> String {
        format!("{}{}", self.head, self.turns.clone().hex())
    }

    /// What differs between two digests, for the user; nothing when they are equal.
    pub fn differences(known: &str, wanted: &str) -> Vec<&'static str> {
        fn part(digest: &str, at: usize) -> Option<&str> {
            digest.get(at * PART..(at + 1) * PART)
        }
        let names = ["agent", "model", "instructions", "tools", "conversation"];
        let differing = names.into_iter().enumerate();
        let differing = differing.filter(|(at, _)| part(known, *at) != part(wanted, *at));
        differing.map(|(_, name)| name).collect()
    }
}

/// Hashes texts with their lengths.
#[derive(Debug, Clone, Default)]
struct PartHash(Sha256);

impl PartHash {
    fn of(text: &str) -> String {
        let mut hash = PartHash::default();
        hash.add(text);
        hash.hex()
    }

    fn add(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    /// As [`PART`] characters.
    fn hex(self) -> String {
        let bytes = self.0.finalize();
        let bytes = bytes.iter().take(PART / 2);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_counts_and_is_named() {
        let exchange = |user: &str| Exchange {
            user: user.into(),
            assistant: "a".into(),
            images: vec!["data:1".into()],
        };
        let of = |agent: &str, model: Option<&str>, instructions: &str, users: &[&str]| {
            let mut digest = ThreadDigest::new(agent, model, instructions, &[]);
            users.iter().for_each(|user| digest.add(&exchange(user)));
            digest.hex()
        };
        let digest = |model, instructions, users| of("demo", model, instructions, users);
        let known = digest(None, "i", &["x"]);
        assert_eq!(known.len(), 5 * PART);
        for (wanted, expected) in [
            (digest(None, "i", &["x"]), &[][..]),
            (of("codex", None, "i", &["x"]), &["agent"]),
            (digest(Some("m"), "i", &["x"]), &["model"]),
            (digest(None, "j", &["x"]), &["instructions"]),
            (digest(None, "i", &["x", "y"]), &["conversation"]),
            (digest(Some("m"), "i", &[]), &["model", "conversation"]),
        ] {
            assert_eq!(ThreadDigest::differences(&known, &wanted), expected);
        }
    }
}
