//! The loop: commands and events of both peers in, one thing done at a time.
//!
//! Nothing here waits for a reply: what is asked comes back as the next command or event. A front-end that does not
//! read stops the events of both peers (and so the cell's output), never the commands. Shutdown is a command, too.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::config::{Choices, Keymap};
use crate::dialog::Dialog;
use crate::history::{History, RecordedThread, SessionStart};
use crate::report::Report;
use crate::runtime::{Answer, RequestId, RuntimeRequest, Stdin};
use crate::session::asking::Asking;
use crate::session::cell::CellRun;
use crate::session::commands::{Waiting, recorded_sessions};
use crate::session::events::{Notice, RunSender, SessionEvent};
use crate::session::exchange::Exchanges;
use crate::session::loading::Loading;
use crate::session::outputs::Outputs;
use crate::session::prompt::PromptRun;
use crate::session::replay::{Replay, ReplayRun};
use crate::session::saving::NotebookPlaces;
use crate::session::slots::{AgentSlot, PlanAgent, RuntimeSlot};
use crate::session::toolbox::{Shelf, Toolbox};
use crate::session::{Command, LastExchange, Parts, Shared, Submission};

/// The state of the loop.
pub(super) struct Session {
    pub(super) runtime: RuntimeSlot,
    pub(super) history: History,
    pub(super) choices: Choices,
    pub(super) cwd: PathBuf,
    pub(super) exchanges: Exchanges,
    pub(super) agents: PlanAgent,
    pub(super) exact_log: PathBuf,
    pub(super) config_file: PathBuf,
    pub(super) places: Vec<(String, PathBuf)>,
    pub(super) keys: Arc<Keymap>,
    pub(super) notebooks: NotebookPlaces,
    /// Set once the record has answered.
    pub(super) start: Option<Result<SessionStart, Report>>,
    awaiting_start: Vec<oneshot::Sender<Result<SessionStart, Report>>>,
    pub(super) inbox: UnboundedSender<Command>,
    pub(super) background: RunSender,
    pub(super) current: Option<Current>,
    pub(super) waiting: VecDeque<(Work, RunSender)>,
    /// The replay whose cell is the current one.
    pub(super) replay: Option<Box<ReplayRun>>,
    /// Steps of a file that are still to take numbers.
    pub(super) ahead: u32,
    pub(super) asked: HashMap<RequestId, oneshot::Sender<Answer>>,
    pub(super) shared: Arc<Shared>,
    pub(super) stdin: Stdin,
    pub(super) next_line: u32,
    pub(super) recorded: bool,
    /// Cells with a lower number ran in an interpreter that is gone.
    pub(super) gone_before: u32,
    /// Inputs wait while an earlier session's numbering is not known.
    pub(super) numbering_unknown: bool,
    /// The cell's interpreter died: the run goes on until it is said how.
    pub(super) death_awaited: bool,
    pub(super) asking: Asking,
    /// Why no interpreter could be started, when no input was there to tell it to.
    pub(super) unsaid: Option<Notice>,
    /// What was too long for the model.
    pub(super) outputs: Outputs,
    pub(super) toolbox: Toolbox,
    /// Names what a command waits for.
    pub(super) waits: u64,
    pub(super) shelf: Shelf,
}

/// What waits for its turn.
pub(super) enum Work {
    Input(Submission),
    Replay(Replay),
    Load(Loading),
}

/// What is being worked on.
pub(super) enum Current {
    Cell(Box<CellRun>),
    Prompt(Box<PromptRun>),
    /// A command that waits for something.
    Command(Waiting),
}

impl Current {
    pub(super) fn out(&self) -> &RunSender {
        match self {
            Current::Cell(cell) => cell.out(),
            Current::Prompt(prompt) => prompt.out(),
            Current::Command(waiting) => waiting.out(),
        }
    }
}

/// Runs a session until it is closed.
pub(super) fn run(
    parts: Parts,
    inbox: UnboundedReceiver<Command>,
    commands: UnboundedSender<Command>,
    background: RunSender,
    shared: Arc<Shared>,
) {
    let Ok(executor) = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
    else {
        background.send(SessionEvent::Notice(Notice::warning(
            "could not start the session's timer",
        )));
        return;
    };
    let Parts {
        runtime,
        agent,
        agents,
        history,
        reports,
        instructions,
        choices,
        cwd,
        stdin,
        exact_log,
        config_file,
        places,
        keys,
        resumed,
        python_at_once,
        asks,
        skills,
        artifacts,
        record,
        notebooks,
    } = parts;
    let mut session = Session {
        runtime: RuntimeSlot::new(runtime),
        history,
        choices,
        cwd,
        agents,
        exchanges: Exchanges::new(AgentSlot::new(agent), instructions),
        exact_log,
        config_file,
        places,
        keys,
        notebooks,
        start: None,
        awaiting_start: Vec::new(),
        shelf: Shelf::filling(skills, commands.clone()),
        inbox: commands,
        background,
        current: None,
        waiting: VecDeque::new(),
        replay: None,
        ahead: 0,
        asked: HashMap::new(),
        shared,
        stdin,
        next_line: 1,
        recorded: false,
        gone_before: 0,
        numbering_unknown: resumed,
        death_awaited: false,
        asking: Asking::new(asks),
        unsaid: None,
        outputs: Outputs::new(artifacts, record),
        toolbox: Toolbox::default(),
        waits: 0,
    };
    if python_at_once {
        session.connected_runtime();
    }
    executor.block_on(session.work(inbox, reports));
}

impl Session {
    async fn work(
        mut self,
        mut inbox: UnboundedReceiver<Command>,
        mut reports: UnboundedReceiver<Report>,
    ) {
        let (history, started) = (self.history.clone(), self.inbox.clone());
        tokio::spawn(async move {
            let start = history.session().await;
            let thread = match &start {
                Ok(start) if start.resumed => history.recorded_thread().await,
                _ => None,
            };
            let _ = started.send(Command::Started(start, thread));
        });
        loop {
            let out = self.current.as_ref().map(|current| current.out().clone());
            let keeps_up =
                out.as_ref().is_none_or(RunSender::is_ready) && self.background.is_ready();
            let look_at = earlier(self.save_deadline(), self.tool_due());
            tokio::select! {
                biased;
                command = inbox.recv() => match command {
                    Some(Command::Close(answer)) => {
                        let closed = self.leave().await;
                        let _ = answer.send(closed);
                        return;
                    }
                    Some(command) => self.on_command(command),
                    None => return,
                },
                Some(report) = reports.recv() => self.background.send(SessionEvent::Notice(notice(&report))),
                event = self.runtime.next(), if keeps_up => self.on_runtime(event),
                event = self.exchanges.agent.next(), if keeps_up => self.on_agent(event),
                () = caught_up(out.as_ref(), &self.background), if !keeps_up => {}
                () = at(look_at), if look_at.is_some() => {
                    self.save_answer();
                    self.on_cell_due();
                }
            }
        }
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Submit(submission, out) => self.submitted(submission, out),
            Command::Learned(wait, then) => self.learned(wait, then),
            Command::Replay(replay, out) => self.wait_for(Work::Replay(replay), out),
            Command::Load(loading, out) => self.wait_for(Work::Load(loading), out),
            Command::Interrupt => self.interrupt(),
            Command::SkipStep => self.skip_step(),
            Command::Answer(question, reply) => self.on_reply(question, reply),
            Command::ReplyInput(call, reply) => {
                self.input_answered();
                if self.runtime.is_connected() {
                    self.runtime
                        .get()
                        .submit(RuntimeRequest::ReplyInput { call, reply });
                }
            }
            Command::ReplyRecord(call, place) => {
                if self.runtime.is_connected() {
                    let reply = RuntimeRequest::ReplyRecord { call, place };
                    self.runtime.get().submit(reply);
                }
            }
            Command::LastExchange(answer) => {
                let history = self.history.clone();
                tokio::spawn(async move {
                    // Whoever asked may have gone.
                    let _ = answer.send(last_exchange(&history.dialog().await));
                });
            }
            Command::Ask(request, answer) => {
                let id = self.connected_runtime().submit(request);
                self.asked.insert(id, answer);
            }
            Command::WarmRuntime(answer) => {
                let _ = answer.send(self.connected_runtime().terminal());
            }
            Command::WarmAgent => self.exchanges.agent.get().warm_up(),
            Command::Choices(answer) => {
                let _ = answer.send(self.choices.clone());
            }
            Command::OnBackground(background) => {
                if !self.choices.code_theme_chosen {
                    self.choices.code_theme = background.theme().to_owned();
                }
            }
            Command::Surroundings(answer) => self.tell_surroundings(answer),
            Command::Models(answer) => self.tell_models(answer),
            Command::Started(start, thread) => self.on_started(start, thread),
            Command::RecordRead(dialog) => self.on_record_read(*dialog),
            Command::SkillsFound(skills) => self.on_skills_found(*skills),
            Command::SkillRead(path, read) => self.on_skill_read(&path, read),
            Command::Said(out, event) => out.send(event),
            Command::Suggest(wish) => self.suggest(wish),
            Command::SuggestFrom(dialog, wish) => self.suggest_from(&dialog, *wish),
            Command::Earlier(answer) => self.tell_earlier(answer),
            Command::LookForGone => self.look_for_gone(),
            Command::CellsRead(cells) => self.on_cells_read(cells),
            Command::Sessions { all, answer } => {
                let (history, cwd) = (self.history.clone(), self.cwd.clone());
                tokio::spawn(async move {
                    // Whoever asked may have gone.
                    let _ = answer.send(recorded_sessions(&history, cwd, all).await);
                });
            }
            Command::AwaitStart(answer) => match &self.start {
                Some(start) => drop(answer.send(start.clone())),
                None => self.awaiting_start.push(answer),
            },
            Command::Close(_) => unreachable!("taken by the loop"),
        }
    }

    fn on_started(&mut self, start: Result<SessionStart, Report>, thread: Option<RecordedThread>) {
        self.numbering_unknown = false;
        if let Ok(start) = &start
            && start.resumed
        {
            self.set_next_line(start.next_line);
            self.cells_are_gone();
            self.exchanges.thread_known(thread);
        }
        if let Ok(start) = &start {
            self.outputs.settle(start);
        }
        for waiting in self.awaiting_start.drain(..) {
            // Whoever waited may have gone.
            let _ = waiting.send(start.clone());
        }
        self.start = Some(start);
        self.take_next();
    }

    /// The runtime, connected, with its interrupter where the handles find it.
    pub(super) fn connected_runtime(&mut self) -> &mut dyn crate::runtime::Runtime {
        if !self.runtime.is_connected() {
            self.runtime.get();
            let interrupter = self.runtime.interrupter();
            *self
                .shared
                .interrupter
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = interrupter;
        }
        self.runtime.get()
    }

    /// The session's number; 0 while it is not known.
    pub(super) fn session_number(&self) -> i64 {
        match &self.start {
            Some(Ok(start)) => start.number,
            _ => 0,
        }
    }

    pub(super) fn interrupt(&mut self) {
        match &self.current {
            Some(Current::Cell(_)) => {
                self.stop_replay();
                if let Some(interrupter) = self.runtime.interrupter() {
                    interrupter.interrupt();
                }
            }
            Some(Current::Prompt(_)) => self.interrupt_prompt(),
            Some(Current::Command(_)) => self.stop_waiting(),
            None => {}
        }
    }

    /// The run in progress is over; the next one begins.
    pub(super) fn finish_current(&mut self) {
        self.save_outputs();
        self.current = None;
        self.take_next();
    }

    /// Takes the prompt being worked on, if it is one.
    pub(super) fn take_prompt(&mut self) -> Option<Box<PromptRun>> {
        match self.current.take() {
            Some(Current::Prompt(prompt)) => Some(prompt),
            other => {
                self.current = other;
                None
            }
        }
    }

    /// Puts it back.
    pub(super) fn keep_prompt(&mut self, prompt: Box<PromptRun>) {
        self.current = Some(Current::Prompt(prompt));
    }

    /// The prompt being worked on.
    pub(super) fn prompt(&mut self) -> Option<&mut PromptRun> {
        match &mut self.current {
            Some(Current::Prompt(prompt)) => Some(prompt),
            _ => None,
        }
    }

    pub(super) fn out_or_background(&self) -> &RunSender {
        self.current.as_ref().map_or(&self.background, Current::out)
    }
}

/// A report of the record as a line for the user.
pub fn notice(report: &Report) -> Notice {
    let mut message = report.message.clone();
    for cause in &report.causes {
        message.push_str(": ");
        message.push_str(cause);
    }
    Notice {
        message,
        hints: report.hints.clone(),
        warning: true,
    }
}

/// The newest exchange that is part of the conversation.
fn last_exchange(dialog: &Dialog) -> Option<LastExchange> {
    let last = dialog.last_exchange()?;
    Some(LastExchange {
        line: last.line,
        prompt: last.prompt.clone(),
        response: last.response.clone(),
    })
}

async fn caught_up(out: Option<&RunSender>, background: &RunSender) {
    if let Some(out) = out {
        out.ready().await;
    }
    background.ready().await;
}

/// The earlier one, of those there are.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

async fn at(instant: Option<Instant>) {
    if let Some(instant) = instant {
        tokio::time::sleep_until(instant.into()).await;
    }
}
