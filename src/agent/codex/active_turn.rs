//! The current turn: its state, the requests that wait for the session.

use super::open_requests::OpenRequests;
use super::tool_names::ToolNames;
use super::turn::RunningTurn;
use crate::{TurnRequest, driver};

pub(super) type ActiveTurn = driver::ActiveTurn<TurnState>;

/// What the client keeps of a turn.
pub(crate) struct TurnState {
    pub(super) names: ToolNames,
    /// Present once `turn/start` was sent.
    pub(super) running: Option<RunningTurn>,
    pub(super) requests: OpenRequests,
    pub(super) interrupt_sent: bool,
}

impl TurnState {
    pub(super) fn new(request: &TurnRequest) -> Self {
        TurnState {
            names: ToolNames::new(&request.tools),
            running: None,
            requests: OpenRequests::default(),
            interrupt_sent: false,
        }
    }
}
