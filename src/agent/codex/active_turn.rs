//! The current turn: its request, its state, the requests that wait for the session.

use std::time::Instant;

use super::open_requests::OpenRequests;
use super::tool_names::ToolNames;
use super::turn::RunningTurn;
use crate::{TurnId, TurnRequest};

pub(super) struct ActiveTurn {
    pub(super) turn: TurnId,
    pub(super) request: Box<TurnRequest>,
    pub(super) names: ToolNames,
    /// Present once `turn/start` was sent.
    pub(super) running: Option<RunningTurn>,
    pub(super) requests: OpenRequests,
    /// When a cancelled turn that has not ended fails.
    pub(super) cancelled: Option<Instant>,
    pub(super) interrupt_sent: bool,
}

impl ActiveTurn {
    pub(super) fn new(turn: TurnId, request: Box<TurnRequest>) -> Self {
        ActiveTurn {
            turn,
            names: ToolNames::new(&request.tools),
            request,
            running: None,
            requests: OpenRequests::default(),
            cancelled: None,
            interrupt_sent: false,
        }
    }
}
