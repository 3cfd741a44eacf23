//! What a step of the session may read besides its state: the clock, the peers, the record, what does not change.

use std::cell::{RefCell, RefMut};
use std::time::{Instant, SystemTime};

use crate::agent::Agent;
use crate::deps::SessionDeps;
use crate::external_calls::CallHost;
use crate::outputs::Outputs;
use crate::peers::AgentPeer;
use crate::record::RecordHandle;
use crate::rewind::FileHistory;
use crate::runtimes::{RuntimePeer, Runtimes};
use crate::workbook::Workbook;

pub(super) struct StepContext<'a> {
    pub now: Instant,
    pub at: SystemTime,
    pub runtimes: &'a Runtimes,
    pub outputs: &'a Outputs,
    pub record: &'a RecordHandle,
    pub workbook: &'a Workbook,
    pub files: Option<&'a FileHistory>,
    pub deps: &'a SessionDeps,
    /// The front-end that shows external calls.
    pub host: &'a CallHost,
    pub agent: &'a RefCell<AgentPeer>,
}

impl StepContext<'_> {
    /// Returns the user's runtime.
    pub(super) fn user(&self) -> &RuntimePeer {
        &self.runtimes.user
    }

    /// Returns the agent, to be asked; connects it first if needed.
    pub(super) fn agent(&self) -> RefMut<'_, dyn Agent> {
        RefMut::map(self.agent.borrow_mut(), AgentPeer::get)
    }
}
