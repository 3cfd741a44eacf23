//! The state that the shell channel of a session works with.

use std::collections::HashSet;

use tokio::sync::mpsc::Receiver;

use super::background_output::BackgroundOutput;
use super::comms::Comms;
use super::iopub::Publisher;
use crate::history::History;
use crate::jupyter::Request;
use crate::session::{Run, SessionHandle};

/// The session, its record, and the clients.
pub(super) struct Context {
    pub(super) session: SessionHandle,
    pub(super) history: History,
    pub(super) publisher: Publisher,
    /// Events outside of runs.
    pub(super) background: Run,
    /// The `input_reply` messages.
    pub(super) stdin: Receiver<Request>,
    pub(super) comms: Comms,
    pub(super) background_output: BackgroundOutput,
    /// The run before the first cell, until it was published.
    pub(super) startup: Option<Run>,
    /// Sessions of clients that print output as it comes: those that asked for earlier inputs, as consoles do.
    pub(super) consoles: HashSet<String>,
}

impl Context {
    /// The client appends output and cannot replace any: a console, whose requests name no cell.
    pub(super) fn is_console(&self, request: &Request) -> bool {
        self.consoles.contains(request.session())
            && request.message.metadata.get("cellId").is_none()
    }

    pub(super) fn execution_count(&self) -> u32 {
        self.session.next_line().saturating_sub(1)
    }
}
