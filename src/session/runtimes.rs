//! The runtimes of a session by role: connected when first needed, with the requesters of their answers.
//!
//! Invariants: every request goes to a role, and request ids belong to one runtime; a request that the runtime cannot
//! serve is not sent: its refusal comes back, or the notice for the user.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use crate::runtime::{
    CheckpointRequest, Death, EnvironmentChanges, Execute, Interrupter, RequestId, Runtime,
    RuntimeCapabilities, RuntimeEvent, RuntimeReply, RuntimeRequest, Stdin,
};
use crate::session::events::Notice;
use crate::session::peers::{ConnectRuntime, LazyPeer, PlannedRuntime, RuntimeRequester};

/// Ends the interpreter without the loop, for handles.
pub(super) type KillHandle = Arc<Mutex<KillState>>;

/// See [`KillHandle`].
#[derive(Default)]
pub(super) struct KillState {
    /// Ends the interpreter.
    pub(super) interrupter: Option<Arc<dyn Interrupter>>,
    /// Killed by its time limit.
    pub(super) over_time: bool,
}

/// Whose runtime it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RuntimeRole {
    /// The user's: the session's cells, what prompts refer to, the agent's `live` cells.
    User,
    /// The session's shell: what is typed in shell mode.
    Shell,
    /// One of the agent's own, by its number.
    Agent(u32),
}

/// The runtimes there are.
pub(super) struct Runtimes {
    /// The user's.
    pub(super) user: RuntimePeer,
    /// The session's shell.
    pub(super) shell: RuntimePeer,
    agents: BTreeMap<u32, RuntimePeer>,
    /// Whose code asked for input last; one job is active, so one asks at a time.
    asking: RuntimeRole,
}

/// A runtime that may not be connected yet.
pub(super) struct RuntimePeer {
    /// Connects it, until that is done.
    connect: Option<ConnectRuntime>,
    told_at_start: bool,
    slot: LazyPeer<dyn Runtime, RuntimeEvent>,
    able: RuntimeCapabilities,
    asked: HashMap<RequestId, RuntimeRequester>,
    /// Who answers `input()` where nothing else is wanted.
    stdin: Stdin,
    killer: KillHandle,
    /// The numbered cells its interpreter has run: what goes on of them may show something later.
    ended: HashMap<RequestId, u32>,
    /// Names the session whose numbers its cells have.
    counting: u32,
    /// Environment variables with which cells find their session.
    session: EnvironmentChanges,
    /// Its interpreter knows that.
    knows_session: bool,
    /// The last try to start one failed.
    unstartable: bool,
    /// Its process, while there is one of this machine.
    process: Option<u32>,
    /// How many checkpoints it keeps.
    checkpoints: u32,
    /// Where a shell has led it: also an interpreter that takes its place goes there.
    place: Option<PathBuf>,
}

impl Runtimes {
    pub(super) fn new(
        user: PlannedRuntime,
        shell: PlannedRuntime,
        stdin: Stdin,
        killer: KillHandle,
    ) -> Self {
        Runtimes {
            user: RuntimePeer::new(user, stdin, killer),
            // A handle ends the user's only.
            shell: RuntimePeer::new(shell, Stdin::Terminal, KillHandle::default()),
            agents: BTreeMap::new(),
            asking: RuntimeRole::User,
        }
    }

    /// The runtime of this role, if there is one.
    pub(super) fn of(&mut self, role: RuntimeRole) -> Option<&mut RuntimePeer> {
        match role {
            RuntimeRole::User => Some(&mut self.user),
            RuntimeRole::Shell => Some(&mut self.shell),
            RuntimeRole::Agent(number) => self.agents.get_mut(&number),
        }
    }

    /// One more of the agent's own, connected at once.
    pub(super) fn add(&mut self, number: u32, planned: PlannedRuntime) {
        // A handle ends the user's only.
        let mut runtime = RuntimePeer::new(planned, self.user.stdin, KillHandle::default());
        runtime.know(&self.user.session);
        runtime.get();
        self.agents.insert(number, runtime);
    }

    /// The session they work for, for all there are and will be.
    pub(super) fn know(&mut self, session: &EnvironmentChanges) {
        for runtime in std::iter::once(&mut self.user).chain(self.agents.values_mut()) {
            runtime.know(session);
        }
    }

    /// One of the agent's own, which is no more.
    pub(super) fn remove(&mut self, number: u32) -> Option<RuntimePeer> {
        self.agents.remove(&number)
    }

    /// Code of this role asks for input; the answer is its.
    pub(super) fn asks(&mut self, role: RuntimeRole) {
        self.asking = role;
    }

    /// The runtime whose code asked for input last.
    pub(super) fn asking(&mut self) -> Option<&mut RuntimePeer> {
        self.of(self.asking)
    }

    /// The next event of any, and whose it is; never returns while there is none.
    pub(super) async fn next(&mut self) -> (RuntimeRole, RuntimeEvent) {
        std::future::poll_fn(|waker| self.poll_next(waker)).await
    }

    /// The user's first: somebody waits for it.
    fn poll_next(&mut self, waker: &mut Context<'_>) -> Poll<(RuntimeRole, RuntimeEvent)> {
        if let Poll::Ready(event) = self.user.slot.poll_next(waker) {
            return Poll::Ready((RuntimeRole::User, event));
        }
        if let Poll::Ready(event) = self.shell.slot.poll_next(waker) {
            return Poll::Ready((RuntimeRole::Shell, event));
        }
        for (number, runtime) in &mut self.agents {
            if let Poll::Ready(event) = runtime.slot.poll_next(waker) {
                return Poll::Ready((RuntimeRole::Agent(*number), event));
            }
        }
        Poll::Pending
    }
}

impl RuntimePeer {
    fn new(planned: PlannedRuntime, stdin: Stdin, killer: KillHandle) -> Self {
        RuntimePeer {
            connect: Some(planned.connect),
            told_at_start: planned.needs_session_at_start,
            slot: LazyPeer::empty(),
            able: planned.capabilities,
            asked: HashMap::new(),
            stdin,
            killer,
            ended: HashMap::new(),
            counting: 0,
            session: EnvironmentChanges::new(),
            knows_session: true,
            unstartable: false,
            process: None,
            checkpoints: 0,
            place: None,
        }
    }

    /// The planned capabilities, until the runtime is connected and reports its own.
    pub(super) fn able(&self) -> &RuntimeCapabilities {
        &self.able
    }

    /// The runtime, connected now if it was not, with its interrupter where the handles find it.
    pub(super) fn get(&mut self) -> &mut dyn Runtime {
        if let Some(connect) = self.connect.take() {
            let session = self.session.clone();
            self.slot.replace(Box::new(move || connect(&session)));
            let runtime = self.slot.get();
            self.able = runtime.capabilities();
            let killer = self.able.restart.then(|| runtime.interrupter());
            self.killing().interrupter = killer;
            self.go_to_place();
            if self.checkpoints > 0 {
                self.tell_checkpoints();
            }
        }
        self.slot.get()
    }

    /// The runtime is started once the session's variables are known.
    pub(super) fn is_told_at_start(&self) -> bool {
        self.told_at_start
    }

    /// Works for this session from here on.
    fn know(&mut self, session: &EnvironmentChanges) {
        if self.session != *session {
            self.session.clone_from(session);
            self.knows_session = false;
        }
    }

    /// Changes its directory: now if it is connected, else as soon as it is.
    pub(super) fn go_to(&mut self, place: PathBuf) {
        self.place = Some(place);
        self.go_to_place();
    }

    /// Its own code has changed the directory.
    pub(super) fn has_gone(&mut self) {
        self.place = None;
    }

    /// Goes where it is to be; also an interpreter that has taken another's place.
    pub(super) fn go_to_place(&mut self) {
        if let (Some(place), Some(runtime)) = (&self.place, self.slot.live()) {
            let code = Execute {
                silent: true,
                directory: Some(place.clone()),
                ..Execute::unnumbered(String::new())
            };
            // No requester: the end is ignored.
            runtime.submit(RuntimeRequest::Execute(code));
        }
    }

    /// Runs code; the interpreter learns of the session what it does not know yet.
    pub(super) fn execute(&mut self, mut execute: Execute) -> RequestId {
        if !std::mem::replace(&mut self.knows_session, true) {
            execute.environment.extend(self.session.iter().cloned());
        }
        execute.session = self.counting;
        self.get().submit(RuntimeRequest::Execute(execute))
    }

    /// Its cells have numbers of this session from here on.
    pub(super) fn counts_in(&mut self, session: u32) {
        self.counting = session;
    }

    /// Asks for `waiter`; where it cannot answer that, what stands for an answer comes back.
    pub(super) fn ask(
        &mut self,
        request: RuntimeRequest,
        waiter: RuntimeRequester,
    ) -> Option<(RuntimeRequester, RuntimeReply)> {
        if let Some(refused) = self.able.refusal(&request) {
            return Some((waiter, refused));
        }
        let id = self.get().submit(request);
        self.asked.insert(id, waiter);
        None
    }

    /// Who waits for the answer to this request; nobody does after that.
    pub(super) fn waiter(&mut self, id: RequestId) -> Option<RuntimeRequester> {
        self.asked.remove(&id)
    }

    /// Sends a request without a reply, if the runtime is connected and supports it.
    pub(super) fn notify(&mut self, request: RuntimeRequest) {
        if self.able.refusal(&request).is_none()
            && let Some(runtime) = self.slot.live()
        {
            runtime.submit(request);
        }
    }

    /// The last exchange where the user's code finds it; `None`: there is none any more.
    pub(super) fn set_last_exchange(&mut self, exchange: Option<(String, String)>) {
        let (prompt, response) = exchange.unzip();
        let values = vec![
            ("_ai_last_prompt".to_owned(), prompt),
            ("_ai_last_response".to_owned(), response),
        ];
        self.notify(RuntimeRequest::SetVariables { values });
    }

    /// Interrupts the running code; returns the notice where the runtime cannot.
    pub(super) fn interrupt(&mut self) -> Option<Notice> {
        let runtime = self.slot.live()?;
        if self.able.interrupt {
            runtime.interrupter().interrupt();
            return None;
        }
        let language = &self.able.language;
        let message =
            format!("the {language} runtime cannot interrupt a running cell: it runs to its end");
        Some(Notice::warning(message))
    }

    /// Kills the interpreter, if one runs; returns the notice where that cannot be done.
    pub(super) fn kill(&mut self) -> Option<Notice> {
        let runtime = self.slot.live()?;
        if self.able.restart {
            runtime.interrupter().kill();
            return None;
        }
        let language = &self.able.language;
        let message = format!("the {language} runtime cannot be restarted from here");
        Some(Notice::warning(message))
    }

    /// As [`RuntimePeer::kill`], since it ran longer than it may.
    pub(super) fn kill_over_time(&mut self) -> Option<Notice> {
        self.killing().over_time = true;
        self.kill()
    }

    /// How it died, in view of why it was killed.
    pub(super) fn death(&self, death: Death) -> Death {
        let over_time = std::mem::take(&mut self.killing().over_time);
        match death {
            Death::Killed if over_time => Death::TimedOut,
            death => death,
        }
    }

    fn killing(&self) -> MutexGuard<'_, KillState> {
        self.killer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the interpreter, if one runs, and starts one; returns the notice where that cannot be done.
    pub(super) fn restart(&mut self) -> Option<Notice> {
        let told = self.kill();
        self.get();
        told
    }

    /// Who answers the `input()` of a cell; `wanted` rather than whoever usually does.
    pub(super) fn stdin(&self, wanted: Option<Stdin>) -> Stdin {
        self.able.stdin(wanted.unwrap_or(self.stdin))
    }

    /// Cells own a terminal, where nothing else is wanted.
    pub(super) fn has_terminal(&self) -> bool {
        self.stdin == Stdin::Terminal
    }

    /// Who answers the `input()` of a tool: it owns no terminal.
    pub(super) fn tool_stdin(&self) -> Stdin {
        match self.stdin(None) {
            Stdin::Refuse => Stdin::Refuse,
            Stdin::Terminal | Stdin::Ask => Stdin::Ask,
        }
    }

    /// An interpreter is up: what it can do is known now, if it was not before.
    pub(super) fn is_ready(&mut self) {
        self.unstartable = false;
        self.slot.set_up(true);
        if let Some(runtime) = self.slot.live() {
            self.able = runtime.capabilities();
        }
    }

    /// None could be started.
    pub(super) fn cannot_start(&mut self) {
        self.unstartable = true;
    }

    /// There is none, as far as is known.
    pub(super) fn is_unstartable(&self) -> bool {
        self.unstartable
    }

    /// The interpreter has ended, and with it what those outside the loop wait for.
    pub(super) fn has_died(&mut self) {
        self.is_gone();
        self.asked
            .retain(|_, waiter| !matches!(waiter, RuntimeRequester::Handle(_)));
    }

    /// A cell with this In number has ended.
    pub(super) fn cell_ended(&mut self, id: RequestId, line: u32) {
        self.ended.insert(id, line);
    }

    /// The In number of an ended cell.
    pub(super) fn line_of(&self, id: RequestId) -> Option<u32> {
        self.ended.get(&id).copied()
    }

    /// Its process.
    pub(super) fn process(&self) -> Option<u32> {
        self.process.filter(|_| self.slot.is_up())
    }

    /// This is its process from here on.
    pub(super) fn has_process(&mut self, process: Option<u32>) {
        self.process = process;
    }

    /// Sets the number of checkpoints: now if it is connected, else as soon as it is.
    pub(super) fn keep_checkpoints(&mut self, most: u32) {
        if std::mem::replace(&mut self.checkpoints, most) != most {
            self.tell_checkpoints();
        }
    }

    /// Says how many checkpoints it keeps; nobody waits for the answer.
    pub(super) fn tell_checkpoints(&mut self) {
        let wish = CheckpointRequest::Keep(self.checkpoints);
        self.notify(RuntimeRequest::Checkpoints(wish));
    }

    /// Another process goes on as the interpreter, with the environment it had.
    pub(super) fn is_another(&mut self) {
        self.knows_session = self.session.is_empty();
    }

    /// The interpreter is gone.
    pub(super) fn is_gone(&mut self) {
        self.ended.clear();
        self.knows_session = self.session.is_empty();
        self.slot.set_up(false);
    }

    /// An interpreter is up.
    pub(super) fn is_up(&self) -> bool {
        self.slot.is_up()
    }

    /// The next event; never returns while there is no runtime or when its events have ended.
    pub(super) async fn next(&mut self) -> RuntimeEvent {
        self.slot.next().await
    }

    /// Submits when connected; there is nobody to end otherwise.
    pub(super) fn shut_down(&mut self) -> Option<RequestId> {
        let stays = self.able.attached;
        let runtime = self.slot.live()?;
        Some(runtime.submit(RuntimeRequest::Shutdown { stays }))
    }
}
