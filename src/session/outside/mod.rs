//! Tools called from outside of any turn: who calls, who sees it, and calls that belong to the turn in progress.
//!
//! Whoever calls holds a [`Calling`]. Where a front-end holds the [`Visits`] of the session, each call comes to it as a
//! [`Visit`]: it shows what comes of the call and asks the user; the caller is told the result, and that the user is
//! being asked. Without such a front-end the caller is told everything.
//!
//! A caller that the session's own agent started calls *inside* of the turn that runs: the turn works its calls off
//! between its own, shows and records them. Invariant: each call that was handed in returns once.

mod work;

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
    /// As the user is told; foreign.
    pub name: String,
    /// It has an answer to what is asked, where no front-end has.
    pub asks: bool,
    /// The agent of the session, or the cell that runs, started it.
    pub inside: bool,
}

/// A call that was handed in.
#[derive(Debug)]
pub struct Calling {
    /// Names it for [`SessionHandle::stop_call`](super::SessionHandle::stop_call).
    pub id: u64,
    /// Ends after [`EndEvent::Call`](super::EndEvent::Call).
    pub run: Run,
}

/// A call as the front-end sees it.
#[derive(Debug)]
pub struct Visit {
    /// Who calls; foreign.
    pub caller: String,
    /// Everything that comes of it.
    pub run: Run,
}

/// Calls from outside, for the front-end that shows them.
#[derive(Debug)]
pub struct Visits(Receiver<Visit>);

impl Visits {
    /// The next call; `None` when the session is over. Blocks.
    pub fn next(&self) -> Option<Visit> {
        self.0.recv().ok()
    }
}

/// What can be called from outside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Toolset {
    /// Skills and what else has to be known of the tools, for the model.
    pub instructions: String,
    /// Ours, then the user's functions.
    pub tools: Vec<ToolSpec>,
}

/// What is asked of the loop.
pub(super) enum OutsideWish {
    Call(OutsideCall, RunSender),
    Stop(u64),
    Tools(oneshot::Sender<Toolset>),
    /// The record was read for that.
    ToolsIn(Box<Dialog>, oneshot::Sender<Toolset>),
    /// The user's functions were looked up.
    FunctionsAre(Vec<ToolSpec>),
}

/// A call on its way to its turn.
#[derive(Debug)]
pub(super) struct OutsideCall {
    pub(super) id: u64,
    pub(super) call: ToolCall,
    pub(super) caller: Caller,
}

/// The front-end that shows calls, if one does.
#[derive(Debug, Default)]
pub(super) struct Host(Mutex<Option<Sender<Visit>>>);

impl Host {
    /// From now on calls come to whoever gets this.
    pub(super) fn hold(&self) -> Visits {
        let (sender, receiver) = channel();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        Visits(receiver)
    }

    /// Where the events of a call go when somebody shows it.
    fn visit(&self, caller: &str) -> Option<RunSender> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, run) = stream();
        let visit = Visit {
            caller: caller.to_owned(),
            run,
        };
        held.as_ref()?.send(visit).ok()?;
        Some(sender)
    }
}

/// What the loop keeps of calls from outside.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// Calls that the turn in progress works off, by the id the turn knows them by.
    insiders: HashMap<String, RunSender>,
    /// The tools that the turn in progress offers.
    offered: Vec<ToolSpec>,
    /// The user's functions on offer, as of the last look.
    functions: Vec<ToolSpec>,
}

/// The id of a call within its turn; no agent uses such.
fn inside_id(call: u64) -> String {
    format!("outside {call}")
}
