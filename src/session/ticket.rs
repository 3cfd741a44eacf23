//! Names of those who wait for an answer: an answer that comes too late names nobody that is still there.

/// Names one stay on the floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(pub(super) u64);

/// Names one call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallId(pub(super) u64);
