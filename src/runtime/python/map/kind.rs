//! What kind of end a request has, and the ends that no frame brings.

use crate::runtime::{Answer, Death, Ending, Finish, RequestId, RuntimeEvent, RuntimeRequest};

/// The answer to a request that an interrupt ended.
pub(super) const INTERRUPTED: &str = "interrupted";

/// What kind of end a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::python) enum Kind {
    Execute,
    CallTool,
    Evaluate,
    Snapshot,
    Complete,
    Inspect,
    IsComplete,
    DescribeTools,
    Missing,
    SetVariables,
    Shutdown,
}

impl Kind {
    /// `None` for a reply, which has no end.
    pub(in crate::runtime::python) fn of(request: &RuntimeRequest) -> Option<Self> {
        Some(match request {
            RuntimeRequest::Execute(_) | RuntimeRequest::SetUp(_) => Kind::Execute,
            RuntimeRequest::CallTool { .. } => Kind::CallTool,
            RuntimeRequest::Evaluate { .. } => Kind::Evaluate,
            RuntimeRequest::Snapshot { .. } => Kind::Snapshot,
            RuntimeRequest::Complete { .. } => Kind::Complete,
            RuntimeRequest::Inspect { .. } => Kind::Inspect,
            RuntimeRequest::IsComplete { .. } => Kind::IsComplete,
            RuntimeRequest::DescribeTools { .. } => Kind::DescribeTools,
            RuntimeRequest::Missing { .. } => Kind::Missing,
            RuntimeRequest::SetVariables { .. } => Kind::SetVariables,
            RuntimeRequest::Shutdown { .. } => Kind::Shutdown,
            RuntimeRequest::ReplyInput { .. } | RuntimeRequest::ReplyRecord { .. } => {
                return None;
            }
        })
    }

    /// True for what is worth starting an interpreter for.
    pub(in crate::runtime::python) fn is_cell(request: &RuntimeRequest) -> bool {
        Kind::of(request) == Some(Kind::Execute)
    }

    /// True for what an interrupt can stop.
    pub(in crate::runtime::python) fn runs_code(self) -> bool {
        matches!(
            self,
            Kind::Execute | Kind::CallTool | Kind::Evaluate | Kind::Snapshot
        )
    }

    /// The end of a request that an interpreter will not give.
    pub(in crate::runtime::python) fn end(self, id: RequestId, death: &Death) -> RuntimeEvent {
        match self {
            Kind::Execute => finished(id, Ending::Died(death.clone())),
            Kind::Shutdown => RuntimeEvent::Answered {
                id,
                answer: Answer::Done,
            },
            _ => RuntimeEvent::Answered {
                id,
                answer: Answer::Failed(format!("the Python interpreter ended: {death}")),
            },
        }
    }
}

/// The end of a cell of which nothing else is known.
pub(in crate::runtime::python) fn finished(id: RequestId, ending: Ending) -> RuntimeEvent {
    RuntimeEvent::Finished {
        id,
        finish: Finish {
            ending,
            milliseconds: 0.0,
            cwd: None,
            typeahead: Vec::new(),
        },
    }
}

/// The end of a request that was interrupted before an interpreter had it.
pub(in crate::runtime::python) fn interrupted(id: RequestId, kind: Kind) -> RuntimeEvent {
    match kind {
        Kind::Execute => finished(id, Ending::Interrupted),
        _ => RuntimeEvent::Answered {
            id,
            answer: Answer::Failed(INTERRUPTED.into()),
        },
    }
}
