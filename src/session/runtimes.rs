//! The runtimes of a session by role: connected when first needed, with the requesters of their answers.
//!
//! Invariants: every request goes to a role, and request ids belong to one runtime; a request that the runtime cannot
//! serve is not sent: its refusal comes back, or the notice for the user.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use crate::background_magic;
use crate::events::Notice;
use crate::peers::{ConnectRuntime, LazyPeer, PlannedRuntime, RuntimeRequester};
use crate::runtime::connect::connect_branch;
use crate::runtime::{
    BackgroundRequest, Branch, CellTerminal, CheckpointRequest, Death, EnvironmentChanges, Execute,
    Interrupter, RequestId, Runtime, RuntimeCapabilities, RuntimeEvent, RuntimeReply,
    RuntimeRequest, Stdin,
};

/// Kills the interpreter without the loop, for handles.
pub(super) type KillHandle = Arc<Mutex<KillState>>;

#[derive(Default)]
pub(super) struct KillState {
    pub(super) interrupter: Option<Arc<dyn Interrupter>>,
    /// Killed for exceeding its time limit.
    pub(super) over_time: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RuntimeRole {
    /// The user's: runs the session's cells, evaluates references of prompts, runs the agent's `live` cells.
    User,
    /// The session's shell: runs the lines of shell mode.
    Shell,
    Agent(u32),
    /// A cell of the user's in the background.
    Branch(u32),
}

pub(super) struct Runtimes {
    pub(super) user: RuntimePeer,
    pub(super) shell: RuntimePeer,
    agents: BTreeMap<u32, RuntimePeer>,
    /// With the terminal of their cells.
    branches: BTreeMap<u32, (RuntimePeer, Option<Arc<dyn CellTerminal>>)>,
    /// The runtime whose code asked for input last; one job is active, so one asks at a time.
    asking: RuntimeRole,
}

/// A runtime that may not be connected yet.
pub(super) struct RuntimePeer {
    /// Connects the runtime; `None` afterwards.
    connect: Option<ConnectRuntime>,
    told_at_start: bool,
    slot: LazyPeer<dyn Runtime, RuntimeEvent>,
    able: RuntimeCapabilities,
    asked: HashMap<RequestId, RuntimeRequester>,
    /// The usual source of answers to `input()`.
    stdin: Stdin,
    killer: KillHandle,
    /// The index of the session whose numbers its cells have.
    counting: u32,
    /// Environment variables by which cells find their session.
    session: EnvironmentChanges,
    /// The interpreter has those variables.
    knows_session: bool,
    unstartable: bool,
    /// Process id, while the interpreter runs on this machine.
    process: Option<u32>,
    /// The requests so far that may have changed names.
    uses: u64,
    /// The number of checkpoints to keep.
    checkpoints: u32,
    /// The directory that the shell changed to; an interpreter that replaces this one goes there, too.
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
            // Handles kill only the user's interpreter.
            shell: RuntimePeer::new(shell, Stdin::Terminal, KillHandle::default()),
            agents: BTreeMap::new(),
            branches: BTreeMap::new(),
            asking: RuntimeRole::User,
        }
    }

    pub(super) fn of(&mut self, role: RuntimeRole) -> Option<&mut RuntimePeer> {
        match role {
            RuntimeRole::User => Some(&mut self.user),
            RuntimeRole::Shell => Some(&mut self.shell),
            RuntimeRole::Agent(number) => self.agents.get_mut(&number),
            RuntimeRole::Branch(number) => self.branches.get_mut(&number).map(|(it, _)| it),
        }
    }

    /// Adds what the user's interpreter has become.
    pub(super) fn add_branch(&mut self, number: u32, branch: &Branch) {
        let Some(parts) = connect_branch(branch) else {
            return;
        };
        let planned = PlannedRuntime {
            capabilities: self.user.able.clone(),
            needs_session_at_start: false,
            connect: Box::new(move |_| parts),
        };
        let mut runtime = RuntimePeer::new(planned, self.user.stdin, KillHandle::default());
        let terminal = runtime.get().terminal();
        self.branches.insert(number, (runtime, terminal));
    }

    /// Returns true while the cell of this branch waits for a line.
    pub(super) fn branch_waits_for_input(&self, number: u32) -> bool {
        let terminal = self.branches.get(&number).and_then(|(_, it)| it.as_ref());
        terminal.is_some_and(|terminal| terminal.is_waiting_for_input())
    }

    /// Types bytes for the cell of this branch; false when its terminal does not take all of them.
    pub(super) fn type_into_branch(&self, number: u32, bytes: &[u8]) -> bool {
        let terminal = self.branches.get(&number).and_then(|(_, it)| it.as_ref());
        terminal.is_some_and(|terminal| terminal.type_bytes(bytes) == bytes.len())
    }

    /// Ends all branches.
    pub(super) fn end_branches(&mut self) {
        self.branches.clear();
    }

    pub(super) fn remove_branch(&mut self, number: u32) -> Option<RuntimePeer> {
        self.branches.remove(&number).map(|(runtime, _)| runtime)
    }

    pub(super) fn add(&mut self, number: u32, planned: PlannedRuntime) {
        // Handles kill only the user's interpreter.
        let mut runtime = RuntimePeer::new(planned, self.user.stdin, KillHandle::default());
        runtime.know(&self.user.session);
        runtime.get();
        self.agents.insert(number, runtime);
    }

    /// Sets the session's variables for all present and future runtimes.
    pub(super) fn know(&mut self, session: &EnvironmentChanges) {
        for runtime in std::iter::once(&mut self.user).chain(self.agents.values_mut()) {
            runtime.know(session);
        }
    }

    /// Removes a kernel of the agent that has ended.
    pub(super) fn remove(&mut self, number: u32) -> Option<RuntimePeer> {
        self.agents.remove(&number)
    }

    pub(super) fn has(&self, role: RuntimeRole) -> bool {
        match role {
            RuntimeRole::User | RuntimeRole::Shell => true,
            RuntimeRole::Agent(number) => self.agents.contains_key(&number),
            RuntimeRole::Branch(number) => self.branches.contains_key(&number),
        }
    }

    /// Takes what an event says about its runtime; returns it, a death with its reason.
    pub(super) fn hear(&mut self, role: RuntimeRole, event: RuntimeEvent) -> RuntimeEvent {
        if let RuntimeEvent::InputRequested { .. } = event {
            self.asking = role;
        }
        match self.of(role) {
            Some(runtime) => runtime.hear(event),
            None => event,
        }
    }

    pub(super) fn asking(&mut self) -> Option<&mut RuntimePeer> {
        self.of(self.asking)
    }

    /// Returns the next event of any runtime, with its role; never returns while there is none.
    pub(super) async fn next(&mut self) -> (RuntimeRole, RuntimeEvent) {
        std::future::poll_fn(|waker| self.poll_next(waker)).await
    }

    /// Polls the user's runtime first, since the user waits for it.
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
        for (number, (runtime, _)) in &mut self.branches {
            if let Poll::Ready(event) = runtime.slot.poll_next(waker) {
                return Poll::Ready((RuntimeRole::Branch(*number), event));
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
            counting: 0,
            session: EnvironmentChanges::new(),
            knows_session: true,
            unstartable: false,
            process: None,
            uses: 0,
            checkpoints: 0,
            place: None,
        }
    }

    /// Returns the planned capabilities until the runtime is connected and reports its own.
    pub(super) fn able(&self) -> &RuntimeCapabilities {
        &self.able
    }

    /// Returns the runtime; connects it first if needed, and gives its interrupter to the handles.
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

    /// Returns true for a runtime that is started only once the session's variables are known.
    pub(super) fn is_told_at_start(&self) -> bool {
        self.told_at_start
    }

    fn know(&mut self, session: &EnvironmentChanges) {
        if self.session != *session {
            self.session.clone_from(session);
            self.knows_session = false;
        }
    }

    /// Changes the directory: at once if connected, else as soon as it is.
    pub(super) fn go_to(&mut self, place: PathBuf) {
        self.place = Some(place);
        self.go_to_place();
    }

    /// Forgets the pending directory, since the runtime's own code has changed it.
    pub(super) fn has_gone(&mut self) {
        self.place = None;
    }

    /// Changes to the pending directory; also for an interpreter that has replaced another.
    fn go_to_place(&mut self) {
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

    /// Runs a cell: code, or start-up files.
    pub(super) fn run(&mut self, request: RuntimeRequest) -> RequestId {
        self.uses += 1;
        match request {
            RuntimeRequest::Execute(execute) => self.execute(execute),
            request => self.get().submit(request),
        }
    }

    /// Runs code; sends the interpreter any session variables that it does not have yet.
    fn execute(&mut self, mut execute: Execute) -> RequestId {
        if !std::mem::replace(&mut self.knows_session, true) {
            execute.environment.extend(self.session.iter().cloned());
        }
        if let Some(rest) = background_magic::rest(&execute.code) {
            execute.code = rest.to_owned();
        }
        execute.session = self.counting;
        self.get().submit(RuntimeRequest::Execute(execute))
    }

    /// Numbers the cells in this session from now on.
    pub(super) fn counts_in(&mut self, session: u32) {
        self.counting = session;
    }

    /// Returns the index of the session that cells are numbered in.
    pub(super) fn session(&self) -> u32 {
        self.counting
    }

    /// Sends a request of `waiter`; returns the substitute for an answer when the runtime cannot serve it.
    pub(super) fn ask(
        &mut self,
        request: RuntimeRequest,
        waiter: RuntimeRequester,
    ) -> Option<(RuntimeRequester, RuntimeReply)> {
        if let Some(refused) = self.able.refusal(&request) {
            return Some((waiter, refused));
        }
        self.uses += u64::from(may_change_names(&request));
        let id = self.get().submit(request);
        self.asked.insert(id, waiter);
        None
    }

    /// Removes and returns the requester of this answer.
    pub(super) fn take_requester(&mut self, id: RequestId) -> Option<RuntimeRequester> {
        self.asked.remove(&id)
    }

    /// Sends a request without a reply, if the runtime is connected and supports it.
    pub(super) fn notify(&mut self, request: RuntimeRequest) {
        if self.able.refusal(&request).is_none()
            && let Some(runtime) = self.slot.live()
        {
            self.uses += u64::from(may_change_names(&request));
            runtime.submit(request);
        }
    }

    /// Returns how many requests so far may have changed names.
    pub(super) fn uses(&self) -> u64 {
        self.uses
    }

    /// Publishes the last exchange to the user's code; `None` removes it.
    pub(super) fn set_last_exchange(&mut self, exchange: Option<(String, String)>) {
        let (prompt, response) = exchange.unzip();
        let values = vec![
            ("_ai_last_prompt".to_owned(), prompt),
            ("_ai_last_response".to_owned(), response),
        ];
        self.notify(RuntimeRequest::SetVariables { values });
    }

    /// Interrupts the running code; returns a notice where the runtime cannot.
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

    /// Kills the interpreter, if one runs; returns a notice where that cannot be done.
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

    /// As [`RuntimePeer::kill`], for exceeding the time limit.
    pub(super) fn kill_over_time(&mut self) -> Option<Notice> {
        self.killing().over_time = true;
        self.kill()
    }

    /// Takes what an event says about the runtime; returns it, a death with its reason.
    fn hear(&mut self, event: RuntimeEvent) -> RuntimeEvent {
        match event {
            RuntimeEvent::Ready(info) => {
                self.unstartable = false;
                self.process = info.process;
                self.slot.set_up(true);
                if let Some(runtime) = self.slot.live() {
                    self.able = runtime.capabilities();
                }
                if info.restarted {
                    if self.checkpoints > 0 {
                        self.tell_checkpoints();
                    }
                    self.go_to_place();
                }
                RuntimeEvent::Ready(info)
            }
            RuntimeEvent::StartFailed(failure) => {
                self.unstartable = true;
                self.is_gone();
                RuntimeEvent::StartFailed(failure)
            }
            RuntimeEvent::Died { death, restarting } => {
                self.is_gone();
                // Those inside the loop hear of the end.
                self.asked
                    .retain(|_, waiter| !matches!(waiter, RuntimeRequester::Handle(_)));
                let over_time = std::mem::take(&mut self.killing().over_time);
                let death = match death {
                    Death::Killed if over_time => Death::TimedOut,
                    death => death,
                };
                RuntimeEvent::Died { death, restarting }
            }
            RuntimeEvent::Lost { why } => {
                self.is_gone();
                RuntimeEvent::Lost { why }
            }
            event => event,
        }
    }

    fn killing(&self) -> MutexGuard<'_, KillState> {
        self.killer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the interpreter, if one runs, and starts one; returns a notice where that cannot be done.
    pub(super) fn restart(&mut self) -> Option<Notice> {
        let told = self.kill();
        self.get();
        told
    }

    /// Returns the source of answers to a cell's `input()`: `wanted` if given, else the usual one.
    pub(super) fn stdin(&self, wanted: Option<Stdin>) -> Stdin {
        self.able.stdin(wanted.unwrap_or(self.stdin))
    }

    /// Returns true when cells own a terminal unless they request otherwise.
    pub(super) fn has_terminal(&self) -> bool {
        self.stdin == Stdin::Terminal
    }

    /// Returns the source of answers to a tool's `input()`: a tool owns no terminal.
    pub(super) fn tool_stdin(&self) -> Stdin {
        match self.stdin(None) {
            Stdin::Refuse => Stdin::Refuse,
            Stdin::Terminal | Stdin::Ask => Stdin::Ask,
        }
    }

    pub(super) fn is_unstartable(&self) -> bool {
        self.unstartable
    }

    pub(super) fn process(&self) -> Option<u32> {
        self.process.filter(|_| self.slot.is_up())
    }

    /// Sets the number of checkpoints: at once if connected, else as soon as it is.
    pub(super) fn keep_checkpoints(&mut self, most: u32) {
        if std::mem::replace(&mut self.checkpoints, most) != most {
            self.tell_checkpoints();
        }
    }

    /// Sends the number of checkpoints; the answer is ignored.
    fn tell_checkpoints(&mut self) {
        let wish = CheckpointRequest::Keep(self.checkpoints);
        self.notify(RuntimeRequest::Checkpoints(wish));
    }

    /// Takes the change to another process, which has its own earlier environment.
    pub(super) fn is_another(&mut self) {
        self.knows_session = self.session.is_empty();
    }

    fn is_gone(&mut self) {
        self.knows_session = self.session.is_empty();
        self.slot.set_up(false);
    }

    pub(super) fn is_up(&self) -> bool {
        self.slot.is_up()
    }

    /// Returns the next event; never returns while there is no runtime or when its events have ended.
    pub(super) async fn next(&mut self) -> RuntimeEvent {
        self.slot.next().await
    }

    /// Requests the shutdown when connected; there is nothing to end otherwise.
    pub(super) fn shut_down(&mut self) -> Option<RequestId> {
        let stays = self.able.attached;
        let runtime = self.slot.live()?;
        Some(runtime.submit(RuntimeRequest::Shutdown { stays }))
    }
}

/// Returns true for a request after which names may be others; cells are counted apart.
fn may_change_names(request: &RuntimeRequest) -> bool {
    matches!(
        request,
        RuntimeRequest::CallTool { .. }
            | RuntimeRequest::Comm(_)
            | RuntimeRequest::Evaluate { .. }
            | RuntimeRequest::EvaluateExpressions { .. }
            | RuntimeRequest::SetVariables { .. }
            | RuntimeRequest::Variables { .. }
            | RuntimeRequest::Background(BackgroundRequest::Unpack { .. })
            | RuntimeRequest::Checkpoints(
                CheckpointRequest::Back { .. } | CheckpointRequest::Forward
            )
    )
}
