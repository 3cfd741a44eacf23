//! Names of those who wait for an answer: an answer that comes too late names nobody that is still there.

/// Names one stay on the floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(pub(super) u64);

/// Names one call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallId(pub(super) u64);

/// Who waits for what a tool returns. Each has a call of its own under way at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CalledBy {
    /// The turn, a cell of the user's, or whoever calls from outside.
    Turn,
    /// Code that the agent runs, in the middle of its turn.
    Code,
}
