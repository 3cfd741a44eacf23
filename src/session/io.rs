//! What a session reaches: the runtimes, the agent, the record, its files, and the front-ends.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::record::{RecordHandle, SessionStart, TurnKey};
use crate::report::Report;
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::session::deps::SessionDeps;
use crate::session::handle::{Command, Shared};
use crate::session::outputs::Outputs;
use crate::session::peers::{AgentPeer, RuntimeRequester};
use crate::session::runtimes::Runtimes;
use crate::session::workbook::Workbook;

pub(super) struct SessionIo {
    pub(super) runtimes: Runtimes,
    pub(super) agent: AgentPeer,
    pub(super) record: RecordHandle,
    /// The row of the exchange in progress.
    pub(super) turn: Option<TurnKey>,
    pub(super) outputs: Outputs,
    pub(super) workbook: Workbook,
    pub(super) deps: SessionDeps,
    pub(super) inbox: UnboundedSender<Command>,
    pub(super) shared: Arc<Shared>,
    pub(super) awaiting_start: Vec<oneshot::Sender<Result<SessionStart, Report>>>,
}

impl SessionIo {
    /// Sends a request to the user's runtime; a refusal is an answer, too.
    pub(super) fn ask_for(
        &mut self,
        request: RuntimeRequest,
        answer: oneshot::Sender<RuntimeReply>,
    ) {
        let requester = RuntimeRequester::Handle(answer);
        if let Some((RuntimeRequester::Handle(answer), refused)) =
            self.runtimes.user.ask(request, requester)
        {
            // Fails when the caller has gone.
            let _ = answer.send(refused);
        }
    }
}
