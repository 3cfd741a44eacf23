//! The handle that front-ends hold, and the commands it sends to the loop.
//!
//! Each call is one [`Command`]; a call with an answer waits on a channel of its own.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

use super::editor::{EditorRequestSender, EditorRequests};
use super::effect::Event;
use super::events::Notice;
use super::external_calls::{Caller, ExternalCall, IncomingCalls, PendingCall, Toolset};
use super::runtimes::{KillHandle, RuntimeRole};
use super::submission::QueuedJob;
use super::suggest::{Draft, OnSuggestion, PendingSuggestion, SuggestionRequest};
use super::{
    LastExchange, LoadRequest, Replay, Reply, Run, SessionEnd, SessionSnapshot, Submission,
    external_calls, run,
};
use crate::agent::ToolCall;
use crate::config::Choices;
use crate::dialog::Dialog;
use crate::markdown::Background;
use crate::record::{SessionRow, SessionStart, SessionTail};
use crate::runtime::{CellTerminal, InputReply, RuntimeReply, RuntimeRequest};
use crate::text::report::Report;

/// Interval at which a front-end calls back while it waits for the end of its session.
const LOOK: Duration = Duration::from_millis(50);

/// Longest wait for the end of a session that nobody looks at.
const LEAVE: Duration = Duration::from_secs(5);

/// A handle to a session; clones share the session.
#[derive(Clone)]
pub struct SessionHandle {
    pub(super) commands: UnboundedSender<Command>,
    shared: Arc<Shared>,
}

/// State that handles read without the loop.
pub(super) struct Shared {
    pub(super) next_line: Arc<AtomicU32>,
    pub(super) killer: KillHandle,
    pub(super) editor: EditorRequestSender,
    pub(super) host: external_calls::CallHost,
    /// Counts changes that may affect the tools.
    pub(super) changes: watch::Sender<u64>,
    calls: AtomicU64,
    pub(super) language: Mutex<String>,
}

impl Shared {
    pub(super) fn set_language(&self, language: String) {
        *self.language.lock().unwrap_or_else(PoisonError::into_inner) = language;
    }
}

/// What the loop gets: from handles, and from its own tasks.
pub(super) enum Command {
    Event(Box<Event>),
    Query(Query),
    /// Ends the session; with `tells`, reports slow steps meanwhile.
    Close {
        tells: bool,
        answer: oneshot::Sender<SessionEnd>,
    },
}

/// A question that changes nothing in the session.
pub(super) enum Query {
    LastExchange(oneshot::Sender<Option<LastExchange>>),
    Ask(Box<RuntimeRequest>, oneshot::Sender<RuntimeReply>),
    WarmRuntime(oneshot::Sender<Option<Arc<dyn CellTerminal>>>),
    WarmShell(oneshot::Sender<Option<Arc<dyn CellTerminal>>>),
    WarmAgent,
    Jobs(oneshot::Sender<Vec<String>>),
    Choices(oneshot::Sender<Choices>),
    Surroundings(oneshot::Sender<SessionSnapshot>),
    Models(oneshot::Sender<Vec<(String, String)>>),
    Earlier(oneshot::Sender<Option<SessionTail>>),
    OtherAgent(Box<SessionTail>, oneshot::Sender<Option<Notice>>),
    Sessions {
        all: bool,
        answer: oneshot::Sender<Vec<SessionRow>>,
    },
    AwaitStart(oneshot::Sender<Result<SessionStart, Report>>),
    Suggest(Box<SuggestionRequest>),
    SuggestFrom(Box<Dialog>, Box<SuggestionRequest>),
    Tools(oneshot::Sender<Toolset>),
    ToolsIn(Box<Dialog>, oneshot::Sender<Toolset>),
}

impl From<Event> for Command {
    fn from(event: Event) -> Self {
        Command::Event(Box::new(event))
    }
}

impl From<Query> for Command {
    fn from(query: Query) -> Self {
        Command::Query(query)
    }
}

impl SessionHandle {
    /// Creates a handle that sends `commands`, and the state it shares with the loop; `language` is that of the
    /// user's cells.
    pub(super) fn new(commands: UnboundedSender<Command>, language: String) -> (Self, Arc<Shared>) {
        let shared = Arc::new(Shared {
            next_line: Arc::new(AtomicU32::new(1)),
            killer: KillHandle::default(),
            editor: EditorRequestSender::default(),
            host: external_calls::CallHost::default(),
            changes: watch::Sender::new(0),
            calls: AtomicU64::new(0),
            language: Mutex::new(language),
        });
        let handle = SessionHandle {
            commands,
            shared: Arc::clone(&shared),
        };
        (handle, shared)
    }

    /// A handle to a session that is over, for tests of front-ends: what it is sent is lost.
    #[doc(hidden)]
    pub fn ended() -> Self {
        let (commands, _) = tokio::sync::mpsc::unbounded_channel();
        SessionHandle::new(commands, String::new()).0
    }

    /// Sends an event whose own events arrive on the returned run; the run ends at once when the loop has ended.
    fn run(&self, event: impl FnOnce(run::RunSender) -> Event) -> Run {
        let (sender, run) = run::stream();
        self.raise(event(sender));
        run
    }

    fn enqueue(&self, job: QueuedJob) -> Run {
        self.run(|out| Event::Queued(job, out))
    }

    fn raise(&self, event: Event) {
        // Fails when the session has ended.
        let _ = self.commands.send(event.into());
    }

    fn query(&self, query: Query) {
        // Fails when the session has ended.
        let _ = self.commands.send(query.into());
    }

    /// Sends a query and blocks for its answer; `None` when the session has ended.
    fn request<T>(&self, query: impl FnOnce(oneshot::Sender<T>) -> Query) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.query(query(answer));
        answered.blocking_recv().ok()
    }

    /// Submits an input; its events arrive on the returned run.
    pub fn submit(&self, submission: Submission) -> Run {
        self.run(|out| Event::Input(submission, out))
    }

    /// Submits a replay, queued like an input; its events arrive on the returned run.
    pub fn replay(&self, replay: Replay) -> Run {
        self.enqueue(QueuedJob::Replay(replay))
    }

    /// Submits a file to run, queued like an input; the file is read when its turn comes.
    pub fn load(&self, loading: LoadRequest) -> Run {
        self.enqueue(QueuedJob::Load(loading))
    }

    /// Runs the start-up files, queued like an input.
    pub fn run_startup(&self) -> Run {
        self.enqueue(QueuedJob::SetUp)
    }

    /// Offers the variables that were kept when the session ended, where there are any, then reports missing names
    /// as [`SessionHandle::find_missing_names`] does.
    pub fn restore_variables(&self) -> Run {
        self.enqueue(QueuedJob::RestoreVariables)
    }

    /// Directs the requests that only an editor can serve to the latest caller; without one, the session prints the
    /// alternative.
    pub fn editor_requests(&self) -> EditorRequests {
        self.shared.editor.subscribe()
    }

    /// Calls a tool of the session, or a function of the user, from outside of any turn; queued like an input.
    /// Questions that nobody answers get the answer that changes nothing.
    pub fn call(&self, call: ToolCall, caller: Caller) -> PendingCall {
        let (sender, run) = run::stream();
        let id = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let call = ExternalCall { id, call, caller };
        self.raise(Event::ExternalCall(call, sender));
        PendingCall { id, run }
    }

    /// Stops a call, running or queued; its run still ends.
    pub fn stop_call(&self, id: u64) {
        self.raise(Event::CallLeft(id));
    }

    /// Directs external calls to the latest caller of this method, which shows them; without one, the callers get
    /// all events.
    pub fn incoming_calls(&self) -> IncomingCalls {
        self.shared.host.subscribe()
    }

    /// Requests the tools that can be called from outside; the receiver fails when the session is over.
    pub fn tools(&self) -> oneshot::Receiver<Toolset> {
        let (answer, answered) = oneshot::channel();
        self.query(Query::Tools(answer));
        answered
    }

    /// Changes when [`SessionHandle::tools`] may have another answer.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Returns the language of the cells, as far as it is known: `Python`, `R`.
    pub fn language(&self) -> String {
        let language = self.shared.language.lock();
        language.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Restarts the interpreter, or starts one that does not run; its variables are lost.
    pub fn restart(&self) {
        self.raise(Event::RestartWanted);
    }

    /// Skips the running cell of the replay and goes on with the next step.
    pub fn skip_step(&self) {
        self.raise(Event::Skipped);
    }

    /// Lets the running cell go on in the background, if that is possible; its run ends then.
    pub fn move_to_background(&self) {
        self.raise(Event::BackgroundWanted);
    }

    /// Has the agent answer this prompt (without its dot) beside what runs, in a fork of the session.
    pub fn ask_aside(&self, prompt: String) {
        self.raise(Event::AsideWanted(prompt));
    }

    /// Sends more input to the running turn. [`AnswerEvent::Steered`](crate::AnswerEvent::Steered) says in its run
    /// whether the turn has taken it; a run that ends without has not.
    pub fn steer(&self, text: String) {
        self.raise(Event::Steer(text));
    }

    /// Switches plan mode, whatever runs.
    pub fn set_plan_mode(&self, on: bool) {
        self.raise(Event::PlanMode(on));
    }

    /// Returns the number that the next input takes.
    pub fn next_line(&self) -> u32 {
        self.shared.next_line.load(Ordering::Relaxed)
    }

    /// Waits until the record has reported where the session begins.
    ///
    /// # Errors
    /// Fails when the session to resume is not in the record.
    pub fn await_start(&self) -> Result<SessionStart, Report> {
        let gone = || Err(Report::failure("the session has ended"));
        self.request(Query::AwaitStart).unwrap_or_else(gone)
    }

    /// Returns the end of the session as it was before this process; `None` when nothing is known of it.
    pub fn earlier(&self) -> Option<SessionTail> {
        self.request(Query::Earlier).flatten()
    }

    /// Returns the notice when another agent answered in the resumed session.
    pub fn other_agent(&self, earlier: &SessionTail) -> Option<Notice> {
        let earlier = Box::new(earlier.clone());
        self.request(|answer| Query::OtherAgent(earlier, answer))
            .flatten()
    }

    /// Looks up which names of an earlier session the interpreter lacks; reports them in the background, with how
    /// they come back.
    pub fn find_missing_names(&self) {
        self.raise(Event::NamesWanted);
    }

    /// Returns the sessions of this directory (else of its git root), or all of them; newest first.
    pub fn sessions(&self, all: bool) -> Vec<SessionRow> {
        self.request(|answer| Query::Sessions { all, answer })
            .unwrap_or_default()
    }

    /// Interrupts the running cell or turn.
    pub fn interrupt(&self) {
        self.raise(Event::Interrupted);
    }

    /// Kills the interpreter; its variables are lost.
    pub fn kill(&self) {
        self.end_interpreter(false);
    }

    /// As [`SessionHandle::kill`], for a cell that exceeded its time limit.
    pub fn kill_over_time(&self) {
        self.end_interpreter(true);
    }

    fn end_interpreter(&self, over_time: bool) {
        let killer = {
            let killer = self.shared.killer.lock();
            let mut killer = killer.unwrap_or_else(PoisonError::into_inner);
            killer.over_time = over_time;
            killer.interrupter.clone()
        };
        match killer {
            Some(killer) => killer.kill(),
            // The loop reports why not.
            None => self.raise(Event::KillWanted(RuntimeRole::User)),
        }
    }

    /// Kills what blocks the shell: first the foreground job; the shell itself, with its variables, when there is
    /// no job or that has not helped.
    pub fn kill_shell(&self) {
        self.raise(Event::KillWanted(RuntimeRole::Shell));
    }

    /// Answers a cell that asked for input.
    pub fn reply_input(&self, call: u64, reply: InputReply) {
        self.raise(Event::InputAnswered(call, reply));
    }

    /// Answers a [`Question`](super::Question); an answer to one that is over is ignored.
    pub fn answer(&self, question: u64, reply: Reply) {
        self.raise(Event::Answered(question, reply));
    }

    /// Returns the newest exchange of the conversation.
    pub fn last_exchange(&self) -> Option<LastExchange> {
        self.request(Query::LastExchange).flatten()
    }

    /// Starts the interpreter if it does not run yet; returns the terminal that its cells own, if any.
    pub fn warm_runtime(&self) -> Option<Arc<dyn CellTerminal>> {
        self.request(Query::WarmRuntime).flatten()
    }

    /// Returns the terminal that commands of the persistent shell own; the shell itself starts with the first
    /// command.
    pub fn shell_terminal(&self) -> Option<Arc<dyn CellTerminal>> {
        self.request(Query::WarmShell).flatten()
    }

    /// Returns what ends with the session: cells in the background, and command lines of jobs that run or are stopped
    /// in its shell.
    pub fn jobs(&self) -> Vec<String> {
        self.request(Query::Jobs).unwrap_or_default()
    }

    /// Starts the agent's process if it does not run yet; does not wait for it.
    pub fn warm_agent(&self) {
        self.query(Query::WarmAgent);
    }

    /// Returns the choices in force.
    pub fn choices(&self) -> Option<Choices> {
        self.request(Query::Choices)
    }

    /// Sets the terminal's background: the theme for code follows it unless the user has chosen one.
    pub fn on_background(&self, background: Background) {
        self.raise(Event::OnBackground(background));
    }

    /// Returns the interpreter's directory and the skills.
    pub fn surroundings(&self) -> SessionSnapshot {
        self.request(Query::Surroundings).unwrap_or_default()
    }

    /// Returns name and description of each model; waits for the agent, and starts it when it does not run.
    pub fn models(&self) -> Vec<(String, String)> {
        self.request(Query::Models).unwrap_or_default()
    }

    /// Sends the runtime a request that is not a cell; the receiver fails when no answer can come any more.
    pub fn ask(&self, request: RuntimeRequest) -> oneshot::Receiver<RuntimeReply> {
        let (answer, answered) = oneshot::channel();
        self.query(Query::Ask(Box::new(request), answer));
        answered
    }

    /// Requests a completion of `draft`, which `take` gets. Requests nothing for a blank text.
    pub fn suggest(&self, draft: Draft, take: OnSuggestion) -> PendingSuggestion {
        let (request, suggesting) = SuggestionRequest::new(draft, take);
        // Fails when the loop has ended.
        self.query(Query::Suggest(Box::new(request)));
        suggesting
    }

    /// As [`SessionHandle::close`], for a session that nobody looks at.
    pub(super) fn leave(&self) {
        self.close(LEAVE);
    }

    /// Ends the session: stops jobs, writes pending rows, ends both peers. Waits at most `patience`; after that the
    /// end is unknown ([`SessionEnd::default`]).
    pub fn close(&self, patience: Duration) -> SessionEnd {
        self.end(patience, false, patience, || {})
    }

    /// As `close`, but reports slow steps in the background, and an interrupt ends the wait. Calls `meanwhile`
    /// every 50 ms, so not at all when the end comes sooner.
    pub fn close_while(&self, patience: Duration, meanwhile: impl FnMut()) -> SessionEnd {
        self.end(patience, true, LOOK, meanwhile)
    }

    fn end(
        &self,
        patience: Duration,
        tells: bool,
        look: Duration,
        mut meanwhile: impl FnMut(),
    ) -> SessionEnd {
        let (answer, answered) = oneshot::channel();
        if self
            .commands
            .send(Command::Close { tells, answer })
            .is_err()
        {
            return SessionEnd::default();
        }
        // The thread bounds the wait: the receiver itself has no deadline.
        let (done, finished) = std::sync::mpsc::channel();
        let wait = move || done.send(answered.blocking_recv().unwrap_or_default());
        if std::thread::Builder::new()
            .name("close".into())
            .spawn(wait)
            .is_err()
        {
            return SessionEnd::default();
        }
        let begun = Instant::now();
        loop {
            let left = patience.saturating_sub(begun.elapsed());
            match finished.recv_timeout(left.min(look)) {
                Err(RecvTimeoutError::Timeout) if left > look => meanwhile(),
                closed => return closed.unwrap_or_default(),
            }
        }
    }
}
