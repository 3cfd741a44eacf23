//! The loop: commands and events of both peers in, one thing done at a time.
//!
//! Nothing here waits for a reply: what is asked comes back as the next command or event. A front-end that does not
//! read stops the events of both peers (and so the cell's output), never the commands. Shutdown is a command, too.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::config::Choices;
use crate::history::{History, RecordedThread, SessionStart};
use crate::markdown::Background;
use crate::report::Report;
use crate::runtime::RuntimeRequest;
use crate::session::asking::{AskingEvent, OpenQuestions};
use crate::session::commands::{Deed, model_names, recorded_sessions};
use crate::session::ending::Leaving;
use crate::session::events::{EndEvent, Notice, SessionEvent, notice};
use crate::session::exchange::Exchanges;
use crate::session::floor::{Floor, FloorAction, FloorEvent, Work};
use crate::session::from_agent::FromAgent;
use crate::session::from_cells::FromCells;
use crate::session::given::Setup;
use crate::session::handle::{Command, Shared};
use crate::session::kernels::Kernels;
use crate::session::numbering::Numbering;
use crate::session::outputs::Outputs;
use crate::session::outside::Outside;
use crate::session::prompt::PromptEvent;
use crate::session::replay::ReplayRun;
use crate::session::resume::{began, earlier, last_exchange};
use crate::session::run::RunSender;
use crate::session::runtimes::{RuntimeSlot, Runtimes};
use crate::session::slots::{AgentSlot, Waiter};
use crate::session::suggest;
use crate::session::taken_back::Steps;
use crate::session::ticket::CalledBy;
use crate::session::toolbox::{Shelf, ToolEvent, Toolbox};
use crate::session::workbook::Workbook;
use crate::session::{Parts, Surroundings};

/// The state of the loop.
pub(super) struct Session {
    pub(super) runtimes: Runtimes,
    pub(super) history: History,
    pub(super) choices: Choices,
    pub(super) cwd: PathBuf,
    pub(super) exchanges: Exchanges,
    pub(super) setup: Setup,
    awaiting_start: Vec<oneshot::Sender<Result<SessionStart, Report>>>,
    pub(super) inbox: UnboundedSender<Command>,
    pub(super) background: RunSender,
    pub(super) floor: Floor,
    pub(super) numbering: Numbering,
    pub(super) shared: Arc<Shared>,
    pub(super) asking: OpenQuestions,
    /// Why no interpreter could be started, when no input was there to tell it to.
    pub(super) unsaid: Option<Notice>,
    /// What was too long for the model.
    pub(super) outputs: Outputs,
    pub(super) toolbox: Toolbox,
    pub(super) kernels: Kernels,
    pub(super) shelf: Shelf,
    /// What the terminal has said of its background.
    pub(super) terminal_is: Option<Background>,
    /// The notebook that is worked on in place.
    pub(super) workbook: Workbook,
    pub(super) outside: Outside,
    pub(super) steps: Steps,
    pub(super) from_cells: FromCells,
    pub(super) from_agent: FromAgent,
}

/// Runs a session until it is closed.
pub(super) fn run(
    parts: Parts,
    inbox: UnboundedReceiver<Command>,
    commands: UnboundedSender<Command>,
    background: RunSender,
    shared: Arc<Shared>,
) {
    (parts.turn)();
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
        history,
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
        turn: _,
        asks,
        at_home,
        skills,
        artifacts,
        record,
        notebooks,
    } = parts;
    let mut session = Session {
        runtimes: Runtimes::new(runtime, shell, stdin, Arc::clone(&shared.killer)),
        history,
        choices,
        cwd,
        exchanges: Exchanges::new(AgentSlot::new(agent), instructions),
        setup: Setup {
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
        shelf: Shelf::filling(skills, {
            let inbox = commands.clone();
            move |found| {
                // The session may have ended.
                let _ = inbox.send(Command::SkillsFound(Box::new(found)));
            }
        }),
        terminal_is: None,
        inbox: commands,
        background,
        floor: Floor::default(),
        numbering: Numbering::new(resumed, Arc::clone(&shared.next_line)),
        shared,
        asking: OpenQuestions::default(),
        unsaid: None,
        outputs: Outputs::new(artifacts, record),
        toolbox: Toolbox::default(),
        kernels: Kernels::default(),
        workbook: Workbook::default(),
        outside: Outside::default(),
        steps: Steps::default(),
        from_cells: FromCells::default(),
        from_agent: FromAgent::default(),
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
        let (start, started) = (began(self.history.clone()), self.inbox.clone());
        if self.runtimes.user.is_told_at_start() {
            // The record says soon what it knows, also when others hold it.
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
            let out = self.floor.out().cloned();
            let keeps_up =
                out.as_ref().is_none_or(RunSender::is_ready) && self.background.is_ready();
            let prompt = self.floor.prompt();
            let save = prompt.and_then(|prompt| prompt.save_deadline());
            let look_at = sooner(save, self.toolbox.due());
            let look_at = sooner(look_at, self.kernels.due());
            tokio::select! {
                biased;
                command = inbox.recv() => match command {
                    Some(Command::Close { tells, answer }) => {
                        let mut who = Leaving::new(tells, inbox);
                        let closed = self.leave(&mut who).await;
                        let _ = answer.send(closed);
                        return;
                    }
                    Some(command) => self.on_command(command),
                    None => return,
                },
                Some(report) = reports.recv() => self.background.send(notice(&report)),
                (role, event) = self.runtimes.next(), if keeps_up => self.on_runtime(role, event),
                event = self.exchanges.agent.next(), if keeps_up => self.on_agent(event),
                () = caught_up(out.as_ref(), &self.background), if !keeps_up => {}
                () = at(look_at), if look_at.is_some() => {
                    self.on_prompt(PromptEvent::Tick);
                    self.on_tool(CalledBy::Turn, ToolEvent::Due);
                    self.sweep_kernels();
                }
            }
        }
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Submit(submission, out) => self.submitted(submission, out),
            Command::Learned(ticket, deeds) => self.learned(ticket, deeds),
            Command::Do(deeds, out) => self.do_all(deeds, &out),
            Command::Replay(replay, out) => self.wait_for(Work::Replay(replay), out),
            Command::Load(loading, out) => self.wait_for(Work::Load(loading), out),
            Command::BringBack(out) => self.wait_for(Work::BringBack, out),
            Command::SetUp(out) => self.wait_for(Work::SetUp, out),
            Command::Outside(wanted) => self.on_outside(wanted),
            Command::Interrupt => self.on_floor(FloorEvent::Interrupted),
            Command::Restart => {
                let told = self.runtimes.user.restart();
                self.say(told);
            }
            Command::Kill(role) => {
                let told = self.runtimes.of(role).and_then(RuntimeSlot::kill);
                self.say(told);
            }
            Command::SkipStep => self.on_floor(FloorEvent::Skipped),
            Command::Answer(question, reply) => {
                self.on_asking(AskingEvent::Answered { question, reply });
            }
            Command::ReplyInput(call, reply) => {
                self.on_tool(CalledBy::Turn, ToolEvent::InputAnswered);
                if let Some(runtime) = self.runtimes.asking() {
                    runtime.tell(RuntimeRequest::ReplyInput { call, reply });
                }
            }
            Command::ReplyRecord(call, place) => {
                self.runtimes
                    .user
                    .tell(RuntimeRequest::ReplyRecord { call, place });
            }
            Command::LastExchange(answer) => {
                let history = self.history.clone();
                let told = async move { last_exchange(&history.dialog().await) };
                answers(answer, told);
            }
            Command::Ask(request, answer) => self.ask_runtime(request, Waiter::Asker(answer)),
            Command::WarmRuntime(answer) => {
                let _ = answer.send(self.runtimes.user.get().terminal());
            }
            Command::WarmShell(answer) => self.tell_shell_terminal(answer),
            Command::ShellJobs(answer) => self.tell_jobs(answer),
            Command::WarmAgent => self.exchanges.agent.get().warm_up(),
            Command::Choices(answer) => {
                let _ = answer.send(self.choices.clone());
            }
            Command::OnBackground(background) => {
                self.terminal_is = Some(background);
                if !self.choices.code_theme_chosen {
                    self.choices.code_theme = background.theme().to_owned();
                }
            }
            Command::Surroundings(answer) => {
                let offers = &self.exchanges.offers;
                let commands = offers.commands().iter();
                let options = offers.selections();
                // Whoever asked may have gone.
                let _ = answer.send(Surroundings {
                    cwd: self.cwd.clone(),
                    skills: self.shelf.names(),
                    commands: commands.map(|it| (it.id.clone(), it.about())).collect(),
                    options: options.map(|it| (it.of.id.clone(), it.line())).collect(),
                });
            }
            Command::Models(answer) => answers(answer, model_names(self.exchanges.agent.get())),
            Command::Started(start, thread) => self.on_started(start, thread),
            Command::RecordRead(ticket, dialog, attached) => {
                self.on_read(ticket, dialog, attached);
            }
            Command::SkillsFound(skills) => {
                // The instructions end with the list, where a tool can load them.
                self.exchanges
                    .instruct_about_tools(&skills.catalog.section());
                self.shelf.fill(skills.catalog, skills.consent);
                self.say(skills.trouble.map(Notice::warning));
            }
            Command::SkillRead(call, read) => self.on_call(call, ToolEvent::SkillRead(read)),
            Command::Consulted(number, told) => self.consulted(number, told),
            Command::PlaceLookedAt(call, opening, looked) => {
                if self.toolbox.call() == call && !self.toolbox.is_free() {
                    self.kernel_at(&opening, looked);
                }
            }
            Command::RoomMade(number, wish) => self.start_kernel_again(number, &wish),
            Command::NotebookDone(call, done) => self.on_notebook(call, *done),
            Command::Suggest(wish) => {
                let inbox = self.inbox.clone();
                suggest::begin(wish, self.history.clone(), move |dialog, wish| {
                    // A session that has ended wants nothing any more.
                    let _ = inbox.send(Command::SuggestFrom(Box::new(dialog), wish));
                });
            }
            Command::SuggestFrom(dialog, wish) => {
                let model = self.choices.completion_model.clone();
                let agent = self.exchanges.agent.get();
                suggest::ask(*wish, &dialog, agent, model, self.cwd.clone());
            }
            Command::Earlier(answer) => answers(answer, earlier(self.history.clone())),
            Command::OtherAgent(earlier, answer) => drop(answer.send(self.other_agent(&earlier))),
            Command::LookForGone => {
                let history = self.history.clone();
                self.beside(&self.background, async move {
                    let (cells, beside) = (history.cells().await, true);
                    vec![Deed::FindGone { cells, beside }]
                });
            }
            Command::Sessions { all, answer } => {
                let (history, cwd) = (self.history.clone(), self.cwd.clone());
                answers(answer, recorded_sessions(history, cwd, all));
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
                self.exchanges.thread_known(thread);
            }
            self.outputs.settle(start);
            self.runtimes.know(&self.outputs.told_to_cells(start));
        }
        for waiting in self.awaiting_start.drain(..) {
            // Whoever waited may have gone.
            let _ = waiting.send(start.clone());
        }
        self.advance();
    }

    /// Tells the floor, and does what it says.
    pub(super) fn on_floor(&mut self, event: FloorEvent<'_>) {
        for action in self.floor.on(event) {
            match action {
                FloorAction::Interrupt => {
                    let told = self.interrupt_code();
                    self.say(told);
                }
                FloorAction::StopCall => self.stop_call(),
                FloorAction::StopPrompt => self.on_prompt(PromptEvent::Interrupted),
                FloorAction::StoppedWaiting(out) => self.stopped_waiting(out),
                FloorAction::NotRun(waiting) => {
                    let tell = |out: &RunSender| out.send(EndEvent::NotRun);
                    waiting.iter().for_each(tell);
                }
                FloorAction::Free(replay) => self.free_floor(replay),
            }
        }
    }

    /// The floor is free: a replay goes on, then what waits has its turn.
    pub(super) fn free_floor(&mut self, replay: Option<Box<ReplayRun>>) {
        self.shared.changes.send_modify(|changes| *changes += 1);
        self.outputs.save(self.out_or_background());
        if let Some(replay) = replay {
            self.go_on(replay);
        }
        self.advance();
    }

    /// The run in progress is over; the next one begins.
    pub(super) fn finish_current(&mut self) {
        self.floor.take_back();
        if self.floor.come_up() {
            return self.cell_goes_on();
        }
        self.free_floor(None);
    }

    /// Interrupts the code that runs, in whichever runtime that is; what the user is told where that cannot be done.
    pub(super) fn interrupt_code(&mut self) -> Option<Notice> {
        let role = self.floor.role().unwrap_or(self.toolbox.role());
        self.runtimes.of(role)?.interrupt()
    }

    /// Tells whoever follows what is being worked on.
    pub(super) fn say<E: Into<SessionEvent>>(&self, events: impl IntoIterator<Item = E>) {
        let out = self.out_or_background();
        events.into_iter().for_each(|event| out.send(event));
    }

    pub(super) fn out_or_background(&self) -> &RunSender {
        self.floor.out().unwrap_or(&self.background)
    }
}

/// Whoever asked may have gone.
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

/// The earlier one, of those there are.
fn sooner(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

async fn at(instant: Option<Instant>) {
    if let Some(instant) = instant {
        tokio::time::sleep_until(instant.into()).await;
    }
}
