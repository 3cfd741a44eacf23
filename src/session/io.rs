//! What a session reaches: the runtimes, the agent, the record, its files, and the front-ends.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::record::{RecordHandle, SessionStart, TurnKey};
use crate::report::Report;
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::session::deps::SessionDeps;
use crate::session::effect::{Effect, RecordWrite, RecordedOutput, To};
use crate::session::handle::{Command, Shared};
use crate::session::outputs::Outputs;
use crate::session::peers::{AgentPeer, RuntimeRequester};
use crate::session::queue::EventQueue;
use crate::session::runtimes::{RuntimePeer, Runtimes};
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

    /// Carries out an effect whose streams are bound.
    pub(super) fn run(&mut self, effect: Effect, queue: &mut EventQueue) {
        match effect {
            Effect::Raise(event) => queue.raise(event),
            Effect::Emit(To::Run(out), event) => out.send(event),
            Effect::RequestEditor(To::Run(out), wish) => self.shared.editor.request(wish, &out),
            Effect::Record(write) => self.write(write),
            Effect::Interrupt { role, to } => {
                let told = self.runtimes.of(role).and_then(RuntimePeer::interrupt);
                if let (Some(notice), To::Run(out)) = (told, to) {
                    out.send(notice);
                }
            }
            Effect::InterpreterMoved => self.runtimes.user.is_another(),
            Effect::OpenNotebook(open) => self.workbook.opens(*open),
            Effect::EditCell(brought) => self.workbook.brings(brought),
            Effect::Emit(To::Job | To::Caller, _)
            | Effect::RequestEditor(To::Job | To::Caller, _) => {
                debug_assert!(false, "an effect that is not bound");
            }
        }
    }

    fn write(&self, write: RecordWrite) {
        match write {
            RecordWrite::ShellExit { line, exit } => self.record.record_shell_exit(line, exit),
            RecordWrite::Output(output) => {
                let RecordedOutput {
                    line,
                    text,
                    bundles,
                    layout,
                    state,
                    took,
                } = *output;
                self.record
                    .record_output_with_layout(line, &text, bundles, &layout, state, took);
            }
            RecordWrite::Hide { lines, hidden } => self.record.hide(lines, hidden),
            RecordWrite::StepOver {
                session,
                lines,
                over,
            } => self.record.step_over(session, lines, over),
            RecordWrite::Decision(decided) => self.record.record_decision(decided),
        }
    }
}
