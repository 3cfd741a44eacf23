//! Ids of jobs and tool calls: a late answer finds that its id is gone and is dropped.

/// Identifies one active job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobId(pub(super) u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallId(pub(super) u64);

/// Who waits for what a tool returns. Each has a call of its own under way at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolCaller {
    /// The turn, a cell of the user's, or whoever calls from outside.
    Turn,
    /// Code that the agent runs, in the middle of its turn.
    Code,
}
