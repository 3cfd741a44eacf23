//! Host calls: requests of running code to its session, and the session's replies.
//!
//! Invariant: each call gets one reply, unless its cell ends first.

use serde_json::Value;

/// A request of running code to its session.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// Number to name in the reply.
    pub call: u64,
    /// The request itself.
    pub request: HostRequest,
    /// The code waits for the reply and does nothing else: a reply resumes it, so no interrupt is needed.
    pub blocking: bool,
}

/// Requests that running code can make.
#[derive(Debug, Clone, PartialEq)]
pub enum HostRequest {
    /// An answer of the agent; the reply is an object with `text` (the whole answer) and `last` (its last message).
    Ask {
        /// Prompt text, sent unchanged.
        prompt: String,
        /// JSON schema that the answer must fit.
        schema: Option<Value>,
        /// Functions of the namespace offered as tools for this prompt.
        tools: Vec<String>,
    },
    /// A call of one of the session's tools; the reply is its result as text.
    Tool {
        /// Tool name.
        name: String,
        /// Arguments, a JSON object.
        arguments: Value,
    },
}

/// Reply to a host call.
#[derive(Debug, Clone, PartialEq)]
pub enum HostReply {
    /// The result.
    Value(Value),
    /// The call failed or is not allowed; the reason.
    Refused(String),
    /// The user interrupted the call; raises `KeyboardInterrupt` in the code.
    Interrupted,
}
