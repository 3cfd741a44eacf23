//! What is heard of a branch: answers of interpreters, and of the session beside this one.

use crate::events::SessionEvent;
use crate::ids::JobId;
use crate::question::OfferedFile;
use crate::record::ForkOrigin;
use crate::runtime::RuntimeReply;

/// What was asked of an interpreter for a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchQuestion {
    /// For an interpreter beside the prompt.
    Fork,
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
    Aside(AsideEvent),
}

/// What is heard of a turn beside the prompt.
pub(crate) enum AsideEvent {
    /// The conversation and the interpreter can be forked, or why not.
    Ready(Result<ForkOrigin, String>),
    /// Its session cannot begin.
    Failed(String),
    Shown(Box<SessionEvent>),
    TurnOver,
    /// The files that it offers.
    Files(Vec<OfferedFile>),
    /// The files that a merge has brought, or why one is not there; names were brought before.
    Brought {
        names: Vec<String>,
        files: Vec<(String, Result<(), String>)>,
    },
}
