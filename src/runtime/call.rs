//! What running code asks of its session, and the session's reply.
//!
//! Invariant: a call is replied to once, or its cell has ended.

use serde_json::Value;

/// A question of running code to its session.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// To be named in the reply.
    pub call: u64,
    /// What it wants.
    pub request: HostRequest,
    /// The code does nothing else meanwhile: a reply ends its waiting, an interrupt is not needed for that.
    pub blocking: bool,
}

/// What running code may want.
#[derive(Debug, Clone, PartialEq)]
pub enum HostRequest {
    /// An answer of the agent: an object of its texts, `text` (all of it) and `last` (the last message).
    Ask {
        /// Sent as it is.
        prompt: String,
        /// JSON schema the answer shall fit.
        schema: Option<Value>,
        /// Functions of the namespace that are offered for it.
        tools: Vec<String>,
    },
    /// What a tool of the session says: a text.
    Tool {
        /// Which.
        name: String,
        /// A JSON object.
        arguments: Value,
    },
}

/// What running code is told.
#[derive(Debug, Clone, PartialEq)]
pub enum HostReply {
    /// What it wanted.
    Value(Value),
    /// Why it cannot be had.
    Refused(String),
    /// The user stopped it: `KeyboardInterrupt`.
    Interrupted,
}
