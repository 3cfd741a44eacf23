//! What kind of end a request has, and the ends that no frame brings.

use crate::runtime::{
    Death, Ending, Finish, RequestId, RuntimeEvent, RuntimeReply, RuntimeRequest,
};

/// The answer to a request that an interrupt ended.
pub(super) const INTERRUPTED: &str = "interrupted";

/// What kind of end a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) enum RequestKind {
    Execute,
    CallTool,
    Evaluate,
    Express,
    Snapshot,
    Complete,
    Inspect,
    IsComplete,
    DescribeTools,
    Missing,
    SetVariables,
    Comm,
    Checkpoints,
    Variables,
    Shutdown,
}

impl RequestKind {
    /// `None` for a reply, which has no end.
    pub(in crate::runtime) fn from_request(request: &RuntimeRequest) -> Option<Self> {
        Some(match request {
            RuntimeRequest::Execute(_) | RuntimeRequest::Startup(_) => RequestKind::Execute,
            RuntimeRequest::CallTool { .. } => RequestKind::CallTool,
            RuntimeRequest::Evaluate { .. } => RequestKind::Evaluate,
            RuntimeRequest::EvaluateExpressions { .. } => RequestKind::Express,
            RuntimeRequest::Snapshot { .. }
            | RuntimeRequest::DryRun { .. }
            | RuntimeRequest::Branch(_) => RequestKind::Snapshot,
            RuntimeRequest::Complete { .. } => RequestKind::Complete,
            RuntimeRequest::Inspect { .. } => RequestKind::Inspect,
            RuntimeRequest::IsComplete { .. } => RequestKind::IsComplete,
            RuntimeRequest::DescribeTools { .. } => RequestKind::DescribeTools,
            RuntimeRequest::FindMissingNames { .. } => RequestKind::Missing,
            RuntimeRequest::SetVariables { .. } => RequestKind::SetVariables,
            RuntimeRequest::Comm(_) => RequestKind::Comm,
            RuntimeRequest::Checkpoints(_) => RequestKind::Checkpoints,
            RuntimeRequest::Variables { .. } => RequestKind::Variables,
            RuntimeRequest::Shutdown { .. } => RequestKind::Shutdown,
            RuntimeRequest::ReplyInput { .. }
            | RuntimeRequest::ReplyRecord { .. }
            | RuntimeRequest::ReplyCall { .. } => {
                return None;
            }
        })
    }

    /// True for what is worth starting an interpreter for.
    pub(in crate::runtime) fn is_cell(request: &RuntimeRequest) -> bool {
        RequestKind::from_request(request) == Some(RequestKind::Execute)
    }

    /// True for what an interrupt can stop.
    pub(in crate::runtime) fn runs_code(self) -> bool {
        matches!(
            self,
            RequestKind::Execute
                | RequestKind::CallTool
                | RequestKind::Evaluate
                | RequestKind::Express
                | RequestKind::Snapshot
                | RequestKind::Comm
                | RequestKind::Variables
        )
    }

    /// The end of a request that an interpreter will not give.
    pub(in crate::runtime) fn end(self, id: RequestId, death: &Death) -> RuntimeEvent {
        match self {
            RequestKind::Execute => finished(id, Ending::Died(death.clone())),
            RequestKind::Shutdown => RuntimeEvent::Replied {
                id,
                answer: RuntimeReply::Done,
            },
            _ => RuntimeEvent::Replied {
                id,
                answer: RuntimeReply::Failed(format!("the Python interpreter ended: {death}")),
            },
        }
    }
}

/// The end of a cell of which nothing else is known.
pub(in crate::runtime) fn finished(id: RequestId, ending: Ending) -> RuntimeEvent {
    RuntimeEvent::Finished {
        id,
        finish: Finish {
            ending,
            exit: None,
            milliseconds: 0.0,
            cwd: None,
            typeahead: Vec::new(),
        },
    }
}

/// The end of a request that was interrupted before an interpreter had it.
pub(in crate::runtime) fn interrupted(id: RequestId, kind: RequestKind) -> RuntimeEvent {
    match kind {
        RequestKind::Execute => finished(id, Ending::Interrupted),
        _ => RuntimeEvent::Replied {
            id,
            answer: RuntimeReply::Failed(INTERRUPTED.into()),
        },
    }
}
