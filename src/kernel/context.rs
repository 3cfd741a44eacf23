//! The state that the shell channel of a session works with.

use std::collections::HashSet;

use super::background_output::BackgroundOutput;
use super::comms::Comms;
use super::inputs::Inputs;
use crate::jupyter::{ClientRequest, KernelServer};
use crate::record::RecordHandle;
use crate::session::{Run, SessionHandle};

pub(super) struct SessionContext {
    pub(super) session: SessionHandle,
    pub(super) record: RecordHandle,
    pub(super) server: KernelServer,
    pub(super) inputs: Inputs,
    pub(super) comms: Comms,
    pub(super) background: BackgroundOutput,
    /// The run before the first cell, until it was published.
    pub(super) startup: Option<Run>,
    /// Sessions of clients that print output as it arrives: those that asked for earlier inputs, as consoles do.
    pub(super) consoles: HashSet<String>,
}

impl SessionContext {
    /// True if the client appends output and cannot replace any: a console, whose requests name no cell.
    pub(super) fn is_console(&self, request: &ClientRequest) -> bool {
        self.consoles.contains(request.session())
            && request.message.metadata.get("cellId").is_none()
    }

    pub(super) fn execution_count(&self) -> u32 {
        self.session.next_line().saturating_sub(1)
    }
}
