//! The event loop: takes commands and the events of both peers, and handles one at a time.
//!
//! The loop never waits for a reply: replies come back as later commands or events. A front-end that does not read
//! holds up the events of both peers (and so the cell's output), never the commands. Shutdown is a command, too.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::Parts;
use crate::approvals::{ApprovalEvent, ApprovalQueue, ApprovalRequester};
use crate::deps::SessionDeps;
use crate::effect::{Effect, Event, Found, To};
use crate::events::{Notice, SessionEvent, report_notice};
use crate::external_calls::ExternalCalls;
use crate::handle::{Command, SessionHandle, Shared};
use crate::host_calls::{AgentHostCalls, CellHostCalls};
use crate::ids::{JobId, ToolCaller};
use crate::io::SessionIo;
use crate::kernels::Kernels;
use crate::numbering::Numbering;
use crate::outputs::Outputs;
use crate::peers::AgentPeer;
use crate::prompt::PromptEvent;
use crate::query::answer;
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::queue::EventQueue;
use crate::record::{RecordedThread, SessionStart};
use crate::resume::began;
use crate::route;
use crate::run::{Run, RunSender, stream};
use crate::runtime::RuntimeRequest;
use crate::runtimes::{RuntimePeer, Runtimes};
use crate::scheduler::{ActiveJob, QueuedJob, Scheduler, SchedulerEvent};
use crate::shutdown::ShutdownInbox;
use crate::state::SessionState;
use crate::text::report::Report;
use crate::tools::{SkillRegistry, ToolEvent, ToolRunner};
use crate::turns::Turns;
use crate::undo::StepLog;
use crate::workbook::Workbook;

pub(super) struct Session {
    pub(super) state: SessionState,
    pub(super) io: SessionIo,
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
        startup_files,
        skills,
        artifacts,
        record_path,
        notebooks,
    } = parts;
    let skill_registry = SkillRegistry::load_in_background(skills, {
        let inbox = commands.clone();
        move |found| {
            // Fails when the session has ended.
            let _ = inbox.send(Command::SkillsFound(Box::new(found)));
        }
    });
    let state = SessionState {
        scheduler: Scheduler::default(),
        numbering: Numbering::new(resumed, Arc::clone(&shared.next_line)),
        turns: Turns::new(instructions),
        tool_runner: ToolRunner::default(),
        kernels: Kernels::default(),
        cell_calls: CellHostCalls::default(),
        agent_calls: AgentHostCalls::default(),
        external_calls: ExternalCalls::default(),
        approvals: ApprovalQueue::default(),
        step_log: StepLog::default(),
        skill_registry,
        startup: startup_files,
        choices,
        cwd,
        terminal_background: None,
        unreported: None,
        ended_cells: HashMap::new(),
        background,
    };
    let io = SessionIo {
        runtimes: Runtimes::new(runtime, shell, stdin, Arc::clone(&shared.killer)),
        agent: AgentPeer::new(agent),
        record,
        turn: None,
        outputs: Outputs::new(artifacts, record_path),
        workbook: Workbook::default(),
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
        },
        inbox: commands,
        shared,
        awaiting_start: Vec::new(),
    };
    let mut session = Session {
        state,
        io,
        queue: EventQueue::default(),
    };
    let most = session.state.choices.checkpoints;
    session.io.runtimes.user.keep_checkpoints(most);
    executor.block_on(session.work(inbox, reports, runtime_at_once));
}

impl Session {
    async fn work(
        mut self,
        mut inbox: UnboundedReceiver<Command>,
        mut reports: UnboundedReceiver<Report>,
        runtime_at_once: bool,
    ) {
        let (start, started) = (began(self.io.record.clone()), self.io.inbox.clone());
        if self.io.runtimes.user.is_told_at_start() {
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
            self.io.runtimes.user.get();
        }
        loop {
            self.drain();
            let out = self.state.scheduler.out().cloned();
            let keeps_up =
                out.as_ref().is_none_or(RunSender::is_ready) && self.state.background.is_ready();
            let prompt = self.state.scheduler.prompt();
            let save = prompt.and_then(|prompt| prompt.save_deadline());
            let look_at = sooner(save, self.state.tool_runner.deadline());
            let look_at = sooner(look_at, self.state.kernels.due());
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
                Some(report) = reports.recv() => self.state.background.send(report_notice(&report)),
                (role, event) = self.io.runtimes.next(), if keeps_up => self.on_runtime(role, event),
                event = self.io.agent.next(), if keeps_up => {
                    let effects = route::on_agent(&mut self.state, event);
                    self.carry_out(effects);
                }
                () = caught_up(out.as_ref(), &self.state.background), if !keeps_up => {}
                () = at(look_at), if look_at.is_some() => {
                    self.raise_prompt(PromptEvent::Tick);
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

    /// Queues an event for the active prompt.
    pub(super) fn raise_prompt(&mut self, event: PromptEvent) {
        if let Some(job) = self.state.scheduler.ticket() {
            self.raise(Event::Prompt(job, event));
        }
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
            Event::CallStopped => self.cancel_call(),
            Event::WaitStopped(out) => self.on_wait_stopped(out),
            Event::Free => self.free_floor(),
            Event::DeathTold => self.on_scheduler(SchedulerEvent::DeathTold),
            Event::Advance => self.advance(),
            Event::Prompt(job, event) => self.on_prompt(job, event),
            Event::TurnStarted(job, turn) => {
                self.state.turns.running = Some(turn);
                self.raise(Event::Prompt(job, PromptEvent::TurnStarted(turn)));
            }
            Event::TurnOver => self.on_turn_over(),
            Event::JobOver => {
                self.end_branch();
                self.finish_current();
            }
            Event::Submitted(job, id) => self.state.scheduler.submitted(job, id),
            Event::RuntimeReplied(waiter, reply) => self.on_answer_for(waiter, reply),
            Event::ToolCalled(call) => self.call_tool(call),
            Event::ToolInterrupted => self.interrupt_tool(),
            Event::Tool(by, event) => self.on_tool_event(by, event),
            Event::ToolOf(call, event) => self.on_call_event(call, event),
            Event::ToolDone(ToolCaller::Code, result, _) => self.on_agent_tool_return(result),
            Event::ToolDone(ToolCaller::Turn, result, cells) => {
                match self.state.scheduler.active() {
                    Some(ActiveJob::Call { .. }) => self.on_call_return(result),
                    _ => self.raise_prompt(PromptEvent::ToolReturned(result, cells)),
                }
            }
            Event::CallReturned(result) => self.on_call_return(result),
            Event::Ask(about, asker) => self.ask_user(about, asker),
            Event::Replied(asker, reply) => self.on_reply(asker, reply),
            Event::NextQuestion => {
                let next = self.state.approvals.next(SystemTime::now());
                self.carry_out(next);
            }
            Event::Cell(role, event) => self.on_cell_event(role, event),
            Event::CallsAbandoned => self.on_calls_abandoned(),
            Event::NextAgentCall => self.begin_next_agent_call(),
            Event::AgentCallShown(wish) => self.begin_agent_call(wish),
            Event::Found(found, To::Run(out)) => self.on_found(found, &out),
            Event::Found(..) => debug_assert!(false, "an effect that is not bound"),
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
            Command::Query(query) => answer(query, &self.state, &mut self.io),
            Command::Call(call, out) => self.on_external_call(call, out),
            Command::StopCall(id) => self.cancel_external_call(id),
            Command::FunctionsAre(found) => self.state.external_calls.functions = found,
            Command::Interrupt => self.on_scheduler(SchedulerEvent::Interrupted),
            Command::Restart => {
                let told = self.io.runtimes.user.restart();
                self.publish(told);
            }
            Command::Kill(role) => {
                let told = self.io.runtimes.of(role).and_then(RuntimePeer::kill);
                self.publish(told);
            }
            Command::SkipStep => self.on_scheduler(SchedulerEvent::Skipped),
            Command::Answer(question, reply) => {
                self.on_approval(ApprovalEvent::Answered { question, reply });
            }
            Command::ReplyInput(call, reply) => {
                self.on_tool_event(ToolCaller::Turn, ToolEvent::InputAnswered);
                if let Some(runtime) = self.io.runtimes.asking() {
                    runtime.notify(RuntimeRequest::ReplyInput { call, reply });
                }
            }
            Command::OnBackground(background) => {
                self.state.terminal_background = Some(background);
                if !self.state.choices.code_theme_chosen {
                    self.state.choices.code_theme = background.theme().to_owned();
                }
            }
            Command::Started(start, thread) => self.on_started(start, thread),
            Command::RecordRead(ticket, dialog, attached) => {
                if self.state.scheduler.is_current(ticket) {
                    self.state.skill_registry.scan_conversation(&dialog);
                    let read = PromptEvent::RecordRead(dialog, attached);
                    self.raise(Event::Prompt(ticket, read));
                }
            }
            Command::SkillsFound(skills) => {
                // The list of skills goes at the end of the instructions, where a tool can load them.
                self.state
                    .turns
                    .add_tool_instructions(&skills.catalog.section());
                self.state
                    .skill_registry
                    .set_catalog(skills.catalog, skills.consent);
                self.publish(skills.warning.map(Notice::warning));
            }
            Command::SkillRead(call, read) => self.on_call_event(call, ToolEvent::SkillRead(read)),
            Command::Consulted(number, told) => self.on_consulted(number, told),
            Command::DirectoryChecked(call, opening, looked) => {
                if self.state.tool_runner.call_id() == call && !self.state.tool_runner.is_idle() {
                    self.kernel_at(&opening, looked);
                }
            }
            Command::KernelsEvicted(number, request) => self.start_kernel_again(number, &request),
            Command::NotebookDone(call, done) => self.on_notebook_job_done(call, *done),
            Command::FindMissingNames => {
                let record = self.io.record.clone();
                self.spawn_effects(&self.state.background, async move {
                    let (cells, beside) = (record.cells().await, true);
                    vec![Effect::found(Found::RecordedCells { cells, beside })]
                });
            }
            Command::Close { .. } => unreachable!("taken by the loop"),
        }
    }

    fn on_started(&mut self, start: Result<SessionStart, Report>, thread: Option<RecordedThread>) {
        self.state.numbering.on_start(start.clone());
        if let Ok(start) = &start {
            if start.resumed {
                self.state.turns.set_recorded_thread(thread);
            }
            self.io.outputs.settle(start);
            self.io.runtimes.know(&self.io.outputs.told_to_cells(start));
        }
        for waiting in self.io.awaiting_start.drain(..) {
            // Fails when the caller has gone.
            let _ = waiting.send(start.clone());
        }
        self.advance();
    }

    /// Forwards an event to this prompt; drops the event when the prompt is no longer active.
    fn on_prompt(&mut self, job: JobId, event: PromptEvent) {
        if self.state.scheduler.is_current(job) {
            let state = &mut self.state;
            let effects = self
                .io
                .with_context(|ctx| route::on_prompt(state, event, ctx));
            self.carry_out(effects);
        }
    }

    pub(super) fn on_scheduler(&mut self, event: SchedulerEvent<'_>) {
        let effects = self.state.scheduler.on(event);
        self.carry_out(effects);
    }

    /// Carries out effects of the active job, or of none.
    pub(super) fn carry_out(&mut self, effects: Vec<Effect>) {
        let out = self.state.out_or_background().clone();
        self.run_effects(effects, &out);
    }

    /// Carries out effects of the job with this stream.
    pub(super) fn run_effects(&mut self, effects: Vec<Effect>, out: &RunSender) {
        for effect in effects {
            if let Some(effect) = self.state.bind(effect, out) {
                self.io.run(effect, &mut self.queue);
            }
        }
    }

    /// Continues the replay, then the queue, once no job is active.
    pub(super) fn free_floor(&mut self) {
        self.io.shared.changes.send_modify(|changes| *changes += 1);
        self.io.outputs.save(self.state.out_or_background());
        if let Some(replay) = self.state.scheduler.take_replay() {
            self.continue_replay(replay);
        }
        self.advance();
    }

    /// Queues a question for the user; it is shown when those before it are answered.
    pub(super) fn ask_user(&mut self, about: QuestionSubject, asker: ApprovalRequester) {
        let scheduler = &mut self.state.scheduler;
        let line = scheduler.prompt().map_or(0, |prompt| prompt.line());
        let requested = ApprovalEvent::Requested {
            about,
            asker,
            caller: scheduler.caller().map(str::to_owned),
            line,
            can_ask: scheduler.asks(self.io.deps.asks),
        };
        self.on_approval(requested);
    }

    pub(super) fn on_approval(&mut self, event: ApprovalEvent) {
        let effects = self.state.approvals.on(event, SystemTime::now());
        self.carry_out(effects);
    }

    pub(super) fn on_reply(&mut self, asker: ApprovalRequester, reply: Reply) {
        match asker {
            ApprovalRequester::Agent {
                question, options, ..
            } => {
                let answer = reply.for_agent(&options);
                self.raise_prompt(PromptEvent::AgentQuestionAnswered(question, answer));
            }
            ApprovalRequester::Tool(by) => self.on_tool_event(by, ToolEvent::UserReplied(reply)),
            ApprovalRequester::Prompt => {
                let yes = reply == Reply::Chosen(QuestionChoice::Once);
                self.raise_prompt(PromptEvent::PictureQuestionAnswered(yes));
            }
            ApprovalRequester::Startup => self.on_project_answer(&reply),
            ApprovalRequester::Undo(request) => self.on_step_back_answer(request, &reply),
            ApprovalRequester::RestoreVariables(file) => self.on_restore_answer(file, &reply),
        }
    }

    /// Ends a wait that the user stopped, and withdraws its question if there is one.
    fn on_wait_stopped(&mut self, out: RunSender) {
        let approvals = &mut self.state.approvals;
        let about_project = approvals.is_asked_by(&ApprovalRequester::Startup);
        let closed = approvals.on(ApprovalEvent::TurnOver, SystemTime::now());
        self.run_effects(closed, &out);
        if about_project {
            self.set_up_without_project(out);
        } else {
            out.send(Notice::note("stopped waiting"));
        }
        self.free_floor();
    }

    /// Ends the active job; the suspended cell or the queue goes on.
    pub(super) fn finish_current(&mut self) {
        self.state.scheduler.release();
        if self.state.scheduler.resume() {
            return self.resume_cell();
        }
        self.free_floor();
    }

    /// Interrupts the running code in any runtime; returns a notice where that cannot be done.
    pub(super) fn interrupt_code(&mut self) -> Option<Notice> {
        let role = self
            .state
            .scheduler
            .role()
            .unwrap_or(self.state.tool_runner.role());
        self.io.runtimes.of(role)?.interrupt()
    }

    /// Publishes events to the run of the active job, else to the background.
    pub(super) fn publish<E: Into<SessionEvent>>(&self, events: impl IntoIterator<Item = E>) {
        let out = self.state.out_or_background();
        events.into_iter().for_each(|event| out.send(event));
    }
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
