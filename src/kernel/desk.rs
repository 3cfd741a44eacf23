//! What the shell channel works with: the session, the record, the clients, and what is remembered of them.

use std::collections::HashSet;

use tokio::sync::mpsc::Receiver;

use super::comms::Comms;
use super::late::Late;
use super::voice::Voice;
use crate::history::History;
use crate::jupyter::Request;
use crate::session::{Run, SessionHandle};

/// All that a request may need.
pub(super) struct Desk {
    pub(super) session: SessionHandle,
    pub(super) history: History,
    pub(super) voice: Voice,
    /// What happens outside of runs.
    pub(super) background: Run,
    /// What users type.
    pub(super) stdin: Receiver<Request>,
    pub(super) comms: Comms,
    pub(super) late: Late,
    /// What is done before the first cell, until it was told.
    pub(super) set_up: Option<Run>,
    /// Sessions of clients that print what comes: they asked for earlier inputs, as consoles do.
    pub(super) consoles: HashSet<String>,
}

impl Desk {
    /// The client shows what comes and nothing that replaces it: a console, which knows no cells.
    pub(super) fn prints(&self, request: &Request) -> bool {
        self.consoles.contains(request.session())
            && request.message.metadata.get("cellId").is_none()
    }

    /// The In number of the last input.
    pub(super) fn last_line(&self) -> u32 {
        self.session.next_line().saturating_sub(1)
    }
}
