//! What a session reaches: the runtimes, the agent, the record, its files, and the front-ends.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::context::StepContext;
use crate::deps::SessionDeps;
use crate::effect::{Effect, Event, RecordWrite, RecordedOutput, To};
use crate::exact_log;
use crate::handle::{Command, Shared};
use crate::outputs::Outputs;
use crate::peers::{AgentPeer, RuntimeRequester};
use crate::queue::EventQueue;
use crate::record::{PromptStart, RecordHandle, RecordedOutcome, SessionStart, TurnKey};
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::runtimes::{RuntimePeer, Runtimes};
use crate::text::report::Report;
use crate::workbook::Workbook;

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

    /// Returns the name of the program that runs commands: `bash`, `zsh`.
    pub(super) fn shell_name(&mut self) -> String {
        // Known once connected; connecting starts no process.
        self.runtimes.shell.get();
        self.runtimes.shell.able().language.clone()
    }

    /// Lends a step what it may read.
    pub(super) fn with_context<T>(&mut self, step: impl FnOnce(&StepContext<'_>) -> T) -> T {
        let agent = RefCell::new(&mut self.agent);
        step(&StepContext {
            now: Instant::now(),
            at: SystemTime::now(),
            user: &self.runtimes.user,
            outputs: &self.outputs,
            deps: &self.deps,
            agent: &|| agent.borrow_mut().get().capabilities(),
        })
    }

    /// Carries out an effect whose streams are bound.
    pub(super) fn run(&mut self, effect: Effect, queue: &mut EventQueue) {
        match effect {
            Effect::Raise(event) => queue.raise(event),
            Effect::Emit(To::Run(out), event) => out.send(event),
            Effect::RequestEditor(To::Run(out), wish) => self.shared.editor.request(wish, &out),
            Effect::Record(write) => self.write(write),
            Effect::SaveOutputs(To::Run(out)) => self.outputs.save(&out),
            Effect::LogExchange {
                sent,
                stored,
                session,
                to: To::Run(out),
            } => exact_log::append(self.deps.exact_log.clone(), session, &sent, &stored, out),
            Effect::ToolsChanged => self.shared.changes.send_modify(|changes| *changes += 1),
            Effect::Execute { job, role, request } => {
                if let Some(runtime) = self.runtimes.of(role) {
                    queue.raise(Event::Submitted(job, runtime.run(*request)));
                }
            }
            Effect::AskRuntime(request, requester) => {
                if let Some((requester, refused)) = self.runtimes.user.ask(request, requester) {
                    queue.raise(Event::RuntimeReplied(requester, refused));
                }
            }
            Effect::PublishExchange { prompt, response } => {
                self.runtimes
                    .user
                    .set_last_exchange(Some((prompt, response)));
            }
            Effect::StartTurn(job, request) => {
                let turn = self.agent.get().start(*request);
                queue.raise(Event::TurnStarted(job, turn));
            }
            Effect::ReplyToAgent(turn, reply) => self.agent.get().reply(turn, reply),
            Effect::CancelTurn(turn) => self.agent.get().cancel(turn),
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
            | Effect::RequestEditor(To::Job | To::Caller, _)
            | Effect::SaveOutputs(To::Job | To::Caller)
            | Effect::LogExchange {
                to: To::Job | To::Caller,
                ..
            } => {
                debug_assert!(false, "an effect that is not bound");
            }
        }
    }

    fn write(&mut self, write: RecordWrite) {
        match write {
            RecordWrite::Input { line, source } => {
                self.record.record_input(line, &source, &source);
            }
            RecordWrite::ShellCommand { line, command } => {
                let shell = self.shell_name();
                self.record.record_shell_command(line, &command, &shell);
            }
            RecordWrite::Recall(text) => self.record.recall().push(&text),
            RecordWrite::Exchange {
                line,
                after,
                prompt,
                response,
            } => {
                let start = PromptStart::new(line, after, &prompt);
                let key = self.record.begin_prompt(start);
                // An exchange without an answer was stopped before its first word.
                let outcome = match response.is_empty() {
                    true => RecordedOutcome::Interrupted,
                    false => RecordedOutcome::Complete,
                };
                self.record.finish_prompt(key, outcome, &response, None);
            }
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
            RecordWrite::BeginTurn(start) => self.turn = Some(self.record.begin_prompt(start)),
            RecordWrite::Answer(stored) => {
                if let Some(key) = self.turn {
                    self.record.stream_answer(key, &stored);
                }
            }
            RecordWrite::EndTurn {
                outcome,
                stored,
                usage,
            } => {
                if let Some(key) = self.turn.take() {
                    self.record.finish_prompt(key, outcome, &stored, usage);
                }
            }
            RecordWrite::InAnswer { cells, prompt } => {
                for cell in cells {
                    self.record.mark_in_answer(cell, prompt);
                }
            }
            RecordWrite::Thread { agent, thread } => self.record.set_thread(&agent, thread),
        }
    }
}
