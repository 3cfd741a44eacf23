//! What interpreters answer about a branch.

use crate::ids::JobId;
use crate::runtime::RuntimeReply;

/// What was asked of an interpreter for a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchQuestion {
    /// To hand the prompt over, and to go on with the cell of this job.
    HandOff(JobId),
    /// What tells the values apart that both began with.
    Base,
    /// What the branch has changed.
    Digest,
    TakeBack,
    /// What the merge of this job would do.
    Plan(JobId),
    Pack(JobId),
    Unpack,
    /// Nothing is done with the answer.
    Nothing,
}

pub(crate) enum BranchEvent {
    Answered(BranchQuestion, RuntimeReply),
}
