//! The two spellings of JSON-RPC that peers use. Both are read; which one is written is chosen per peer.

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Without the `jsonrpc` field, as the Codex app-server 0.169.0 does.
    Bare,
    /// JSON-RPC 2.0 to the letter, as ACP and MCP want it.
    Versioned,
}
