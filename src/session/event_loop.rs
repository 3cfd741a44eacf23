//! The event loop: takes commands and the events of both peers, and handles one at a time.
//!
//! The loop never waits for a reply: replies come back as later commands or events. A front-end that does not read
//! holds up the events of both peers (and so the cell's output), never the commands. Shutdown is a command, too.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::config::Choices;
use crate::markdown::Background;
use crate::record::{RecordHandle, RecordedThread, SessionStart};
use crate::report::Report;
use crate::runtime::RuntimeRequest;
use crate::session::agent_turns::AgentTurns;
use crate::session::approvals::{ApprovalEvent, ApprovalQueue};
use crate::session::commands::{model_names, recorded_sessions};
use crate::session::deps::SessionDeps;
use crate::session::effect::Effect;
use crate::session::event::Event;
use crate::session::events::{EndEvent, Notice, SessionEvent, report_notice};
use crate::session::external_calls::ExternalCalls;
use crate::session::handle::{Command, SessionHandle, Shared};
use crate::session::host_calls::AgentHostCalls;
use crate::session::host_calls::CellHostCalls;
use crate::session::ids::ToolCaller;
use crate::session::kernels::Kernels;
use crate::session::numbering::Numbering;
use crate::session::outputs::Outputs;
use crate::session::peers::{AgentPeer, RuntimeRequester};
use crate::session::prompt::PromptEvent;
use crate::session::queue::EventQueue;
use crate::session::replay::ReplayRun;
use crate::session::resume::{began, earlier, last_exchange};
use crate::session::run::{Run, RunSender, stream};
use crate::session::runtimes::{RuntimePeer, Runtimes};
use crate::session::scheduler::{ActiveJob, QueuedJob, Scheduler, SchedulerEffect, SchedulerEvent};
use crate::session::shutdown::ShutdownInbox;
use crate::session::suggest;
use crate::session::tools::{SkillRegistry, ToolEvent, ToolRunner};
use crate::session::undo::StepLog;
use crate::session::workbook::Workbook;
use crate::session::{Parts, SessionSnapshot};

pub(super) struct Session {
    pub(super) runtimes: Runtimes,
    pub(super) record: RecordHandle,
    pub(super) choices: Choices,
    pub(super) cwd: PathBuf,
    pub(super) agent_turns: AgentTurns,
    pub(super) deps: SessionDeps,
    awaiting_start: Vec<oneshot::Sender<Result<SessionStart, Report>>>,
    pub(super) inbox: UnboundedSender<Command>,
    pub(super) background: RunSender,
    pub(super) scheduler: Scheduler,
    pub(super) numbering: Numbering,
    pub(super) shared: Arc<Shared>,
    pub(super) approvals: ApprovalQueue,
    /// Why no interpreter could be started, kept until an input can report it.
    pub(super) unreported: Option<Notice>,
    pub(super) outputs: Outputs,
    pub(super) tool_runner: ToolRunner,
    pub(super) kernels: Kernels,
    pub(super) skill_registry: SkillRegistry,
    pub(super) terminal_background: Option<Background>,
    pub(super) workbook: Workbook,
    pub(super) external_calls: ExternalCalls,
    pub(super) step_log: StepLog,
    pub(super) cell_calls: CellHostCalls,
    pub(super) agent_calls: AgentHostCalls,
    queue: EventQueue,
}

/// Starts a session on a thread of its own; the second value carries the events outside of runs.
///
/// # Errors
/// Fails when no thread can be started.
pub fn start(parts: Parts) -> Result<(SessionHandle, Run), Report> {
    let (commands, inbox) = tokio::sync::mpsc::unbounded_channel();
    let (background, run_of_background) = stream();
    let language = parts.runtime.capabilities.language.clone();
    let (handle, shared) = SessionHandle::new(commands.clone(), language);
    std::thread::Builder::new()
        .name("session".into())
        .spawn(move || run(parts, inbox, commands, background, shared))
        .map_err(|error| Report::failure("could not start the session's thread").because(error))?;
    Ok((handle, run_of_background))
}

fn run(
    parts: Parts,
    inbox: UnboundedReceiver<Command>,
    commands: UnboundedSender<Command>,
    background: RunSender,
    shared: Arc<Shared>,
) {
    (parts.wait_for_start)();
    let Ok(executor) = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
    else {
        background.send(Notice::warning("could not start the session's timer"));
        return;
    };
    let Parts {
        runtime,
        shell,
        agent,
        agents,
        missing,
        kernels,
        own_server,
        record,
        reports,
        instructions,
        choices,
        cwd,
        stdin,
        exact_log,
        config_file,
        provenance,
        keys,
        resumed,
        runtime_at_once,
        wait_for_start: _,
        asks,
        startup_files: at_home,
        skills,
        artifacts,
        record_path,
        notebooks,
    } = parts;
    let mut session = Session {
        runtimes: Runtimes::new(runtime, shell, stdin, Arc::clone(&shared.killer)),
        record,
        choices,
        cwd,
        agent_turns: AgentTurns::new(AgentPeer::new(agent), instructions),
        deps: SessionDeps {
            agents,
            missing,
            kernels,
            own_server,
            exact_log,
            config_file,
            provenance,
            keys,
            notebooks,
            asks,
            at_home,
        },
        awaiting_start: Vec::new(),
        skill_registry: SkillRegistry::load_in_background(skills, {
            let inbox = commands.clone();
            move |found| {
                // Fails when the session has ended.
                let _ = inbox.send(Command::SkillsFound(Box::new(found)));
            }
        }),
        terminal_background: None,
        inbox: commands,
        background,
        scheduler: Scheduler::default(),
        numbering: Numbering::new(resumed, Arc::clone(&shared.next_line)),
        shared,
        approvals: ApprovalQueue::default(),
        unreported: None,
        outputs: Outputs::new(artifacts, record_path),
        tool_runner: ToolRunner::default(),
        kernels: Kernels::default(),
        workbook: Workbook::default(),
        external_calls: ExternalCalls::default(),
        step_log: StepLog::default(),
        cell_calls: CellHostCalls::default(),
        agent_calls: AgentHostCalls::default(),
        queue: EventQueue::default(),
    };
    let most = session.choices.checkpoints;
    session.runtimes.user.keep_checkpoints(most);
    executor.block_on(session.work(inbox, reports, runtime_at_once));
}

impl Session {
    async fn work(
        mut self,
        mut inbox: UnboundedReceiver<Command>,
        mut reports: UnboundedReceiver<Report>,
        runtime_at_once: bool,
    ) {
        let (start, started) = (began(self.record.clone()), self.inbox.clone());
        if self.runtimes.user.is_told_at_start() {
            // The record reports its start quickly, even while other processes hold the file.
            let (start, thread) = start.await;
            self.on_started(start, thread);
        } else {
            tokio::spawn(async move {
                let (start, thread) = start.await;
                let _ = started.send(Command::Started(start, thread));
            });
        }
        if runtime_at_once {
            self.runtimes.user.get();
        }
        loop {
            self.drain();
            let out = self.scheduler.out().cloned();
            let keeps_up =
                out.as_ref().is_none_or(RunSender::is_ready) && self.background.is_ready();
            let prompt = self.scheduler.prompt();
            let save = prompt.and_then(|prompt| prompt.save_deadline());
            let look_at = sooner(save, self.tool_runner.deadline());
            let look_at = sooner(look_at, self.kernels.due());
            tokio::select! {
                biased;
                command = inbox.recv() => match command {
                    Some(Command::Close { tells, answer }) => {
                        let mut who = ShutdownInbox::new(tells, inbox);
                        let closed = self.leave(&mut who).await;
                        let _ = answer.send(closed);
                        return;
                    }
                    Some(command) => self.on_command(command),
                    None => return,
                },
                Some(report) = reports.recv() => self.background.send(report_notice(&report)),
                (role, event) = self.runtimes.next(), if keeps_up => self.on_runtime(role, event),
                event = self.agent_turns.agent.next(), if keeps_up => self.on_agent(event),
                () = caught_up(out.as_ref(), &self.background), if !keeps_up => {}
                () = at(look_at), if look_at.is_some() => {
                    self.raise(Event::Prompt(PromptEvent::Tick));
                    self.raise(Event::Tool(ToolCaller::Turn, ToolEvent::DeadlineReached));
                    self.drain();
                    self.sweep_kernels();
                }
            }
        }
    }

    /// Queues an event; it is handled before those that wait already.
    pub(super) fn raise(&mut self, event: Event) {
        self.queue.raise(event);
    }

    /// Handles events until none is left.
    pub(super) fn drain(&mut self) {
        while let Some(event) = self.queue.pop() {
            self.on_event(event);
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Interrupted => self.on_scheduler(SchedulerEvent::Interrupted),
            Event::DeathTold => self.on_scheduler(SchedulerEvent::DeathTold),
            Event::Advance => self.advance(),
            Event::Prompt(event) => self.on_prompt(event),
            Event::PromptOf(ticket, event) => self.on_prompt_of(ticket, event),
            Event::Tool(by, event) => self.on_tool_event(by, event),
            Event::ToolOf(call, event) => self.on_call_event(call, event),
            Event::ToolDone(ToolCaller::Code, result) => self.on_agent_tool_return(result),
            Event::ToolDone(ToolCaller::Turn, result) => match self.scheduler.active() {
                Some(ActiveJob::Call { .. }) => self.on_call_return(result),
                _ => self.on_prompt(PromptEvent::ToolReturned(result)),
            },
            Event::CallReturned(result) => self.on_call_return(result),
            Event::CellsReported(cells) => self.record_reported_cells(&cells),
            Event::Replied(asker, reply) => self.on_reply(asker, reply),
            Event::NextQuestion => self.show_next_question(),
            Event::CellEvent(role, event) => self.on_cell_event(role, event),
            Event::CallsAbandoned => self.on_calls_abandoned(),
            Event::NextAgentCall => self.begin_next_agent_call(),
            Event::AgentCallShown(wish) => self.begin_agent_call(wish),
            Event::Effects(effects, out) => self.run_effects(effects, &out),
        }
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Submit(submission, out) => self.on_submit(submission, out),
            Command::EffectsReady(ticket, effects) => self.on_effects_ready(ticket, effects),
            Command::RunEffects(effects, out) => self.run_effects(effects, &out),
            Command::Replay(replay, out) => self.enqueue(QueuedJob::Replay(replay), out),
            Command::Load(loading, out) => self.enqueue(QueuedJob::Load(loading), out),
            Command::RestoreVariables(out) => self.enqueue(QueuedJob::RestoreVariables, out),
            Command::SetUp(out) => self.enqueue(QueuedJob::SetUp, out),
            Command::External(wanted) => self.on_external_request(wanted),
            Command::Interrupt => self.on_scheduler(SchedulerEvent::Interrupted),
            Command::Restart => {
                let told = self.runtimes.user.restart();
                self.publish(told);
            }
            Command::Kill(role) => {
                let told = self.runtimes.of(role).and_then(RuntimePeer::kill);
                self.publish(told);
            }
            Command::SkipStep => self.on_scheduler(SchedulerEvent::Skipped),
            Command::Answer(question, reply) => {
                self.on_approval(ApprovalEvent::Answered { question, reply });
            }
            Command::ReplyInput(call, reply) => {
                self.on_tool_event(ToolCaller::Turn, ToolEvent::InputAnswered);
                if let Some(runtime) = self.runtimes.asking() {
                    runtime.notify(RuntimeRequest::ReplyInput { call, reply });
                }
            }
            Command::ReplyRecord(call, place) => {
                self.runtimes
                    .user
                    .notify(RuntimeRequest::ReplyRecord { call, place });
            }
            Command::LastExchange(answer) => {
                let record = self.record.clone();
                let told = async move { last_exchange(&record.dialog().await) };
                answers(answer, told);
            }
            Command::Ask(request, answer) => {
                self.ask_runtime(request, RuntimeRequester::Handle(answer))
            }
            Command::WarmRuntime(answer) => {
                let _ = answer.send(self.runtimes.user.get().terminal());
            }
            Command::WarmShell(answer) => self.reply_shell_terminal(answer),
            Command::ShellJobs(answer) => self.reply_jobs(answer),
            Command::WarmAgent => self.agent_turns.agent.get().warm_up(),
            Command::Choices(answer) => {
                let _ = answer.send(self.choices.clone());
            }
            Command::OnBackground(background) => {
                self.terminal_background = Some(background);
                if !self.choices.code_theme_chosen {
                    self.choices.code_theme = background.theme().to_owned();
                }
            }
            Command::Surroundings(answer) => {
                let offers = &self.agent_turns.profile;
                let commands = offers.commands().iter();
                let options = offers.selections();
                // Fails when the caller has gone.
                let _ = answer.send(SessionSnapshot {
                    cwd: self.cwd.clone(),
                    skills: self.skill_registry.unique_skills(),
                    commands: commands
                        .map(|it| (it.id.clone(), it.description_line()))
                        .collect(),
                    options: options
                        .map(|it| (it.descriptor.id.clone(), it.line()))
                        .collect(),
                });
            }
            Command::Models(answer) => answers(answer, model_names(self.agent_turns.agent.get())),
            Command::Started(start, thread) => self.on_started(start, thread),
            Command::RecordRead(ticket, dialog, attached) => {
                self.on_read(ticket, dialog, attached);
            }
            Command::SkillsFound(skills) => {
                // The list of skills goes at the end of the instructions, where a tool can load them.
                self.agent_turns
                    .add_tool_instructions(&skills.catalog.section());
                self.skill_registry
                    .set_catalog(skills.catalog, skills.consent);
                self.publish(skills.warning.map(Notice::warning));
            }
            Command::SkillRead(call, read) => self.on_call_event(call, ToolEvent::SkillRead(read)),
            Command::Consulted(number, told) => self.on_consulted(number, told),
            Command::DirectoryChecked(call, opening, looked) => {
                if self.tool_runner.call_id() == call && !self.tool_runner.is_idle() {
                    self.kernel_at(&opening, looked);
                }
            }
            Command::KernelsEvicted(number, request) => self.start_kernel_again(number, &request),
            Command::NotebookDone(call, done) => self.on_notebook_job_done(call, *done),
            Command::Suggest(request) => {
                let inbox = self.inbox.clone();
                suggest::begin(request, self.record.clone(), move |dialog, request| {
                    // Fails when the session has ended.
                    let _ = inbox.send(Command::SuggestFrom(Box::new(dialog), request));
                });
            }
            Command::SuggestFrom(dialog, request) => {
                let model = self.choices.completion_model.clone();
                let agent = self.agent_turns.agent.get();
                suggest::ask(*request, &dialog, agent, model, self.cwd.clone());
            }
            Command::Earlier(answer) => answers(answer, earlier(self.record.clone())),
            Command::OtherAgent(earlier, answer) => drop(answer.send(self.other_agent(&earlier))),
            Command::FindMissingNames => {
                let record = self.record.clone();
                self.spawn_effects(&self.background, async move {
                    let (cells, beside) = (record.cells().await, true);
                    vec![Effect::FindMissingNames { cells, beside }]
                });
            }
            Command::Sessions { all, answer } => {
                let (record, cwd) = (self.record.clone(), self.cwd.clone());
                answers(answer, recorded_sessions(record, cwd, all));
            }
            Command::AwaitStart(answer) => match self.numbering.start() {
                Some(start) => drop(answer.send(start.clone())),
                None => self.awaiting_start.push(answer),
            },
            Command::Close { .. } => unreachable!("taken by the loop"),
        }
    }

    fn on_started(&mut self, start: Result<SessionStart, Report>, thread: Option<RecordedThread>) {
        self.numbering.on_start(start.clone());
        if let Ok(start) = &start {
            if start.resumed {
                self.agent_turns.set_recorded_thread(thread);
            }
            self.outputs.settle(start);
            self.runtimes.know(&self.outputs.told_to_cells(start));
        }
        for waiting in self.awaiting_start.drain(..) {
            // Fails when the caller has gone.
            let _ = waiting.send(start.clone());
        }
        self.advance();
    }

    pub(super) fn on_scheduler(&mut self, event: SchedulerEvent<'_>) {
        for action in self.scheduler.on(event) {
            match action {
                SchedulerEffect::Interrupt => {
                    let told = self.interrupt_code();
                    self.publish(told);
                }
                SchedulerEffect::StopCall => self.cancel_call(),
                SchedulerEffect::StopPrompt => self.on_prompt(PromptEvent::Interrupted),
                SchedulerEffect::StoppedWaiting(out) => self.on_wait_stopped(out),
                SchedulerEffect::NotRun(waiting) => {
                    let tell = |out: &RunSender| out.send(EndEvent::NotRun);
                    waiting.iter().for_each(tell);
                }
                SchedulerEffect::Free(replay) => self.free_floor(replay),
            }
        }
    }

    /// Continues the replay, then the queue, once no job is active.
    pub(super) fn free_floor(&mut self, replay: Option<Box<ReplayRun>>) {
        self.shared.changes.send_modify(|changes| *changes += 1);
        self.outputs.save(self.out_or_background());
        if let Some(replay) = replay {
            self.continue_replay(replay);
        }
        self.advance();
    }

    /// Ends the active job; the suspended cell or the queue goes on.
    pub(super) fn finish_current(&mut self) {
        self.scheduler.release();
        if self.scheduler.resume() {
            return self.resume_cell();
        }
        self.free_floor(None);
    }

    /// Interrupts the running code in any runtime; returns a notice where that cannot be done.
    pub(super) fn interrupt_code(&mut self) -> Option<Notice> {
        let role = self.scheduler.role().unwrap_or(self.tool_runner.role());
        self.runtimes.of(role)?.interrupt()
    }

    /// Publishes events to the run of the active job, else to the background.
    pub(super) fn publish<E: Into<SessionEvent>>(&self, events: impl IntoIterator<Item = E>) {
        let out = self.out_or_background();
        events.into_iter().for_each(|event| out.send(event));
    }

    pub(super) fn out_or_background(&self) -> &RunSender {
        self.scheduler.out().unwrap_or(&self.background)
    }
}

/// Fails when the caller has gone.
fn answers<T: Send + 'static>(
    answer: oneshot::Sender<T>,
    told: impl Future<Output = T> + Send + 'static,
) {
    tokio::spawn(async move { answer.send(told.await) });
}

async fn caught_up(out: Option<&RunSender>, background: &RunSender) {
    if let Some(out) = out {
        out.ready().await;
    }
    background.ready().await;
}

fn sooner(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

async fn at(instant: Option<Instant>) {
    if let Some(instant) = instant {
        tokio::time::sleep_until(instant.into()).await;
    }
}
