//! A digest of everything that a thread must hold to be continued: agent, model, instructions, tools and
//! conversation.
//!
//! The session stores the digest beside the thread's id once an exchange is answered, and compares before the next
//! turn. The model counts because agents rewrite the history when the model changes within a thread. The
//! conversation is added piece by piece, so that no copy of it, pictures included, is kept for hashing.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::settings::McpServer;
use super::turn::{Exchange, ToolSpec};

/// Hex characters of each part of a digest.
const PART: usize = 16;

/// The digest of a thread while its conversation grows.
#[derive(Debug, Clone)]
pub struct ThreadDigest {
    /// Hashes of agent, model, instructions and tools, in hex.
    head: String,
    turns: PartHash,
}

impl ThreadDigest {
    /// The digest of a thread of `agent` that has no conversation yet.
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

    /// Adds the MCP servers of the session, since a thread keeps those it began with. Variables are left out: the
    /// model does not see them.
    pub fn add_mcp_servers(&mut self, servers: &[McpServer]) {
        for server in servers.iter().filter(|server| server.name != "ipycodex") {
            self.turns.add(&format!(
                "mcp {} {} {:?}",
                server.name, server.command, server.arguments
            ));
        }
    }

    /// Adds that the agent has no shell of its own, since a thread keeps the tools it began with.
    pub fn add_shell_disabled(&mut self) {
        self.turns.add("no shell");
    }

    /// Adds the next exchange of the conversation.
    pub fn add(&mut self, exchange: &Exchange) {
        self.add_prompt(&exchange.user, &exchange.images);
        self.add_answer(&exchange.assistant);
    }

    /// Adds the prompt of an exchange, to be followed by [`ThreadDigest::add_answer`]; neither text nor pictures
    /// are kept until then.
    pub fn add_prompt(&mut self, user: &str, images: &[Arc<str>]) {
        self.turns.add(user);
        self.turns.add(&images.len().to_string());
        images.iter().for_each(|image| self.turns.add(image));
    }

    /// Adds the answer to the prompt that was added last.
    pub fn add_answer(&mut self, assistant: &str) {
        self.turns.add(assistant);
    }

    /// The digest so far: 80 hex characters.
    pub fn hex(&self) -> String {
        format!("{}{}", self.head, self.turns.clone().hex())
    }

    /// Names of the parts that differ between two digests, for the user; empty when they are equal.
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

/// Hashes texts with their lengths, so that `ab`, `c` and `a`, `bc` differ.
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

    /// The first [`PART`] hex characters of the hash.
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
