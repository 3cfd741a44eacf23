//! Tool calls from outside of any turn: the caller, the front-end that shows the call, and calls inside a running turn.
//!
//! A caller holds a [`PendingCall`]. Where a front-end holds the [`IncomingCalls`] of the session, each call reaches it
//! as a [`IncomingCall`]: the front-end shows the events and asks the user; the caller gets the result, and the fact
//! that the user is being asked. Without such a front-end the caller gets every event.
//!
//! A caller that the session's own agent started calls *inside* the running turn: the turn runs these calls between its
//! own, shows and records them. Invariant: each call returns exactly once.

mod driver;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::agent::{ToolCall, ToolSpec};
use crate::dialog::Dialog;
use crate::session::run::{Run, RunSender, stream};

/// Who calls a tool from outside of any turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// As shown to the user; foreign.
    pub name: String,
    /// The caller can answer questions, where no front-end can.
    pub asks: bool,
    /// The agent of the session, or the cell that runs, started it.
    pub inside: bool,
}

/// A call that was handed in.
#[derive(Debug)]
pub struct PendingCall {
    /// Names it for [`SessionHandle::stop_call`](super::SessionHandle::stop_call).
    pub id: u64,
    /// Ends after [`EndEvent::Call`](super::EndEvent::Call).
    pub run: Run,
}

/// A call as the front-end sees it.
#[derive(Debug)]
pub struct IncomingCall {
    /// Who calls; foreign.
    pub caller: String,
    /// Everything that comes of it.
    pub run: Run,
}

/// Calls from outside, for the front-end that shows them.
#[derive(Debug)]
pub struct IncomingCalls(Receiver<IncomingCall>);

impl IncomingCalls {
    /// The next call; `None` when the session is over. Blocks.
    pub fn next(&self) -> Option<IncomingCall> {
        self.0.recv().ok()
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Toolset {
    /// Skills and what else has to be known of the tools, for the model.
    pub instructions: String,
    /// Ours, then the user's functions.
    pub tools: Vec<ToolSpec>,
}

pub(super) enum ExternalRequest {
    Call(ExternalCall, RunSender),
    Stop(u64),
    Tools(oneshot::Sender<Toolset>),
    /// The record was read for that.
    ToolsIn(Box<Dialog>, oneshot::Sender<Toolset>),
    /// The user's functions were looked up.
    FunctionsAre(Vec<ToolSpec>),
}

/// A call on its way to its turn.
#[derive(Debug)]
pub(super) struct ExternalCall {
    pub(super) id: u64,
    pub(super) call: ToolCall,
    pub(super) caller: Caller,
}

/// The front-end that shows calls, if one does.
#[derive(Debug, Default)]
pub(super) struct CallHost(Mutex<Option<Sender<IncomingCall>>>);

impl CallHost {
    /// Later calls go to the receiver returned.
    pub(super) fn subscribe(&self) -> IncomingCalls {
        let (sender, receiver) = channel();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        IncomingCalls(receiver)
    }

    /// The stream of a call's events when a front-end shows it.
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
    /// Calls that the turn in progress works off, by the id the turn knows them by.
    inside_calls: HashMap<String, RunSender>,
    /// The tools that the turn in progress offers.
    offered: Vec<ToolSpec>,
    /// The user's functions on offer, as of the last look.
    functions: Vec<ToolSpec>,
}

/// The id of a call within its turn; no agent uses such.
fn inside_id(call: u64) -> String {
    format!("outside {call}")
}
