//! What a session reaches: the runtimes, the agent, the record, its files, and the front-ends.

use std::cell::RefCell;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::asides::{Asides, EndAside};
use crate::context::StepContext;
use crate::deps::SessionDeps;
use crate::effect::{Effect, Event, RecordWrite, RecordedOutput, To, emit};
use crate::events::Notice;
use crate::exact_log;
use crate::file_steps::FileSteps;
use crate::handle::{Command, Shared};
use crate::input::shell_cell;
use crate::outputs::Outputs;
use crate::peers::{AgentPeer, RuntimeRequester};
use crate::queue::EventQueue;
use crate::record::{PromptStart, RecordHandle, RecordedOutcome, SessionStart, TurnKey};
use crate::runtime::{RuntimeEvent, RuntimeReply, RuntimeRequest};
use crate::runtimes::{RuntimePeer, RuntimeRole, Runtimes};
use crate::text::report::Report;
use crate::workbook::Workbook;

pub(super) struct SessionIo {
    pub(super) runtimes: Runtimes,
    /// Asked by steps, too, which only read.
    pub(super) agent: RefCell<AgentPeer>,
    pub(super) record: RecordHandle,
    /// The row of the exchange in progress.
    pub(super) turn: Option<TurnKey>,
    /// The sessions beside this one.
    pub(super) asides: Asides,
    pub(super) outputs: Outputs,
    pub(super) workbook: Workbook,
    pub(super) files: FileSteps,
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
    pub(super) fn context(&self) -> StepContext<'_> {
        StepContext {
            now: Instant::now(),
            at: SystemTime::now(),
            runtimes: &self.runtimes,
            outputs: &self.outputs,
            record: &self.record,
            workbook: &self.workbook,
            files: self.files.history(),
            deps: &self.deps,
            host: &self.shared.host,
            agent: &self.agent,
        }
    }

    /// Takes what an event of a runtime says about the runtime itself; `None` for an answer that nobody awaits.
    pub(super) fn hear(&mut self, role: RuntimeRole, event: RuntimeEvent) -> Option<Event> {
        if let RuntimeEvent::Replied { id, answer } = event {
            let requester = self.runtimes.of(role)?.take_requester(id)?;
            return Some(Event::RuntimeReplied(requester, answer));
        }
        self.files.on_runtime(role, &event);
        let event = self.runtimes.hear(role, event);
        if let (RuntimeRole::User, RuntimeEvent::Ready(_)) = (role, &event) {
            let language = self.runtimes.user.able().language.clone();
            self.shared.set_language(language);
        }
        Some(Event::Runtime(role, event))
    }

    /// Begins to keep the files of this directory, or ends to keep any.
    pub(super) fn keep_files(&mut self, keep: bool, directory: &Path) {
        let inbox = self.inbox.clone();
        self.files.keep(keep, directory, move |line| {
            let event = Event::EffectsReady(emit(Notice::note(line)));
            // Fails when the session has ended.
            let _ = inbox.send(event.into());
        });
    }

    /// Sends the event to the loop when it comes, unless the session has ended.
    fn send_later(&self, event: impl Future<Output = Event> + Send + 'static) {
        let inbox = self.inbox.clone();
        tokio::spawn(async move { inbox.send(event.await.into()) });
    }

    fn on_record_opened(&mut self, start: Result<SessionStart, Report>) {
        if let Ok(start) = &start {
            self.outputs.settle(start);
            self.runtimes.know(&self.outputs.told_to_cells(start));
        }
        for waiting in self.awaiting_start.drain(..) {
            // Fails when the caller has gone.
            let _ = waiting.send(start.clone());
        }
    }

    /// Ends these kernels of the agent on other threads: an interpreter may take two seconds to exit.
    fn end_kernels(&mut self, numbers: Vec<u32>) -> Vec<JoinHandle<()>> {
        let ended = |number| {
            let runtime = self.runtimes.remove(number)?;
            Some(tokio::task::spawn_blocking(move || drop(runtime)))
        };
        numbers.into_iter().filter_map(ended).collect()
    }

    /// Carries out an effect whose streams are bound.
    pub(super) fn run(&mut self, effect: Effect, queue: &mut EventQueue) {
        match effect {
            Effect::Raise(event) => queue.raise(event),
            Effect::Emit(To::Run(out), event) => out.send(event),
            Effect::RequestEditor(To::Run(out), wish) => {
                if let Some(line) = self.shared.editor.request(wish, &out) {
                    queue.raise(Event::NextReplaces(line));
                }
            }
            Effect::Record(write) => self.write(write),
            Effect::SaveOutputs(To::Run(out)) => self.outputs.save(&out),
            Effect::LogExchange {
                sent,
                stored,
                session,
                to: To::Run(out),
            } => exact_log::append(self.deps.exact_log.clone(), session, &sent, &stored, out),
            Effect::ToolsChanged => self.shared.changes.send_modify(|changes| *changes += 1),
            Effect::Await(job, wait) => {
                self.send_later(async move { Event::WaitOver(job, wait.await) });
            }
            Effect::Spawn(wait) => self.send_later(async { Event::EffectsReady(wait.await) }),
            Effect::Execute {
                starter,
                role,
                request,
            } => {
                let session = self.runtimes.user.session();
                if let Some(runtime) = self.runtimes.of(role) {
                    let owner = self.files.before_code(role, session, &request);
                    let id = runtime.run(*request);
                    self.files.on_code(role, id, owner);
                    queue.raise(Event::Submitted(starter, id));
                }
            }
            Effect::StartRuntime => drop(self.runtimes.user.get()),
            Effect::RestartRuntime(To::Run(out)) => {
                let told = self.runtimes.user.restart();
                told.into_iter().for_each(|notice| out.send(notice));
            }
            Effect::Notify(role, request) => {
                if let Some(runtime) = self.runtimes.of(role) {
                    runtime.notify(request);
                }
            }
            Effect::ReplyInput(call, reply) => {
                if let Some(runtime) = self.runtimes.asking() {
                    runtime.notify(RuntimeRequest::ReplyInput { call, reply });
                }
            }
            Effect::AskRuntime(RuntimeRole::Branch(number), request, requester)
                if self.asides.has(number) =>
            {
                self.asides.ask(number, request, requester, &self.inbox);
            }
            Effect::AskRuntime(role, request, requester) => {
                let refused = match self.runtimes.of(role) {
                    Some(runtime) => runtime.ask(request, requester),
                    None => Some((requester, RuntimeReply::Failed("it has ended".into()))),
                };
                if let Some((requester, refused)) = refused {
                    queue.raise(Event::RuntimeReplied(requester, refused));
                }
            }
            Effect::PublishExchange(exchange) => self.runtimes.user.set_last_exchange(exchange),
            Effect::StartTurn(job, request) => {
                let turn = self.agent.get_mut().get().start(*request);
                queue.raise(Event::TurnStarted(job, turn));
            }
            Effect::ReplyToAgent(turn, reply) => {
                self.files.on_reply(&reply);
                self.agent.get_mut().get().reply(turn, reply);
            }
            Effect::CancelTurn(turn) => self.agent.get_mut().get().cancel(turn),
            Effect::Interrupt { role, to } => {
                let told = self.runtimes.of(role).and_then(RuntimePeer::interrupt);
                if let (Some(notice), Some(To::Run(out))) = (told, to) {
                    out.send(notice);
                }
            }
            Effect::Kill {
                role,
                over_time,
                to: To::Run(out),
            } => {
                let told = self.runtimes.of(role).and_then(match over_time {
                    true => RuntimePeer::kill_over_time,
                    false => RuntimePeer::kill,
                });
                told.into_iter().for_each(|notice| out.send(notice));
            }
            Effect::InterpreterMoved => self.runtimes.user.is_another(),
            Effect::FollowShell(directory) => self.runtimes.user.go_to(directory),
            Effect::DirectoryChanged => self.runtimes.user.has_gone(),
            Effect::KeepFiles(keep, directory) => {
                self.keep_files(keep, &directory);
            }
            Effect::KeepCheckpoints(most) => self.runtimes.user.keep_checkpoints(most),
            Effect::NumberIn(session) => self.runtimes.user.counts_in(session),
            Effect::ReplaceAgent(connect) => {
                if let Some(old) = self.agent.get_mut().replace(connect) {
                    // Waits for the old agent's end outside of the loop; without a thread the loop has to wait.
                    let _ = std::thread::Builder::new()
                        .name("old agent".into())
                        .spawn(move || drop(old));
                }
            }
            Effect::AddBranch(number, cell, branch) => {
                self.runtimes.add_branch(number, &branch);
                self.files.on_background(cell);
            }
            Effect::MakeFolder(folder) => {
                let _ = DirBuilder::new().mode(0o700).recursive(true).create(folder);
            }
            Effect::StartAside(number, plan) => {
                let start = self.deps.asides.as_ref();
                self.asides.start(number, &plan, start, &self.inbox);
            }
            Effect::EndBranch(number, folder) => {
                let (runtime, aside) = (
                    self.runtimes.remove_branch(number),
                    self.asides.remove(number),
                );
                drop(tokio::task::spawn_blocking(move || {
                    drop(runtime);
                    aside.into_iter().for_each(EndAside::end);
                    // It may be gone.
                    let _ = std::fs::remove_dir_all(folder);
                }));
            }
            Effect::StartKernel(number, request) => {
                let planned = (self.deps.kernels)(&request);
                self.runtimes.add(number, planned);
            }
            Effect::EndKernels(numbers) => drop(self.end_kernels(numbers)),
            Effect::EvictKernels {
                ends,
                number,
                request,
            } => {
                let ended = self.end_kernels(ends);
                self.send_later(async move {
                    for kernel in ended {
                        // A kernel that could not be ended leaves no room, and the start says so.
                        let _ = kernel.await;
                    }
                    Event::KernelsEvicted(number, request)
                });
            }
            Effect::RecordOpened(start) => self.on_record_opened(start),
            Effect::ChangeSession(start) => {
                self.outputs = self.outputs.anew();
                self.outputs.settle(&start);
                self.runtimes.know(&self.outputs.told_to_cells(&start));
            }
            Effect::OpenNotebook(open) => self.workbook.opens(*open),
            Effect::CloseNotebook(To::Run(out)) => out.send(self.workbook.close()),
            Effect::EditCell(brought) => self.workbook.brings(brought),
            Effect::WriteCell(mut cell, role, out) => {
                if role == RuntimeRole::Shell {
                    cell.source = shell_cell(&cell.source, &self.shell_name());
                }
                self.workbook.write(*cell, out);
            }
            Effect::Emit(To::Job | To::Caller, _)
            | Effect::RequestEditor(To::Job | To::Caller, _)
            | Effect::SaveOutputs(To::Job | To::Caller)
            | Effect::RestartRuntime(To::Job | To::Caller)
            | Effect::CloseNotebook(To::Job | To::Caller)
            | Effect::Kill {
                to: To::Job | To::Caller,
                ..
            }
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
            RecordWrite::Rename(name) => self.record.rename(&name),
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
            RecordWrite::BeginTurn(start) => {
                self.files.on_turn(self.runtimes.user.session(), start.line);
                self.turn = Some(self.record.begin_prompt(start));
            }
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
