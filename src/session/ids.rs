//! Ids of jobs and tool calls: a late answer finds that its id is gone and is dropped.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobId(pub(super) u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallId(pub(super) u64);

/// The caller of a tool; each has at most one call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolCaller {
    /// The turn, a cell of the user's, or an external call.
    Turn,
    /// Code that the agent runs, in the middle of its turn.
    Code,
}
