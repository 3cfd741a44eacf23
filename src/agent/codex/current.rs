//! The turn at hand: what it was asked with, where it stands, what waits for the session.

use std::time::Instant;

use super::names::Names;
use super::request::Requests;
use super::turn::Running;
use crate::agent::{TurnId, TurnRequest};

/// The turn at hand.
pub(super) struct Current {
    pub(super) turn: TurnId,
    pub(super) request: Box<TurnRequest>,
    /// What its tools are called on the wire.
    pub(super) names: Names,
    /// Present once `turn/start` was sent.
    pub(super) running: Option<Running>,
    pub(super) requests: Requests,
    /// When patience with a cancelled turn ends.
    pub(super) cancelled: Option<Instant>,
    pub(super) interrupt_sent: bool,
}

impl Current {
    pub(super) fn new(turn: TurnId, request: Box<TurnRequest>) -> Self {
        Current {
            turn,
            names: Names::of(&request.tools),
            request,
            running: None,
            requests: Requests::default(),
            cancelled: None,
            interrupt_sent: false,
        }
    }
}
