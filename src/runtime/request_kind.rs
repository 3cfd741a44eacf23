//! Kinds of requests by the event that ends them, and the ends that no frame brings.
//!
//! In: a request, or the death of its interpreter. Out: its kind, or its last event. Invariant: a kind exists for
//! every request but replies, which have no end.

use crate::{Death, Ending, Finish, RequestId, RuntimeEvent, RuntimeReply, RuntimeRequest};

/// Text of the reply to a request that was interrupted.
pub(crate) const INTERRUPTED: &str = "interrupted";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
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
    LookBack,
    Variables,
    Background,
    /// Served by the thread that owns the interpreter.
    HandOff,
    Shutdown,
}

impl RequestKind {
    /// Returns `None` for a reply, which has no end.
    pub(crate) fn from_request(request: &RuntimeRequest) -> Option<Self> {
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
            RuntimeRequest::LookBack(_) => RequestKind::LookBack,
            RuntimeRequest::Variables { .. } => RequestKind::Variables,
            RuntimeRequest::Background(_) => RequestKind::Background,
            RuntimeRequest::HandOff { .. }
            | RuntimeRequest::Fork { .. }
            | RuntimeRequest::TakeBack(_) => RequestKind::HandOff,
            RuntimeRequest::Shutdown { .. } => RequestKind::Shutdown,
            RuntimeRequest::ReplyInput { .. }
            | RuntimeRequest::ReplyRecord { .. }
            | RuntimeRequest::ReplyCall { .. } => {
                return None;
            }
        })
    }

    /// Returns true for a request that starts an interpreter if there is none.
    pub(crate) fn is_cell(request: &RuntimeRequest) -> bool {
        RequestKind::from_request(request) == Some(RequestKind::Execute)
    }

    /// Returns true for requests that an interrupt can stop.
    pub(crate) fn runs_code(self) -> bool {
        matches!(
            self,
            RequestKind::Execute
                | RequestKind::CallTool
                | RequestKind::Evaluate
                | RequestKind::Express
                | RequestKind::Snapshot
                | RequestKind::Comm
                | RequestKind::LookBack
                | RequestKind::Variables
                | RequestKind::Background
        )
    }

    /// Returns the end of a request whose interpreter died.
    pub(crate) fn end(self, id: RequestId, death: &Death) -> RuntimeEvent {
        match self {
            RequestKind::Execute => finished(id, Ending::Died(death.clone())),
            RequestKind::Shutdown => RuntimeEvent::Replied {
                id,
                answer: RuntimeReply::Done,
            },
            _ => self.failed(id, &format!("the Python interpreter ended: {death}")),
        }
    }

    /// Returns the end of a request that is not carried out.
    pub(crate) fn failed(self, id: RequestId, why: &str) -> RuntimeEvent {
        RuntimeEvent::Replied {
            id,
            answer: RuntimeReply::Failed(why.to_owned()),
        }
    }
}

/// Returns the end of a cell of which nothing else is known.
pub(crate) fn finished(id: RequestId, ending: Ending) -> RuntimeEvent {
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

/// Returns the end of a request that was interrupted before it was sent.
pub(crate) fn interrupted(id: RequestId, request: &RuntimeRequest) -> Option<RuntimeEvent> {
    Some(match RequestKind::from_request(request)? {
        RequestKind::Execute => finished(id, Ending::Interrupted),
        _ => RuntimeEvent::Replied {
            id,
            answer: RuntimeReply::Failed(INTERRUPTED.into()),
        },
    })
}

/// Returns the end of a request that was never sent to its interpreter, which died.
pub(crate) fn dead(id: RequestId, request: &RuntimeRequest, death: &Death) -> Option<RuntimeEvent> {
    RequestKind::from_request(request).map(|kind| kind.end(id, death))
}
