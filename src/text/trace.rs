//! What the parts of the program trace: targets of the `log` crate.

/// Environment variable with the targets to trace.
pub const VARIABLE: &str = "IPYCODEX_TRACE";

/// Messages between us and other processes.
pub const WIRE: &str = "wire";

/// The stages up to the first prompt.
pub const STARTUP: &str = "startup";

/// Agents' updates; only in the log of the ACP kernel (`ACP_DEBUG_UPDATES`).
pub const UPDATES: &str = "updates";
