//! Tool calls from outside of any turn: the caller, the front-end that shows the call, and calls inside a running
//! turn.
//!
//! Callers hold a [`PendingCall`]. Where a front-end holds the session's [`IncomingCalls`], each call reaches it as
//! an [`IncomingCall`]: the front-end shows the events and asks the user; the caller gets the result, and a notice
//! while the user is being asked. Without such a front-end the caller gets every event.
//!
//! A caller that the session's own agent started calls *inside* the running turn: the turn runs these calls between
//! its own, shows and records them. Invariant: each call returns exactly once.

pub(super) mod driver;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use crate::agent::{ToolCall, ToolSpec};
use crate::run::{Run, RunSender, stream};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// As shown to the user; foreign.
    pub name: String,
    /// The caller can answer questions where no front-end can.
    pub asks: bool,
    /// The agent of the session, or the running cell, started the caller.
    pub inside: bool,
}

/// A call that the session has accepted.
#[derive(Debug)]
pub struct PendingCall {
    /// The id for [`SessionHandle::stop_call`](super::SessionHandle::stop_call).
    pub id: u64,
    /// Ends after [`EndEvent::Call`](super::EndEvent::Call).
    pub run: Run,
}

/// A call as the front-end sees it.
#[derive(Debug)]
pub struct IncomingCall {
    /// The caller's name; foreign.
    pub caller: String,
    pub run: Run,
}

/// External calls, for the front-end that shows them.
#[derive(Debug)]
pub struct IncomingCalls(Receiver<IncomingCall>);

impl IncomingCalls {
    /// Returns the next call; `None` when the session is over. Blocks.
    pub fn next(&self) -> Option<IncomingCall> {
        self.0.recv().ok()
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Toolset {
    /// For the model: the skills, and other instructions that the tools need.
    pub instructions: String,
    /// Our tools, then the user's functions.
    pub tools: Vec<ToolSpec>,
}

#[derive(Debug)]
pub(super) struct ExternalCall {
    pub(super) id: u64,
    pub(super) call: ToolCall,
    pub(super) caller: Caller,
}

/// The front-end that shows calls, if there is one.
#[derive(Debug, Default)]
pub(super) struct CallHost(Mutex<Option<Sender<IncomingCall>>>);

impl CallHost {
    /// Directs later calls to the receiver that it returns.
    pub(super) fn subscribe(&self) -> IncomingCalls {
        let (sender, receiver) = channel();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        IncomingCalls(receiver)
    }

    /// Announces a call; returns the stream of its events when a front-end shows it.
    fn announce(&self, caller: &str) -> Option<RunSender> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, run) = stream();
        let visit = IncomingCall {
            caller: caller.to_owned(),
            run,
        };
        held.as_ref()?.send(visit).ok()?;
        Some(sender)
    }
}

#[derive(Debug, Default)]
pub(super) struct ExternalCalls {
    /// External calls of the turn in progress, by their id within the turn.
    pub(super) inside_calls: HashMap<String, RunSender>,
    pub(super) offered: Vec<ToolSpec>,
    /// The user's functions, as of the last look-up.
    pub(super) functions: Vec<ToolSpec>,
}

/// Returns the id of a call within its turn; no agent uses such ids.
fn inside_id(call: u64) -> String {
    format!("outside {call}")
}
